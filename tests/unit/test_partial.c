/*
 * partial.h: partial results merge in any order and any grouping to the same bits, and finish to
 * what the table of results says.
 */
/* Tags: ports emulator */
#include "config.h"

#include "bench/common/difference.h"
#include "core/moments.h"
#include "core/partial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/tap.h"

#define N_MAX 600
#define PARTS_MAX 12

/* The expected result of partial_finish for x[0 .. n), element i having the index[i], by a plain
   loop. */
static struct result reference(const double *x, const uint64_t *index, size_t n, bool skip_nan)
{
    static double kept[N_MAX];
    size_t numbers = 0;
    struct result r = {.min = NAN,
                       .max = NAN,
                       .argmin = PARTIAL_NO_INDEX,
                       .argmax = PARTIAL_NO_INDEX,
                       .first_nan = PARTIAL_NO_INDEX};

    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            r.nan++;
            if (index[i] < r.first_nan)
                r.first_nan = index[i];
            continue;
        }
        r.infinity += isinf(x[i]) != 0;
        kept[numbers++] = x[i];
        if (numbers == 1 || x[i] < r.min || (x[i] == r.min && signbit(x[i]) && !signbit(r.min))) {
            r.min = x[i];
            r.argmin = index[i];
        } else if (oracle_same(x[i], r.min) && index[i] < r.argmin) {
            r.argmin = index[i];
        }
        if (numbers == 1 || x[i] > r.max || (x[i] == r.max && !signbit(x[i]) && signbit(r.max))) {
            r.max = x[i];
            r.argmax = index[i];
        } else if (oracle_same(x[i], r.max) && index[i] < r.argmax) {
            r.argmax = index[i];
        }
    }
    r.sum = oracle_sum(kept, numbers);
    r.mean = oracle_mean(kept, numbers);
    r.count = numbers;
    if (!skip_nan) {
        r.count = n;
        if (r.nan) {
            r.sum = r.mean = r.min = r.max = NAN;
            r.argmin = r.argmax = r.first_nan;
        }
    }
    return r;
}

/* Everything counts here. */
#define WANTS (PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE)

static void check_result(struct tap_family *family, const struct partial *p, const double *x,
                         const uint64_t *index, size_t n, const char *what)
{
    for (int skip = 0; skip < 2; skip++) {
        struct result expected = reference(x, index, n, skip), got;

        partial_finish(p, skip, &got);
        tap_case(family, reference_same(&got, &expected, WANTS),
                 "%s, %zu elements, skip_nan %d:\n%s\nexpected\n%s", what, n, skip,
                 reference_show(&got), reference_show(&expected));
    }
}

/* Whether two partials are the same once carried. */
static bool same_partial(const struct partial *a, const struct partial *b)
{
    struct partial c = *a, d = *b;

    exact_carry(&c.sum);
    exact_carry(&d.sum);
    return memcmp(c.sum.digit, d.sum.digit, sizeof c.sum.digit) == 0 && c.min_key == d.min_key &&
           c.max_key == d.max_key && c.min_index == d.min_index && c.max_index == d.max_index &&
           c.count == d.count && c.nan == d.nan && c.positive_infinity == d.positive_infinity &&
           c.negative_infinity == d.negative_infinity && c.first_nan == d.first_nan;
}

/* Data of any kind; some have special values strewn in. */
static size_t random_data(struct rng *r, double *x, uint64_t *index)
{
    size_t n = (size_t)rng_below(r, rng_below(r, 4) ? 20 : N_MAX);
    uint64_t first = rng_below(r, 3) ? 0 : rng_next(r) >> 2;

    data_fill((enum data_kind)rng_below(r, DATA_KINDS), ELEMENT_F64, x, n, rng_next(r) >> 16);
    for (size_t i = 0; i < n; i++)
        index[i] = first + i;
    switch (rng_below(r, 4)) {
    case 0: /* one of some kind */
        if (n)
            data_put_special(ELEMENT_F64, x, (size_t)rng_below(r, n),
                             (enum data_special)rng_below(r, DATA_SPECIALS));
        break;
    case 1: /* many of all kinds */
        for (size_t i = 0; i < n; i += (size_t)rng_below(r, 5) + 1)
            data_put_special(ELEMENT_F64, x, i, (enum data_special)rng_below(r, DATA_SPECIALS));
        break;
    case 2: /* many of one kind */
    {
        enum data_special special = (enum data_special)rng_below(r, DATA_SPECIALS);
        for (size_t i = 0; i < n; i += (size_t)rng_below(r, 5) + 1)
            data_put_special(ELEMENT_F64, x, i, special);
        break;
    }
    }
    return n;
}

