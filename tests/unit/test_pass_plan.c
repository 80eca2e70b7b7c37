/*
 * core/pass_plan.h and what it is made of: quantiles and histograms, exact whatever the elements
 * are, the sample, the kernels, the number of workers and the pieces. Expected values come from
 * sorting, and from the oracle's integers.
 *
 * STRESS_SEED is the seed, which is printed (CHECK_SEED, or the time); STRESS_RUNS how many random
 * pass plans there are.
 */
#include "config.h"

#include "core/pass_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/order.h"
#include "cpu/tally.h"
#include "lib/allocate.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/oracle.h"
#include "lib/real.h"
#include "lib/reference_element.h"
#include "lib/reference_order.h"
#include "lib/tap.h"

#define RUNS 1000

/*
 * Names and places.
 */

static void check_names(void)
{
    static const struct {
        const char *name;
        uint64_t numerator, denominator; /* 0 for what is no quantile */
    } cases[] = {
        {"median", 5, 10},
        {"q0", 0, 1},
        {"q1", 1, 1},
        {"q0.25", 25, 100},
        {"q.5", 5, 10},
        {"q1.000", 1000, 1000},
        {"q0.999999999999999999", UINT64_C(999999999999999999), UINT64_C(1000000000000000000)},
        {"q0.9999999999999999999", 0, 0},
        {"q1.0000000000000000001", 0, 0},
        {"p0", 0, 100},
        {"p50", 50, 100},
        {"p99.9", 999, 1000},
        {"p100", 100, 100},
        {"p100.0", 1000, 1000},
        {"p100.1", 0, 0},
        {"p99.9999999999999999", UINT64_C(999999999999999999), UINT64_C(1000000000000000000)},
        {"p99.99999999999999999", 0, 0},
        {"q1.1", 0, 0},
        {"q2", 0, 0},
        {"p101", 0, 0},
        {"p18446744073709551616", 0, 0},
        {"q", 0, 0},
        {"q.", 0, 0},
        {"q-0", 0, 0},
        {"q+1", 0, 0},
        {"q0,5", 0, 0},
        {"q1e-1", 0, 0},
        {"q0.5.", 0, 0},
        {"q 0.5", 0, 0},
        {"Median", 0, 0},
        {"medians", 0, 0},
        {"media", 0, 0},
        {"", 0, 0},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quantile q = {0, 0};
        bool found = quantile_parse(cases[i].name, strlen(cases[i].name), &q);

        tap_case(&family,
                 found == (cases[i].denominator > 0) &&
                     (!found ||
                      (q.numerator == cases[i].numerator && q.denominator == cases[i].denominator)),
                 "%s", cases[i].name);
    }
    tap_family_end(&family, "names of quantiles");
}

/* Values from Python's integers. */
static void check_places(void)
{
    static const struct {
        struct quantile q;
        uint64_t n, rank, fraction;
    } cases[] = {
        {{5, 10}, 1, 0, 0},
        {{5, 10}, 2, 0, 5},
        {{5, 10}, 3, 1, 0},
        {{5, 10}, UINT64_MAX, UINT64_C(9223372036854775807), 0},
        {{1, 4}, UINT64_MAX - 1, UINT64_C(4611686018427387903), 1},
        {{999, 1000}, 1000, 998, 1},
        {{0, 1}, UINT64_MAX, 0, 0},
        {{10, 10}, UINT64_MAX, UINT64_MAX - 1, 0},
        {{UINT64_C(999999999999999999), UINT64_C(1000000000000000000)},
         UINT64_MAX,
         UINT64_C(18446744073709551595),
         UINT64_C(553255926290448386)},
        {{UINT64_C(333333333333333333), UINT64_C(1000000000000000000)},
         UINT64_C(12345678901234567890),
         UINT64_C(4115226300411522625),
         UINT64_C(551440366255144037)},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quantile_place place = quantile_place(&cases[i].q, cases[i].n);

        tap_case(&family, place.rank == cases[i].rank && place.fraction == cases[i].fraction,
                 "case %zu: rank %llu, fraction %llu", i, (unsigned long long)place.rank,
                 (unsigned long long)place.fraction);
    }
    tap_family_end(&family, "the place of a quantile");
}

/* Makes element i of any type these bits. */
static void data_put_bits(enum element_type type, void *data, size_t i, uint64_t bits)
{
    const size_t size = element_size(type);
    const unsigned char *from = (const unsigned char *)&bits;

    memcpy((unsigned char *)data + i * size, element_host_is_big() ? from + 8 - size : from, size);
}

/* The keys of all values of 16 bits, and of random ones, are in their order. */
static void check_keys(void)
{
    struct tap_family family = {0};

    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        double before = -INFINITY;

        for (uint64_t key = order_least(type), step = 1; key <= order_greatest(type); key += step) {
            double value = order_value(type, key);
            uint64_t bits = order_bits(type, key);

            tap_case(&family,
                     order_key(type, bits) == key && value >= before &&
                         oracle_same(value, data_value(type, &bits, 0)),
                     "%s: key %llx", element_name(type), (unsigned long long)key);
            before = value;
            step = data_bits(type) <= 16 ? 1 : below(order_greatest(type) / 4096) + 1;
        }
        tap_case(&family,
                 isinf(order_value(type, order_least(type))) &&
                     isinf(order_value(type, order_greatest(type))) &&
                     isnan(order_value(type, order_greatest(type) + 1)) &&
                     isnan(order_value(type, order_least(type) - 1)),
                 "%s: beyond are NaNs", element_name(type));
        tap_case(&family,
                 signbit(order_value(type, order_first(type, 0, false))) &&
                     order_value(type, order_first(type, 0, true)) > 0 &&
                     order_first(type, INFINITY, true) == order_greatest(type) + 1,
                 "%s: the first key of a value", element_name(type));
    }
    tap_family_end(&family, "keys are in the order of values");
}

/* The keys of integers are in their order, and those of their extremes, as partial results have
   them, are theirs. */
