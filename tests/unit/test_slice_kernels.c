/*
 * The GPU's kernels for slices by themselves: rows and columns of every type they take, in both
 * byte orders and any number of parts; sums and extremes, and records, which hold all else, with
 * missing elements and with thresholds. Their results for the parts of a slice must add up to the
 * oracle's, bit for bit; and no part of data that are easy to add up may be left.
 *
 * Built twice: run on the host, a thread at a time (lib/slice_emulated.cu), where nvcc is; and with
 * TEST_CUDA on a GPU, with more data; that skips where there is none.
 *
 * With `time [MIB]` as arguments the latter measures instead: rows and columns of data on the
 * device, beside the kernel that finds sum and extremes of all, which is `1`.
 *
 * From the environment: KERNELS_RUNS is how many random arrays of a type, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/difference.h"
#include "core/moments.h"
#include "core/order.h"
#include "core/quantile.h"
#include "cuda/array_launch.h"
#include "cuda/kernels.h"
#include "cuda/slice_launch.h"
#include "engine/engine.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/kernel_memory.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/tap.h"

#ifdef TEST_CUDA
#    include "lib/cuda_timing.h"
#    define ELEMENTS_MAX ((size_t)1 << 18)
#    define RUNS 300
#else
#    include "lib/tally_emulated.h"
#    define ELEMENTS_MAX ((size_t)40000)
#    define RUNS 120
#endif

#define BYTES_MAX (ELEMENTS_MAX * 8)
/* Bytes of results for parts, of which there are no more than elements: two doubles and two keys;
   or a record. */
#define FOUND_BYTES (ELEMENTS_MAX * 32)
#define RECORD_BYTES 160
#define RECORDS_BYTES (ELEMENTS_MAX * RECORD_BYTES)
/* So many bytes after records must stay as they are. */
#define BEHIND 4096

static struct rng rng;
static unsigned char *memory, *found;                      /* the kernels' */
static unsigned char *data, *swapped, *spaced, *come_back; /* the host's */
static struct missing missing;                             /* of records */
static struct partial_split split;

static size_t below(size_t bound)
{
    return (size_t)rng_below(&rng, bound);
}

static bool run_kernel(const struct cuda_slice_launch *launch)
{
#ifdef TEST_CUDA
    return kernel_ran(cuda_slices(launch, NULL));
#else
    emulated_slices(launch);
    return true;
#endif
}

/* The places of the results for `count` parts, from `base` on: arrays, one behind the other. */
static struct engine_found lay_out(unsigned char *base, enum element_type type, size_t count,
                                   bool low, bool extremes)
{
    const size_t key = element_size(type) == 8 ? 8 : 4;
    struct engine_found f = {.high = (double *)(void *)base};

    base += count * sizeof(double);
    f.low = low ? (double *)(void *)base : NULL;
    base += low ? count * sizeof(double) : 0;
    f.min = extremes ? base : NULL;
    f.max = extremes ? base + count * key : NULL;
    return f;
}

/* The value of a key, as struct engine_found has them. */
static double key_value(enum element_type type, const void *keys, size_t i)
{
    int64_t bits64;
    int32_t bits32;
    double wide;
    float narrow;

    if (element_size(type) == 8) {
        memcpy(&bits64, (const char *)keys + 8 * i, 8);
        bits64 = bits64 < 0 ? (int64_t)(~(uint64_t)bits64 ^ UINT64_C(1) << 63) : bits64;
        memcpy(&wide, &bits64, sizeof wide);
        return wide;
    }
    memcpy(&bits32, (const char *)keys + 4 * i, 4);
    bits32 = bits32 < 0 ? (int32_t)(~(uint32_t)bits32 ^ UINT32_C(1) << 31) : bits32;
    memcpy(&narrow, &bits32, sizeof narrow);
    return (double)narrow;
}

/* Whether all parts of a slice have been found. */
static bool is_found(const struct engine_found *f, size_t first, size_t step, size_t parts)
{
    for (size_t p = 0; p < parts; p++)
        if (isnan(f->high[first + p * step]))
            return false;
    return true;
}

/* The element number `at` of a slice. */
static const unsigned char *element_of(const struct cuda_slice_launch *l, size_t slice, size_t at)
{
    const size_t i = l->columns ? at * l->length + slice : slice * l->length + at;

    return data + i * element_size(l->type);
}

/* Compares what has been found of a slice. */
static void compare(struct tap_family *family, const struct cuda_slice_launch *l,
                    const struct engine_found *f, size_t slice, const char *what)
{
    const size_t size = element_size(l->type), count = l->columns ? l->rows : l->length;
    const size_t slices = l->columns ? l->length : l->rows;
    const size_t first = l->columns ? slice : slice * l->parts, step = l->columns ? slices : 1;
    unsigned char *elements = allocate(count * size);
    double min = INFINITY, max = -INFINITY;
    struct reference e;
    struct partial p;
    struct result got;
    bool finite = true;

    partial_clear(&p);
    for (size_t at = 0; at < count; at++) {
        memcpy(elements + at * size, element_of(l, slice, at), size);
        finite = finite && isfinite(element_load(l->type, elements + at * size));
    }
    reference_reduce(&e, l->type, elements, count, 0);
    if (is_found(f, first, step, l->parts)) {
        for (size_t i = first, part = 0; part < l->parts; part++, i += step) {
            exact_add(&p.sum, f->high[i]);
            if (f->low)
                exact_add(&p.sum, f->low[i]);
            if (f->min) {
                const double low = key_value(l->type, f->min, i);
                const double high = key_value(l->type, f->max, i);

                min = low < min || (low == min && signbit(low)) ? low : min;
                max = high > max || (high == max && !signbit(high)) ? high : max;
            }
        }
        p.count = count;
        partial_finish(&p, false, &got);
        tap_case(family, finite && oracle_same(got.sum, e.policy[0].sum),
                 "%s, %s: slice %zu of %zu, %zu elements, %zu parts: sum %a, not %a",
                 element_name(l->type), what, slice, slices, count, l->parts, got.sum,
                 e.policy[0].sum);
        if (f->min)
            tap_case(family, oracle_same(min, e.policy[0].min) && oracle_same(max, e.policy[0].max),
                     "%s, %s: slice %zu of %zu, %zu elements, %zu parts: %a to %a, not %a to %a",
                     element_name(l->type), what, slice, slices, count, l->parts, min, max,
                     e.policy[0].min, e.policy[0].max);
    }
    free(elements);
}

/* Whether every slice of such data adds up in two numbers, as long as they are finite. */
static bool is_easy(enum data_kind kind)
{
    return kind == DATA_UNIFORM || kind == DATA_RANGE20 || kind == DATA_INTEGERS ||
           kind == DATA_CONSTANT || kind == DATA_ZEROS || kind == DATA_NEGATIVE_ZERO;
}

/* Puts special elements into the data, and swaps it where the launch asks for that. */
static void prepare_data(const struct cuda_slice_launch *l, size_t specials)
{
    const size_t n = l->rows * l->length;

    for (size_t i = 0; i < specials; i++)
        data_put_special(l->type, data, below(n), (enum data_special)below(DATA_SPECIALS));
    if (l->swap)
        element_swap(swapped, data, n, element_size(l->type));
}

/* Brings the elements of a launch to its memory as its rows lie there, behind some that are none of it. */
static bool copy_rows_in(struct cuda_slice_launch *l)
{
    const size_t size = element_size(l->type), row = l->length * size, pitch = l->pitch * size;
    const bool roomy = l->rows * l->pitch + 16 <= ELEMENTS_MAX && l->part <= CUDA_SLICE_PART;
    const size_t off = roomy && below(4) == 0 ? below(16) * size : 0;

    memset(spaced, 0xff, off + l->rows * pitch);
    for (size_t i = 0; i < l->rows; i++)
        memcpy(spaced + off + i * pitch, (l->swap ? swapped : data) + i * row, row);
    l->data = memory + off;
    return copy_in(memory, spaced, off + l->rows * pitch);
}

/* Runs the kernel on the data, with room for what `f` lays out, `bytes` in all, which come back.
   False when that failed: it has been told. */
static bool run_on_data(struct tap_family *family, struct cuda_slice_launch *l,
                        const struct engine_found *f, size_t bytes, const char *what)
{
    l->high = f->high;
    l->low = f->low;
    l->min = f->min;
    l->max = f->max;
    l->more = f->more;
    memset(come_back, 0xa5, bytes);
    return tap_case(family,
                    copy_rows_in(l) && copy_in(found, come_back, bytes) && run_kernel(l) &&
                        copy_out(come_back, found, bytes),
                    "%s, %s", element_name(l->type), what);
}

