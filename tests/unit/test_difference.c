/*
 * Differences of arrays: in whatever parts and order they are merged, they are the same; which of
 * several pairs with the same difference is the first; cosines that lie in the middle between two
 * binary64; missing values, which may be others on either side; and floats of 16 bits beside f32.
 * tests/cli/diff_values.sh compares the values with an oracle of its own.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/difference.h"
#include "core/digits.h"
#include "core/order.h"
#include "cpu/compare.h"
#include "cpu/kernel.h"
#include "lib/share.h"
#include "lib/tap.h"

#define ELEMENTS 4000
#define PARTS 5

static uint64_t state = 1;

static uint64_t draw(uint64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % n;
}

/* Elements of few values, so that many pairs have the same difference. */
static void fill(unsigned char *bytes, enum element_type type, uint64_t values)
{
    const size_t size = element_size(type);

    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint64_t low = draw(values), high = draw(3) << (8 * size - 4);
        const uint64_t bits = type == ELEMENT_BOOL ? low : low | high;

        memcpy(bytes + i * size, &bits, size); /* the lower bytes, on either kind of machine: any
                                                  bits do */
    }
}

static bool same(const struct difference_result *a, const struct difference_result *b)
{
    return a->different == b->different && a->first == b->first && a->rewritten == b->rewritten &&
           a->nan_one == b->nan_one && a->nan_both == b->nan_both &&
           memcmp(&a->max_absolute, &b->max_absolute, sizeof a->max_absolute) == 0 &&
           memcmp(&a->max_relative, &b->max_relative, sizeof a->max_relative) == 0 &&
           a->max_ulps.low == b->max_ulps.low && a->absolute_at == b->absolute_at &&
           a->relative_at == b->relative_at && a->ulps_at == b->ulps_at &&
           memcmp(&a->root_mean_square, &b->root_mean_square, sizeof a->root_mean_square) == 0 &&
           memcmp(&a->cosine, &b->cosine, sizeof a->cosine) == 0;
}

/* The difference of a part. */
static void compare(struct cpu_compare *c, const struct cpu_compare_setup *setup,
                    const unsigned char *a, const unsigned char *b, size_t from, size_t to,
                    struct difference *d)
{
    const size_t size = element_size(setup->terms.type);

    if (!cpu_compare_begin(c, setup))
        exit(99);
    (void)cpu_compare_take(c, a + from * size, b + from * size, to - from, from, true);
    cpu_compare_finish(c, d);
}

/* Scales: none, one, two, and one that changes nothing. */
static const struct scale scales[][2] = {
    {{.given = false}, {.given = false}},
    {{true, -0.01, 273.15}, {true, -0.01, 273.15}},
    {{true, 0x1p-300, 1}, {.given = false}},
    {{true, 1, 0}, {true, 1, 0}},
};
#define SCALES (sizeof scales / sizeof *scales)

/* Parts of arrays merged in a random order, and all of it at once. */
static void test_merging(enum element_type type)
{
    static unsigned char a[8 * ELEMENTS], b[8 * ELEMENTS];
    struct tap_family family = {0};
    struct cpu_compare *c = cpu_compare_open(NULL);

    for (unsigned round = 0; c && round < 80; round++) {
        if (!share_takes_next())
            continue;

        const struct scale *scale = scales[round / 2 % SCALES];
        struct cpu_compare_setup setup = {
            .terms = {.skip_nan = round % 2, .scales = {scale[0], scale[1]}}};
        struct difference whole, parts[PARTS], merged;
        struct difference_result expected, found;
        size_t cuts[PARTS + 1] = {0};

        cpu_compare_set_types(&setup, type, type, false);
        fill(a, type, 1 + draw(3));
        fill(b, type, 1 + draw(3));
        compare(c, &setup, a, b, 0, ELEMENTS, &whole);
        for (int i = 1; i < PARTS; i++)
            cuts[i] = cuts[i - 1] + draw(ELEMENTS - cuts[i - 1]);
        cuts[PARTS] = ELEMENTS;
        for (int i = 0; i < PARTS; i++)
            compare(c, &setup, a, b, cuts[i], cuts[i + 1], &parts[i]);
        difference_clear(&merged);
        for (int left = PARTS; left > 0; left--) {
            const size_t which = (size_t)draw((uint64_t)left);

            difference_merge(&merged, &setup.terms, &parts[which]);
            parts[which] = parts[left - 1];
        }
        difference_finish(&whole, &setup.terms, ELEMENTS, &expected);
        difference_finish(&merged, &setup.terms, ELEMENTS, &found);
        tap_case(&family, same(&expected, &found), "round %u", round);
        if (scale != scales[SCALES - 1])
            continue;
        memset(setup.terms.scales, 0, sizeof setup.terms.scales);
        compare(c, &setup, a, b, 0, ELEMENTS, &whole);
        difference_finish(&whole, &setup.terms, ELEMENTS, &expected);
        tap_case(&family, same(&expected, &found), "round %u, without its scale", round);
    }
    if (c)
        cpu_compare_close(c);
    tap_family_end(&family, "parts of %s in any order", element_name(type));
}

