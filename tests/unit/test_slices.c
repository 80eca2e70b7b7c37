/*
 * Slices: rows and columns of any data, taken whole or in pieces, by every instruction set that
 * runs here, must say of each slice what the oracle and a plain loop say, bit for bit.
 * CHECK_SHARE: see lib/share.h.
 */
#include "config.h"

#include "cpu/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/share.h"
#include "lib/tap.h"

#define ROUNDS (SANITIZED ? 19 : 57)

/* Elements of an array. */
#define ELEMENTS_MAX 6000

/* Subtracted from the count that variances are divided by. */
#define DDOF 1

struct array {
    enum element_type type;
    enum cpu_slices_kind kind;
    size_t slices, length; /* and the elements of each */
    size_t stride;         /* bytes from a row of columns to the next */
    unsigned char *block, *data;
    bool swap;
    unsigned wants;
    struct missing missing;     /* missing values of the elements */
    struct reference *expected; /* of each slice */
};

static const struct missing *missing_of(const struct array *a)
{
    return a->missing.count > 0 ? &a->missing : NULL;
}

/* The element number `at` of a slice, in this machine's byte order. */
static void element_of(const struct array *a, size_t slice, size_t at, void *to)
{
    const size_t size = element_size(a->type);
    const unsigned char *from = a->kind == CPU_SLICES_ROWS
                                    ? a->data + (slice * a->length + at) * size
                                    : a->data + at * a->stride + slice * size;

    if (a->swap)
        element_swap(to, from, 1, size);
    else
        memcpy(to, from, size);
}

/* Integers of 64 bits, of which some are large, all, or none. */
static void fill_integers(enum element_type type, unsigned char *to, size_t n, struct rng *rng)
{
    const unsigned bits[2] = {(unsigned)rng_below(rng, 64), (unsigned)rng_below(rng, 64)};

    for (size_t i = 0; i < n; i++) {
        const uint64_t magnitude = rng_next(rng) >> bits[rng_below(rng, 9) == 0];
        const bool negative =
            element_formats[type].kind == ELEMENT_SIGNED && rng_below(rng, 3) == 0;

        element_store(sizeof magnitude, to + i * sizeof magnitude,
                      negative ? -magnitude : magnitude);
    }
}

/* Floats of one byte: any, or small ones. */
static void fill_bytes(unsigned char *to, size_t n, struct rng *rng)
{
    const uint64_t bits = rng_below(rng, 2) ? 0xff : 0x87;

    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(rng_next(rng) & bits);
}

/* An array at any address, which ends with its last element: a sanitizer sees a step outside. */
static void make_array(struct array *a, struct rng *rng, enum data_kind kind, uint64_t seed)
{
    const size_t size = element_size(a->type), offset = (size_t)rng_below(rng, 9);
    const size_t gap = rng_below(rng, 3) ? 0 : (size_t)rng_below(rng, 20);
    const size_t n = a->slices * a->length;
    size_t bytes = n * size;
    unsigned char *plain = malloc(bytes + 1);

    a->stride = a->slices * size + gap;
    if (a->kind == CPU_SLICES_COLUMNS)
        bytes = (a->length - 1) * a->stride + a->slices * size;
    a->block = malloc(bytes + offset);
    if (!plain || !a->block)
        abort();
    memset(a->block, 0xff, bytes + offset);
    a->data = a->block + offset;
    if (element_is_integer(a->type))
        fill_integers(a->type, plain, n, rng);
    else if (size == 1)
        fill_bytes(plain, n, rng);
    else
        data_fill(kind, a->type, plain, n, seed);
    for (uint64_t i = !element_is_float(a->type) || rng_below(rng, 3) ? 0 : 1 + rng_below(rng, 6);
         i > 0; i--)
        data_put_special(a->type, plain, (size_t)rng_below(rng, n),
                         (enum data_special)rng_below(rng, DATA_SPECIALS));
    if (a->swap)
        element_swap(plain, plain, n, size);
    for (size_t i = 0; i < n; i += a->slices) {
        const size_t count = a->slices;

        if (a->kind == CPU_SLICES_ROWS)
            memcpy(a->data + i * size, plain + i * size, count * size);
        else
            memcpy(a->data + i / count * a->stride, plain + i * size, count * size);
    }
    free(plain);
}

/* Makes some elements missing, few or many: a number or two, NaNs, or those between two numbers. */
static void draw_missing(struct array *a, struct rng *rng)
{
    uint64_t key[2];

    for (uint64_t i = 1 + rng_below(rng, 3); i > 0; i--) {
        for (int k = 0; k < 2; k++) {
            unsigned char element[sizeof(uint64_t)];

            element_of(a, (size_t)rng_below(rng, a->slices), (size_t)rng_below(rng, a->length),
                       element);
            key[k] = order_key(a->type, order_load(a->type, element));
        }
        if (key[0] > key[1] || rng_below(rng, 2) || key[0] < order_least(a->type) ||
            key[1] > order_greatest(a->type))
            (void)missing_add_bits(&a->missing, a->type, order_bits(a->type, key[0]));
        else
            (void)missing_add_range(&a->missing, key[0], key[1]);
    }
}

/* The elements of a slice that are not missing, and their indices in it. Returns how many. */
static size_t find_present(const struct array *a, size_t slice, unsigned char *elements,
                           uint64_t *places)
{
    const size_t size = element_size(a->type);
    size_t count = 0;

    for (size_t at = 0; at < a->length; at++) {
        element_of(a, slice, at, elements + count * size);
        places[count] = at;
        count += !missing_has(&a->missing,
                              order_key(a->type, order_load(a->type, elements + count * size)));
    }
    return count;
}