static void check_integer_keys(void)
{
    struct tap_family family = {0};

    for (int t = ELEMENT_FLOATS; t < ELEMENT_TYPES; t++) {
        enum element_type type = (enum element_type)t;
        const unsigned bits = 8 * (unsigned)element_size(type);

        for (int i = 0; i < 1000; i++) {
            /* Two elements, one behind the other. */
            const uint64_t random[2] = {rng_next(&rng) >> (64 - bits),
                                        once_in(3) ? below(3) : rng_next(&rng) >> (64 - bits)};
            unsigned char data[2 * sizeof *random];
            struct reference_value value[2];
            uint64_t key[2];

            for (size_t j = 0; j < 2; j++) {
                data_put_bits(type, data, j, random[j]);
                value[j] = reference_value(type, data, j);
                key[j] = order_key(type, random[j]);
            }
            if (isnan(value[0].x) || isnan(value[1].x))
                continue;
            tap_case(&family,
                     (reference_compare(&value[0], &value[1]) < 0) == (key[0] < key[1]) &&
                         key[0] >= order_least(type) && key[0] <= order_greatest(type) &&
                         order_from_element_key(type, element_key(type, data)) == key[0] &&
                         order_key(type, order_bits(type, key[0])) == key[0],
                     "%s: %llx and %llx", element_name(type), (unsigned long long)random[0],
                     (unsigned long long)random[1]);
        }
    }
    tap_family_end(&family, "keys of integers and of floats of one byte");
}

/*
 * Random pass plans.
 */

#define QUANTILES_MAX 5
#define WORKERS_MAX 4

struct pass_plan_case {
    enum element_type type;
    struct scale scale;
    size_t count;
    unsigned char *data;
    struct pass_request request;
    unsigned decimals[QUANTILES_MAX]; /* of each quantile, at most 3 */
    bool propagate;
    unsigned workers;
    const struct cpu_kernels *kernels;
    bool small_room; /* too small for what is kept */
    enum { SAMPLE_NONE, SAMPLE_GOOD, SAMPLE_WRONG } sample;
    const char *kind;
};

/* Elements of the types behind the first group: of any bits, near to each other, or few values; of
   truth values any bytes. */
static void make_integers(struct pass_plan_case *c)
{
    const unsigned bits = 8 * (unsigned)element_size(c->type);
    const uint64_t from = rng_next(&rng), near = (UINT64_C(2) << below(bits)) - 1;
    uint64_t values[4];

    c->data = allocate_exactly(c->count * element_size(c->type));
    c->kind = once_in(3) ? "few values" : once_in(2) ? "near values" : "any bits";
    for (size_t i = 0; i < 4; i++)
        values[i] = once_in(3) ? (uint64_t)1 << (bits - 1) : once_in(3) ? UINT64_MAX : below(9) - 4;
    for (size_t i = 0; i < c->count; i++) {
        uint64_t x = rng_next(&rng);

        if (c->kind[0] == 'f')
            x = values[x % 4] - (x >> 60 == 0);
        else if (c->kind[0] == 'n')
            x = from + (x & near);
        data_put_bits(c->type, c->data, i, x);
    }
}

static void make_elements(struct pass_plan_case *c)
{
    const size_t size = element_size(c->type);
    enum data_kind kind = (enum data_kind)below(DATA_KINDS);

    if (!element_is_float(c->type)) {
        make_integers(c);
        return;
    }
    c->kind = data_kind_name(kind);
    c->data = allocate_exactly(c->count * size);
    data_fill(kind, c->type, c->data, c->count, rng_next(&rng));
    if (once_in(4)) {
        /* Few values, each often. */
        size_t values = 1 + below(4);
        c->kind = "few values";
        for (size_t i = values; i < c->count; i++)
            memcpy(c->data + i * size, c->data + below(values) * size, size);
    } else if (once_in(8)) {
        c->kind = "any bits";
        for (size_t i = 0; i < c->count; i++)
            data_put_pattern(c->type, c->data, i, rng_next(&rng) >> (64 - data_bits(c->type)));
    }
    if (once_in(3)) {
        size_t specials = once_in(4) ? c->count : below(c->count / 4 + 2);
        bool infinities = once_in(2);
        for (size_t i = 0; i < specials && c->count > 0; i++)
            data_put_special(c->type, c->data, below(c->count),
                             infinities
                                 ? (once_in(2) ? DATA_POSITIVE_INFINITY : DATA_NEGATIVE_INFINITY)
                                 : (enum data_special)below(DATA_SPECIALS));
    }
}

static void make_request(struct pass_plan_case *c)
{
    static const uint64_t denominators[] = {1, 10, 100, 1000};
    struct histogram_request *h = &c->request.histogram;

    c->request.quantile_count = (unsigned)below(QUANTILES_MAX + 1);
    for (unsigned i = 0; i < c->request.quantile_count; i++) {
        uint64_t denominator = denominators[below(4)];

        c->request.quantiles[i] = (struct quantile){below(denominator + 1), denominator};
    }
    h->kind = (enum histogram_kind)below(element_is_integer(c->type) ? 2 : 3);
    if (c->request.quantile_count == 0 && h->kind == HISTOGRAM_NONE)
        h->kind = HISTOGRAM_BINS;
    h->bins = 1 + (uint32_t)below(once_in(4) ? 3000 : 12);
    h->range_given = once_in(2);
    h->low = (rng_unit(&rng) - 0.5) * 4;
    h->high = h->low + rng_unit(&rng) * 4;
    if (once_in(3)) {
        /* Edges that are elements. */
        h->low = (double)below(10) - 5;
        h->high = h->low + (double)h->bins * (once_in(2) ? 1 : 0.25);
    } else if (once_in(4)) {
        h->low = ldexp(h->low, (int)below(2000) - 1000);
        h->high = ldexp(h->high, once_in(2) ? 1000 : -1000);
    }
    if (!element_is_float(c->type) && once_in(2)) {
        /* Ranges that the type can fill, or that go beyond it. */
        h->low = ldexp(h->low, (int)below(65));
        h->high = h->low + ldexp(rng_unit(&rng), (int)below(66));
    }
    if (!(h->low < h->high))
        h->range_given = false;
}

/* The ends of a histogram's range: what was asked for, or the extremes. */
struct ends {
    struct reference_number low, high;
};

