/*
 * The GPU's reduction kernels by themselves: every element type, both byte orders, all that can be
 * asked for, any data, in several launches of any number of blocks. Their results must be, digit by
 * digit, those of taking the elements one by one; test_moments and test_partial compare that with
 * the oracle.
 *
 * Built twice: run on the host, a thread at a time (lib/reduce_emulated.cu), where nvcc is; and
 * with TEST_CUDA on a GPU, with more data; that skips where there is none.
 *
 * From the environment: KERNELS_RUNS is how many random reductions of a type, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "cuda/kernels.h"
#include "engine/engine.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/kernel_memory.h"
#include "lib/reference.h"
#include "lib/tap.h"

#ifdef TEST_CUDA
#    define LENGTH_MAX ((size_t)1 << 20)
#    define LENGTH_LONG ((size_t)1 << 23)
#    define GREAT_ONE_IN 8
#    define RUNS 400
#    define RUNS_ALL true
#    define LENGTH_TWO ((size_t)3 << 20)
#    define TWO_ONE_IN 10
#    define LENGTH_FULL LENGTH_TWO
#    define LENGTH_APART LENGTH_TWO
#else
#    include "lib/reduce_emulated.h"
#    define LENGTH_MAX ((size_t)1 << 15)
#    define LENGTH_LONG ((size_t)12 << 18)
#    define GREAT_ONE_IN 4
#    define RUNS 60
#    define RUNS_ALL false /* not what floats have other kernels for */
#    define LENGTH_TWO ((size_t)5 << 14)
#    define TWO_ONE_IN 1
#    define LENGTH_FULL ((size_t)72 << 13)
#    define LENGTH_APART (2 * (size_t)CUDA_TILES)
#endif

/* LENGTH_TWO elements in one launch of one block are so many tiles that a GPU takes two kernels;
   with LENGTH_FULL the second of them, if it is emulated, empties its bins in between: after 64
   tiles. */

/* One in TWO_ONE_IN of the random reductions has LENGTH_TWO elements. */

/* Elements that are 16 tiles at least: what a warp knows of its first tiles decides how it looks at
   the others. */
#define MANY_TILES ((size_t)1 << 17)

/* The index of the first element. Indices need more than 32 bits. */
#define FIRST (UINT64_C(1) << 40)

static const unsigned all_wants[] = {
    PARTIAL_ALL,
    PARTIAL_SUM | PARTIAL_SQUARES,
    PARTIAL_SQUARES,
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_SQUARES | PARTIAL_SMALL | PARTIAL_NEGATIVE,
    PARTIAL_ABSOLUTE,
    PARTIAL_SMALL | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_NEGATIVE,
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_SUM,
};
#define WANTS (sizeof all_wants / sizeof *all_wants)
#define WANTS_MOMENTS (WANTS - 2) /* those that want something of moments.h */

static struct rng rng;
static struct missing missing;  /* the missing values of the data */
static struct partial *partial; /* where the kernels work: on the device, if there is one */
static struct cuda_scratch *scratch;
static unsigned char *memory, *data, *swapped; /* the first is the kernels' */
static bool apart;                             /* elements lie in rows that are apart */

static bool open_device(char reason[ENGINE_REASON_MAX])
{
    if (!kernel_open(reason))
        return false;
    memory = kernel_allocate(2 * LENGTH_LONG * 8, reason);
    partial = kernel_allocate(sizeof *partial, reason);
    scratch = kernel_allocate(sizeof *scratch, reason);
    return memory && partial && scratch && kernel_clear(scratch, sizeof *scratch);
}

#ifndef TEST_CUDA
/* Whether f32 with moments are given to two kernels; by turns where `kernels` is 0. */
static unsigned kernels;

static bool two_kernels(void)
{
    return kernels == 0 ? rng_below(&rng, 2) != 0 : kernels == 2;
}
#endif