static void check_array(struct tap_family *family, struct cuda_slice_launch *l, enum data_kind kind)
{
    const size_t size = element_size(l->type), n = l->rows * l->length;
    const size_t slices = l->columns ? l->length : l->rows, parts = slices * l->parts;
    const bool low = l->parts > 1 || below(2), extremes = below(3) > 0;
    struct engine_found f = lay_out(found, l->type, parts, low, extremes);
    size_t specials = below(4) ? 0 : 1 + below(9), left = 0;
    const unsigned char *end;
    char what[120];

    data_fill(kind, l->type, data, n, rng_next(&rng));
    prepare_data(l, specials);
    snprintf(what, sizeof what, "%s, %s of %zu x %zu%s%s", data_kind_name(kind),
             l->columns ? "columns" : "rows", l->rows, l->length, l->swap ? ", swapped" : "",
             low ? "" : ", rounded");
    if (!run_on_data(family, l, &f, FOUND_BYTES, what))
        return;
    f = lay_out(come_back, l->type, parts, low, extremes);
    /* The oracle takes its time. */
    for (size_t slice = 0; slice < slices; slice += 1 + (slices > 200 ? below(slices / 50) : 0))
        compare(family, l, &f, slice, what);
    for (size_t slice = 0; slice < slices; slice++)
        left +=
            !is_found(&f, l->columns ? slice : slice * l->parts, l->columns ? slices : 1, l->parts);
    tap_case(family, !is_easy(kind) || left <= specials, "%s, %s: %zu slices left",
             element_name(l->type), what, left);
    end = f.max   ? (unsigned char *)f.max + parts * (size == 8 ? 8 : 4)
          : f.low ? (unsigned char *)(f.low + parts)
                  : (unsigned char *)(f.high + parts);
    while (end < come_back + FOUND_BYTES && *end == 0xa5)
        end++;
    tap_case(family, end == come_back + FOUND_BYTES, "%s, %s: bytes behind all that is found",
             element_name(l->type), what);
}

/* A length, mostly short, or near the places where kernels change their ways. */
static size_t draw_length(void)
{
    static const size_t around[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};

    if (below(3) == 0)
        return 1 + below(40);
    if (below(3) == 0)
        return around[below(sizeof around / sizeof *around)];
    return around[below(sizeof around / sizeof *around)] - 2 + below(5);
}

/* Draws the shape and the parts of a launch. */
static void draw_shape(struct cuda_slice_launch *l)
{
    size_t most;

    l->length = draw_length();
    most = ELEMENTS_MAX / l->length;
    l->rows = below(4) ? draw_length() : 1 + below(most < 3000 ? most : 3000);
    l->rows = l->rows < most ? l->rows : most;
    l->parts = !l->columns   ? (l->length + l->part - 1) / l->part
               : below(3)    ? 1
               : below(2)    ? 1 + below(l->rows)
               : l->rows > 4 ? (1 + below(l->rows / 4)) * 4
                             : 1;
    if (!l->columns && below(3) == 0) {
        l->part = 16 + 16 * below(CUDA_SLICE_PART / 16);
        l->parts = (l->length + l->part - 1) / l->part;
    } else if (!l->columns && cuda_slices_have_long(l->type, l->wants, l->length) && below(2)) {
        l->length = (element_size(l->type) == 2 ? 8 : 4) * (1 + below(3000));
        most = ELEMENTS_MAX / l->length;
        l->rows = l->rows < most ? l->rows : most;
        l->part = CUDA_SLICE_LONG;
        l->parts = (l->length + l->part - 1) / l->part;
    }
    l->pitch = l->length;
    if (below(3) == 0)
        l->pitch += l->part <= CUDA_SLICE_PART && below(2) ? below(5) : 16 * below(4);
    if (l->rows * l->pitch > ELEMENTS_MAX)
        l->pitch = l->length;
}

static void check_type(enum element_type type, unsigned runs)
{
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        struct cuda_slice_launch l = {
            .type = type, .swap = below(4) == 0, .columns = below(2), .part = CUDA_SLICE_PART};

        draw_shape(&l);
        check_array(&family, &l, (enum data_kind)(run % DATA_KINDS));
    }
    tap_family_end(&family, "%s", element_name(type));
}

/*
 * Records.
 */

/* The place of an array of `count` numbers, after those before it; NULL if it is not wanted. */
static void *place(unsigned char **end, bool wanted, size_t count, size_t size)
{
    unsigned char *const at = *end;

    if (!wanted)
        return NULL;
    *end += count * size;
    return at;
}

/* Whether an element is missing. */
static bool is_missing(enum element_type type, const void *element)
{
    return missing_has(&missing, order_key(type, order_load(type, element)));
}

/* The places of the records of `count` parts, from `base` on; *end is after them. */
static struct engine_found lay_out_records(unsigned char *base, unsigned wants, size_t count,
                                           unsigned char **end)
{
    const bool extremes = wants & PARTIAL_EXTREMES, where = wants & PARTIAL_WHERE;
    const bool splits = wants & PARTIAL_SPLIT, absolute = splits || wants & PARTIAL_ABSOLUTE;
    const bool small = splits || wants & PARTIAL_SMALL;
    struct engine_found f = {.element_keys = true};

    *end = base;
    f.high = place(end, true, count, 8);
    f.low = place(end, wants & PARTIAL_SUM, count, 8);
    f.min = place(end, extremes, count, 8);
    f.max = place(end, extremes, count, 8);
    f.more.absolute = place(end, absolute, count, 8);
    f.more.absolute_low = place(end, absolute, count, 8);
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        f.more.squares[k] = place(end, wants & PARTIAL_SQUARES, count, 8);
    f.more.least = place(end, small, count, 8);
    f.more.below = place(end, splits, count, 8);
    f.more.min_index = place(end, where, count, 4);
    f.more.max_index = place(end, where, count, 4);
    f.more.zeros = place(end, small, count, 4);
    f.more.subnormal = place(end, small, count, 4);
    f.more.negative = place(end, splits || wants & PARTIAL_NEGATIVE, count, 4);
    f.more.missing = place(end, wants & PARTIAL_MISSING, count, 4);
    return f;
}

/* Adds the record of part i to a partial result. */
static void add_record(struct partial *p, const struct engine_found *f, size_t i)
{
    exact_add(&p->sum, f->high[i]);
    if (f->low)
        exact_add(&p->sum, f->low[i]);
    if (f->more.missing)
        p->missing += f->more.missing[i];
    if (f->min && ((const int64_t *)f->min)[i] <= ((const int64_t *)f->max)[i]) {
        partial_take_min(p, ((const int64_t *)f->min)[i],
                         f->more.min_index ? f->more.min_index[i] : PARTIAL_NO_INDEX);
        partial_take_max(p, ((const int64_t *)f->max)[i],
                         f->more.max_index ? f->more.max_index[i] : PARTIAL_NO_INDEX);
    }
    if (f->more.absolute) {
        exact_add(&p->absolute, f->more.absolute[i]);
        exact_add(&p->absolute, f->more.absolute_low[i]);
    }
    for (int k = 0; k < SLICE_SQUARES_MAX && f->more.squares[0]; k++)
        exact_wide_add(&p->squares, f->more.squares[k][i]);
    if (f->more.least) {
        if (f->more.least[i] < p->least_magnitude)
            p->least_magnitude = f->more.least[i];
        p->zeros += f->more.zeros[i];
        p->subnormal += f->more.subnormal[i];
    }
    if (f->more.negative)
        p->negative += f->more.negative[i];
    if (f->more.below && f->more.below[i] > p->below_key)
        p->below_key = f->more.below[i];
}

/* Compares what records say of a slice that has been found with the oracle's results, and, digit by
   digit, with its elements taken one by one, which test_moments compares with the oracle. */
static void compare_record(struct tap_family *family, const struct cuda_slice_launch *l,
                           const struct engine_found *f, size_t slice, const char *what)
{
    const size_t size = element_size(l->type), count = l->columns ? l->rows : l->length;
    const size_t slices = l->columns ? l->length : l->rows;
    const size_t first = l->columns ? slice : slice * l->parts, step = l->columns ? slices : 1;
    const struct moments_terms terms = {.ddof = below(2), .type = l->type};
    unsigned char *elements = allocate(count * size);
    struct partial one, p, sides;
    struct reference e;
    struct result got;
    const char *differs;
    size_t n = 0; /* elements that are not missing */

    partial_clear(&one);
    partial_clear(&p);
    partial_clear(&sides);
    for (size_t at = 0; at < count; at++) {
        unsigned char *const element = elements + n * size;

        memcpy(element, element_of(l, slice, at), size);
        if (is_missing(l->type, element)) {
            one.missing++;
            continue;
        }
        n++;
        partial_take_element(&one, l->type, element, at);
        moments_take_element(&one, l->type, element);
        if (l->wants & PARTIAL_SPLIT)
            partial_split_take(&sides, &split, l->type, element);
    }
    if (l->wants & PARTIAL_SPLIT)
        partial_split_put(&one, &sides);
    for (size_t part = 0; part < l->parts; part++)
        add_record(&p, f, first + part * step);
    p.count = count;
    partial_finish_type(&p, l->type, false, &got);
    reference_reduce(&e, l->type, elements, n, 0);
    e.policy[0].missing = one.missing;
    if (n < count) {
        e.policy[0].argmin = one.min_index;
        e.policy[0].argmax = one.max_index;
    }
    /* Elements that are no numbers count in neither of the two. */
    differs = result_difference(&got, &e.policy[0],
                                l->wants & (PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE));
    if (!differs)
        differs = reference_moments_differs(&p, &one, l->wants);
    if (!differs && p.missing != one.missing)
        differs = "missing elements";
    if (!differs && (l->wants & PARTIAL_SPLIT)) {
        differs = reference_moments_differs(&p, &one,
                                            PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE);
        if (!differs && p.below_key != one.below_key)
            differs = "the greatest below the threshold";
    }
    /* The oracle takes its time. */
    if (!differs && !(l->wants & PARTIAL_SPLIT) && reference_moments_is_known(l->type) &&
        count < 300 && below(100) == 0) {
        reference_moments(&e, l->type, elements, n, terms.ddof);
        e.policy[0].missing = one.missing;
        moments_finish(&p, &terms, &got);
        differs = moments_difference(&got, &e.policy[0], l->wants);
    }
    tap_case(family, !differs,
             "%s, %s: slice %zu of %zu, %zu elements, %zu parts, wants %u: %s\n%s\nexpected\n%s",
             element_name(l->type), what, slice, slices, count, l->parts, l->wants, differs,
             reference_show(&got), reference_show(&e.policy[0]));
    free(elements);
}