/* Whether x, finite, is at least where bin i begins: the sign of what all bins times x is more. */
static bool reaches(const struct reference_number *x, const struct ends *ends, uint32_t bins,
                    uint32_t i)
{
    double *list = allocate_exactly(2 * (size_t)bins * REFERENCE_PARTS * sizeof *list);
    bool result;

    for (uint32_t j = 0; j < bins; j++) {
        const struct reference_number *edge = j < i ? &ends->high : &ends->low;

        for (size_t part = 0; part < REFERENCE_PARTS; part++) {
            list[(size_t)2 * REFERENCE_PARTS * j + part] = x->part[part];
            list[(size_t)2 * REFERENCE_PARTS * j + REFERENCE_PARTS + part] = -edge->part[part];
        }
    }
    result = oracle_sum(list, 2 * (size_t)bins * REFERENCE_PARTS) >= 0;
    free(list);
    return result;
}

/* The bin of x: -1 below all, `bins` above them. It is looked for near where it should be. */
static int64_t expected_bin(const struct reference_number *x, const struct ends *ends,
                            uint32_t bins)
{
    const double low = reference_rounded(&ends->low), high = reference_rounded(&ends->high);
    double place;
    int64_t bin = 0;

    if (reference_compare_numbers(x, &ends->low) < 0 && !(reference_rounded(x) == 0 && low == 0))
        return -1;
    if (reference_compare_numbers(x, &ends->high) > 0 && !(reference_rounded(x) == 0 && high == 0))
        return bins;
    place = (reference_rounded(x) / 2 - low / 2) / (high / 2 - low / 2) * bins;
    if (place >= 0) /* not a NaN: the range may be one number */
        bin = place < bins - 1 ? (int64_t)place : bins - 1;
    while (bin > 0 && !reaches(x, ends, bins, (uint32_t)bin))
        bin--;
    while (bin < bins - 1 && reaches(x, ends, bins, (uint32_t)bin + 1))
        bin++;
    return bin;
}

/* A binary64 as a number whose parts are compared with those of integers: the first is a multiple
   of 2^32, unless it is the whole. */
static struct reference_number number_of(const struct pass_plan_case *c, double x)
{
    const double upper = trunc(x * 0x1p-32) * 0x1p32;

    if (!element_is_integer(c->type) || fabs(x) >= 0x1p85)
        return (struct reference_number){{x, 0}};
    return (struct reference_number){{upper, x - upper}};
}

/* Compares a histogram of bins; of many elements a choice is enough, and the sum of counts. */
static bool same_bins(const struct pass_plan_case *c, const struct histogram *h,
                      const struct reference_number *x, size_t count)
{
    const struct histogram_request *request = &c->request.histogram;
    uint64_t *counts = calloc((size_t)h->bins + 2, sizeof *counts), sum = h->below + h->above;
    struct ends ends = {number_of(c, request->low), number_of(c, request->high)};
    int64_t bin = 0;
    bool same = true;

    if (!counts)
        abort();
    if (!request->range_given && count > 0)
        ends = (struct ends){x[0], x[count - 1]};
    if (count > 0 || request->range_given)
        same = oracle_same(h->range.low, reference_rounded(&ends.low)) &&
               oracle_same(h->range.high, reference_rounded(&ends.high));
    else
        same = isnan(h->range.low) && isnan(h->range.high);
    for (uint32_t i = 0; i < h->bins; i++)
        sum += h->counts[i];
    same = same && sum == count && h->nan == c->count - count;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || reference_compare_numbers(&x[i], &x[i - 1]) != 0)
            bin = expected_bin(&x[i], &ends, h->bins);
        counts[bin + 1]++;
    }
    same = same && counts[0] == h->below && counts[h->bins + 1] == h->above &&
           memcmp(counts + 1, h->counts, h->bins * sizeof *counts) == 0;
    free(counts);
    return same;
}

static bool same_exponents(const struct pass_plan_case *c, const struct histogram *h,
                           const struct reference_number *numbers, size_t count)
{
    const int lowest = element_formats[c->type].exponent_min;
    uint64_t zeros[2] = {0}, subnormals[2] = {0}, infinities[2] = {0}, normal = 0;
    bool same = h->nan == c->count - count;
    double *x = allocate_exactly(count * sizeof *x);

    for (size_t k = 0; k < count; k++)
        x[k] = numbers[k].part[0];
    for (size_t i = 0; i < count; i++) {
        int sign = signbit(x[i]) != 0, exponent;

        frexp(x[i], &exponent);
        exponent--;
        if (x[i] == 0)
            zeros[sign]++;
        else if (isinf(x[i]))
            infinities[sign]++;
        else if (exponent < lowest)
            subnormals[sign]++;
        else
            normal++;
        /* The first of its kind: those like it follow. */
        if (isfinite(x[i]) && x[i] != 0 && exponent >= lowest) {
            size_t first = i;
            int other = exponent;

            while (i + 1 < count && other == exponent && (signbit(x[i + 1]) != 0) == sign) {
                frexp(x[i + 1], &other);
                other--;
                if (other != exponent || isinf(x[i + 1]) || x[i + 1] == 0)
                    break;
                i++;
                normal++;
            }
            same = same && histogram_exponent(h, sign, exponent) == i + 1 - first;
        }
    }
    for (int sign = 0; sign < 2; sign++) {
        same = same && h->zeros[sign] == zeros[sign] && h->subnormals[sign] == subnormals[sign] &&
               h->infinities[sign] == infinities[sign];
        for (int exponent = h->exponent_min; exponent <= h->exponent_max; exponent++)
            normal -= histogram_exponent(h, sign, exponent);
    }
    free(x);
    return same && normal == 0;
}

/* Takes elements into a tally; those at the beginning that are the same, at times, as one. */
static bool take_elements(const struct pass_plan_case *c, struct tally *t, const unsigned char *x,
                          size_t n, bool nans)
{
    const size_t size = element_size(c->type);
    size_t same = 1;

    while (same < n && memcmp(x + same * size, x, size) == 0)
        same++;
    if (!once_in(2))
        same = 0;
    return (same == 0 || cpu_tally_take_same(t, x, same)) &&
           cpu_tally_take(t, c->kernels, x + same * size, n - same, nans);
}

/* Reads the elements once, in pieces of any size that workers take in any order. */
static void read_once(const struct pass_plan_case *c, struct tally_set *sets, bool nans)
{
    const size_t size = element_size(c->type);
    size_t most = 1 + below(once_in(3) ? 100 : c->count + 1);

    for (size_t i = 0, n; i < c->count; i += n) {
        struct tally_set *set = &sets[below(c->workers)];

        n = 1 + below(most);
        n = n > c->count - i ? c->count - i : n;
        for (unsigned j = 0; j < set->count; j++)
            if (!take_elements(c, &set->tally[j], c->data + i * size, n, nans))
                abort();
    }
    for (unsigned i = 0; i < c->workers; i++)
        for (unsigned j = 0; j < sets[i].count; j++)
            cpu_tally_finish(&sets[i].tally[j]);
}