static bool run_kernel(const struct cuda_launch *launch, unsigned blocks)
{
#ifdef TEST_CUDA
    (void)blocks;
    return kernel_ran(cuda_reduce(launch, NULL));
#else
    /* A GPU decides by the number of elements whether there is a second kernel. */
    if (launch->type == ELEMENT_F32 && (launch->wants & MOMENTS_WANTS) &&
        !(launch->wants & PARTIAL_MISSING) && two_kernels())
        return emulated_reduce_pair(launch, blocks);
    return emulated_reduce(launch, blocks);
#endif
}

/* The first difference, in words, between two partials in members that `wants` asks for. */
static const char *difference(const struct partial *a, const struct partial *b, unsigned wants)
{
    const bool where = wants & PARTIAL_WHERE;
    uint32_t x[EXACT_DIGITS], y[EXACT_DIGITS];

    if (a->count != b->count)
        return "count";
    if (a->missing != b->missing)
        return "missing";
    if (a->nan != b->nan || a->first_nan != b->first_nan)
        return "NaNs";
    if (a->positive_infinity != b->positive_infinity ||
        a->negative_infinity != b->negative_infinity)
        return "infinities";
    if ((wants & PARTIAL_SUM) &&
        (exact_magnitude(&a->sum, x) != exact_magnitude(&b->sum, y) || memcmp(x, y, sizeof x) != 0))
        return "sum";
    if ((wants & PARTIAL_EXTREMES) && (a->min_key != b->min_key || a->max_key != b->max_key))
        return "extremes";
    if (where && (a->min_index != b->min_index || a->max_index != b->max_index))
        return "places of the extremes";
    return reference_moments_differs(a, b, wants);
}

static uint64_t key_at(enum element_type type, size_t i)
{
    return order_key(type, order_load(type, data + i * element_size(type)));
}

/* Reduces n elements of `data` in so many launches, and compares. */
static void check_wants(struct tap_family *family, enum element_type type, unsigned wants, size_t n,
                        unsigned launches, unsigned blocks, const char *what)
{
    const size_t size = element_size(type), most = n / launches + 1;
    const bool swap = size > 1 && rng_below(&rng, 2);
    struct partial expected, left, got;
    struct cuda_missing ranges = {.count = 0};
    bool good;

    partial_clear(&expected);
    partial_clear(&got);
    for (size_t i = 0; i < n; i++) {
        if (missing.count > 0 && missing_has(&missing, key_at(type, i))) {
            expected.count++;
            expected.missing++;
            continue;
        }
        partial_take_element(&expected, type, data + i * size, FIRST + i);
        moments_take_element(&expected, type, data + i * size);
    }
    cuda_missing_add_sums(&ranges, type, &missing);
    if (swap)
        element_swap(swapped, data, n, size);
    partial_clear(&left);
    good = copy_in(partial, &left, sizeof left);
    for (size_t at = 0; at < n && good; at += most) {
        const size_t count = n - at < most ? n - at : most;
        const bool aligned = count >= CUDA_UNALIGNED_MAX;
        unsigned char *to = memory + (aligned ? 0 : rng_below(&rng, 16) * size);
        struct cuda_launch launch = {.type = type,
                                     .swap = swap,
                                     .wants = wants,
                                     .missing = &ranges,
                                     .rows.data = to,
                                     .count = count,
                                     .index = FIRST + at,
                                     .partial = partial,
                                     .scratch = scratch,
                                     .multiprocessors = (int)blocks};

        if (apart) {
            const struct apart lie = draw_apart(&rng, size, count * size);

            good = copy_in_apart(&launch.rows, to, (swap ? swapped : data) + at * size,
                                 count * size, &lie);
        } else {
            good = copy_in(to, (swap ? swapped : data) + at * size, count * size);
        }
        good = good && run_kernel(&launch, blocks);
    }
    good = good && copy_out(&left, partial, sizeof left);
    cuda_settle_partial(&left, wants);
    partial_merge(&got, &left);
    tap_case(family, good && difference(&got, &expected, wants) == NULL,
             "%s, %s, %zu elements in %u launches of %u blocks, swap %d, wants %u, %u missing: %s",
             element_name(type), what, n, launches, blocks, swap, wants, missing.count,
             good ? difference(&got, &expected, wants) : "it failed");
}