/* Takes the elements from `from` on, up to before `to`, of all slices; of columns, those from
   number `split` on by themselves, and mostly first. */
static void take(struct cpu_slicer *z, struct cpu_slices *s, const struct array *a, size_t from,
                 size_t to, size_t split)
{
    const size_t size = element_size(a->type);

    if (a->kind == CPU_SLICES_COLUMNS) {
        const unsigned char *data = a->data + from * a->stride;

        if (split > 0 && split % 4 == 0)
            cpu_slicer_columns(z, s, 0, data, a->stride, to - from, split, from);
        cpu_slicer_columns(z, s, split, data + split * size, a->stride, to - from,
                           a->slices - split, from);
        if (split % 4 > 0)
            cpu_slicer_columns(z, s, 0, data, a->stride, to - from, split, from);
    } else if (from == 0 && to == a->length) {
        cpu_slicer_rows(z, s, 0, a->data, a->slices, a->length, 0);
    } else {
        for (size_t i = 0; i < a->slices; i++)
            cpu_slicer_rows(z, s, i, a->data + (i * a->length + from) * size, 1, to - from, from);
    }
}

/* Computes all results of a partial result of integers. */
static void finish_integers(const struct array *a, const struct partial *p, bool skip,
                            struct result *result)
{
    const struct moments_terms terms = {.skip_nan = skip, .ddof = DDOF, .type = a->type};

    partial_finish_type(p, terms.type, skip, result);
    moments_finish(p, &terms, result);
}

/* Takes the expected slices of integers from partial results, which other tests are of. */
static void expect_integers(struct array *a)
{
    struct cpu_slicer z;
    struct cpu_slices s;

    a->expected = allocate(a->slices * sizeof *a->expected);
    if (!cpu_slicer_open(&z, cpu_kernels_choose(NULL), a->type, a->wants, false, a->swap,
                         missing_of(a), NULL) ||
        !cpu_slices_open(&s, a->kind, a->type, a->wants, false, a->slices))
        abort();
    take(&z, &s, a, 0, a->length, 0);
    for (size_t i = 0; i < a->slices; i++) {
        struct partial p;

        cpu_slices_partial(&s, i, a->length, &p);
        for (int skip = 0; skip < 2; skip++)
            finish_integers(a, &p, skip, &a->expected[i].policy[skip]);
    }
    cpu_slices_close(&s);
    cpu_slicer_close(&z);
}

/* Computes the expected slices, once for all instruction sets. */
static void expect(struct array *a)
{
    unsigned char *elements = allocate((a->length + 1) * element_size(a->type));
    uint64_t *places = allocate(a->length * sizeof *places);

    a->expected = allocate(a->slices * sizeof *a->expected);
    for (size_t i = 0; i < a->slices; i++) {
        const size_t count = find_present(a, i, elements, places);

        reference_reduce(&a->expected[i], a->type, elements, count, 0);
        if (a->wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES))
            reference_moments(&a->expected[i], a->type, elements, count, DDOF);
        for (int skip = 0; skip < 2; skip++) {
            struct result *e = &a->expected[i].policy[skip];
            uint64_t *const indices[] = {&e->argmin, &e->argmax, &e->first_nan};

            for (size_t k = 0; k < sizeof indices / sizeof *indices; k++)
                if (*indices[k] != PARTIAL_NO_INDEX)
                    *indices[k] = places[*indices[k]];
            e->missing = a->length - count;
        }
    }
    free(places);
    free(elements);
}

/* The first result of moments that is wanted and not the one expected; NULL for none. */
static const char *moments_differ(const struct result *a, const struct result *b, unsigned wants)
{
    if (wants & PARTIAL_SQUARES &&
        !(oracle_same(a->sumsq, b->sumsq) && oracle_same(a->l2, b->l2) &&
          oracle_same(a->rms, b->rms) &&
          (!(wants & PARTIAL_SUM) || (oracle_same(a->var, b->var) && oracle_same(a->std, b->std)))))
        return "squares";
    if (wants & PARTIAL_ABSOLUTE && !oracle_same(a->l1, b->l1))
        return "l1";
    if (wants & PARTIAL_EXTREMES &&
        !(oracle_same(a->absmax, b->absmax) && oracle_same(a->range, b->range)))
        return "extremes";
    if (wants & PARTIAL_SMALL && !oracle_same(a->absmin, b->absmin))
        return "absmin";
    if (wants & PARTIAL_SMALL && (a->zeros != b->zeros || a->subnormals != b->subnormals))
        return "small ones";
    return wants & PARTIAL_NEGATIVE && a->negatives != b->negatives ? "negatives" : NULL;
}

/* Whether nothing of the slice needed a partial result: then *sum is that of its elements, rounded,
   and *rest what that left, exactly. */
static bool slice_sum(const struct cpu_slices *s, size_t i, double *sum, double *rest)
{
    if (s->used[i] || slices_is_special(s, i))
        return false;
    *sum = exact_two_sum(s->high[i], s->low[i], rest);
    *sum += 0.0; /* -0 becomes +0 */
    return true;
}