static enum pass_plan_verdict pass(const struct pass_plan_case *c, struct pass_plan *s,
                                   const struct partial *partial)
{
    const struct tally_plan *plans[TALLY_PLANS_MAX];
    unsigned count = pass_plan_next(s, plans);
    struct tally_set sets[WORKERS_MAX] = {{.count = 0}};
    struct partial bare;
    enum pass_plan_verdict verdict;

    partial_clear(&bare);
    bare.count = partial->count;
    for (unsigned j = 0; j < count && c->small_room; j++)
        ((struct tally_plan *)(uintptr_t)plans[j])->room = 100;
    for (unsigned i = 0; i < c->workers; i++) {
        for (unsigned j = 0; j < count; j++)
            if (!tally_open(&sets[i].tally[j], plans[j]))
                abort();
        sets[i].count = count;
    }
    read_once(c, sets, partial->nan > 0);
    verdict = pass_plan_take(s, pass_plan_tallies_alone(s) ? &bare : partial, sets, c->workers);
    for (unsigned i = 0; i < c->workers; i++)
        for (unsigned j = 0; j < count; j++)
            tally_close(&sets[i].tally[j]);
    return verdict;
}

static void take_sample(const struct pass_plan_case *c, struct pass_plan *s)
{
    const size_t size = element_size(c->type), length = 1 + below(20);
    const size_t runs = 1 + below(c->count / length / 4 + 1);
    unsigned char *elements = allocate_exactly(runs * length * size);

    if (c->sample == SAMPLE_WRONG)
        for (size_t i = 0; i < runs * length; i++)
            data_put_bits(c->type, elements, i, rng_next(&rng));
    else
        for (size_t i = 0; i < runs; i++)
            memcpy(elements + i * length * size, c->data + (c->count - length) / runs * i * size,
                   length * size);
    if (!pass_plan_sample(s, elements, NULL, runs, length))
        abort();
    free(elements);
}

/* More passes than the worst case needs: two guesses, and 12 bits at least in each of the
   others. */
#define PASSES_MAX 12

/* Compares with the quantiles by the keys of all elements, which come in pieces, or as one that is there
   several times. */
static void check_keys_of(const struct pass_plan_case *c, const struct partial *partial,
                          const double *expected, struct tap_family *family)
{
    const size_t size = element_size(c->type);
    struct pass_request request = c->request;
    struct pass_keys keys;
    struct result result;
    uint32_t found = 0;

    if (!pass_keys_open(&keys, c->type))
        abort();
    for (unsigned i = 0; i < request.quantile_count; i++)
        request.places[i] = i;
    for (int again = 0; again < 2; again++) {
        pass_keys_begin(&keys, c->type);
        for (size_t i = 0, n; i < c->count; i += n) {
            const unsigned char *x = c->data + i * size;

            const bool same = once_in(2);

            for (n = 1; same && n < c->count - i && memcmp(x, x + n * size, size) == 0;)
                n++;
            n = same ? n : 1 + below(c->count - i);
            if (same ? !cpu_tally_take_same(&keys.set.tally[0], x, n)
                     : !cpu_tally_take(&keys.set.tally[0], c->kernels, x, n, partial->nan > 0))
                abort();
        }
    }
    cpu_tally_finish(&keys.set.tally[0]);
    tally_end(&keys.set.tally[0]);
    if (!pass_keys_find(&keys, &request, &c->scale, partial, c->propagate, &result, &found))
        abort();
    for (unsigned i = 0; i < c->request.quantile_count; i++)
        tap_case(family, oracle_same(result.quantiles[i], expected[i]) && (found >> i & 1),
                 "%zu %s of %s, quantile %llu/%llu by keys: %a, not %a", c->count, c->kind,
                 element_name(c->type), (unsigned long long)c->request.quantiles[i].numerator,
                 (unsigned long long)c->request.quantiles[i].denominator, result.quantiles[i],
                 expected[i]);
    pass_keys_close(&keys);
}

static void check_case(const struct pass_plan_case *c, struct tap_family *quantiles,
                       struct tap_family *histograms, unsigned passes[PASSES_MAX + 1])
{
    struct pass_plan *s =
        pass_plan_open(&c->request, c->type, &c->scale, c->count, c->workers, c->propagate);
    struct partial partial;
    enum pass_plan_verdict verdict;
    unsigned count = 0;
    size_t numbers;
    struct reference_number *x = reference_sort(c->type, c->data, c->count, &numbers);
    double wanted[PASS_PLAN_QUANTILES_MAX];
    bool endless;

    if (!s)
        abort();
    for (unsigned i = 0; i < c->request.quantile_count; i++)
        wanted[i] = numbers == 0 || (c->propagate && numbers < c->count)
                        ? NAN
                        : reference_quantile(x, numbers, c->request.quantiles[i].numerator,
                                             c->request.quantiles[i].denominator);
    partial_clear(&partial);
    for (size_t i = 0; i < c->count; i++)
        partial_take_element(&partial, c->type, c->data + i * element_size(c->type), i);
    if (c->sample != SAMPLE_NONE && c->count >= 100)
        take_sample(c, s);
    do
        verdict = pass(c, s, &partial);
    while (++count < PASSES_MAX && verdict == PASS_PLAN_MORE);
    passes[count]++;
    endless = c->request.histogram.kind == HISTOGRAM_BINS && !c->request.histogram.range_given &&
              numbers > 0 && (isinf(x[0].part[0]) || isinf(x[numbers - 1].part[0]));
    tap_case(quantiles, verdict == (endless ? PASS_PLAN_ENDLESS : PASS_PLAN_DONE),
             "%zu %s of %s: verdict %d after %u passes", c->count, c->kind, element_name(c->type),
             (int)verdict, count);
    for (unsigned i = 0; i < c->request.quantile_count && verdict == PASS_PLAN_DONE; i++) {
        const struct quantile *q = &c->request.quantiles[i];

        tap_case(quantiles, oracle_same(pass_plan_quantile(s, i), wanted[i]),
                 "%zu %s of %s, quantile %llu/%llu: %a, not %a", c->count, c->kind,
                 element_name(c->type), (unsigned long long)q->numerator,
                 (unsigned long long)q->denominator, pass_plan_quantile(s, i), wanted[i]);
    }
    check_keys_of(c, &partial, wanted, quantiles);
    if (verdict == PASS_PLAN_DONE && c->request.histogram.kind != HISTOGRAM_NONE) {
        const struct histogram *h = pass_plan_histogram(s);
        bool bins = c->request.histogram.kind == HISTOGRAM_BINS;

        tap_case(histograms, bins ? same_bins(c, h, x, numbers) : same_exponents(c, h, x, numbers),
                 "%zu %s of %s by %s, %s: %u bins from %a to %a", c->count, c->kind,
                 element_name(c->type), c->kernels->name, bins ? "bins" : "exponents", h->bins,
                 h->range.low, h->range.high);
    }
    free(x);
    pass_plan_close(s);
}