/* Elements of the types that data_fill does not know: bits of any kind. */
static void fill_bits(enum element_type type, unsigned kind, size_t n)
{
    const size_t size = element_size(type);
    const uint64_t sign = UINT64_C(1) << (8 * size - 1), constant = rng_next(&rng);

    for (size_t i = 0; i < n; i++) {
        const uint64_t any = rng_next(&rng);
        const uint64_t kinds[] = {
            any,
            constant,
            any % 7 - 3,
            any & UINT64_C(0xbbbbbbbbbbbbbbbb), /* finite */
            sign,                               /* the least integers */
            sign - 1,                           /* the greatest */
            any % 2 ? sign : sign - 1,
            UINT64_MAX, /* the greatest without a sign */
        };
        const uint64_t bits = kinds[kind % (sizeof kinds / sizeof *kinds)];

        for (size_t b = 0; b < size; b++)
            data[i * size + (element_host_is_big() ? size - 1 - b : b)] =
                (unsigned char)(bits >> 8 * b);
    }
}

/* The key of some element of the first n. */
static uint64_t draw_key(enum element_type type, size_t n)
{
    return order_key(type, order_load(type, data + below(n) * element_size(type)));
}

/* Draws missing values of the launch, or none, and a threshold, or none: elements mostly, and what
   is next to them. */
static void draw_meaning(struct cuda_slice_launch *l, size_t n)
{
    const uint64_t least = order_least(l->type), greatest = order_greatest(l->type);
    const unsigned moments = PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE;

    missing.count = 0;
    if (below(2)) {
        for (size_t i = 1 + below(3); i > 0; i--) {
            const uint64_t key = draw_key(l->type, n), other = draw_key(l->type, n);

            if (key < least || key > greatest)
                (void)missing_add(&missing, l->type, "nan");
            else if (below(4) || other < key || other > greatest)
                (void)missing_add_bits(&missing, l->type, order_bits(l->type, key));
            else
                (void)missing_add_range(&missing, key, other);
        }
        l->wants |= PARTIAL_MISSING;
        cuda_missing_set(&l->missing, l->type, &missing);
    }
    if (below(3) == 0 && (l->wants & moments)) {
        const uint64_t key = draw_key(l->type, n);

        split = (struct partial_split){.all_below = below(8) == 0,
                                       .first = key < least || key > greatest ? least : key};
        split.last_equal = split.first - 1 + below(2);
        l->wants = (l->wants & ~moments) | PARTIAL_SPLIT;
        l->split = cuda_slice_split(l->type, &split);
    }
}

/* Whether all elements of a slice are finite that are not missing. */
static bool slice_is_finite(const struct cuda_slice_launch *l, size_t slice)
{
    const size_t count = l->columns ? l->rows : l->length;
    unsigned char element[8];

    for (size_t at = 0; at < count; at++) {
        memcpy(element, element_of(l, slice, at), element_size(l->type));
        if (!isfinite(element_load(l->type, element)) && !is_missing(l->type, element))
            return false;
    }
    return true;
}

static void check_records_of(struct tap_family *family, struct cuda_slice_launch *l,
                             enum data_kind kind)
{
    const bool easy = !element_is_float(l->type) || is_easy(kind);
    const size_t n = l->rows * l->length;
    const size_t slices = l->columns ? l->length : l->rows, parts = slices * l->parts;
    const size_t specials = !element_is_float(l->type) || below(4) ? 0 : 1 + below(9);
    unsigned char *end;
    struct engine_found f;
    size_t left = 0, bytes;
    bool intact = true;
    char what[120];

    if (element_is_float(l->type))
        data_fill(kind, l->type, data, n, rng_next(&rng));
    else
        fill_bits(l->type, (unsigned)kind, n);
    prepare_data(l, specials);
    draw_meaning(l, n);
    f = lay_out_records(found, l->wants, parts, &end);
    bytes = (size_t)(end - found) + BEHIND;
    snprintf(what, sizeof what, "records of %s, %s of %zu x %zu%s", data_kind_name(kind),
             l->columns ? "columns" : "rows", l->rows, l->length, l->swap ? ", swapped" : "");
    if (!run_on_data(family, l, &f, bytes, what))
        return;
    f = lay_out_records(come_back, l->wants, parts, &end);
    for (size_t slice = 0; slice < slices; slice++) {
        const size_t first = l->columns ? slice : slice * l->parts;

        if (!is_found(&f, first, l->columns ? slices : 1, l->parts))
            left += easy && slice_is_finite(l, slice);
        else if (slices <= 200 || below(slices / 50) == 0)
            compare_record(family, l, &f, slice, what);
    }
    tap_case(family, left == 0, "%s, %s: %zu slices left", element_name(l->type), what, left);
    for (size_t i = 0; i < BEHIND; i++)
        intact = intact && end[i] == 0xa5;
    tap_case(family, intact, "%s, %s: bytes behind all that is found", element_name(l->type), what);
}

/* Squares of f64 at the ends of the range: a row for each exponent. Those of most are found, and
   none is wrong. */
static void check_square_range(void)
{
    enum { LENGTH = 16, BIAS = 1023, LOW = -500, HIGH = 514, FOUND_LOW = -485, FOUND_HIGH = 508 };
    struct tap_family family = {0};
    struct cuda_slice_launch l = {.type = ELEMENT_F64,
                                  .wants = PARTIAL_SUM | PARTIAL_SQUARES,
                                  .data = memory,
                                  .rows = HIGH - LOW + 1,
                                  .length = LENGTH,
                                  .pitch = LENGTH,
                                  .parts = 1,
                                  .part = CUDA_SLICE_PART};
    unsigned char *end;
    struct engine_found f = lay_out_records(found, l.wants, l.rows, &end);
    const size_t bytes = (size_t)(end - found);

    missing.count = 0;
    for (size_t i = 0; i < l.rows * LENGTH; i++)
        data_put_fields(ELEMENT_F64, data, i, below(2), (unsigned)(BIAS + LOW + (int)(i / LENGTH)),
                        rng_next(&rng) >> 12);
    l.high = f.high;
    l.low = f.low;
    l.more = f.more;
    tap_case(&family,
             copy_in(memory, data, l.rows * LENGTH * sizeof(double)) && run_kernel(&l) &&
                 copy_out(come_back, found, bytes),
             "running");
    f = lay_out_records(come_back, l.wants, l.rows, &end);
    for (size_t row = 0; row < l.rows; row++) {
        const int exponent = LOW + (int)row;

        if (is_found(&f, row, 1, 1))
            compare_record(&family, &l, &f, row, "squares");
        else
            tap_case(&family, exponent < FOUND_LOW || exponent > FOUND_HIGH,
                     "squares of numbers of 2^%d are left", exponent);
    }
    tap_family_end(&family, "f64, squares of every size");
}

static void check_records(enum element_type type, unsigned runs)
{
    static const unsigned all_wants[] = {
        PARTIAL_ALL,
        PARTIAL_SUM | PARTIAL_SQUARES, /* of most types no records, but slice_squares.cuh */
        PARTIAL_EXTREMES | PARTIAL_WHERE,
        PARTIAL_SMALL,
        PARTIAL_ABSOLUTE,
        PARTIAL_NEGATIVE,
        PARTIAL_SQUARES,
        PARTIAL_SUM | PARTIAL_SMALL | PARTIAL_NEGATIVE,
        PARTIAL_EXTREMES | PARTIAL_ABSOLUTE,
        /* Floats take no records for these, and other types none for the first. */
        PARTIAL_SUM,
        PARTIAL_SUM | PARTIAL_EXTREMES,
        PARTIAL_EXTREMES,
    };
    const size_t choices = sizeof all_wants / sizeof *all_wants - (element_is_float(type) ? 3 : 0);
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        struct cuda_slice_launch l = {
            .type = type, .swap = below(4) == 0, .columns = below(2), .part = CUDA_SLICE_PART};

        l.wants = !element_is_float(type) && below(4) == 0
                      ? PARTIAL_SUM
                      : all_wants[below(2) ? below(2) : below(choices)];
        draw_shape(&l);
        check_records_of(&family, &l, (enum data_kind)(run % DATA_KINDS));
    }
    tap_family_end(&family, "%s, records", element_name(type));
}