static void check_merge(void)
{
    struct tap_family whole = {0}, merged = {0}, any_order = {0}, neutral = {0};
    static double x[N_MAX];
    static uint64_t index[N_MAX];
    struct rng r;

    rng_seed(&r, 21);
    for (int round = 0; round < 3000; round++) {
        size_t n = random_data(&r, x, index);
        int parts = 1 + (int)rng_below(&r, PARTS_MAX);
        struct partial all, part[PARTS_MAX], copy[PARTS_MAX], empty;
        bool runs = rng_next(&r) & 1;

        partial_clear(&all);
        for (int j = 0; j < parts; j++)
            partial_clear(&part[j]);
        for (size_t i = 0; i < n; i++) {
            /* Runs of elements, or any element anywhere. */
            size_t j = runs ? i * (size_t)parts / n : (size_t)rng_below(&r, (uint64_t)parts);
            partial_take(&all, x[i], index[i]);
            partial_take(&part[j], x[i], index[i]);
        }
        check_result(&whole, &all, x, index, n, "one partial");

        partial_clear(&empty);
        copy[0] = all;
        partial_merge(&copy[0], &empty);
        partial_merge(&empty, &all);
        tap_case(&neutral, same_partial(&copy[0], &all) && same_partial(&empty, &all),
                 "round %d, %zu elements: an empty partial changes something", round, n);

        /* Any two that are left, until one is. */
        for (int order = 0; order < 3; order++) {
            int left = parts;

            memcpy(copy, part, sizeof copy);
            while (left > 1) {
                int to = (int)rng_below(&r, (uint64_t)left), from;
                struct partial before;

                do
                    from = (int)rng_below(&r, (uint64_t)left);
                while (from == to);
                memcpy(&before, &copy[from], sizeof before);
                partial_merge(&copy[to], &copy[from]);
                tap_case(&any_order, memcmp(&before, &copy[from], sizeof before) == 0,
                         "round %d: merging changed what was merged in", round);
                copy[from] = copy[--left];
            }
            tap_case(&any_order, same_partial(&copy[0], &all),
                     "round %d, order %d: %d parts of %zu elements", round, order, parts, n);
            check_result(&merged, &copy[0], x, index, n, "merged");
        }
    }
    tap_family_end(&whole, "element by element, against a plain loop");
    tap_family_end(&any_order, "parts merge in any order to the same partial");
    tap_family_end(&merged, "merged parts, against a plain loop");
    tap_family_end(&neutral, "no elements: the neutral element of merging");
}

static void check_ties(void)
{
    /* Every order of four elements, of which some are alike. */
    static const double values[][4] = {{1, 1, 1, 1},
                                       {0.0, -0.0, 0.0, -0.0},
                                       {-0.0, 0.0, 1, 1},
                                       {2, 1, 2, 1},
                                       {INFINITY, INFINITY, -INFINITY, -INFINITY},
                                       {NAN, 1, NAN, 1}};
    struct tap_family family = {0};

    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (int order = 0; order < 256; order++) {
            int at[4] = {order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3};
            uint64_t index[4];
            double x[4];
            struct partial p, q;

            if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15)
                continue;
            partial_clear(&p);
            partial_clear(&q);
            for (int i = 0; i < 4; i++) {
                x[i] = values[v][at[i]];
                index[i] = (uint64_t)at[i] + 1000;
                partial_take(i % 2 ? &p : &q, x[i], index[i]);
            }
            partial_merge(&p, &q);
            check_result(&family, &p, x, index, 4, "ties");
        }
    }
    tap_family_end(&family, "ties go to the smallest index, in whatever order they arrive");
}