static void check(struct tap_family *family, enum element_type type, size_t n, unsigned launches,
                  const char *what)
{
    const bool few = element_is_float(type) && !RUNS_ALL;
    unsigned wants = all_wants[rng_below(&rng, few ? WANTS_MOMENTS : WANTS)];

    check_wants(family, type, wants, n, launches, 1 + (unsigned)rng_below(&rng, 3), what);
    data_choose_missing(&rng, type, data, n, &missing);
    wants = all_wants[rng_below(&rng, WANTS)] | PARTIAL_MISSING;
    check_wants(family, type, wants, n, launches, 1 + (unsigned)rng_below(&rng, 3), what);
    missing.count = 0;
}

/* Exponents that lie within a window of the whole range, which moves from time to time; a few are
   anywhere. */
static void fill_windows(enum element_type type, size_t n)
{
    const unsigned fields = (1u << data_exponent_bits(type)) - 1;
    const unsigned width = 1 + (unsigned)rng_below(&rng, rng_below(&rng, 2) ? 30 : fields);
    const size_t every = 1 + rng_below(&rng, 5000);
    unsigned base = (unsigned)rng_below(&rng, fields);

    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = rng_next(&rng);
        unsigned field = base + (unsigned)(bits % width);

        if (rng_below(&rng, every) == 0)
            base = (unsigned)rng_below(&rng, fields);
        if (rng_below(&rng, 2000) == 0)
            field = (unsigned)rng_below(&rng, fields);
        data_put_fields(type, data, i, (unsigned)(bits >> 63), field % fields,
                        (bits >> 8) & ((UINT64_C(1) << data_fraction_bits(type)) - 1));
    }
}

/* The largest magnitudes of one exponent: what adds them up comes closest to its limit. */
static void fill_ones(enum element_type type, size_t n)
{
    const unsigned fields = (1u << data_exponent_bits(type)) - 1;
    const unsigned field = (unsigned)rng_below(&rng, fields);
    const uint64_t ones = (UINT64_C(1) << data_fraction_bits(type)) - 1;

    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 0, field, ones - (i % 7 == 0));
}

/* Elements of two exponents far apart, each the greatest of sixteen, most of one; with a fraction,
   or one that has the same nine bits last. */
static void fill_far_ones(enum element_type type, size_t n, uint64_t fraction)
{
    const unsigned fields = (1u << data_exponent_bits(type)) - 1;

    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 0,
                        i % 4 == 0 ? fields / 64 * 16 + 15 : fields / 32 * 16 + 15,
                        i % 5 == 0 ? fraction - 512 : fraction);
}

/* Elements of one sign and exponent that differ in the lower half of the bits of their type. In
   kinds 2 and 3 every other element is less in magnitude and of the other sign, in kinds 4 and 5 it
   is greater and of any sign: they are then one extreme, or the least magnitudes, alone. */
static void fill_last_bits(enum element_type type, size_t n, unsigned kind)
{
    const unsigned fields = (1u << data_exponent_bits(type)) - 1, sign = kind % 2;
    const unsigned field = fields / 4 + (unsigned)rng_below(&rng, fields / 4 + 1);
    const unsigned bits = (unsigned)data_fraction_bits(type);
    const unsigned lower = (unsigned)element_size(type) * 4;
    const uint64_t differ = (UINT64_C(1) << (lower < bits ? lower : bits)) - 1;
    const uint64_t fraction = rng_next(&rng) & ((UINT64_C(1) << bits) - 1) & ~differ;

    for (size_t i = 0; i < n; i++) {
        const uint64_t random = rng_next(&rng);
        const unsigned other = kind < 4 ? !sign : (unsigned)(random >> 63);

        if (kind < 2 || i % 2 == 0)
            data_put_fields(type, data, i, sign, field, fraction | (random & differ));
        else
            data_put_fields(type, data, i, other, kind < 4 ? field - 1 : field + 1,
                            random & ((UINT64_C(1) << bits) - 1));
    }
}