static const struct cpu_kernels *any_kernels(void)
{
    const struct cpu_kernels *kernels;

    do
        kernels = cpu_kernels_all[below(cpu_kernels_count)];
    while (!kernels->usable());
    return kernels;
}

static void check_pass_plans(uint64_t runs)
{
    struct tap_family quantiles = {0}, histograms = {0};
    unsigned passes[PASSES_MAX + 1] = {0}, several = 0;

    for (uint64_t run = 0; run < runs; run++) {
        struct pass_plan_case c = {
            .type = (enum element_type)below(once_in(2) ? ELEMENT_FLOATS : ELEMENT_TYPES),
            .propagate = once_in(4),
            .workers = 1 + (unsigned)below(WORKERS_MAX),
            .kernels = any_kernels(),
            .small_room = once_in(2)};

        c.count = (size_t)(rng_next(&rng) >> (52 + below(12)));
        if (once_in(50))
            c.count += 100000; /* enough for a worker to count what it has kept */
        c.sample = below(3);
        make_request(&c);
        if (c.request.histogram.bins > 100 && c.count > 200)
            c.request.histogram.bins = 1 + c.request.histogram.bins % 12;
        make_elements(&c);
        check_case(&c, &quantiles, &histograms, passes);
        free(c.data);
    }
    tap_family_end(&quantiles, "random elements: quantiles");
    tap_family_end(&histograms, "random elements: histograms");
    for (unsigned i = 0; i <= PASSES_MAX; i++) {
        if (passes[i] > 0)
            tap_note("%u pass%s: %u", i, i == 1 ? "" : "s", passes[i]);
        several += i > 2 ? passes[i] : 0;
    }
    /* One in fifty does: of few runs there may be none. */
    tap_ok((several > 0 || runs < RUNS) && passes[PASSES_MAX] == 0,
           "some take several passes, and none takes many");
}

/*
 * Scaled numbers.
 */

/* A number that is scaled; infinity: not 0 if it is infinite. */
struct scaled_element {
    double infinity;
    struct real x;
    uint64_t key;
};

static int compare_scaled(const void *one, const void *other)
{
    const struct scaled_element *a = one, *b = other;

    if (a->infinity != 0 || b->infinity != 0)
        return (a->infinity > b->infinity) - (a->infinity < b->infinity);
    return real_compare(&a->x, &b->x);
}

/* The elements that are no NaNs, in their scaled order. */
static struct scaled_element *scale_and_sort(const struct pass_plan_case *c, size_t *numbers)
{
    struct scaled_element *all = allocate_exactly(c->count * sizeof *all);

    *numbers = 0;
    for (size_t i = 0; i < c->count; i++) {
        const unsigned char *bytes = c->data + i * element_size(c->type);
        const double x = real_stored(c->type, bytes).x;
        struct scaled_element *e = &all[*numbers];

        if (isnan(x))
            continue;
        memset(e, 0, sizeof *e);
        if (isinf(x))
            e->infinity = c->scale.factor < 0 ? -x : x;
        else
            e->x = real_scaled(c->type, bytes, &c->scale);
        ++*numbers;
    }
    qsort(all, *numbers, sizeof *all, compare_scaled);
    return all;
}

static double expected_quantile(const struct scaled_element *x, size_t numbers,
                                const struct quantile *q)
{
    const uint64_t product = q->numerator * (numbers - 1), fraction = product % q->denominator;
    const struct scaled_element *low = x + product / q->denominator, *high = low + (fraction > 0);
    struct real sum, part;

    if (low->infinity != 0 || high->infinity != 0)
        return low->infinity + high->infinity;
    sum = real_multiply(low->x, q->denominator - fraction);
    part = real_multiply(high->x, fraction);
    sum = real_add(sum, &part);
    return real_quotient(&sum, q->denominator);
}

/* The lower edge of a bin times the number of bins. */
static struct real edge_of(const struct real ends[2], uint32_t bins, uint32_t i)
{
    const struct real high = real_multiply(ends[1], i);

    return real_add(real_multiply(ends[0], bins - i), &high);
}

static bool same_scaled_bins(const struct pass_plan_case *c, const struct histogram *h,
                             const struct scaled_element *x, size_t numbers)
{
    const struct histogram_request *request = &c->request.histogram;
    struct real ends[2] = {real_of(request->low), real_of(request->high)};
    uint64_t *counts = calloc((size_t)h->bins + 2, sizeof *counts);
    bool same = true;

    if (!counts)
        abort();
    if (!request->range_given && numbers == 0) {
        free(counts);
        return isnan(h->range.low) && isnan(h->range.high);
    }
    if (!request->range_given) {
        ends[0] = x[0].x;
        ends[1] = x[numbers - 1].x;
    }
    for (uint32_t i = 0; i <= h->bins; i++) {
        const struct real edge = edge_of(ends, h->bins, i);
        const double expected = real_quotient(&edge, h->bins);

        same = same && histogram_edge(h, i) == expected;
    }
    for (size_t k = 0; k < numbers; k++) {
        const struct real number = real_multiply(x[k].x, h->bins);
        uint32_t place = 0; /* 0 below all bins, and bins + 1 above them */

        while (place <= h->bins) {
            const struct real edge = edge_of(ends, h->bins, place);
            const int order =
                x[k].infinity != 0 ? (x[k].infinity > 0 ? 1 : -1) : real_compare(&number, &edge);

            if (place < h->bins ? order < 0 : order <= 0)
                break;
            place++;
        }
        counts[place]++;
    }
    same = same && h->nan == c->count - numbers && counts[0] == h->below &&
           counts[h->bins + 1] == h->above &&
           memcmp(counts + 1, h->counts, h->bins * sizeof *counts) == 0;
    free(counts);
    return same;
}