/* Compares what was found of every slice. */
static void compare(struct tap_family *family, const struct array *a, const struct cpu_slices *s,
                    const struct cpu_kernels *kernels, const char *what)
{
    for (size_t i = 0; i < a->slices; i++) {
        const struct reference *e = &a->expected[i];
        struct partial p;
        double sum, rest;

        cpu_slices_partial(s, i, a->length, &p);
        for (int skip = 0; skip < 2; skip++) {
            struct result got;
            const char *wrong;

            if (element_is_integer(a->type))
                finish_integers(a, &p, skip, &got);
            else
                partial_finish(&p, skip, &got);
            tap_case(family,
                     reference_same(&got, &e->policy[skip], a->wants) &&
                         got.missing == e->policy[skip].missing,
                     "%s, %s, %s: slice %zu of %zu, %zu elements, wants %u, skip_nan %d:\n"
                     "%s missing %llu\nexpected\n%s missing %llu",
                     kernels->name, element_name(a->type), what, i, a->slices, a->length, a->wants,
                     skip, reference_show(&got), (unsigned long long)got.missing,
                     reference_show(&e->policy[skip]), (unsigned long long)e->policy[skip].missing);
            if (!(a->wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES)))
                continue;
            if (!element_is_integer(a->type))
                moments_finish(
                    &p, &(struct moments_terms){.skip_nan = skip, .ddof = DDOF, .type = a->type},
                    &got);
            wrong = moments_differ(&got, &e->policy[skip], a->wants);
            tap_case(family, !wrong,
                     "%s, %s, %s: slice %zu of %zu, %zu elements, wants %u, skip_nan %d: wrong %s",
                     kernels->name, element_name(a->type), what, i, a->slices, a->length, a->wants,
                     skip, wrong);
        }
        if ((a->wants & PARTIAL_SUM) && s->fast && slice_sum(s, i, &sum, &rest))
            tap_case(family, oracle_same(sum, e->policy[0].sum), "%s, %s, %s: sum %a, not %a",
                     kernels->name, element_name(a->type), what, sum, e->policy[0].sum);
    }
}

/* Reduces an array whole, in pieces, and shared between two. */
static void check_array(struct tap_family *family, const struct array *a,
                        const struct cpu_kernels *kernels, struct rng *rng)
{
    struct cpu_slicer z;
    struct cpu_slices s, other;
    size_t cut = (size_t)rng_below(rng, a->length + 1);

    const bool fast =
        cpu_slices_are_fast(a->type, a->wants, missing_of(a), a->kind, a->length, a->slices);

    if (!cpu_slicer_open(&z, kernels, a->type, a->wants, fast, a->swap, missing_of(a), NULL) ||
        !cpu_slices_open(&s, a->kind, a->type, a->wants, fast, a->slices) ||
        !cpu_slices_open(&other, a->kind, a->type, a->wants, fast, a->slices))
        abort();
    take(&z, &s, a, 0, a->length, 0);
    compare(family, a, &s, kernels, "whole");
    take(&z, &other, a, 0, a->length, 0);

    cpu_slices_clear(&s, a->slices);
    cpu_slices_clear(&other, a->slices);
    for (size_t from = 0, to; from < a->length; from = to) {
        to = from + 1 + (size_t)rng_below(rng, a->length);
        to = to < a->length ? to : a->length;
        take(&z, from < cut ? &s : &other, a, from, to, (size_t)rng_below(rng, a->slices));
    }
    /* The other may have none: then it holds what it was cleared to. */
    if (cut > 0 && other.filled + s.filled == 0 && a->kind == CPU_SLICES_ROWS)
        abort();
    if (a->kind == CPU_SLICES_COLUMNS || (s.filled > 0 && other.filled > 0))
        cpu_slicer_merge(&z, &s, &other, 0, a->slices);
    compare(family, a, s.filled > 0 || a->kind == CPU_SLICES_COLUMNS ? &s : &other, kernels,
            "in pieces");
    tap_case(family, !z.failed, "memory");
    cpu_slices_close(&other);
    cpu_slices_close(&s);
    cpu_slicer_close(&z);
}

/* Reduces an array by all kernels that this machine has, and frees it. */
static void check_by_all(struct tap_family *family, struct array *a, struct rng *rng)
{
    if (element_is_integer(a->type))
        expect_integers(a);
    else
        expect(a);
    for (size_t k = 0; k < cpu_kernels_count; k++)
        if (cpu_kernels_all[k]->usable())
            check_array(family, a, cpu_kernels_all[k], rng);
    free(a->expected);
    free(a->block);
}

/* A length, mostly short, or near the places where kernels change their ways. */
static size_t draw_length(struct rng *rng)
{
    static const size_t around[] = {8, 16, 32, 64, 128, 256, 1024, 2048};

    if (rng_below(rng, 2))
        return 1 + (size_t)rng_below(rng, 40);
    return around[rng_below(rng, sizeof around / sizeof *around)] - 2 + (size_t)rng_below(rng, 5);
}