static void put_specials(enum element_type type, size_t n)
{
    const size_t every = 1 + rng_below(&rng, n);

    for (size_t i = rng_below(&rng, every); i < n; i += every)
        data_put_special(type, data, i, (enum data_special)rng_below(&rng, DATA_SPECIALS));
}

/* Great ones are what takes the time, and most of it is the host's. */
static size_t random_length(void)
{
    return 1 + rng_below(&rng, rng_below(&rng, GREAT_ONE_IN) ? 20000 : LENGTH_MAX);
}

static void check_floats(enum element_type type, unsigned runs)
{
    struct tap_family family = {0};

    for (int d = 0; d < DATA_KINDS; d++) {
        const size_t n = random_length();

        data_fill((enum data_kind)d, type, data, n, rng_next(&rng));
        check(&family, type, n, 1, data_kind_name((enum data_kind)d));
        put_specials(type, n);
        check(&family, type, n, 1 + (unsigned)rng_below(&rng, 4), "the same, with specials");
    }
    tap_family_end(&family, "%s, distributions", element_name(type));
    for (int d = 0; d < DATA_KINDS; d++) {
        const size_t n = MANY_TILES - rng_below(&rng, 9);

        data_fill((enum data_kind)d, type, data, n, rng_next(&rng));
        check_wants(&family, type, d % 2 ? all_wants[3] : PARTIAL_ALL, n, 1, 1,
                    data_kind_name((enum data_kind)d));
    }
    for (unsigned kind = 0; kind < 6; kind++) {
        fill_last_bits(type, MANY_TILES, kind);
        check_wants(&family, type, PARTIAL_ALL, MANY_TILES, 1, 1, "last bits differ");
    }
    tap_family_end(&family, "%s, many tiles of one block", element_name(type));
    for (unsigned run = 0; run < runs; run++) {
        const size_t n = random_length();

        if (run % 5 == 4)
            fill_ones(type, n);
        else
            fill_windows(type, n);
        if (run % 4 == 3)
            put_specials(type, n);
        check(&family, type, n, 1 + (unsigned)rng_below(&rng, 4), "exponents in windows");
    }
    tap_family_end(&family, "%s, exponents in windows", element_name(type));
}

/* Types behind the first group: any bits; small numbers; and the greatest and the least alone. */
static void check_others(enum element_type type, unsigned runs)
{
    const size_t size = element_size(type);
    struct tap_family family = {0};

    for (unsigned run = 0; run < runs; run++) {
        const size_t n = random_length();
        const unsigned kind = run % 6;
        const uint64_t sign = UINT64_C(1) << (8 * size - 1);
        const uint64_t mostly = kind == 2 ? sign : kind == 3 ? sign - 1 : 0;
        uint64_t mask = rng_next(&rng);

        mask &= rng_next(&rng);
        for (size_t i = 0; i < n; i++) {
            uint64_t bits = rng_next(&rng);

            if (kind == 1)
                bits = (bits & mask) - (bits >> 40 & mask);
            else if (kind >= 2 && (kind < 5 || bits % 16 != 0))
                bits = kind == 5 ? bits & mask : mostly;
            memcpy(data + i * size, &bits, size); /* the machine is little-endian, as GPUs are */
        }
        if (kind == 2 || kind == 3) /* which of many is the first? */
            memset(data + rng_below(&rng, n) * size, (int)rng_below(&rng, 256), size);
        check(&family, type, n, 1 + (unsigned)rng_below(&rng, 4), "any bits");
    }
    tap_family_end(&family, "%s, any bits", element_name(type));
}