static void check_by_hand(void)
{
    static const double nan_and_two[] = {NAN, 4, 2};
    struct partial p;
    struct result r;

    partial_clear(&p);
    partial_finish(&p, 0, &r);
    tap_ok(oracle_same(r.sum, 0) && isnan(r.mean) && isnan(r.min) && isnan(r.max) &&
               r.argmin == PARTIAL_NO_INDEX && r.argmax == PARTIAL_NO_INDEX && r.count == 0 &&
               r.nan == 0 && r.infinity == 0 && r.first_nan == PARTIAL_NO_INDEX,
           "nothing: sum 0, count 0 and no other values");

    for (uint64_t i = 0; i < 3; i++)
        partial_take(&p, nan_and_two[i], 10 + i);
    partial_finish(&p, 0, &r);
    tap_ok(isnan(r.sum) && isnan(r.mean) && isnan(r.min) && isnan(r.max) && r.argmin == 10 &&
               r.argmax == 10 && r.count == 3 && r.nan == 1 && r.first_nan == 10,
           "a NaN propagates to everything, argmin and argmax are its index");
    partial_finish(&p, 1, &r);
    tap_ok(r.sum == 6 && r.mean == 3 && r.min == 2 && r.max == 4 && r.argmin == 12 &&
               r.argmax == 11 && r.count == 2 && r.nan == 1 && r.first_nan == 10,
           "a NaN that is skipped is left out of everything, the divisor too");

    partial_clear(&p);
    partial_take(&p, NAN, 5);
    partial_finish(&p, 1, &r);
    tap_ok(oracle_same(r.sum, 0) && isnan(r.mean) && isnan(r.min) && r.count == 0 && r.nan == 1 &&
               r.argmin == PARTIAL_NO_INDEX && r.argmax == PARTIAL_NO_INDEX,
           "nothing but NaNs, skipped: as nothing at all");

    partial_clear(&p);
    partial_take(&p, INFINITY, 0);
    partial_take(&p, 1, 1);
    partial_finish(&p, 0, &r);
    tap_ok(r.sum == INFINITY && r.mean == INFINITY && r.max == INFINITY && r.argmax == 0 &&
               r.min == 1 && r.argmin == 1 && r.infinity == 1,
           "infinity of one sign: the sum, the mean and the maximum");
    partial_take(&p, -INFINITY, 2);
    partial_finish(&p, 0, &r);
    tap_ok(isnan(r.sum) && isnan(r.mean) && r.max == INFINITY && r.min == -INFINITY &&
               r.argmin == 2 && r.infinity == 2 && r.nan == 0,
           "infinities of both signs: no sum, but extremes");

    partial_clear(&p);
    partial_take(&p, -0.0, 0);
    partial_take(&p, 0.0, 1);
    partial_take(&p, -0.0, 2);
    partial_finish(&p, 0, &r);
    tap_ok(oracle_same(r.sum, 0) && oracle_same(r.mean, 0) && oracle_same(r.min, -0.0) &&
               oracle_same(r.max, 0) && r.argmin == 0 && r.argmax == 1,
           "-0 below +0; a sum of zeros is +0");

    partial_clear(&p);
    for (uint64_t i = 0; i < 4; i++)
        partial_take(&p, 0x1.fffffffffffffp1023, i);
    partial_finish(&p, 0, &r);
    tap_ok(r.sum == INFINITY && r.mean == 0x1.fffffffffffffp1023 && r.infinity == 0,
           "the sum overflows, the mean does not, and no infinity is counted");
}

/* The extremes by themselves, as the kernels take them: keys, with or without an index. */
static void check_extremes(void)
{
    struct partial p;

    partial_clear(&p);
    partial_take_min(&p, 7, 30);
    partial_take_min(&p, 7, 20);
    partial_take_min(&p, 7, 25);
    partial_take_min(&p, 8, 1);
    partial_take_max(&p, -7, 30);
    partial_take_max(&p, -7, 20);
    partial_take_max(&p, -8, 1);
    tap_ok(p.min_key == 7 && p.min_index == 20 && p.max_key == -7 && p.max_index == 20,
           "take_min and take_max: the smallest index of the extreme");
    partial_take_min(&p, 6, 40);
    partial_take_max(&p, -6, 40);
    tap_ok(p.min_key == 6 && p.min_index == 40 && p.max_key == -6 && p.max_index == 40,
           "take_min and take_max: a better key wins at any index");
    partial_clear(&p);
    partial_take_min(&p, 6, PARTIAL_NO_INDEX);
    partial_take_max(&p, 6, PARTIAL_NO_INDEX);
    tap_ok(p.min_key == 6 && p.min_index == PARTIAL_NO_INDEX && p.max_key == 6 &&
               p.max_index == PARTIAL_NO_INDEX,
           "take_min and take_max: without an index");
}

/* A result by its members, in their order. */
#define RESULT(SUM, MEAN, MIN, MAX, ARGMIN, ARGMAX, COUNT, NANS, INFINITIES, FIRST)    \
    {                                                                                  \
        .sum = (SUM), .mean = (MEAN), .min = (MIN), .max = (MAX), .argmin = (ARGMIN),  \
        .argmax = (ARGMAX), .count = (COUNT), .nan = (NANS), .infinity = (INFINITIES), \
        .first_nan = (FIRST)                                                           \
    }

/* The comparison of the other tests: it names each difference, only in the members that were asked
   for. */