static void check_type(enum element_type type, enum cpu_slices_kind kind)
{
    static const unsigned wants[] = {
        PARTIAL_SUM,
        PARTIAL_SUM | PARTIAL_EXTREMES,
        PARTIAL_EXTREMES,
        PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
        PARTIAL_SUM | PARTIAL_SQUARES,
        PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_SQUARES,
        PARTIAL_EXTREMES | PARTIAL_WHERE | PARTIAL_NEGATIVE,
        PARTIAL_ABSOLUTE,
        PARTIAL_SMALL,
        PARTIAL_ALL,
    };
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 91 + (uint64_t)type);
    for (int round = 0; round < ROUNDS; round++) {
        if (!share_takes_next())
            continue;

        struct array a = {.type = type, .kind = kind, .length = draw_length(&rng)};
        const size_t most = ELEMENTS_MAX / a.length;

        a.slices = rng_below(&rng, 2) ? draw_length(&rng) : 1 + (size_t)rng_below(&rng, 80);
        a.slices = a.slices < most ? a.slices : most;
        a.slices = a.slices > 0 ? a.slices : 1;
        a.swap = rng_below(&rng, 4) == 0;
        a.wants = wants[rng_below(&rng, sizeof wants / sizeof *wants)];
        if (kind == CPU_SLICES_ROWS && round % 4 == 0) { /* rows of whole vectors, sums alone */
            a.length = (size_t)4 << rng_below(&rng, 4);
            a.wants = PARTIAL_SUM;
        }
        if (kind == CPU_SLICES_COLUMNS && round % 9 == 4) { /* blocks of columns, sums alone */
            a.slices = 1024 + (size_t)rng_below(&rng, 1100);
            a.length = 1 + (size_t)rng_below(&rng, 37);
            a.wants = PARTIAL_SUM;
        }
        make_array(&a, &rng, (enum data_kind)(round % DATA_KINDS), (uint64_t)round);
        if (round % 3 == 2)
            draw_missing(&a, &rng);
        check_by_all(&family, &a, &rng);
    }
    tap_family_end(&family, "%s, %s", element_name(type),
                   kind == CPU_SLICES_ROWS ? "rows" : "columns");
}

/* Narrow columns of many rows are folded, and sums of long columns outgrow two numbers. */
static void check_long_columns(enum element_type type)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 17);
    for (int round = 0; round < (SANITIZED ? DATA_KINDS : 2 * DATA_KINDS); round++) {
        struct array a = {.type = type,
                          .kind = CPU_SLICES_COLUMNS,
                          .length = 2000 + (size_t)rng_below(&rng, 9000),
                          .slices = 1 + (size_t)rng_below(&rng, 6),
                          .wants = round % 2 ? PARTIAL_SUM | PARTIAL_EXTREMES : PARTIAL_ALL};

        make_array(&a, &rng, (enum data_kind)(round % DATA_KINDS), (uint64_t)round);
        if (round % 3 == 2)
            draw_missing(&a, &rng);
        check_by_all(&family, &a, &rng);
    }
    tap_family_end(&family, "%s, a few long columns", element_name(type));
}

/* Columns of great numbers with small ones among them: by how many powers of two they are smaller
   decides whether plain additions round. */
static void check_bounds(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 29);
    for (int apart = 20; apart <= 32; apart++) {
        struct array a = {.type = ELEMENT_F32,
                          .kind = CPU_SLICES_COLUMNS,
                          .length = 16,
                          .slices = 1024 + 16,
                          .wants = PARTIAL_SUM};

        make_array(&a, &rng, DATA_NORMAL, 1);
        for (size_t i = 0; i < a.slices * a.length; i++) {
            const size_t row = i / a.slices, slice = i % a.slices;
            const uint32_t bits = UINT32_C(0x3f800000) | (uint32_t)rng_below(&rng, 1 << 23);
            float x;

            memcpy(&x, &bits, sizeof x);
            x = ldexpf(x, row % 4 == slice % 4 ? -apart : 0);
            memcpy(a.data + row * a.stride + slice * sizeof x, &x, sizeof x);
        }
        check_by_all(&family, &a, &rng);
    }
    tap_family_end(&family, "columns that just add up, or just do not");
}

/* Two numbers hold the sums of each of two slices, and do not hold that of both: 2^-20, the last
   bit of it, decides how the sum is rounded. */
static void check_merge(void)
{
    static const double x[] = {0x1p60, 0x1p-20, 0x1p100, 0x1p47};

    for (size_t k = 0; k < cpu_kernels_count; k++) {
        struct cpu_slices s, other;
        struct cpu_slicer z;
        struct result result;
        struct partial p;

        if (!cpu_kernels_all[k]->usable())
            continue;
        if (!cpu_slicer_open(&z, cpu_kernels_all[k], ELEMENT_F64, PARTIAL_SUM, true, false, NULL,
                             NULL) ||
            !cpu_slices_open(&s, CPU_SLICES_COLUMNS, ELEMENT_F64, PARTIAL_SUM, true, 1) ||
            !cpu_slices_open(&other, CPU_SLICES_COLUMNS, ELEMENT_F64, PARTIAL_SUM, true, 1))
            abort();
        cpu_slicer_columns(&z, &s, 0, x, sizeof *x, 2, 1, 0);
        cpu_slicer_columns(&z, &other, 0, x + 2, sizeof *x, 2, 1, 2);
        tap_ok(!s.used[0] && !other.used[0], "%s: two numbers hold each sum",
               cpu_kernels_all[k]->name);
        cpu_slicer_merge(&z, &s, &other, 0, 1);
        cpu_slices_partial(&s, 0, 4, &p);
        partial_finish(&p, 0, &result);
        tap_ok(oracle_same(result.sum, oracle_sum(x, 4)) && s.used[0], "%s: and not both",
               cpu_kernels_all[k]->name);
        cpu_slices_close(&other);
        cpu_slices_close(&s);
        cpu_slicer_close(&z);
    }
}

/* Whether p has the sum of `rows` elements of 64 bits at x, and of two numbers. */
static bool has_sum(const struct partial *p, enum element_type type, const void *x, size_t rows,
                    double high, double low)
{
    struct exact rest = p->sum;
    struct integer value = element_load_integer(type, x);

    exact_add(&rest, -high);
    exact_add(&rest, -low);
    for (size_t i = 0; i < rows; i++)
        exact_add_integer(&rest, value.low, EXACT_ONE_BIT, !value.negative);
    return exact_round(&rest) == 0;
}