/* Rows that lie apart, of whole tiles, and in part of many. */
static void check_apart(enum element_type type)
{
    struct tap_family family = {0};

    apart = true;
    for (size_t i = 0; i < WANTS; i++) {
        const size_t n = i % 4 == 0 ? LENGTH_APART : CUDA_TILES;

        if (element_is_float(type) && element_size(type) > 1)
            fill_windows(type, n);
        else
            for (size_t k = 0; k < n * element_size(type); k++)
                data[k] = (unsigned char)rng_next(&rng);
        /* Other kernels have the last two of floats, but where elements are missing. */
        if (RUNS_ALL || i < WANTS_MOMENTS || !element_is_float(type) || element_size(type) == 1)
            check_wants(&family, type, all_wants[i], n, 1, 1 + (unsigned)rng_below(&rng, 3),
                        "rows apart");
        data_choose_missing(&rng, type, data, n, &missing);
        check_wants(&family, type, all_wants[i] | PARTIAL_MISSING, n, 1,
                    1 + (unsigned)rng_below(&rng, 3), "rows apart");
        missing.count = 0;
    }
    apart = false;
    tap_family_end(&family, "%s, rows that lie apart", element_name(type));
}

/* Sums alone of types behind the first group, by the kernels that there are for these: of every byte;
   of one byte, such as the greatest magnitudes; and of numbers with two NaNs. */
static void check_sums(enum element_type type)
{
    static const unsigned char bytes[] = {0x01, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f,
                                          0x80, 0xfb, 0xfc, 0xfe, 0xff};
    static const size_t lengths[] = {1,    15,   16,    17,    255,       1023,
                                     1024, 4095, 16383, 16384, 3 * 16384, 60001};
    const size_t size = element_size(type);
    struct tap_family family = {0};

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const size_t n = lengths[l];

        for (size_t i = 0; i < n * size; i++)
            data[i] = (unsigned char)(i * 37 + i / 256 * 11 + l);
        check_wants(&family, type, PARTIAL_SUM, n, 1 + l % 2, 1 + l % 3, "every byte");
        memset(data, 0x33, n * size);
        data[n * 5 / 7 * size] = data[n * 6 / 7 * size] = 0x7f;
        check_wants(&family, type, 0, n, 1, 1 + l % 3, "two NaNs");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset(data, bytes[i], 2 * 16384 * size);
        check_wants(&family, type, PARTIAL_SUM, 2 * 16384, 1, 1, "one byte");
    }
    tap_family_end(&family, "%s, sums alone", element_name(type));
}

/* Random signs and fractions of `count` exponents from `field` on. */
static void fill_fields(size_t begin, size_t end, unsigned field, unsigned count)
{
    for (size_t i = begin; i < end; i++) {
        const uint64_t bits = rng_next(&rng);

        data_put_fields(ELEMENT_F32, data, i, (unsigned)(bits >> 63),
                        field + (unsigned)(bits >> 24) % count, bits & 0x7fffff);
    }
}

/* The greatest elements of exponents far apart, which bins of the second kernel put fourth (fields
   3 and 251) or second (1 and 249) of their four; of one sign, or of both. */
static void fill_greatest(size_t n, unsigned field, bool both, unsigned sign)
{
    for (size_t i = 0; i < n; i++)
        data_put_fields(ELEMENT_F32, data, i, both ? (unsigned)(i / 2 % 2) : sign,
                        i % 2 == i / 4096 % 2 ? field : field + 248, 0x7fffff);
}

/* Elements that are left to the second kernel from the first tile on: any exponents, and then
   elements of one exponent, the greatest or the least fraction, so that all are in one bin of
   it. */
static void fill_one_bin(size_t n, unsigned field, unsigned sign, uint64_t fraction)
{
    const size_t tile = 1 << 13;

    fill_fields(0, tile, 0, 255);
    for (size_t i = tile; i < n; i++)
        data_put_fields(ELEMENT_F32, data, i, sign, field, fraction);
}

/* Elements of one bin, and then any exponents, with a zero for one element in so many. */
static void fill_zeros(size_t n, unsigned one_in)
{
    fill_fields(0, n, 0, 255);
    for (size_t i = 1 << 13; i < n; i++)
        if (rng_below(&rng, one_in) == 0)
            data_put_fields(ELEMENT_F32, data, i, (unsigned)rng_below(&rng, 2), 0, 0);
}