static void check_scaled_case(const struct pass_plan_case *c, struct tap_family *quantiles,
                              struct tap_family *histograms)
{
    const bool bins = c->request.histogram.kind == HISTOGRAM_BINS;
    struct pass_plan *s =
        pass_plan_open(&c->request, c->type, &c->scale, c->count, c->workers, c->propagate);
    enum pass_plan_verdict verdict;
    struct partial partial;
    unsigned count = 0;
    size_t numbers;
    struct scaled_element *x = scale_and_sort(c, &numbers);
    double wanted[PASS_PLAN_QUANTILES_MAX];
    bool endless = bins && !c->request.histogram.range_given && numbers > 0;

    if (!s)
        abort();
    partial_clear(&partial);
    for (size_t i = 0; i < c->count; i++)
        partial_take_element(&partial, c->type, c->data + i * element_size(c->type), i);
    do
        verdict = pass(c, s, &partial);
    while (++count < PASSES_MAX && verdict == PASS_PLAN_MORE);
    endless =
        endless && (x[0].infinity != 0 || x[numbers - 1].infinity != 0 ||
                    isinf(real_quotient(&x[0].x, 1)) || isinf(real_quotient(&x[numbers - 1].x, 1)));
    tap_case(quantiles, verdict == (endless ? PASS_PLAN_ENDLESS : PASS_PLAN_DONE),
             "%zu %s of %s: verdict %d after %u passes", c->count, c->kind, element_name(c->type),
             (int)verdict, count);
    for (unsigned i = 0; i < c->request.quantile_count && verdict == PASS_PLAN_DONE; i++) {
        const struct quantile *q = &c->request.quantiles[i];
        const double expected = numbers == 0 || (c->propagate && numbers < c->count)
                                    ? NAN
                                    : expected_quantile(x, numbers, q);

        wanted[i] = expected;
        tap_case(quantiles, oracle_same(pass_plan_quantile(s, i), expected),
                 "%zu %s of %s %a %a, quantile %llu/%llu: %a, not %a", c->count, c->kind,
                 element_name(c->type), c->scale.factor, c->scale.offset,
                 (unsigned long long)q->numerator, (unsigned long long)q->denominator,
                 pass_plan_quantile(s, i), expected);
    }
    if (verdict == PASS_PLAN_DONE)
        check_keys_of(c, &partial, wanted, quantiles);
    if (verdict == PASS_PLAN_DONE && bins) {
        const struct histogram *h = pass_plan_histogram(s);

        tap_case(histograms, same_scaled_bins(c, h, x, numbers),
                 "%zu %s of %s %a %a by %s: %u bins from %a to %a", c->count, c->kind,
                 element_name(c->type), c->scale.factor, c->scale.offset, c->kernels->name, h->bins,
                 h->range.low, h->range.high);
    }
    free(x);
    pass_plan_close(s);
}

/* A range whose edges stored numbers hit or miss by little. */
static void make_scaled_range(struct pass_plan_case *c)
{
    struct histogram_request *h = &c->request.histogram;
    double ends[2];

    for (size_t i = 0; i < 2; i++) {
        const double x =
            c->count > 0 ? element_load(c->type, c->data + below(c->count) * element_size(c->type))
                         : (double)i;

        ends[i] = once_in(4) ? rng_unit(&rng) : c->scale.factor * x + c->scale.offset;
    }
    h->low = ends[0] < ends[1] ? ends[0] : ends[1];
    h->high = ends[0] < ends[1] ? ends[1] : ends[0];
    h->range_given = once_in(2) && h->low < h->high && isfinite(h->low) && isfinite(h->high);
}

static void check_scaled(uint64_t runs)
{
    static const double factors[] = {1, 2, 0.5, 0.01, 0.1, 1e-300, 1e300, 1.0 / 3, 0x1p-1074};
    static const double offsets[] = {0, 1, -3, 273.15, 1e10, -1e-10, 1e300, 0x1p-1074};
    struct tap_family quantiles = {0}, histograms = {0};

    for (uint64_t run = 0; run < runs; run++) {
        struct pass_plan_case c = {.type = (enum element_type)below(ELEMENT_TYPES),
                                   .propagate = once_in(4),
                                   .workers = 1 + (unsigned)below(WORKERS_MAX),
                                   .kernels = any_kernels(),
                                   .count = (size_t)below(once_in(10) ? 1500 : 50)};

        c.scale = (struct scale){.given = true,
                                 .factor = factors[below(sizeof factors / sizeof *factors)],
                                 .offset = offsets[below(sizeof offsets / sizeof *offsets)]};
        if (once_in(2))
            c.scale.factor = -c.scale.factor;
        make_request(&c);
        c.request.histogram.bins = 1 + c.request.histogram.bins % 12;
        if (c.request.histogram.kind == HISTOGRAM_EXPONENTS)
            c.request.histogram.kind = HISTOGRAM_BINS;
        make_elements(&c);
        make_scaled_range(&c);
        check_scaled_case(&c, &quantiles, &histograms);
        free(c.data);
    }
    tap_family_end(&quantiles, "scaled numbers: quantiles");
    tap_family_end(&histograms, "scaled numbers: histograms");
}

/*
 * Ties.
 */

/* Elements of which some keys are large parts, next to each other or not, in random order or in
   their own. Between two such keys there are others, or none. The beginning of one is the rank of a
   quantile, or beside it. */