/*
 * Floats of a byte.
 */

/* The least positive value of a type is 2^-this. */
static int float8_scale(enum element_type type)
{
    return type == ELEMENT_F8E4M3 ? 9 : 16;
}

/* The value of a byte, in multiples of the least positive one. Returns whether it is finite: if not,
   *units is the sign of an infinity, or 0 for NaN. */
static bool float8_units(enum element_type type, unsigned char byte, int64_t *units)
{
    const int bits = type == ELEMENT_F8E4M3 ? 3 : 2, sign = byte & 0x80 ? -1 : 1;
    const int exponent = (byte & 0x7f) >> bits, mantissa = byte & ((1 << bits) - 1);
    const bool finite = type == ELEMENT_F8E4M3 ? (byte & 0x7f) < 0x7f : exponent < 31;

    *units = exponent == 0 ? mantissa : (int64_t)(mantissa + (1 << bits)) << (exponent - 1);
    if (!finite)
        *units = type == ELEMENT_F8E5M2 && mantissa == 0;
    *units *= sign;
    return finite;
}

/* The bits of the result of a slice by integers. */
static uint64_t float8_result(const struct cuda_slice_launch *l, size_t slice)
{
    const size_t count = l->columns ? l->rows : l->length;
    bool nan = false, positive = false, negative = false;
    int64_t sum = 0, units;
    double x;

    for (size_t at = 0; at < count; at++) {
        if (float8_units(l->type, *element_of(l, slice, at), &units)) {
            sum += units;
            continue;
        }
        nan = nan || units == 0;
        positive = positive || units > 0;
        negative = negative || units < 0;
    }
    if (nan || positive || negative)
        return l->wish.skip_nan              ? CUDA_SLICE_UNKNOWN
               : nan || positive == negative ? EXACT_NAN
                                             : exact_bits(positive ? INFINITY : -INFINITY);
    x = ldexp((double)sum, -float8_scale(l->type)); /* below 2^53 */
    return exact_bits(l->wish.op == CUDA_SLICE_MEAN ? x / (double)count : x);
}

/* A byte of data of some kind. */
static unsigned char float8_byte(enum element_type type, unsigned kind, size_t i)
{
    const unsigned char largest = type == ELEMENT_F8E4M3 ? 0x7e : 0x7b;
    const unsigned char any = (unsigned char)below(256);

    switch (kind) {
    case 0:
        return (unsigned char)i; /* all that there are */
    case 1:
        return any;
    case 2:
        return (any & 0x7f) > largest ? largest : any; /* finite */
    case 3:
        return below(99) ? any & 0x83 : (unsigned char)(0x7c | (any & 0x80)); /* a few infinities */
    case 4:
        return 0x80; /* -0 */
    case 5:
        return i % 50 ? largest : 1;
    case 6:
        return largest | 0x80;
    default:
        return (unsigned char)(any & 0x87); /* subnormal, or near that */
    }
}

/* Results that are not known are those that are listed, each once. */
static void check_list(struct tap_family *family, const struct cuda_slice_launch *l, size_t slices)
{
    const uint64_t *const bits = (const uint64_t *)(const void *)come_back;
    const uint64_t *const list = bits + slices;
    size_t unknown = 0, listed = 0;

    for (size_t i = 0; i < slices; i++)
        unknown += bits[i] == CUDA_SLICE_UNKNOWN;
    for (size_t i = 0; i < slices; i++)
        for (size_t k = 1; k <= list[0] && bits[i] == CUDA_SLICE_UNKNOWN; k++)
            listed += list[k] == l->first + i;
    tap_case(family, list[0] == unknown && listed == unknown,
             "%s: %zu of %zu unknown results listed", element_name(l->type), listed, unknown);
}

static void check_float8(enum element_type type)
{
    enum { KINDS = 8 };
    static const size_t lengths[] = {128, 255, 256, 512, 640, 1008, 1023, 1024, 1025, 2048, 9984};
    const size_t shapes = 100 + sizeof lengths / sizeof *lengths;
    struct tap_family family = {0};

    for (size_t i = 0; i < 2 * shapes * KINDS; i++) {
        const size_t shape = i / 2 / KINDS, count = shape < 100 ? shape + 1 : lengths[shape - 100];
        const size_t slices = 1 + below(count > 1025 ? 4 : below(2) ? 12 : 39);
        struct cuda_slice_launch l = {.type = type,
                                      .columns = i % 2,
                                      .data = memory,
                                      .rows = i % 2 ? count : slices,
                                      .length = i % 2 ? slices : count,
                                      .pitch = i % 2 ? slices : count,
                                      .part = CUDA_SLICE_PART,
                                      .wants = PARTIAL_SUM,
                                      .wish = {.op = below(3) ? CUDA_SLICE_SUM : CUDA_SLICE_MEAN,
                                               .letter = 'f',
                                               .skip_nan = below(4) == 0,
                                               .count = count}};
        double *const sums = (double *)(void *)come_back;
        size_t bytes;

        l.parts = l.columns ? 1 : (count + l.part - 1) / l.part;
        bytes = slices * l.parts * sizeof *sums;
        if (l.parts > 1) {
            l.wish.op = CUDA_SLICE_SUM;
            l.high = (double *)(void *)found;
            l.low = l.high + slices * l.parts;
        } else {
            l.results = (uint64_t *)(void *)found;
            l.unknown = (struct cuda_list){.found = l.results + slices, .room = slices};
            l.first = 1000;
            bytes = slices * sizeof *sums;
        }
        memset(come_back, 0, 2 * bytes + sizeof *sums);
        for (size_t k = 0; k < slices * count; k++)
            data[k] = float8_byte(type, (unsigned)(i / 2 % KINDS), k);
        if (!tap_case(&family,
                      copy_in(memory, data, slices * count) &&
                          copy_in(found, come_back, 2 * bytes + sizeof *sums) && run_kernel(&l) &&
                          copy_out(come_back, found, 2 * bytes + sizeof *sums),
                      "running"))
            return;
        if (l.results)
            check_list(&family, &l, slices);
        for (size_t slice = 0; slice < slices; slice++) {
            const uint64_t expected = float8_result(&l, slice);
            double sum = 0, low = 0;

            for (size_t part = slice * l.parts; part < (slice + 1) * l.parts; part++) {
                sum += sums[part];
                low += l.high ? sums[slices * l.parts + part] : 0;
            }
            tap_case(&family,
                     !l.high ? exact_bits(sums[slice]) == expected
                     : isfinite(exact_from_bits(expected))
                         ? low == 0 && sum == exact_from_bits(expected)
                         : isnan(sum),
                     "kind %zu, %s, slice %zu of %zu, %zu elements: %a, not %a", i / 2 % KINDS,
                     l.columns ? "columns" : "rows", slice, slices, count, sum,
                     exact_from_bits(expected));
        }
    }
    tap_family_end(&family, "%s, results", element_name(type));
}

/* Compares what a launch has found of a slice in its parts: the sum of its squares is off by no more than the
   bound, if it has any. */
static void compare_parts(struct tap_family *family, const struct cuda_slice_launch *l,
                          size_t slice, const unsigned char *elements, const char *what)
{
    const double *const words = (const double *)(const void *)come_back;
    const size_t slices = l->columns ? l->length : l->rows, all = slices * l->parts;
    double sum[2] = {0, 0}, squares[SLICE_SQUARES_MAX] = {0}, bound = 0;
    struct slice_terms sums = {{0}, false}, rest = {{0}, false};

    if (!reference_sums(l->type, elements, (size_t)l->wish.count, sum, squares, SLICE_SQUARES_MAX))
        return;
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        rest.left = !slice_terms_add(rest.term, SLICE_TERMS, squares[k]) || rest.left;
    for (size_t part = 0; part < l->parts; part++) {
        const size_t i = l->columns ? part * slices + slice : slice * l->parts + part;

        if (!isfinite(words[i]))
            return;
        for (size_t array = 0; array < 2 + SLICE_SQUARES_MAX; array++) {
            struct slice_terms *const t = array < 2 ? &sums : &rest;

            t->left = !slice_terms_add(t->term, SLICE_TERMS, -words[array * all + i]) || t->left;
        }
        bound += l->bound ? words[(2 + SLICE_SQUARES_MAX) * all + i] : 0;
    }
    sums.left = !slice_terms_add(sums.term, SLICE_TERMS, sum[0]) ||
                !slice_terms_add(sums.term, SLICE_TERMS, sum[1]) || sums.left;
    for (int time = 0; time < SLICE_TERMS; time++) {
        slice_terms_settle(&sums);
        slice_terms_settle(&rest);
    }
    tap_case(family, sums.left || slice_terms_bound(&sums, 0) == 0, "%s: the sum is another one",
             what);
    tap_case(family, rest.left || slice_terms_bound(&rest, 0) <= bound,
             "%s: squares are off by %g, not at most %g", what, slice_terms_bound(&rest, 0), bound);
}