/* Tiles of any exponents and tiles of a few of them, by turns; and extremes, infinite ones or not,
   that come again at the same place of other tiles, and of the last one, which need not be full. At
   times the elements that some warps take are such that these never leave. */
static void fill_ties(size_t n)
{
    const size_t tile = 1 << 13, tiles = (n - 1) / tile + 1;
    const unsigned any_one_in = 1 + (unsigned)rng_below(&rng, 4);
    const unsigned first = (unsigned)rng_below(&rng, 5) * 60;
    const unsigned places = 1 + (unsigned)rng_below(&rng, 3);
    const unsigned columns = rng_below(&rng, 4) ? 0 : (unsigned)rng_below(&rng, 8);
    const unsigned field = rng_below(&rng, 4) ? 254 : 255; /* of the extremes */

    for (size_t t = 0; t < tiles; t++) {
        const size_t begin = t * tile, end = n - begin < tile ? n : begin + tile;

        if (rng_below(&rng, any_one_in) == 0)
            fill_fields(begin, end, 0, 253);
        else
            fill_fields(begin, end, first, 1 + (unsigned)rng_below(&rng, 13));
        for (size_t i = begin; i < end; i++)
            if (i / 128 % 8 < columns)
                fill_fields(i, i + 1, first, 8);
    }
    for (unsigned i = 0; i < places; i++) {
        const size_t at = rng_below(&rng, (n - 1) % tile + 1);
        const unsigned sign = (unsigned)rng_below(&rng, 2);

        for (size_t t = rng_below(&rng, tiles); t < tiles; t++)
            if (t + 1 == tiles || rng_below(&rng, 8) == 0)
                data_put_fields(ELEMENT_F32, data, t * tile + at, sign, field, 0);
    }
}

/* The ends of launches that two kernels take, tiles at which warps leave, and which of several
   extremes is the first. */
static void check_ends(unsigned runs)
{
    struct tap_family family = {0};

#ifndef TEST_CUDA
    kernels = 2;
#endif
    for (unsigned run = 0; run < runs; run++) {
        const size_t n = LENGTH_TWO - rng_below(&rng, LENGTH_TWO / 8);

        fill_ties(n);
        if (run % 4 == 3)
            put_specials(ELEMENT_F32, n);
        check_wants(&family, ELEMENT_F32, run % 2 ? all_wants[3] : PARTIAL_ALL, n,
                    1 + (run % 8 < 2), 1 + (unsigned)rng_below(&rng, 3), "ties");
    }
    tap_family_end(&family, "f32, two kernels, ends and ties");
#ifndef TEST_CUDA
    kernels = 0;
#endif
}

/* So many f32 that there are two kernels: exponents as far apart as each way to add them up takes,
   and one more; and what goes from one to the other midway. */