static void make_ties(struct pass_plan_case *c)
{
    const size_t size = element_size(c->type), step = 20 + below(once_in(2) ? 230 : 40);
    const uint64_t least = order_least(c->type);
    uint64_t key = least + below(order_greatest(c->type) - least) / 2;
    size_t end = 0, rank = 0;

    c->count = 1000 * step + 1;
    c->data = allocate_exactly(c->count * size);
    c->kind = "ties";
    while (rank < c->count) {
        const bool others = once_in(4); /* neighbours that are rare */
        const uint64_t mask = (UINT64_C(1) << below(8 * size - 6)) - 1;

        end += 1 + below(once_in(2) ? 10 : 400);
        if (c->request.quantile_count < QUANTILES_MAX && end < 1000)
            c->request.quantiles[c->request.quantile_count++] = (struct quantile){end, 1000};
        for (const size_t last = end * step + below(3) - 1; rank < c->count && rank < last; rank++)
            data_put_bits(c->type, c->data, rank,
                          order_bits(c->type, others ? key + (rng_next(&rng) & mask) : key));
        if (key < order_greatest(c->type) - 2 * (mask + 1))
            key += 1 + (others ? mask : 0) + (once_in(2) ? 0 : rng_next(&rng) & mask);
    }
    for (size_t i = c->count - 1; i > 0 && step % 2 > 0; i--) {
        unsigned char *x = c->data + i * size, *y = c->data + below(i + 1) * size, z[8];

        memcpy(z, x, size);
        memcpy(x, y, size);
        memcpy(y, z, size);
    }
}

/* Two keys, one next to the other, between which the median lies. */
static void make_halves(struct pass_plan_case *c)
{
    const uint64_t least = order_least(c->type);
    const uint64_t key = least + below(order_greatest(c->type) - least);

    c->count = 20000;
    c->data = allocate_exactly(c->count * element_size(c->type));
    c->kind = "halves";
    c->request.quantiles[0] = (struct quantile){5, 10};
    c->request.quantile_count = 1;
    for (size_t i = 0; i < c->count; i++)
        data_put_bits(c->type, c->data, i, order_bits(c->type, key + i % 2));
}

static void check_ties(void)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64, ELEMENT_I32, ELEMENT_U64};
    struct tap_family quantiles = {0}, histograms = {0};
    unsigned passes[PASSES_MAX + 1] = {0};

    for (unsigned i = 0; i < 200; i++) {
        struct pass_plan_case c = {.type = types[below(4)],
                                   .workers = 1 + (unsigned)below(WORKERS_MAX),
                                   .kernels = any_kernels(),
                                   .small_room = once_in(8)};

        c.sample = below(3);
        if (i % 10 == 0)
            make_halves(&c);
        else
            make_ties(&c);
        check_case(&c, &quantiles, &histograms, passes);
        free(c.data);
    }
    tap_family_end(&quantiles, "ties: quantiles");
}

/* With a good sample one pass is enough nearly always, and little is kept: of ordinary elements,
   and where half of them are zeros, at the ends of which two quantiles may lie. */
static void check_sample(void)
{
    enum { COUNT = 1 << 20 };
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64};
    struct tap_family one = {0}, few = {0};

    for (size_t t = 0; t < 4; t++) {
        struct pass_plan_case c = {
            .type = types[t % 2],
            .count = COUNT,
            .workers = 1,
            .kernels = any_kernels(),
            .request = {.quantiles = {{5, 10}, {1, 4}, {3, 4}}, .quantile_count = t < 2 ? 1 : 3}};
        struct pass_plan *s = pass_plan_open(&c.request, c.type, &c.scale, c.count, 1, true);
        struct pass_runs runs = pass_plan_runs(s);
        const size_t size = element_size(c.type);
        unsigned char *elements = allocate_exactly(runs.count * runs.length * size);
        const struct tally_plan *plans[TALLY_PLANS_MAX];
        struct tally_set set = {.count = 1};

        c.data = allocate_exactly(COUNT * size);
        data_fill(DATA_NORMAL, c.type, c.data, COUNT, 1);
        for (size_t i = 0; i < COUNT && t >= 2; i++)
            if (once_in(2))
                memset(c.data + i * size, 0, size);
        for (size_t i = 0; i < runs.count; i++)
            memcpy(elements + i * runs.length * size,
                   c.data + (COUNT - runs.length) / runs.count * i * size, runs.length * size);
        if (!pass_plan_sample(s, elements, NULL, runs.count, runs.length))
            abort();
        tap_case(&one, pass_plan_next(s, plans) == 1 && plans[0]->kind == TALLY_CELLS, "a plan");
        if (!tally_open(&set.tally[0], plans[0]))
            abort();
        /* All at once: after pieces, nothing may be left of what has been kept and counted. */
        if (!take_elements(&c, &set.tally[0], c.data, COUNT, false))
            abort();
        cpu_tally_finish(&set.tally[0]);
        /* If half of the elements are zeros, the cells may hold nothing else. */
        tap_case(&few,
                 (t >= 2 || set.tally[0].kept_count > 0) && set.tally[0].kept_count < COUNT / 10,
                 "%zu kept", set.tally[0].kept_count);
        tally_close(&set.tally[0]);
        pass_plan_close(s);
        free(elements);
        free(c.data);
    }
    tap_family_end(&one, "a sample makes a plan of cells");
    tap_family_end(&few, "what is kept is a small part");
}