/* Bytes of any number, at any place, with different ones around them: the same, and with one that
   differs. */
static void test_same(void)
{
    enum { MOST = 2100 };
    static unsigned char a[MOST + 16], b[MOST + 16];
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (unsigned char)draw(256);
    for (int round = 0; round < 3000; round++) {
        const size_t size = (size_t)draw(MOST), from = (size_t)draw(8), to = (size_t)draw(8);
        const size_t at = size > 0 ? (size_t)draw(size) : 0;

        for (size_t i = 0; i < sizeof b; i++)
            b[i] = (unsigned char)~a[i];
        memcpy(b + to, a + from, size);
        for (int ahead = 0; ahead < 2; ahead++) {
            tap_case(&family, cpu_compare_same(a + from, b + to, size, ahead), "%zu bytes", size);
            b[to + at] ^= 1;
            tap_case(&family, size == 0 || !cpu_compare_same(a + from, b + to, size, ahead),
                     "byte %zu of %zu", at, size);
            b[to + at] ^= 1;
        }
    }
    tap_family_end(&family, "bytes that are the same, and that are not");
}

/* All floats of 16 bits with the f32 that are their numbers, in pieces of any length; and with one bit
   of these changed. */
static void test_widened(const char *kernels, enum element_type type)
{
    enum { COUNT = 1 << 16 };
    static uint16_t narrow[COUNT];
    static float wide[COUNT];
    struct tap_family family = {0};
    struct cpu_compare *c = cpu_compare_open(kernels);

    for (unsigned i = 0; i < COUNT; i++) {
        narrow[i] = (uint16_t)(element_is_nan(type, &(uint16_t){(uint16_t)i}) ? 1 : i);
        wide[i] = (float)order_value(type, order_key(type, narrow[i]));
    }
    for (int round = 0; c && round < 300; round++) {
        const size_t count = round % 2 ? 1 + draw(5000) : 128 * (1 + draw(40));
        const size_t from = draw(COUNT - count), at = from + draw(count);
        const uint32_t bit = UINT32_C(1) << draw(32);
        const bool first = round % 4 < 2; /* side A has the f32 */
        const void *sides[2] = {narrow + from, wide + from};
        struct cpu_compare_setup setup = {.terms = {.skip_nan = false}};
        struct difference found;
        uint32_t bits;

        cpu_compare_set_types(&setup, first ? ELEMENT_F32 : type, first ? type : ELEMENT_F32,
                              false);
        (void)cpu_compare_begin(c, &setup);
        tap_case(&family,
                 cpu_compare_take(c, sides[first], sides[!first], count, 0, false) == count,
                 "%zu elements", count);
        memcpy(&bits, &wide[at], sizeof bits);
        bits ^= bit;
        memcpy(&wide[at], &bits, sizeof bits);
        (void)cpu_compare_take(c, sides[first], sides[!first], count, 0, false);
        cpu_compare_finish(c, &found);
        /* Zeros of either sign are equal. */
        tap_case(&family,
                 (bits & INT32_MAX) == 0 ? found.different == 0
                                         : found.different == 1 && found.first == at - from,
                 "element %zu of %zu, bit %x", at - from, count, (unsigned)bit);
        bits ^= bit;
        memcpy(&wide[at], &bits, sizeof bits);
    }
    if (c)
        cpu_compare_close(c);
    tap_family_end(&family, "%s with f32, %s", element_name(type), kernels);
}

/* x y / sqrt(x x  y y) of small integers over a power of two, where x x y y is a square. */
static void test_ties(void)
{
    struct tap_family family = {0};
    uint32_t xy[EXACT_WIDE_DIGITS] = {0}, xx[EXACT_WIDE_DIGITS] = {0}, yy[EXACT_WIDE_DIGITS] = {0};

    /* 2^108, and 1. */
    xx[108 / 32] = UINT32_C(1) << 108 % 32;
    yy[0] = 1;
    for (uint64_t last = 1; last < 400; last += 2) {
        const uint64_t n = (UINT64_C(1) << 53) + last;
        /* n 2^-54 is in the middle of its neighbours, of which the even one is a multiple of 4. */
        const uint64_t even = n % 4 == 1 ? n - 1 : n + 1;

        xy[0] = (uint32_t)n;
        xy[1] = (uint32_t)(n >> 32);
        tap_case(&family,
                 digits_round_cosine(xy, false, xx, yy, EXACT_WIDE_DIGITS) ==
                     ldexp((double)even, -54),
                 "%llu", (unsigned long long)n);
        tap_case(&family,
                 digits_round_cosine(xy, true, xx, yy, EXACT_WIDE_DIGITS) ==
                     -ldexp((double)even, -54),
                 "-%llu", (unsigned long long)n);
    }
    tap_family_end(&family, "cosines in the middle between two numbers");
}