/* Whether columns give their elements to a partial result where two numbers do not hold the sums. All rows
   are x. With `lacking` elements that are 1 are missing. */
static bool fills_pairs(const struct cpu_kernels *kernels, enum element_type type,
                        const uint64_t *x, size_t columns, bool lacking)
{
    const unsigned wants = PARTIAL_SUM | PARTIAL_EXTREMES;
    struct missing ones = {.count = 0};
    bool good = missing_add(&ones, type, "1"), left = false;
    struct cpu_slicer z;
    struct cpu_slices s;

    if (!cpu_slicer_open(&z, kernels, type, wants, true, false, lacking ? &ones : NULL, NULL) ||
        !cpu_slices_open(&s, CPU_SLICES_COLUMNS, type, wants, true, columns))
        abort();
    cpu_slicer_columns(&z, &s, 0, x, 0, 1, columns, 0);
    for (size_t j = 0; j < columns; j++) {
        s.high[j] = 0x1p93;
        s.low[j] = j % 2 ? 0x1p53 - 1 : 1 - 0x1p53;
    }
    s.low_used = true;
    cpu_slicer_columns(&z, &s, 0, x, 0, 3, columns, 1);
    for (size_t j = 0; j < columns; j++) {
        const bool missing = lacking && x[j] == 1;
        struct partial p;

        cpu_slices_partial(&s, j, 4, &p);
        good = good && p.missing == (missing ? 4 : 0) &&
               has_sum(&p, type, &x[j], missing ? 0 : 3, 0x1p93, j % 2 ? 0x1p53 - 1 : 1 - 0x1p53) &&
               p.min_key == (missing ? INT64_MAX : element_key(type, &x[j]));
        left = left || s.used[j];
    }
    good = good && left && !z.failed;
    cpu_slices_close(&s);
    cpu_slicer_close(&z);
    return good;
}

/* Integers of 64 bits in more rows than kernels add up together, and sums that two numbers do not hold
   any more: then a partial result has them. All rows of columns are one row. */
static void check_wide(enum element_type type)
{
    enum { COLUMNS = 17, ROWS = (1 << 20) + 9, WANTS = PARTIAL_SUM | PARTIAL_EXTREMES };
    const uint64_t ends[] = {INT64_MAX, (uint64_t)1 << 63, UINT64_MAX, 0xffffffff, 1};
    uint64_t x[COLUMNS], *row = malloc(ROWS * sizeof *row);

    if (!row)
        abort();
    for (size_t j = 0; j < COLUMNS; j++)
        x[j] = ends[j % (sizeof ends / sizeof *ends)];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = x[0];
    for (size_t k = 0; k < cpu_kernels_count; k++) {
        const struct cpu_kernels *kernels = cpu_kernels_all[k];
        struct cpu_slices s, rows;
        struct cpu_slicer z;
        struct partial p;
        bool good = true;

        if (!kernels->usable())
            continue;
        if (!cpu_slicer_open(&z, kernels, type, WANTS, true, false, NULL, NULL) ||
            !cpu_slices_open(&s, CPU_SLICES_COLUMNS, type, WANTS, true, COLUMNS) ||
            !cpu_slices_open(&rows, CPU_SLICES_ROWS, type, WANTS, true, 1))
            abort();
        cpu_slicer_rows(&z, &rows, 0, row, 1, ROWS, 0);
        cpu_slices_partial(&rows, 0, ROWS, &p);
        tap_ok(has_sum(&p, type, row, ROWS, 0, 0), "%s, %s: a long row", kernels->name,
               element_name(type));

        cpu_slicer_columns(&z, &s, 0, x, 0, ROWS, COLUMNS, 0);
        for (size_t j = 0; j < COLUMNS; j++) {
            cpu_slices_partial(&s, j, ROWS, &p);
            good = good && has_sum(&p, type, &x[j], ROWS, 0, 0) && !s.used[j] &&
                   p.min_key == element_key(type, &x[j]) && p.max_key == p.min_key;
        }
        tap_ok(good, "%s, %s: long columns", kernels->name, element_name(type));

        cpu_slices_close(&rows);
        cpu_slices_close(&s);
        cpu_slicer_close(&z);
        for (int lacking = 0; lacking < 2; lacking++)
            tap_ok(fills_pairs(kernels, type, x, COLUMNS, lacking),
                   "%s, %s: two numbers do not hold all sums, missing %d", kernels->name,
                   element_name(type), lacking);
    }
    free(row);
}

/* Records of parts as a GPU finds them. The numbers of each hold its sums; those of two do not hold
   both, and what they lack, the last of a sum and the last of a square, decides how these are
   rounded. A part that has not been found counts nothing. */