/* Fills data with numbers of any type. Integers are any, have few bits, are all alike, or are the least and
   the greatest of their type. Returns whether variances of them are easy to know. */
static bool fill_any(enum element_type type, enum data_kind kind, size_t n)
{
    const size_t size = element_size(type), some = below(size), pattern = below(4);
    static const unsigned char ends[][2] = {{0, 0}, {255, 255}, {0, 128}, {255, 127}};

    if (element_is_float(type) && size > 1) {
        data_fill(kind, type, data, n, rng_next(&rng));
        return kind == DATA_UNIFORM || kind == DATA_NORMAL;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char *const x = data + i * size;
        const unsigned char *const end = ends[below(4)], sign = below(2) ? 255 : 0;

        for (size_t k = 0; k < size; k++)
            x[k] = (unsigned char)below(size > 1 || pattern == 0 ? 256 : 0x78);
        if (pattern == 1)
            memset(x + size - some, sign, some);
        else if (pattern == 2 && element_is_integer(type)) {
            memset(x, end[0], size);
            x[size - 1] = end[1];
        } else if (pattern == 3)
            memcpy(x, data, size);
    }
    return pattern < 2 || size < 8;
}

/* The result of a slice of a launch: as kernels put it, or of what they found of its parts. */
static uint64_t result_of(const struct cuda_slice_launch *l, size_t slice)
{
    const size_t slices = l->columns ? l->length : l->rows, all = slices * l->parts;
    const struct cuda_merge merge = {.parts = l->parts, .width = l->columns ? slices : 0};
    double *const words = (double *)(void *)come_back;
    struct cuda_slice_parts parts = {.high = words, .low = words + all};
    struct cuda_slice_state state;
    uint64_t bits;

    if (l->results)
        return exact_bits(words[slice]);
    for (size_t k = 0; k < SLICE_SQUARES_MAX; k++)
        parts.squares[k] = words + (2 + k) * all;
    parts.bound = l->bound ? words + (2 + SLICE_SQUARES_MAX) * all : NULL;
    cuda_slice_clear(&state);
    for (size_t part = 0; part < l->parts; part++)
        cuda_parts_take(&parts, cuda_merge_at(&merge, slice, part), &state);
    (void)cuda_slice_result(&l->wish, &state, &bits);
    return bits;
}

/* Squares of every type but bool, without records: results are right, and nearly all of easy data known. */
static void check_squares(unsigned runs)
{
    struct tap_family family = {0};
    size_t easy = 0, unknown = 0;

    for (unsigned run = 0; run < runs; run++) {
        const enum element_type type =
            run % 3 ? (enum element_type)(run / 3 % ELEMENT_TYPES) : ELEMENT_F64;
        const size_t size = element_size(type);
        unsigned char *elements;
        struct cuda_slice_launch l = {
            .type = type,
            .swap = below(4) == 0,
            .columns = below(2),
            .part = CUDA_SLICE_PART,
            .wants = PARTIAL_SUM | PARTIAL_SQUARES,
            .data = memory,
            .rounded = size == 8,
            .wish = {.op = (enum cuda_slice_op)(CUDA_SLICE_VAR + below(5)),
                     .letter = 'f',
                     .skip_nan = below(2),
                     .ddof = below(3)}};
        const struct moments_terms terms = {
            .skip_nan = l.wish.skip_nan, .ddof = l.wish.ddof, .type = type};
        double *place = (double *)(void *)found;
        const bool few_bits = type == ELEMENT_F64 && below(3) == 0; /* of elements */
        size_t slices, all, n;
        bool is_easy_data;
        char what[128];

        if (type == ELEMENT_BOOL)
            continue;
        draw_shape(&l);
        n = l.rows * l.length;
        slices = l.columns ? l.length : l.rows;
        all = slices * l.parts;
        l.wish.count = l.columns ? l.rows : l.length;
        cuda_slice_wish_count(&l.wish);
        if (l.parts == 1 && below(4)) {
            l.results = (uint64_t *)(void *)found;
            l.unknown = (struct cuda_list){.found = l.results + slices, .room = slices};
        } else {
            l.high = place;
            l.low = place += all;
            for (int k = 0; k < SLICE_SQUARES_MAX; k++)
                l.more.squares[k] = place += all;
            l.bound = size == 8 ? place + all : NULL;
        }
        is_easy_data = fill_any(type, (enum data_kind)below(DATA_KINDS), n) && l.wish.count > 2;
        for (size_t i = 0; i < n && few_bits; i++)
            data_put(type, data, i, (below(2) ? 0x1p-12 : -0x1p-12) * (double)below(1 << 24));
        if (l.swap)
            element_swap(swapped, data, n, size);
        memset(come_back, 0, (all + 1) * 8 * sizeof(double));
        if (!tap_case(
                &family,
                copy_rows_in(&l) && copy_in(found, come_back, (all + 1) * 8 * sizeof(double)) &&
                    run_kernel(&l) && copy_out(come_back, found, (all + 1) * 8 * sizeof(double)),
                "running"))
            return;
        snprintf(what, sizeof what, "%s, %s of %zu x %zu in %zu parts", element_name(type),
                 l.columns ? "columns" : "rows", l.rows, l.length, l.parts);
        elements = allocate((size_t)l.wish.count * size);
        if (l.results)
            check_list(&family, &l, slices);
        for (size_t slice = 0; slice < slices; slice += 1 + slices / 100) {
            const uint64_t bits = result_of(&l, slice);
            struct partial p;
            struct result r;

            partial_clear(&p);
            for (size_t at = 0; at < l.wish.count; at++) {
                memcpy(elements + at * size, element_of(&l, slice, at), size);
                partial_take_element(&p, type, elements + at * size, at);
                moments_take_element(&p, type, elements + at * size);
            }
            partial_finish(&p, l.wish.skip_nan, &r);
            moments_finish(&p, &terms, &r);
            const double wanted[] = {r.var, r.std, r.sumsq, r.l2, r.rms};

            if (!l.results)
                compare_parts(&family, &l, slice, elements, what);
            if (is_easy_data && p.nan + p.positive_infinity + p.negative_infinity == 0) {
                easy++;
                unknown += bits == CUDA_SLICE_UNKNOWN;
            }
            /* The squares of few bits add up exactly, so that ties are known. */
            tap_case(&family,
                     (bits == CUDA_SLICE_UNKNOWN && !(few_bits && l.wish.op == CUDA_SLICE_SUMSQ)) ||
                         bits == exact_bits(wanted[l.wish.op - CUDA_SLICE_VAR]),
                     "%s: operation %d: %a, not %a", what, (int)l.wish.op, exact_from_bits(bits),
                     wanted[l.wish.op - CUDA_SLICE_VAR]);
        }
        free(elements);
    }
    tap_case(&family, easy > 0 && unknown <= easy / 100, "%zu of %zu results are not known",
             unknown, easy);
    tap_family_end(&family, "squares without records");
}

/*
 * Results.
 */

/* Makes a few elements what is known of a slice, and their partial result. False if that takes more
   than a slice has room for. */
static bool take_slice(enum element_type type, size_t n, struct cuda_slice_state *s,
                       struct partial *p)
{
    double sum[2] = {0, 0};
    bool good;

    cuda_slice_clear(s);
    good = reference_sums(type, data, n, sum, s->squares, SLICE_SQUARES_MAX);
    partial_clear(p);
    reference_take(p, type, data, n, 0);
    p->count = n;
    s->sum.high = sum[0];
    s->sum.low = sum[1];
    s->min = p->min_key;
    s->max = p->max_key;
    return good;
}

/* Means, variances and their roots of what is known of slices are those of partial results, which
   test_partial and test_moments compare with the oracle; and of data that are easy to add up all are
   known, however they are rounded. Roots that lie in the middle between two numbers are not: that of
   two numbers of f64 is half their difference, which may have 54 bits. */
static void check_results(unsigned runs)
{
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        const enum element_type type = run % 2 ? ELEMENT_F32 : ELEMENT_F64;
        const enum data_kind kind = (enum data_kind)(run / 2 % DATA_KINDS);
        const size_t n = 1 + below(below(2) ? 8 : 100);
        const struct moments_terms terms = {.ddof = below(3), .type = type};
        struct cuda_slice_wish wish = {.letter = 'f', .count = n, .ddof = terms.ddof};
        struct cuda_slice_state s;
        struct partial p;
        struct result r;

        data_fill(kind, type, data, n, rng_next(&rng));
        /* Few bits, so that many results lie between two numbers. */
        for (size_t i = 0; i < n && run % 4 == 1; i++)
            data_put(type, data, i, (double)below(1 << (run % 11)) * 0x1p-20);
        if (!take_slice(type, n, &s, &p))
            continue;
        partial_finish(&p, false, &r);
        moments_finish(&p, &terms, &r);
        for (int op = CUDA_SLICE_SUM; op <= CUDA_SLICE_RMS; op++) {
            const double all[] = {r.sum, r.mean, r.min, r.max, r.var, r.std, r.sumsq, r.l2, r.rms};
            uint64_t bits;
            bool known;

            wish.op = (enum cuda_slice_op)op;
            known = cuda_slice_result(&wish, &s, &bits);
            tap_case(&family,
                     known ? bits == exact_bits(all[op])
                           : bits == CUDA_SLICE_UNKNOWN && (!is_easy(kind) || type == ELEMENT_F64),
                     "%s, %s: operation %d of %zu elements: %a, not %a", element_name(type),
                     data_kind_name(kind), op, n, exact_from_bits(bits), all[op]);
        }
    }
    tap_family_end(&family, "results of slices");
}