static void check_two(void)
{
    static const unsigned widths[] = {1, 8, 22, 23, 24, 60, 69, 70, 71, 80, 128, 255};
    struct tap_family family = {0};

#ifndef TEST_CUDA
    kernels = 2;
#endif
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
        const unsigned first = (unsigned)rng_below(&rng, 256 - widths[i]);

        fill_fields(0, LENGTH_TWO, first, widths[i]);
        check_wants(&family, ELEMENT_F32, i % 2 ? PARTIAL_ALL : all_wants[3], LENGTH_TWO, 1, 1,
                    "exponents of a window");
        fill_fields(LENGTH_TWO / 4, LENGTH_TWO / 2, 0, 255);
        if (i % 3 == 0)
            put_specials(ELEMENT_F32, LENGTH_TWO);
        check_wants(&family, ELEMENT_F32, i % 2 ? all_wants[3] : PARTIAL_ALL, LENGTH_TWO, 1, 1,
                    "any exponents in between");
    }
    for (unsigned field = 0; field < 255; field += 23) {
        fill_fields(0, LENGTH_TWO, field, 1);
        fill_fields(0, LENGTH_TWO / 16, 0, 255);
        check_wants(&family, ELEMENT_F32, all_wants[3], LENGTH_TWO, 1, 1, "any exponents first");
    }
    for (unsigned sign = 0; sign < 2; sign++)
        for (unsigned field = 1; field < 4; field += 2)
            for (unsigned both = 0; both < 2; both++) {
                fill_greatest(LENGTH_FULL, field, both != 0, sign);
                check_wants(&family, ELEMENT_F32, all_wants[3], LENGTH_FULL, 1, 1, "full bins");
            }
    for (unsigned field = 124; field < 128; field++) {
        const uint64_t fraction = field % 2 ? 0x7fffff : 0;

        fill_one_bin(LENGTH_FULL, field, field & 1, fraction);
        check_wants(&family, ELEMENT_F32, field & 1 ? PARTIAL_ALL : all_wants[3], LENGTH_FULL, 1, 1,
                    "one bin");
    }
    for (unsigned one_in = 2; one_in < 100000; one_in *= 16) {
        fill_zeros(LENGTH_FULL, one_in);
        check_wants(&family, ELEMENT_F32, one_in == 2 ? PARTIAL_ALL : all_wants[3], LENGTH_FULL, 1,
                    1, "any exponents and zeros");
    }
    fill_ones(ELEMENT_F32, LENGTH_TWO);
    check_wants(&family, ELEMENT_F32, PARTIAL_ALL, LENGTH_TWO, 1, 1, "ones");
    tap_family_end(&family, "f32, two kernels");
#ifndef TEST_CUDA
    kernels = 0;
#endif
}

/* The fraction of the greatest f32 whose square, as an integer, is 249 modulo 512: exponent bins
   cut off nine bits of the squares of their greatest exponent, and this leaves as much as is
   possible. */
static uint64_t largest_rest(void)
{
    uint64_t m = (1 << 24) - 1;

    while (m * m % 512 != 249)
        m--;
    return m - (1 << 23);
}

/* So many elements for one block that all that is emptied when it is full has been. */
static void check_long(enum element_type type)
{
    struct tap_family family = {0};

    fill_ones(type, LENGTH_LONG);
    check_wants(&family, type, PARTIAL_ALL, LENGTH_LONG, 1, 1, "ones");
    fill_far_ones(type, LENGTH_LONG, (UINT64_C(1) << data_fraction_bits(type)) - 1);
    check_wants(&family, type, PARTIAL_ALL, LENGTH_LONG, 1, 1, "ones far apart");
    if (type == ELEMENT_F32) {
        fill_far_ones(type, LENGTH_LONG, largest_rest());
        check_wants(&family, type, PARTIAL_ALL, LENGTH_LONG, 1, 1, "rests of squares, far apart");
    }
    tap_family_end(&family, "%s, many elements for one block", element_name(type));
}

int main(void)
{
    const unsigned runs = (unsigned)from_environment("KERNELS_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);
    char reason[ENGINE_REASON_MAX] = "";

    if (!open_device(reason))
        return tap_skip_all(reason);
    tap_note("seed %" PRIu64, seed);
    rng_seed(&rng, seed);
    data = allocate(LENGTH_LONG * 8);
    swapped = allocate(LENGTH_LONG * 8);
    for (int t = 0; t < ELEMENT_FLOATS; t++)
        check_floats((enum element_type)t, runs);
    check_two();
    check_ends((runs + TWO_ONE_IN - 1) / TWO_ONE_IN);
#ifndef TEST_CUDA
    kernels = 1;
#endif
    check_long(ELEMENT_F32);
#ifndef TEST_CUDA
    kernels = 0;
#endif
    check_long(ELEMENT_F64);
    for (int t = ELEMENT_FLOATS; t < (int)ELEMENT_TYPES; t++)
        check_others((enum element_type)t, runs);
    for (int t = ELEMENT_FLOATS; t < (int)ELEMENT_TYPES; t++)
        check_sums((enum element_type)t);
    for (int t = 0; t < (int)ELEMENT_TYPES; t++)
        check_apart((enum element_type)t);
    free(data);
    free(swapped);
    return tap_done();
}