static void check_records(enum cpu_slices_kind kind, bool fast)
{
    enum { PARTS = 4, SQUARES = SLICE_SQUARES_MAX };
    static double high[PARTS] = {0x1p60, 0x1p100, NAN, 0}, low[PARTS] = {0x1p-20, 0x1p47, 1, 0};
    static double squares[SQUARES][PARTS] = {{0x1p200, 0x1p147, 1, -0x1p90},
                                             {0x1p90, 0, 1, -0x1p30},
                                             {0x1p30, 0, 1, -0x1p-30},
                                             {0x1p-30, 0, 1, 0},
                                             {0x1p-90, 0, 1, 0}};
    static int64_t min[PARTS] = {5, -7, -9, -7}, max[PARTS] = {5, 5, 9, 4},
                   least[PARTS] = {4, 3, 0, 5};
    static uint32_t min_index[PARTS] = {1, 2, 0, 3}, max_index[PARTS] = {3, 1, 0, 2};
    static uint32_t zeros[PARTS] = {1, 2, 99, 4}, negative[PARTS] = {8, 16, 99, 32};
    static uint32_t subnormal[PARTS] = {1, 1, 99, 1};
    static double absolute[PARTS] = {3, 4, 99, 5}, absolute_low[PARTS] = {0x1p-60, 0, 99, 0};
    const struct engine_found found = {
        .high = high,
        .low = low,
        .min = min,
        .max = max,
        .element_keys = true,
        .more = {.min_index = min_index,
                 .max_index = max_index,
                 .absolute = absolute,
                 .absolute_low = absolute_low,
                 .squares = {squares[0], squares[1], squares[2], squares[3], squares[4]},
                 .least = least,
                 .zeros = zeros,
                 .negative = negative,
                 .subnormal = subnormal}};
    const double sums[] = {0x1p60, 0x1p-20, 0x1p100, 0x1p47}, all[] = {0x1p200, 0x1p147, 0x1p-90};
    const struct moments_terms terms = {.type = ELEMENT_F64};

    /* All into one slice; or the first into another, which is merged. */
    for (int shared = 0; shared < 2; shared++) {
        struct cpu_slices s, other;
        struct cpu_slicer z;
        struct result result;
        struct partial p;

        if (!cpu_slicer_open(&z, cpu_kernels_choose(NULL), ELEMENT_F64, PARTIAL_ALL, fast, false,
                             NULL, NULL) ||
            !cpu_slices_open(&s, kind, ELEMENT_F64, PARTIAL_ALL, fast, 3) ||
            !cpu_slices_open(&other, kind, ELEMENT_F64, PARTIAL_ALL, fast, 3))
            abort();
        /* Slice 1, of the indices from 100, 200 and so on, later ones first. */
        for (size_t part = PARTS; part > 0; part--)
            cpu_slicer_put(&z, part == 1 && shared ? &other : &s, 1, 1, &found, part - 1, 1,
                           100 * part);
        tap_ok(shared || s.used[1],
               "records, kernels %d: a partial result takes what numbers do not hold", fast);
        if (shared)
            cpu_slicer_merge(&z, &s, &other, 0, 3);
        cpu_slices_partial(&s, 1, 1000, &p);
        partial_finish(&p, false, &result);
        moments_finish(&p, &terms, &result);
        tap_ok(oracle_same(result.sum, oracle_sum(sums, 4)), "records: sum %a", result.sum);
        tap_ok(oracle_same(result.sumsq, oracle_sum(all, 3)) && result.sumsq > 0x1p200,
               "records: sum of squares %a", result.sumsq);
        tap_ok(result.l1 == 12, "records: sum of magnitudes %a", result.l1);
        tap_ok(p.min_key == -7 && p.min_index == 202 && p.max_key == 5 && p.max_index == 103,
               "records: extremes and where they are first");
        tap_ok(p.least_magnitude == 3 && p.zeros == 7 && p.negative == 56 && p.subnormal == 3,
               "records: counts");
        cpu_slices_partial(&s, 0, 0, &p);
        tap_ok(p.zeros == 0 && p.min_index == PARTIAL_NO_INDEX, "records: other slices have none");
        cpu_slices_clear(&s, 3);
        cpu_slicer_put(&z, &s, 1, 1, &found, PARTS - 1, 1, 0);
        cpu_slices_partial(&s, 1, 0, &p);
        tap_ok(p.zeros == 4 && p.negative == 32 && p.min_index == 3 && s.used[1] == !fast,
               "records: cleared");
        tap_ok(!z.failed, "records: memory");
        cpu_slices_close(&other);
        cpu_slices_close(&s);
        cpu_slicer_close(&z);
    }
}

/* Slices that had elements, and are cleared, take what a GPU has found, and sums of others, as new
   ones do: of the last of three they are given nothing. */
static void check_begin(enum cpu_slices_kind kind)
{
    enum { SLICES = 3 };
    static const double before[SLICES] = {0x1p60, 0x1p70, 0x1p80}, small[SLICES] = {1, 2, 3};
    double high[] = {5, 6}, low[] = {0x1p-60, 0};
    int64_t keys[2] = {exact_key(5), exact_key(6)};
    const struct engine_found found = {
        .high = high, .low = low, .min = keys, .max = keys, .element_keys = true};
    const unsigned wants = PARTIAL_SUM | PARTIAL_EXTREMES;
    struct cpu_slices s, other;
    struct cpu_slicer z;

    if (!cpu_slicer_open(&z, cpu_kernels_choose(NULL), ELEMENT_F64, wants, true, false, NULL,
                         NULL) ||
        !cpu_slices_open(&s, kind, ELEMENT_F64, wants, true, SLICES) ||
        !cpu_slices_open(&other, kind, ELEMENT_F64, wants, true, SLICES))
        abort();
    for (int turn = 0; turn < 2; turn++) {
        const struct cpu_slices *merged = turn ? &other : &s;

        for (int i = 0; i < 2; i++) {
            struct cpu_slices *one = i ? &other : &s;

            if (kind == CPU_SLICES_ROWS) {
                cpu_slicer_rows(&z, one, 0, before, SLICES, 1, 0);
                cpu_slicer_rows(&z, one, 0, small, SLICES, 1, 1);
            } else {
                cpu_slicer_columns(&z, one, 0, before, sizeof before, 1, SLICES, 0);
                cpu_slicer_columns(&z, one, 0, small, sizeof small, 1, SLICES, 1);
            }
            cpu_slices_clear(one, SLICES);
        }
        cpu_slicer_put(&z, &s, 0, 2, &found, 0, 1, 0);
        if (turn)
            cpu_slicer_merge(&z, &other, &s, 0, SLICES);
        for (size_t i = 0; i < 2; i++) {
            double sum, rest;

            tap_ok(slice_sum(merged, i, &sum, &rest) && sum == high[i] && rest == low[i] &&
                       cpu_slices_min_key(merged, i) == keys[i] &&
                       cpu_slices_max_key(merged, i) == keys[i],
                   "slice %zu has what it was given since it was cleared, %s", i,
                   turn ? "merged" : "put");
        }
        if (turn) {
            struct partial p;

            cpu_slices_partial(merged, 2, 0, &p);
            tap_ok(exact_round(&p.sum) == 0 && p.min_key > p.max_key, "and the last one nothing");
        }
        cpu_slices_clear(&s, SLICES);
        cpu_slices_clear(&other, SLICES);
    }
    tap_ok(!z.failed, "memory");
    cpu_slices_close(&other);
    cpu_slices_close(&s);
    cpu_slicer_close(&z);
}