/* The bounds of a plan that the element reaches. They ascend. */
static size_t reached(const struct tally_plan *plan, double x)
{
    size_t low = 0, high = (size_t)plan->bins + 1;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (x >= plan->bound[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Elements at and beside the bounds of a plan of binary32, at the places where computing the bin is
   next to wrong, and anywhere. Returns how many. */
static size_t fill_beside(const struct tally_plan *plan, float *x)
{
    size_t n = 0;

    for (size_t i = 0; i <= plan->bins; i++) {
        float up = (float)plan->bound[i], down = up;

        x[n++] = up;
        for (int j = 0; j < 3; j++) {
            x[n++] = up = nextafterf(up, INFINITY);
            x[n++] = down = nextafterf(down, -INFINITY);
        }
        for (int j = 0; j < 8; j++)
            x[n++] =
                (float)(plan->bound[i] + ldexp(rng_unit(&rng) - 0.5, -1 - 2 * j) / plan->scale);
    }
    return n;
}

/* Kernels count what lies beside the bounds by these, whatever the plan. */
static void check_beside(void)
{
    static const uint32_t bins[] = {1,    2,    6,    100,  510,  511,   1000, 1022,
                                    1023, 4094, 4095, 8190, 8191, 16382, 40000};
    struct tap_family family = {0};

    for (size_t i = 0; i < 3 * sizeof bins / sizeof *bins; i++) {
        const uint32_t count = bins[i / 3];
        struct histogram_range range = {.low = -6, .high = 6};
        struct tally_plan plan;
        float *x = allocate_exactly(15 * ((size_t)count + 1) * sizeof *x);
        uint64_t *expected = allocate_exactly(((size_t)count + 2) * sizeof *expected);
        size_t n;

        if (i % 3 > 0) {
            range.low = ldexp(rng_unit(&rng) - 0.5, (int)below(20));
            range.high = range.low + ldexp(0.5 + rng_unit(&rng), (int)below(20) - 10);
        }
        if (!histogram_plan(&plan, ELEMENT_F32, count, &range))
            abort();
        n = fill_beside(&plan, x);
        memset(expected, 0, ((size_t)count + 2) * sizeof *expected);
        for (size_t j = 0; j < n; j++)
            expected[reached(&plan, (double)x[j])]++;
        for (size_t k = 0; k < cpu_kernels_count; k++) {
            struct tally t;

            if (!cpu_kernels_all[k]->usable())
                continue;
            if (!tally_open(&t, &plan) || !cpu_tally_take(&t, cpu_kernels_all[k], x, n, false))
                abort();
            cpu_tally_finish(&t);
            tap_case(&family, memcmp(t.counts, expected, ((size_t)count + 2) * 8) == 0,
                     "%s: %u bins from %a to %a", cpu_kernels_all[k]->name, (unsigned)count,
                     range.low, range.high);
            tally_close(&t);
        }
        histogram_free_plan(&plan);
        free(expected);
        free(x);
    }
    tap_family_end(&family, "elements beside the bounds of bins");
}

/* An input that is another one in the second pass, and one that is the same. */
static void check_change(void)
{
    double first[] = {1, 2, 3, NAN};
    static const struct {
        double data[5];
        size_t count;
        enum pass_plan_verdict verdict;
    } seconds[] = {
        {{1, 2, 3, NAN}, 4, PASS_PLAN_DONE},      {{1, 2.5, 4, NAN}, 4, PASS_PLAN_CHANGED},
        {{0.5, 2, 3, NAN}, 4, PASS_PLAN_CHANGED}, {{1, 2, 3, 3}, 4, PASS_PLAN_CHANGED},
        {{1, NAN, 3, NAN}, 4, PASS_PLAN_CHANGED}, {{1, 3, NAN}, 3, PASS_PLAN_CHANGED},
        {{1, 2, 3, NAN, 2}, 5, PASS_PLAN_CHANGED}};

    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        struct pass_plan_case c = {.type = ELEMENT_F64,
                                   .workers = 1,
                                   .kernels = any_kernels(),
                                   .request = {.histogram = {HISTOGRAM_BINS, 4, false, 0, 0}}};
        struct pass_plan *s = pass_plan_open(&c.request, c.type, &c.scale, 4, 1, true);
        enum pass_plan_verdict verdicts[2];

        for (int j = 0; j < 2; j++) {
            const double *data = j == 0 ? first : seconds[i].data;
            struct partial partial;

            partial_clear(&partial);
            c.count = j == 0 ? 4 : seconds[i].count;
            for (size_t k = 0; k < c.count; k++)
                partial_take(&partial, data[k], k);
            c.data = (unsigned char *)(uintptr_t)data;
            verdicts[j] = pass(&c, s, &partial);
        }
        tap_ok(verdicts[0] == PASS_PLAN_MORE && verdicts[1] == seconds[i].verdict,
               "input number %zu of a second pass", i);
        pass_plan_close(s);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Order statistics, far apart or side by side, against a sort: of keys of few bits or many, few of which are
   different, most of which are the same, which have one bit each, or of which those at even distances, as a
   sample has them, are larger. */
static void check_select(uint64_t runs)
{
    struct tap_family family = {0};

    for (uint64_t run = 0; run < runs; run++) {
        const size_t count = 1 + below(once_in(20) ? 70000 : 600);
        const unsigned bits = 1 + (unsigned)below(64), kind = (unsigned)below(5);
        const uint64_t spread = once_in(2) ? count : 1 + below(count < 4 ? count : 4);
        const uint64_t first = below(count - spread + 1);
        uint64_t *keys = allocate_exactly(count * sizeof *keys);
        uint64_t *scratch = allocate_exactly(count * sizeof *keys);
        uint64_t *sorted = allocate_exactly(count * sizeof *keys);
        struct order_statistic wanted[ORDER_STATISTICS_MAX];
        const unsigned wanted_count = (unsigned)below(ORDER_STATISTICS_MAX + 1);
        bool good = true;

        for (size_t i = 0; i < count; i++) {
            keys[i] = rng_next(&rng) >> (64 - bits);
            keys[i] = kind == 1 ? keys[i] % 3 : kind == 2 && !once_in(10) ? 7 : keys[i];
            keys[i] = kind == 3 ? UINT64_C(1) << below(64) : keys[i];
            keys[i] =
                kind == 4 && count > 1024 && i % (count / 1024) == 0 ? UINT64_MAX - i : keys[i];
        }
        memcpy(sorted, keys, count * sizeof *keys);
        qsort(sorted, count, sizeof *sorted, compare_numbers);
        for (unsigned i = 0; i < wanted_count; i++)
            wanted[i] = (struct order_statistic){.rank = first + below(spread), .owner = i};
        order_select(keys, scratch, count, wanted, wanted_count);
        for (unsigned i = 0; i < wanted_count; i++)
            good = good && wanted[i].key == sorted[wanted[i].rank];
        tap_case(&family, good, "%u of %zu keys of %u bits, kind %u", wanted_count, count, bits,
                 kind);
        free(keys);
        free(scratch);
        free(sorted);
    }
    tap_family_end(&family, "order statistics");
}

int main(void)
{
    uint64_t seed =
        from_environment("STRESS_SEED", from_environment("CHECK_SEED", (uint64_t)time(NULL)));

    tap_note("STRESS_SEED=%llu", (unsigned long long)seed);
    rng_seed(&rng, seed);
    check_names();
    check_select(from_environment("STRESS_RUNS", RUNS));
    check_beside();
    check_places();
    check_keys();
    check_integer_keys();
    check_sample();
    check_change();
    check_scaled(from_environment("STRESS_RUNS", RUNS));
    check_ties();
    check_pass_plans(from_environment("STRESS_RUNS", RUNS));
    return tap_done();
}