/* Lays a job's slices out, `off` bytes from the beginning of memory, and its results and its list. */
static void lay_out_job(struct cuda_slice_job *l, bool columns, size_t off)
{
    const size_t size = element_size(l->type), length = (size_t)l->length, slices = (size_t)l->all;

    l->slices.data = memory + off;
    l->slices.rank = 1;
    l->slices.sizes[0] = slices;
    l->slices.strides[0] = (int64_t)(columns ? size : length * size);
    l->step = (int64_t)(columns ? slices * size : size);
    l->results = (uint64_t *)(void *)found;
    l->list.found = l->results + slices;
}

/* Takes a slice of a job, whose elements lie in `data`, one by one. Unless it is NULL, `keys` become those of
   its numbers. Returns how many these are. */
static size_t take_slice_of_job(const struct cuda_slice_job *l, bool columns, size_t slice,
                                struct partial *p, uint64_t *keys)
{
    const size_t length = (size_t)l->length, slices = (size_t)l->all;
    size_t kept = 0;

    partial_clear(p);
    for (size_t at = 0; at < length; at++) {
        const unsigned char *const element =
            data + (columns ? at * slices + slice : slice * length + at) * element_size(l->type);

        if (l->missing.count > 0 && is_missing(l->type, element)) {
            p->missing++;
            p->count++;
            continue;
        }
        partial_take_element(p, l->type, element, at);
        moments_take_element(p, l->type, element);
        if (keys && !isnan(element_load(l->type, element)))
            keys[kept++] = order_key(l->type, order_load(l->type, element));
    }
    return kept;
}

static bool run_again(const struct cuda_slice_job *launch, bool exact)
{
#ifdef TEST_CUDA
    return kernel_ran(exact ? cuda_slices_exact(launch, NULL) : cuda_slices_whole(launch, NULL));
#else
    if (exact)
        emulated_slices_exact(launch);
    else
        emulated_slices_whole(launch);
    return true;
#endif
}

/* Finds some slices of data again, and compares their results with those of elements taken one by
   one. The others must stay as they are, and sums be zero afterwards. */
static void check_again_of(struct tap_family *family, struct cuda_slice_job *l, bool exact,
                           enum data_kind kind, size_t count, bool columns)
{
    const size_t size = element_size(l->type), length = (size_t)l->length, off = below(8);
    const size_t slices = (size_t)l->all, words = slices + 1 + count;
    const size_t bytes = (words + 1) * sizeof(uint64_t) + l->sum_count * sizeof *l->sums;
    uint64_t *const numbers = (uint64_t *)(void *)come_back;
    const struct moments_terms terms = {
        .skip_nan = l->wish.skip_nan, .ddof = l->wish.ddof, .type = l->type};

    lay_out_job(l, columns, off);
    l->done = (void *)(l->results + words);
    l->sums = (void *)(l->results + words + 1);
    memset(come_back, 0, bytes);
    memset(numbers, 0xa5, slices * sizeof *numbers);
    numbers[slices] = count;
    for (size_t i = 0; i < count; i++) {
        numbers[slices + 1 + i] = i * slices / count;
        numbers[i * slices / count] = CUDA_SLICE_UNKNOWN;
    }
    if (!tap_case(family,
                  copy_in(memory + off, l->swap ? swapped : data, slices * length * size) &&
                      copy_in(found, come_back, bytes) && run_again(l, exact) &&
                      copy_out(come_back, found, bytes),
                  "running"))
        return;
    for (size_t i = words; i < bytes / sizeof *numbers; i++)
        tap_case(family, numbers[i] == 0, "the sums are not zero afterwards");
    tap_case(family, !exact || numbers[slices] == 0, "the list is not empty afterwards");
    for (size_t slice = 0, i = 0; slice < slices; slice++) {
        const bool listed = i < count && numbers[slices + 1 + i] == slice;
        const uint64_t bits = numbers[slice];
        struct partial p;
        struct result r;

        i += listed;
        (void)take_slice_of_job(l, columns, slice, &p, NULL);
        partial_finish(&p, l->wish.skip_nan, &r);
        moments_finish(&p, &terms, &r);
        const double all[] = {r.sum, r.mean,  r.min, r.max, r.var,
                              r.std, r.sumsq, r.l2,  r.rms, r.l1};
        const double wanted = p.missing == length ? (double)NAN : all[l->wish.op];

        tap_case(family,
                 !listed                      ? bits == UINT64_C(0xa5a5a5a5a5a5a5a5)
                 : bits == CUDA_SLICE_UNKNOWN ? !exact && !is_easy(kind)
                                              : bits == exact_bits(wanted),
                 "%s, %s: operation %d of %zu elements: %a, not %a", element_name(l->type),
                 data_kind_name(kind), (int)l->wish.op, length, exact_from_bits(bits), wanted);
    }
}

/* An operation of slices that are found again; `exact`: by superaccumulators, too; or of integers. */
static enum cuda_slice_op draw_sum(bool exact, bool integers)
{
    static const enum cuda_slice_op ops[] = {
        CUDA_SLICE_SUM, CUDA_SLICE_MEAN, CUDA_SLICE_MIN, CUDA_SLICE_MAX,   CUDA_SLICE_L1,
        CUDA_SLICE_VAR, CUDA_SLICE_STD,  CUDA_SLICE_L2,  CUDA_SLICE_SUMSQ, CUDA_SLICE_RMS};

    return integers ? ops[5 + below(5)] : ops[below(exact ? 5 : sizeof ops / sizeof *ops)];
}

static void check_again(unsigned runs)
{
    static const enum element_type types[] = {ELEMENT_F32,  ELEMENT_F64,    ELEMENT_F16,
                                              ELEMENT_BF16, ELEMENT_F8E4M3, ELEMENT_F8E5M2,
                                              ELEMENT_I64,  ELEMENT_U64};
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        const enum element_type type = types[run % 8];
        const enum data_kind kind = (enum data_kind)(run / 8 % DATA_KINDS);
        const bool integers = element_is_integer(type);
        const size_t length = 1 + below(below(2) ? 40 : 700);
        const size_t slices = 1 + below(length <= 40 && below(4) == 0 ? 900 : 9);
        const size_t all = slices * length;
        const bool exact = !integers && below(2);
        const size_t count = 1 + below(slices);
        struct cuda_slice_job l = {.type = type,
                                   .swap = below(4) == 0,
                                   .length = length,
                                   .all = slices,
                                   .list.room = below(3) ? count : count - 1,
                                   .along = below(2),
                                   .blocks = 1 + (unsigned)below(3),
                                   .whole = below(2),
                                   .segment = 1 + below(300),
                                   .sum_count = below(2) ? slices : count - 1,
                                   .wish = {.op = draw_sum(exact, integers),
                                            .letter = 'f',
                                            .skip_nan = below(2),
                                            .count = length,
                                            .ddof = below(3)}};

        (void)fill_any(type, kind, all);
        for (size_t i = below(3) ? 0 : below(2 * slices) + 1;
             i > 0 && element_size(type) > 1 && !integers; i--)
            data_put_special(type, data, below(all), (enum data_special)below(DATA_SPECIALS));
        if (below(3) == 0) {
            missing.count = 0;
            (void)missing_add(&missing, type, below(2) && !integers ? "nan" : "0");
            cuda_missing_set(&l.missing, type, &missing);
        }
        if (l.swap)
            element_swap(swapped, data, all, element_size(type));
        /* The roots of few integers of 64 bits may lie in the middle between two numbers. */
        check_again_of(&family, &l, exact,
                       element_size(type) == 1    ? DATA_UNIFORM
                       : integers && length > 100 ? DATA_UNIFORM
                       : integers                 ? DATA_CANCEL
                                                  : kind,
                       count, below(2));
    }
    tap_family_end(&family, "slices that are found again");
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The bits of a quantile of numbers with these keys, which are sorted. */
static uint64_t expected_quantile(const struct cuda_slice_job *l, uint64_t *keys, size_t count,
                                  bool nan)
{
    const struct quantile *q = &l->wish.quantile;
    const struct scale none = {.given = false};
    struct quantile_place place;

    if (count == 0 || nan)
        return EXACT_NAN;
    qsort(keys, count, sizeof *keys, compare_keys);
    place = quantile_place(q, count);
    return exact_bits(quantile_between(l->type, &none, keys[place.rank],
                                       keys[place.rank + (place.fraction > 0)], place.fraction,
                                       q->denominator));
}