/*
 * Integers, whose sums and extremes are what a plain loop finds.
 */

enum fill { FILL_RANDOM, FILL_LEAST, FILL_GREATEST, FILLS };

/* The results of a plain loop for a slice. */
struct plain {
    int64_t sum, min, max;
};

static struct plain plain_of(const struct array *a, size_t slice)
{
    struct plain p = {0, INT64_MAX, INT64_MIN};

    for (size_t at = 0; at < a->length; at++) {
        unsigned char element[8];
        struct integer x;
        int64_t value;

        element_of(a, slice, at, element);
        x = element_load_integer(a->type, element);
        value = x.negative ? -(int64_t)x.low : (int64_t)x.low;
        p.sum += value;
        p.min = value < p.min ? value : p.min;
        p.max = value > p.max ? value : p.max;
    }
    return p;
}

static bool is_integer(const struct integer *x, int64_t value)
{
    return x->known && x->high == 0 && x->low == (uint64_t)(value < 0 ? -value : value) &&
           x->negative == (value < 0);
}

static void fill(struct array *a, size_t bytes, enum fill how, struct rng *rng)
{
    const size_t size = element_size(a->type);
    const bool is_signed = element_formats[a->type].kind == ELEMENT_SIGNED;
    const unsigned char rest = how == FILL_LEAST ? 0 : 0xff;
    const unsigned char top = !is_signed ? rest : how == FILL_LEAST ? 0x80 : 0x7f;

    for (size_t i = 0; i < bytes; i++) {
        const bool is_top = i % size == (element_host_is_big() ? 0 : size - 1);

        a->data[i] = how == FILL_RANDOM ? (unsigned char)rng_next(rng) : is_top ? top : rest;
    }
}

/* Gives slices elements beyond all that come later, and clears them. */
static void use_before(struct cpu_slicer *z, struct cpu_slices *s, const struct array *a)
{
    static const unsigned char bytes[] = {0x80, 0x7f, 0, 0xff};
    const size_t rows = 2 * sizeof bytes, width = a->slices * element_size(a->type);
    unsigned char *x = allocate(rows * width);

    for (size_t i = 0; i < rows * width; i++)
        x[i] = bytes[(a->kind == CPU_SLICES_ROWS ? i : i / width) % sizeof bytes];
    if (a->kind == CPU_SLICES_ROWS)
        cpu_slicer_rows(z, s, 0, x, a->slices, rows, 0);
    else
        cpu_slicer_columns(z, s, 0, x, width, rows, a->slices, 0);
    cpu_slices_clear(s, a->slices);
    free(x);
}

/* Takes an array of integers in two parts, and compares with what is expected of each slice. */
static void check_integer_array(struct tap_family *family, const struct array *a,
                                const struct plain *all_expected, const struct cpu_kernels *kernels,
                                size_t cut)
{
    int64_t *extremes[2] = {allocate(a->slices * sizeof(int64_t)),
                            allocate(a->slices * sizeof(int64_t))};
    struct cpu_slicer z;
    struct cpu_slices s;

    if (!cpu_slicer_open(&z, kernels, a->type, a->wants, true, false, NULL, NULL) ||
        !cpu_slices_open(&s, a->kind, a->type, a->wants, true, a->slices))
        abort();
    use_before(&z, &s, a);
    if (cut > 0)
        take(&z, &s, a, 0, cut, cut % a->slices);
    take(&z, &s, a, cut, a->length, 0);
    for (int max = 0; max < 2 && a->wants & PARTIAL_EXTREMES; max++)
        cpu_slices_integer_extremes(&s, 0, a->slices, !max, extremes[max]);
    for (size_t i = 0; i < a->slices; i++) {
        const struct plain expected = all_expected[i];
        struct partial p;
        struct result got;
        bool good = true;

        cpu_slices_partial(&s, i, a->length, &p);
        partial_finish_type(&p, a->type, false, &got);
        if (a->wants & PARTIAL_SUM)
            good = is_integer(&got.sum_integer, expected.sum);
        if (a->wants & PARTIAL_EXTREMES)
            good = good && is_integer(&got.min_integer, expected.min) &&
                   is_integer(&got.max_integer, expected.max) && extremes[0][i] == expected.min &&
                   extremes[1][i] == expected.max;
        tap_case(family, good && !z.failed, "%s, %s, %s: slice %zu of %zu, %zu elements, wants %u",
                 kernels->name, element_name(a->type),
                 a->kind == CPU_SLICES_ROWS ? "rows" : "columns", i, a->slices, a->length,
                 a->wants);
    }
    cpu_slices_close(&s);
    cpu_slicer_close(&z);
    free(extremes[0]);
    free(extremes[1]);
}