static void check_difference(void)
{
    static const struct result same = RESULT(1, 2, -0.0, 4, 5, 6, 7, 8, 9, 10);
    static const struct {
        struct result other;
        unsigned wants; /* one of the bits for which it counts; 0: it always does */
        const char *difference;
    } cases[] = {
        {RESULT(NAN, 2, -0.0, 4, 5, 6, 7, 8, 9, 10), PARTIAL_SUM, "sum"},
        {RESULT(1, 3, -0.0, 4, 5, 6, 7, 8, 9, 10), PARTIAL_SUM, "mean"},
        {RESULT(1, 2, 0.0, 4, 5, 6, 7, 8, 9, 10), PARTIAL_EXTREMES, "minimum"},
        {RESULT(1, 2, -0.0, NAN, 5, 6, 7, 8, 9, 10), PARTIAL_EXTREMES, "maximum"},
        {RESULT(1, 2, -0.0, 4, 0, 6, 7, 8, 9, 10), PARTIAL_WHERE, "index of the minimum"},
        {RESULT(1, 2, -0.0, 4, 5, 0, 7, 8, 9, 10), PARTIAL_WHERE, "index of the maximum"},
        {RESULT(1, 2, -0.0, 4, 5, 6, 0, 8, 9, 10), 0, "count"},
        {RESULT(1, 2, -0.0, 4, 5, 6, 7, 0, 9, 10), 0, "number of NaNs"},
        {RESULT(1, 2, -0.0, 4, 5, 6, 7, 8, 0, 10), 0, "number of infinities"},
        {RESULT(1, 2, -0.0, 4, 5, 6, 7, 8, 9, 0), 0, "index of the first NaN"},
    };
    struct result nan = same, other_nan = same;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = result_difference(&same, &cases[i].other, cases[i].wants);

        tap_ok(found && strcmp(found, cases[i].difference) == 0, "difference: %s",
               cases[i].difference);
        if (cases[i].wants)
            tap_ok(!result_difference(&same, &cases[i].other, WANTS & ~cases[i].wants),
                   "no difference where it was not asked for: %s", cases[i].difference);
    }
    nan.sum = NAN;
    other_nan.sum = -NAN;
    tap_ok(!result_difference(&nan, &other_nan, WANTS), "no difference between two NaNs");
}

/* Files one behind the other: what is appended has indices that count from 0. */
static void check_append(void)
{
    struct tap_family appended = {0};
    static double x[N_MAX];
    static uint64_t index[N_MAX];
    struct rng r;

    rng_seed(&r, 22);
    for (int round = 0; round < 3000; round++) {
        size_t n = random_data(&r, x, index), begin = 0;
        struct partial all, total;

        partial_clear(&all);
        partial_clear(&total);
        for (size_t i = 0; i < n; i++) {
            index[i] = i;
            partial_take(&all, x[i], i);
        }
        while (begin < n) {
            size_t end = begin + (size_t)rng_below(&r, n - begin + 1); /* may be empty */
            struct partial file;

            partial_clear(&file);
            for (size_t i = begin; i < end; i++)
                partial_take(&file, x[i], i - begin);
            partial_append(&total, &file, total.count);
            begin = end;
        }
        tap_case(&appended, same_partial(&total, &all), "round %d, %zu elements", round, n);
        check_result(&appended, &total, x, index, n, "appended");
    }
    tap_family_end(&appended, "files appended are as if they were one");
}

/* Elements that come more than once. */
static void check_repeat(void)
{
    struct tap_family repeated = {0};
    static double x[N_MAX];
    static uint64_t index[N_MAX];
    struct rng r;

    rng_seed(&r, 23);
    for (int round = 0; round < 1000; round++) {
        const size_t n = random_data(&r, x, index) % 100;
        const unsigned times = 1 + (unsigned)rng_below(&r, 20);
        struct partial one, all, merged;

        partial_clear(&one);
        partial_clear(&all);
        for (size_t i = 0; i < n; i++) {
            partial_take(&one, x[i], index[i]);
            moments_take(&one, x[i], ELEMENT_F64, 1);
        }
        merged = one;
        partial_clear(&all);
        for (unsigned i = 0; i < times; i++)
            partial_merge(&all, &one);
        partial_repeat(&merged, times);
        tap_case(&repeated,
                 same_partial(&merged, &all) &&
                     exact_round(&merged.absolute) == exact_round(&all.absolute) &&
                     memcmp(&merged.squares.digit, &all.squares.digit,
                            sizeof merged.squares.digit) == 0 &&
                     merged.zeros == all.zeros && merged.negative == all.negative &&
                     merged.subnormal == all.subnormal,
                 "round %d, %zu elements, %u times", round, n, times);
    }
    tap_family_end(&repeated, "elements that come several times");
}

int main(void)
{
    tap_note("oracle: %s", oracle_backend());
    check_difference();
    check_by_hand();
    check_extremes();
    check_ties();
    check_merge();
    check_append();
    check_repeat();
    return tap_done();
}