/* The bits of the result of a slice, from its partial result. */
static uint64_t expected_look(const struct cuda_slice_job *l, const struct partial *p)
{
    const struct moments_terms terms = {.skip_nan = l->wish.skip_nan, .type = l->type};
    const bool whole = element_is_integer(l->type);
    struct result r;

    partial_finish(p, l->wish.skip_nan, &r);
    moments_finish(p, &terms, &r);
    const uint64_t integers[] = {[CUDA_SLICE_ARGMIN] = r.argmin,
                                 [CUDA_SLICE_ARGMAX] = r.argmax,
                                 [CUDA_SLICE_COUNT] = r.count,
                                 [CUDA_SLICE_MISSING] = r.missing,
                                 [CUDA_SLICE_NAN] = r.nan,
                                 [CUDA_SLICE_INF] = r.infinity,
                                 [CUDA_SLICE_ZEROS] = r.zeros,
                                 [CUDA_SLICE_NEGATIVES] = r.negatives,
                                 [CUDA_SLICE_SUBNORMALS] = r.subnormals};

    if (l->wish.op != CUDA_SLICE_ABSMIN && l->wish.op != CUDA_SLICE_ABSMAX &&
        l->wish.op != CUDA_SLICE_RANGE)
        return integers[l->wish.op];
    if (whole && partial_numbers(p) == 0)
        return l->wish.has_none ? l->wish.none : CUDA_SLICE_UNKNOWN;
    if (l->wish.op == CUDA_SLICE_ABSMIN)
        return whole ? r.absmin_integer.low : exact_bits(r.absmin);
    if (l->wish.op == CUDA_SLICE_ABSMAX)
        return whole ? r.absmax_integer.low : exact_bits(r.absmax);
    return whole ? r.range_integer.low : exact_bits(r.range);
}

static bool run_job(const struct cuda_slice_job *launch)
{
    const bool select = launch->wish.op == CUDA_SLICE_QUANTILE;

#ifdef TEST_CUDA
    return kernel_ran(select ? cuda_slices_select(launch, NULL) : cuda_slices_look(launch, NULL));
#else
    if (select)
        emulated_slices_select(launch);
    else
        emulated_slices_look(launch);
    return true;
#endif
}

/* Finds the results of all slices, and compares them with those of elements taken one by one. */
static void check_job_of(struct tap_family *family, struct cuda_slice_job *l, bool columns,
                         size_t off, bool easy)
{
    const size_t size = element_size(l->type), length = (size_t)l->length;
    const size_t slices = (size_t)l->all, words = 2 * slices + 1;
    const bool select = l->wish.op == CUDA_SLICE_QUANTILE;
    uint64_t *const numbers = (uint64_t *)(void *)come_back, *const keys = allocate(length * 8);
    size_t unknown = 0;

    lay_out_job(l, columns, off);
    l->list.room = slices;
    l->states = l->results + words;
    memset(come_back, 0, words * sizeof *numbers);
    if (!tap_case(family,
                  copy_in(memory + off, l->swap ? swapped : data, slices * length * size) &&
                      copy_in(found, come_back, words * sizeof *numbers) && run_job(l) &&
                      copy_out(come_back, found, words * sizeof *numbers),
                  "running"))
        return;
    for (size_t slice = 0; slice < slices; slice++) {
        uint64_t expected, bits = numbers[slice];
        struct partial p;
        size_t kept;

        kept = take_slice_of_job(l, columns, slice, &p, keys);
        expected = select ? expected_quantile(l, keys, kept, p.nan > 0 && !l->wish.skip_nan)
                          : expected_look(l, &p);
        unknown += bits == CUDA_SLICE_UNKNOWN && (select || bits == expected) &&
                   (select || element_is_integer(l->type)) && l->wish.op != CUDA_SLICE_ARGMIN &&
                   l->wish.op != CUDA_SLICE_ARGMAX;
        tap_case(family, bits == expected || (select && bits == CUDA_SLICE_UNKNOWN && !easy),
                 "%s, operation %d of %zu elements, slice %zu of %zu, %u lanes, %u parts: "
                 "%" PRIx64 ", not %" PRIx64,
                 element_name(l->type), (int)l->wish.op, length, slice, slices, l->lanes, l->parts,
                 bits, expected);
    }
    tap_case(family, numbers[slices] == unknown, "%" PRIu64 " are listed, not %zu", numbers[slices],
             unknown);
    free(keys);
}

/* Shared memory that every device has for a block, and that of quantiles: some is needed besides. */
#define SHARED_BYTES ((size_t)63 << 10)
#define SELECT_BYTES ((size_t)60000)

/* Shapes a job in one of the ways that it may have; `row`: its slices are rows that are aligned. */
static void draw_job(struct cuda_slice_job *l, bool row)
{
    const bool few = l->length <= 32 && below(2);

    l->along = below(2);
    l->row = row;
    l->blocks = 1 + (unsigned)below(3);
    if (l->wish.op != CUDA_SLICE_QUANTILE) {
        l->lanes = 1u << below(9);
        l->part = 1 + (uint32_t)below((size_t)l->length);
        if (l->row)
            l->part += -l->part % 16;
        l->parts = (uint32_t)((l->length + l->part - 1) / l->part);
        if ((size_t)l->all * l->parts * CUDA_LOOK_STATE > FOUND_BYTES)
            l->parts = 1;
        return;
    }
    l->place = quantile_place(&l->wish.quantile, l->length);
    l->shared = SHARED_BYTES;
    l->pitch = (unsigned)l->length + (unsigned)below(3);
    l->across = few ? CUDA_SELECT_SLICES : 2u << below(5);
    l->few = few;
    while (few && l->few < l->length)
        l->few *= 2;
    while (few && cuda_select_bytes(l) > SELECT_BYTES)
        l->across /= 2;
    if (!few && (cuda_select_bytes(l) > SELECT_BYTES || below(3) == 0))
        l->across = 1;
    if (!few && (cuda_select_bytes(l) > SELECT_BYTES || l->length > 2000 || below(3) == 0)) {
        l->pitch = 0;
        l->across = 1u << below(4);
        while (cuda_select_bytes(l) > SELECT_BYTES)
            l->across /= 2;
    }
    l->lanes = !l->along || l->pitch == 0 || l->across == 1 ? CUDA_SELECT_THREADS / l->across
               : few                                        ? l->few
                                                            : 32;
}

/* Makes all but some of the last bits of elements those of the first one, of which more may be set. */
static void share_bits(enum element_type type, size_t count)
{
    const size_t size = element_size(type);
    const uint64_t own = UINT64_MAX >> (63 - below(8 * size));
    uint64_t first = 0;

    memcpy(&first, data, size);
    if (below(2))
        first |= UINT64_MAX >> (63 - below(8 * size));
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;

        memcpy(&bits, data + i * size, size);
        bits = (first & ~own) | (bits & own);
        memcpy(data + i * size, &bits, size);
    }
}

/* Indices, magnitudes, counts and quantiles, whatever threads and parts there are. */
static void check_jobs(unsigned runs)
{
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        const enum element_type type = (enum element_type)(run % ELEMENT_TYPES);
        const enum data_kind kind = (enum data_kind)(run / ELEMENT_TYPES % DATA_KINDS);
        const size_t slices = 1 + below(below(2) ? 6 : 300);
        const size_t length = 1 + below(slices == 1 && below(2)  ? 18000
                                        : slices < 7 && below(2) ? 3000
                                                                 : 70);
        const size_t all = slices * length;
        const bool whole = element_is_integer(type), bytes = element_size(type) == 1;
        const bool columns = below(2);
        const size_t off = below(3) ? 0 : below(8) * element_size(type);
        const uint64_t of = below(2) ? 10 : below(2) ? 1000 : UINT64_C(100000000000000);
        const bool close = below(length > 2000 ? 2 : 5) == 0; /* digits of keys tell few apart */
        struct cuda_slice_job l = {
            .type = type,
            .swap = below(4) == 0,
            .length = length,
            .all = slices,
            .wish = {.op = below(3) ? (enum cuda_slice_op)(CUDA_SLICE_ARGMIN + below(12))
                                    : CUDA_SLICE_QUANTILE,
                     .letter = 'f',
                     .skip_nan = below(2),
                     .has_none = below(2),
                     .none = 12345,
                     .count = length,
                     .format = element_formats[type],
                     .quantile = {below((size_t)of + 1), of}}};

        if (whole || bytes)
            for (size_t i = 0; i < all * element_size(type); i++)
                data[i] = (unsigned char)below(below(3) ? 256 : 2);
        else
            data_fill(kind, type, data, all, rng_next(&rng));
        if (close)
            share_bits(type, all);
        for (size_t i = below(3) ? 0 : below(2 * slices) + 1; i > 0 && !whole && !bytes; i--)
            data_put_special(type, data, below(all), (enum data_special)below(DATA_SPECIALS));
        if (below(3) == 0) {
            missing.count = 0;
            (void)missing_add(&missing, type, !whole && below(2) ? "nan" : "0");
            cuda_missing_set(&l.missing, type, &missing);
        }
        if (l.swap)
            element_swap(swapped, data, all, element_size(type));
        draw_job(&l, !columns && off % 16 == 0 && length * element_size(type) % 16 == 0);
        check_job_of(&family, &l, columns, off,
                     whole ? element_size(type) < 8 : bytes || (is_easy(kind) && !close));
    }
    tap_family_end(&family, "indices, magnitudes, counts and quantiles");
}