/* Lengths and widths around those where kernels change their ways, and past those that fill an
   accumulator with the least and the greatest elements. */
static void check_integers(enum element_type type)
{
    static const unsigned wants[] = {PARTIAL_SUM, PARTIAL_EXTREMES, PARTIAL_SUM | PARTIAL_EXTREMES};
    static const struct {
        enum cpu_slices_kind kind;
        size_t slices, length;
    } shapes[] = {
        {CPU_SLICES_ROWS, 3, 127},
        {CPU_SLICES_ROWS, 300, 128},
        {CPU_SLICES_ROWS, 5, 1000},
        {CPU_SLICES_ROWS, 2, 255 * 64 + 70},
        {CPU_SLICES_ROWS, 1, (1 << 20) + 33},
        {CPU_SLICES_COLUMNS, 64, 1},
        {CPU_SLICES_COLUMNS, 63, 40},
        {CPU_SLICES_COLUMNS, 129, 47},
        {CPU_SLICES_COLUMNS, 1100, 33},
        {CPU_SLICES_COLUMNS, 2100, 10},
        {CPU_SLICES_COLUMNS, 32, (1 << 17) + 20},
    };
    struct tap_family family = {0};
    const size_t size = element_size(type);
    struct rng rng;

    rng_seed(&rng, 53 + (uint64_t)type);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes - SANITIZED;
         i++) { /* the last is large */
        struct array a = {.type = type,
                          .kind = shapes[i].kind,
                          .slices = shapes[i].slices,
                          .length = shapes[i].length};
        const size_t gap = a.kind == CPU_SLICES_COLUMNS ? 5 : 0;
        const size_t bytes = a.slices * a.length * size + (a.length - 1) * gap;
        struct plain *expected = allocate(a.slices * sizeof *expected);

        a.stride = a.slices * size + gap;
        a.block = allocate(bytes + 1);
        a.data = a.block + 1;
        for (int how = 0; how < FILLS; how++) {
            fill(&a, bytes, (enum fill)how, &rng);
            for (size_t j = 0; j < a.slices; j++)
                expected[j] = plain_of(&a, j);
            a.wants = wants[(i + (size_t)how) % (sizeof wants / sizeof *wants)];
            for (size_t k = 0; k < cpu_kernels_count; k++)
                if (cpu_kernels_all[k]->usable())
                    check_integer_array(&family, &a, expected, cpu_kernels_all[k],
                                        (size_t)rng_below(&rng, a.length));
        }
        free(expected);
        free(a.block);
    }
    tap_family_end(&family, "%s, sums and extremes", element_name(type));
}

/* Sums of columns of integers that one number does not hold; cleared, the columns have nothing of
   them. The same row comes each time. */
static void check_large_sums(void)
{
    enum { COLUMNS = 16, ROWS = (1 << 21) + 4097 };
    uint32_t x[COLUMNS];

    memset(x, 0xff, sizeof x);
    for (size_t k = 0; k < cpu_kernels_count; k++) {
        struct cpu_slices s;
        struct cpu_slicer z;
        double sum, rest;

        if (!cpu_kernels_all[k]->usable())
            continue;
        if (!cpu_slicer_open(&z, cpu_kernels_all[k], ELEMENT_U32, PARTIAL_SUM, true, false, NULL,
                             NULL) ||
            !cpu_slices_open(&s, CPU_SLICES_COLUMNS, ELEMENT_U32, PARTIAL_SUM, true, COLUMNS))
            abort();
        cpu_slicer_columns(&z, &s, 0, x, 0, ROWS, COLUMNS, 0);
        tap_ok(slice_sum(&s, 0, &sum, &rest) &&
                   (uint64_t)sum + (uint64_t)(int64_t)rest == (uint64_t)ROWS * UINT32_MAX &&
                   rest != 0,
               "%s: a sum of integers in two numbers", cpu_kernels_all[k]->name);
        cpu_slices_clear(&s, COLUMNS);
        cpu_slicer_columns(&z, &s, 0, x, 0, 1, COLUMNS, 0);
        tap_ok(slice_sum(&s, 0, &sum, &rest) && sum == UINT32_MAX && rest == 0,
               "%s: and nothing of it in the next one", cpu_kernels_all[k]->name);
        cpu_slices_close(&s);
        cpu_slicer_close(&z);
    }
}

int main(void)
{
    check_merge();
    for (int fast = 0; fast < 2; fast++) {
        check_records(CPU_SLICES_ROWS, fast);
        check_records(CPU_SLICES_COLUMNS, fast);
    }
    check_begin(CPU_SLICES_ROWS);
    check_begin(CPU_SLICES_COLUMNS);
    check_large_sums();
    check_bounds();
    for (int t = 0; t < ELEMENT_TYPES; t++)
        if (!element_is_integer((enum element_type)t) || element_size((enum element_type)t) > 4) {
            check_type((enum element_type)t, CPU_SLICES_ROWS);
            check_type((enum element_type)t, CPU_SLICES_COLUMNS);
            check_long_columns((enum element_type)t);
        }
    check_wide(ELEMENT_I64);
    check_wide(ELEMENT_U64);
    for (int t = 0; t < ELEMENT_TYPES; t++)
        if (element_is_integer((enum element_type)t) && element_size((enum element_type)t) <= 4)
            check_integers((enum element_type)t);
    return tap_done();
}