/* Whether an element equals one of those whose bits are given: as a number, or both are NaNs. */
static bool is_one_of(enum element_type type, uint64_t bits, const uint64_t *missing,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const double x = order_value(type, order_key(type, bits));
        const double y = order_value(type, order_key(type, missing[i]));

        if (element_is_integer(type) ? order_key(type, bits) == order_key(type, missing[i])
                                     : x == y || (isnan(x) && isnan(y)))
            return true;
    }
    return false;
}

/* Arrays with missing values, beside what is left of them without the pairs that have one. */
static void test_missing(enum element_type type)
{
    static unsigned char a[8 * ELEMENTS], b[8 * ELEMENTS], left_a[8 * ELEMENTS],
        left_b[8 * ELEMENTS];
    static size_t places[ELEMENTS];
    const size_t size = element_size(type);
    struct tap_family family = {0};
    struct cpu_compare *c = cpu_compare_open(NULL);

    for (int round = 0; c && round < 60; round++) {
        if (!share_takes_next())
            continue;

        struct cpu_compare_setup setup = {.terms = {.skip_nan = round % 2}};
        struct missing missing[2] = {{.count = 0}, {.count = 0}};
        uint64_t values[2][2], one = 0, both = 0, first = DIFFERENCE_NO_INDEX;
        unsigned counts[2] = {round % 3 > 0, round % 4 > 0 ? 2 : 0};
        struct difference_result expected, found;
        struct difference whole, left;
        size_t count = 0;

        cpu_compare_set_types(&setup, type, type, false);
        fill(a, type, 1 + draw(3));
        fill(b, type, 1 + draw(3));
        if (round % 5 == 0)
            memcpy(b, a, sizeof a);
        for (int side = 0; side < 2; side++)
            for (unsigned i = 0; i < counts[side]; i++) {
                values[side][i] = order_load(type, (side ? b : a) + draw(ELEMENTS) * size);
                (void)missing_add_bits(&missing[side], type, values[side][i]);
            }
        for (size_t i = 0; i < ELEMENTS; i++) {
            const uint64_t x = order_load(type, a + i * size), y = order_load(type, b + i * size);
            const bool of_a = is_one_of(type, x, values[0], counts[0]);
            const bool of_b = is_one_of(type, y, values[1], counts[1]);

            both += of_a && of_b;
            one += of_a != of_b;
            if (of_a != of_b && first == DIFFERENCE_NO_INDEX)
                first = i;
            if (of_a || of_b)
                continue;
            memcpy(left_a + count * size, a + i * size, size);
            memcpy(left_b + count * size, b + i * size, size);
            places[count++] = i;
        }
        compare(c, &setup, left_a, left_b, 0, count, &left);
        difference_finish(&left, &setup.terms, count, &expected);
        setup.missing[0] = &missing[0];
        setup.missing[1] = &missing[1];
        compare(c, &setup, a, b, 0, ELEMENTS, &whole);
        difference_finish(&whole, &setup.terms, ELEMENTS, &found);
        tap_case(&family, found.missing_one == one && found.missing_both == both, "%s, round %d",
                 element_name(type), round);
        expected.different += one;
        for (uint64_t *const *at =
                 (uint64_t *const[]){&expected.first, &expected.absolute_at, &expected.relative_at,
                                     &expected.ulps_at, NULL};
             *at; at++)
            if (**at != DIFFERENCE_NO_INDEX)
                **at = places[**at];
        expected.first = first < expected.first ? first : expected.first;
        tap_case(&family, same(&expected, &found), "%s, round %d: the others", element_name(type),
                 round);
    }
    tap_family_end(&family, "missing values");
    if (c)
        cpu_compare_close(c);
}

int main(void)
{
    for (int type = 0; type < ELEMENT_TYPES; type++)
        test_merging((enum element_type)type);
    for (int type = 0; type < ELEMENT_TYPES; type++)
        test_missing((enum element_type)type);
    test_same();
    for (size_t i = 0; i < cpu_kernels_count; i++) {
        test_widened(cpu_kernels_all[i]->name, ELEMENT_F16);
        test_widened(cpu_kernels_all[i]->name, ELEMENT_BF16);
    }
    test_ties();
    return tap_done();
}