/* A quotient and a root that lie in the middle between two numbers, or next to it. */
static void check_middles(void)
{
    static const struct {
        double high, low, divisor, expected;
    } cases[] = {
        {3, 0x1p-52, 2, 1.5},           /* a tie: to even */
        {0x1p53 + 2, 1, 1, 0x1p53 + 4}, /* the other one */
        {0x1p53 + 2, 1 - 0x1p-53, 1, 0x1p53 + 2},
        {0x1p53 + 2, 1 + 0x1p-52, 1, 0x1p53 + 4},
        {0x1.8p54 + 12, 3, 3, 0x1p53 + 4}, /* 2^53 + 5 */
        {0x1.8p54 + 8, 1, 3, 0x1p53 + 4},  /* 2^53 + 3 */
    };
    double got;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice_terms t = {{cases[i].high, cases[i].low}, false};
        struct slice_terms square = {{0}, false};
        const double half = 0x1p53 + 2;
        const bool middle = i % 2;

        tap_ok(slice_divide(&t, cases[i].divisor, 0, &got) && got == cases[i].expected,
               "quotient %zu: %a", i, got);
        /* The square of a number of 54 bits, or nearly: to tell that takes another way. */
        slice_terms_add_product(&square, 1, half, half);
        slice_terms_add_product(&square, 2, half, 1);
        (void)slice_terms_add(square.term, SLICE_TERMS, middle ? 1 : 0x1p20);
        tap_ok(slice_root(&square, 1, 0, &got) ? got == half + 2 : middle, "root %zu: %a", i, got);
    }
}

#ifdef TEST_CUDA
/*
 * Measuring.
 */

static struct cuda_timing timing;

static cudaError_t timed(const void *launch, cudaStream_t stream)
{
    return cuda_slices(launch, stream);
}

/* Prints a line for a launch that brings so many bytes back. `sum` is the time that a sum of all
   takes. */
static void measure_launch(const struct cuda_slice_launch *l, const char *what, size_t back,
                           double sum)
{
    const size_t bytes = l->rows * l->length * element_size(l->type);
    const double time = cuda_timing_median(&timing, timed, l);

    printf("    %-7s %10zu x %-10zu %7zu parts, %-17s %8.3f ms  %7.1f GB/s, with results "
           "%7.1f  %6.3f\n",
           l->columns ? "columns" : "rows", l->rows, l->length, l->parts, what, time,
           (double)bytes / 1e6 / time, (double)(bytes + back) / 1e6 / time, sum / time);
}

/* Lines for sums alone, rounded where that can be; for sums and extremes; and for sums and squares,
   which take records, where four times the bytes have room for them. */
static void measure_launches(struct cuda_slice_launch *l, unsigned char *room, double sum)
{
    const size_t size = element_size(l->type), bytes = l->rows * l->length * size;
    const size_t parts = l->parts * (l->columns ? l->length : l->rows);
    struct engine_found f;
    unsigned char *end;

    for (int extremes = 0; extremes < 2; extremes++) {
        const bool low = l->parts > 1 || extremes;

        f = lay_out(room, l->type, parts, low, extremes);
        l->wants = 0;
        l->high = f.high;
        l->low = f.low;
        l->min = f.min;
        l->max = f.max;
        measure_launch(l,
                       extremes ? "sums and extremes"
                       : low    ? "sums"
                                : "rounded sums",
                       parts * (8 + (low ? 8 : 0) + (extremes ? size == 8 ? 16 : 8 : 0)), sum);
    }
    l->wants = PARTIAL_SUM | PARTIAL_SQUARES;
    f = lay_out_records(room, l->wants, parts, &end);
    if ((size_t)(end - room) > 4 * bytes)
        return;
    l->high = f.high;
    l->low = f.low;
    l->min = l->max = NULL;
    l->more = f.more;
    measure_launch(l, "sums and squares", (size_t)(end - room), sum);
}

static void measure_shape(struct cuda_slice_launch *l, unsigned char *room, double sum)
{
    const size_t threads_most = (size_t)1 << 21;

    l->columns = false;
    l->part = CUDA_SLICE_PART;
    l->parts = (l->length + l->part - 1) / l->part;
    measure_launches(l, room, sum);
    l->columns = true;
    /* As many threads as there are columns, or some numbers of them. */
    for (size_t threads = (size_t)1 << 15; threads <= threads_most; threads *= 4) {
        l->parts = threads * CUDA_SLICE_COLUMNS / l->length;
        l->parts = l->parts > l->rows / 16 ? l->rows / 16 : l->parts;
        l->parts = l->parts > 4 ? l->parts / 4 * 4 : 1;
        if (l->parts > 1 || threads == threads_most)
            measure_launches(l, room, sum);
    }
}

static void measure_type(enum element_type type, unsigned char *device, unsigned char *room,
                         size_t bytes)
{
    const size_t size = element_size(type), n = bytes / size;
    struct cuda_scratch *scratch = NULL;
    struct partial *partial = NULL, none;
    struct cuda_launch reduce = {
        .type = type, .wants = PARTIAL_SUM | PARTIAL_EXTREMES, .rows.data = device, .count = n};
    const size_t lengths[] = {1024, 1023, 256, 100, 16, 3, n / 16, n / 16 - 1};
    double sum;
    bool good;

    partial_clear(&none);
    data_fill(DATA_NORMAL, type, data, BYTES_MAX / size, 1);
    good = cudaDeviceGetAttribute(&reduce.multiprocessors, cudaDevAttrMultiProcessorCount, 0) ==
               cudaSuccess &&
           cudaMalloc((void **)&scratch, sizeof *scratch) == cudaSuccess &&
           cudaMalloc((void **)&partial, sizeof *partial) == cudaSuccess &&
           cudaMemset(scratch, 0, sizeof *scratch) == cudaSuccess &&
           copy_in(partial, &none, sizeof none);
    for (size_t at = 0; at < bytes && good; at += BYTES_MAX)
        good = copy_in(device + at, data, BYTES_MAX < bytes - at ? BYTES_MAX : bytes - at);
    reduce.partial = partial;
    reduce.scratch = scratch;
    sum = good ? cuda_timing_median(&timing, cuda_timed_reduce, &reduce) : -1;
    printf("%s, %zu elements: sum and extremes of all %.3f ms, %.1f GB/s\n", element_name(type), n,
           sum, (double)bytes / 1e6 / sum);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        measure_shape(&(struct cuda_slice_launch){.type = type,
                                                  .data = device,
                                                  .rows = n / lengths[i],
                                                  .length = lengths[i],
                                                  .pitch = lengths[i]},
                      room, sum);
    (void)cudaFree(scratch);
    (void)cudaFree(partial);
}

/* Prints lines for each shape. */
static int measure(size_t bytes)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64, ELEMENT_F16, ELEMENT_BF16};
    unsigned char *device, *room;

    /* Rows of three f16 have the most to be found of: 24 bytes of 6. */
    if (cudaMalloc((void **)&device, bytes) || cudaMalloc((void **)&room, 4 * bytes + 4096) ||
        !cuda_timing_open(&timing)) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        measure_type(types[i], device, room, bytes);
    return EXIT_SUCCESS;
}
#endif

int main(int argc, char *argv[])
{
    const unsigned runs = (unsigned)from_environment("KERNELS_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);
    char reason[ENGINE_REASON_MAX] = "";

    if (!kernel_open(reason))
        return tap_skip_all(reason);
    memory = kernel_allocate(BYTES_MAX, reason);
    found = kernel_allocate(RECORDS_BYTES + BEHIND, reason);
    if (!memory || !found)
        return tap_skip_all(reason);
    rng_seed(&rng, seed);
    data = allocate(BYTES_MAX);
    swapped = allocate(BYTES_MAX);
    spaced = allocate(BYTES_MAX);
    come_back = allocate(RECORDS_BYTES + BEHIND);
#ifdef TEST_CUDA
    if (argc > 1 && strcmp(argv[1], "time") == 0)
        return measure((argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 2048) << 20);
#else
    (void)argc;
    (void)argv;
#endif
    tap_note("seed %" PRIu64, seed);
    check_type(ELEMENT_F32, runs);
    check_type(ELEMENT_F64, runs);
    check_type(ELEMENT_F16, runs);
    check_type(ELEMENT_BF16, runs);
    for (int t = 0; t < ELEMENT_TYPES; t++)
        check_records((enum element_type)t, runs / 2 + 1);
    check_float8(ELEMENT_F8E4M3);
    check_float8(ELEMENT_F8E5M2);
    check_square_range();
    check_squares(15 * runs);
    check_results(20 * runs);
    check_again(5 * runs);
    check_jobs(5 * runs);
    check_middles();
    free(data);
    free(swapped);
    free(spaced);
    free(come_back);
    return tap_done();
}
