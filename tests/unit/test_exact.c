/*
 * exact.h: the fixed-point accumulator and the arithmetic around it, against the oracle.
 */
/* Tags: smoke ports emulator */
#include "config.h"

#include "core/exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/tap.h"

#define N_MAX 2100

static double x[N_MAX];

static struct exact sum_of(const double *values, size_t n)
{
    struct exact e;

    exact_clear(&e);
    for (size_t i = 0; i < n; i++)
        exact_add(&e, values[i]);
    return e;
}

/* A number whose bits are random, but finite. */
static double random_finite(struct rng *r)
{
    double value;

    data_fill(DATA_FULL_RANGE, ELEMENT_F64, &value, 1, rng_next(r) >> 8);
    return value;
}

static void check_split(void)
{
    static const double edges[] = {
        0.0,      -0.0, 0x1p-1074, -0x1p-1074, DBL_MIN, -DBL_MIN, DBL_MAX,
        -DBL_MAX, 1,    -1,        0x1p-42,    0x1p-43, 0x1p-41,  0x1p-1022 - 0x1p-1074};
    const size_t edge_count = sizeof edges / sizeof *edges, ones_count = (size_t)2 * 2047;
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 11);
    for (size_t i = 0; i < edge_count + ones_count + 20000; i++) {
        double value, parts[3], back;
        struct exact_parts split;
        struct term term;
        bool fits = true;

        if (i < edge_count)
            value = edges[i];
        else if (i < edge_count + ones_count) /* every exponent, all ones: all offsets in a digit */
            data_put_fields(ELEMENT_F64, &value, 0, i & 1, (unsigned)(i - edge_count) / 2,
                            0xfffffffffffff);
        else
            value = random_finite(&r);

        term = term_of(value);
        split = exact_split_integer(term.magnitude, (unsigned)(term.exponent - EXACT_LSB_EXPONENT),
                                    term.negative);
        for (int j = 0; j < 3; j++) {
            int64_t part = split.part[j];

            fits = fits && part < INT64_C(1) << 32 && part > -(INT64_C(1) << 32);
            fits = fits && (part == 0 || (part < 0) == (signbit(value) != 0));
            parts[j] = ldexp((double)part, 32 * ((int)split.position + j) - 1074);
        }
        back = oracle_sum(parts, 3);
        tap_case(&family, fits && split.position <= 63 && back == value,
                 "%a splits to %lld %lld %lld at %u", value, (long long)split.part[0],
                 (long long)split.part[1], (long long)split.part[2], split.position);
    }
    tap_family_end(&family, "split: the parts are small and sum to the value");
}

static void check_two_sum(void)
{
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 12);
    for (int i = 0; i < 20000; i++) {
        double a = random_finite(&r), b, error, sum, terms[4];
        int exponent = (int)rng_below(&r, 120) - 60;

        /* Near enough to touch, and away from overflow. */
        a = ldexp(a, -(ilogb(a) > 900 ? 200 : 0));
        b = ldexp(copysign(1 + rng_unit(&r), random_finite(&r)), ilogb(a) + exponent);
        sum = exact_two_sum(a, b, &error);
        terms[0] = a;
        terms[1] = b;
        terms[2] = -sum;
        terms[3] = -error;
        tap_case(&family, sum == oracle_sum(terms, 2) && oracle_sum(terms, 4) == 0,
                 "%a + %a gave %a and %a", a, b, sum, error);
    }
    tap_family_end(&family, "two_sum: the rounded sum and exactly what it lost");
}

static void check_key(void)
{
    /* In increasing order. */
    static const double ordered[] = {-INFINITY,  -DBL_MAX, -1e300,  -2,        -1,      -DBL_MIN,
                                     -0x1p-1074, -0.0,     0.0,     0x1p-1074, DBL_MIN, 1,
                                     2,          1e300,    DBL_MAX, INFINITY};
    const int count = (int)(sizeof ordered / sizeof *ordered);
    struct tap_family order = {0}, inverse = {0};
    struct rng r;

    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++)
            tap_case(&order, (exact_key(ordered[i]) < exact_key(ordered[j])) == (i < j),
                     "%a against %a", ordered[i], ordered[j]);
        tap_case(&inverse, oracle_same(exact_key_value(exact_key(ordered[i])), ordered[i]),
                 "%a does not come back", ordered[i]);
    }
    rng_seed(&r, 13);
    for (int i = 0; i < 50000; i++) {
        double a = random_finite(&r), b = random_finite(&r);

        if (i % 2)
            b = nextafter(a, b);
        tap_case(&order, (exact_key(a) < exact_key(b)) == (a < b), "%a against %a", a, b);
        tap_case(&inverse, oracle_same(exact_key_value(exact_key(a)), a), "%a does not come back",
                 a);
    }
    tap_case(&inverse, exact_bits(exact_from_bits(0x8123456789abcdef)) == 0x8123456789abcdef,
             "bits do not come back");
    tap_family_end(&order, "key: orders as the values do, -0 below +0");
    tap_family_end(&inverse, "key: has an inverse");
}

/* The odd mantissa of `mantissa` bits whose value is all ones, or 1, times 2^e. */
static double scaled_ones(int mantissa, int e)
{
    return ldexp(ldexp(1, mantissa) - 1, e - mantissa + 1);
}

static double scaled_odd(int mantissa, int e)
{
    return ldexp(ldexp(1, mantissa - 1) + 1, e - mantissa + 1);
}

/* Whether adding up x[0 .. n) in order, in binary64, never rounds. */
static bool adds_exactly(size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double error;

        sum = exact_two_sum(sum, x[i], &error);
        if (error != 0)
            return false;
    }
    return sum == oracle_sum(x, n);
}

/* Groups of the largest and the smallest values that the exponents allow: those said to fit add
   up without rounding, and the first that is said not to does round, if it has two values. */
static void check_group_fits(void)
{
    static const int mantissas[] = {1, 2, 3, 8, 11, 24, 40, 52, 53};
    struct tap_family sound = {0}, tight = {0}, shifted = {0};
    struct rng r;

    rng_seed(&r, 14);
    for (size_t m = 0; m < sizeof mantissas / sizeof *mantissas; m++) {
        int mantissa = mantissas[m];

        for (int count_log2 = 0; count_log2 <= 11; count_log2++) {
            size_t n = (size_t)1 << count_log2;

            for (int span = 0; span <= 56; span++) {
                int emin = -30 + (int)rng_below(&r, 60), emax = emin + span;
                bool fits = exact_group_fits(emin, emax, mantissa, count_log2);

                tap_case(&shifted,
                         fits == !!exact_group_fits(emin + 127, emax + 127, mantissa, count_log2),
                         "the bias matters: %d bits, span %d, 2^%d values", mantissa, span,
                         count_log2);
                for (int variant = 0; variant < 4; variant++) {
                    for (size_t i = 0; i < n; i++)
                        x[i] = scaled_ones(mantissa, emax);
                    /* The last place of the group, at the beginning, the end, or all over. */
                    x[variant == 1 ? n - 1 : 0] =
                        mantissa == 1 ? ldexp(1, emin) : scaled_odd(mantissa, emin);
                    for (size_t i = 0; variant >= 2 && i < n; i++) {
                        int e = emin + (int)rng_below(&r, (uint64_t)span + 1);
                        x[i] =
                            rng_next(&r) & 1 ? scaled_ones(mantissa, e) : scaled_odd(mantissa, e);
                        if (mantissa == 1)
                            x[i] = ldexp(1, e);
                        if (variant == 3 && rng_next(&r) & 1)
                            x[i] = -x[i];
                    }
                    if (fits)
                        tap_case(&sound, adds_exactly(n),
                                 "%d bits, exponents %d to %d, 2^%d values, variant %d", mantissa,
                                 emin, emax, count_log2, variant);
                    else if (variant == 0 && n > 2 && mantissa > 1 &&
                             span + mantissa + count_log2 == 54)
                        tap_case(&tight, !adds_exactly(n),
                                 "%d bits, exponents %d to %d, 2^%d values would fit", mantissa,
                                 emin, emax, count_log2);
                }
            }
        }
    }
    tap_family_end(&sound, "group_fits: what fits adds up without rounding");
    tap_family_end(&tight, "group_fits: one more bit, and it does round");
    tap_family_end(&shifted, "group_fits: biased and unbiased exponents say the same");
}

/* Checks round and divide of e, which holds times * the sum of x[0 .. n). */
static void check_value(struct tap_family *family, const struct exact *e, size_t n, uint64_t times,
                        const char *what, struct rng *r)
{
    struct exact before;
    double expected = oracle_scaled(x, n, times, 1);
    double got = exact_round(e);
    const uint64_t divisors[] = {
        1, n ? n : 1, 2, 3, (uint64_t)1 << rng_below(r, 64), (rng_next(r) >> rng_below(r, 64)) | 1,
        UINT64_MAX - rng_below(r, 3),
        /* One digit and two, and guesses of a digit that are too large. */
        UINT32_MAX - rng_below(r, 2), ((uint64_t)1 << 32) + rng_below(r, 3),
        (uint64_t)1 << (31 + rng_below(r, 32)) | UINT32_MAX, ((uint64_t)1 << 63) + rng_below(r, 3)};

    memcpy(&before, e, sizeof before);
    tap_case(family, oracle_same(got, expected), "%s, %zu values, times %llu: %a, not %a", what, n,
             (unsigned long long)times, got, expected);
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        expected = oracle_scaled(x, n, times, divisors[i]);
        got = exact_divide(e, divisors[i]);
        tap_case(family, oracle_same(got, expected),
                 "%s, %zu values, times %llu, over %llu: %a, not %a", what, n,
                 (unsigned long long)times, (unsigned long long)divisors[i], got, expected);
    }
    tap_case(family, memcmp(&before, e, sizeof before) == 0, "%s: reading the value changed it",
             what);
}

static void check_distributions(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 13, 31, 64, 100, 333, 1000, N_MAX};
    struct rng r;

    rng_seed(&r, 15);
    for (int k = 0; k < DATA_KINDS; k++) {
        enum data_kind kind = (enum data_kind)k;
        struct tap_family family = {0};

        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (uint64_t seed = 0; seed < (sizes[s] < 10 ? 30 : 3); seed++) {
                size_t n = sizes[s];
                struct exact e, part[4];

                data_fill(kind, ELEMENT_F64, x, n, seed);
                e = sum_of(x, n);
                check_value(&family, &e, n, 1, data_kind_name(kind), &r);

                /* The sum in four parts, in any order, with carries at any time. */
                for (int j = 0; j < 4; j++)
                    exact_clear(&part[j]);
                for (size_t i = 0; i < n; i++) {
                    struct exact *to = &part[rng_below(&r, 4)];
                    exact_add(to, x[i]);
                    if (rng_below(&r, 100) == 0)
                        exact_carry(to);
                }
                exact_merge(&part[1], &part[3]);
                exact_merge(&part[2], &part[1]);
                exact_merge(&part[2], &part[0]);
                tap_case(&family, oracle_same(exact_round(&part[2]), exact_round(&e)),
                         "%s, %zu values: parts merge to %a, not %a", data_kind_name(kind), n,
                         exact_round(&part[2]), exact_round(&e));
                exact_carry(&e);
                exact_carry(&part[2]);
                tap_case(&family, memcmp(e.digit, part[2].digit, sizeof e.digit) == 0,
                         "%s, %zu values: carried digits differ", data_kind_name(kind), n);
            }
        }
        tap_family_end(&family, "sum and quotients: %s", data_kind_name(kind));
    }
}

/* Sums built to lie at, or a hair beside, the places where rounding turns. */
static void check_rounding(void)
{
    static const int exponents[] = {-1074, -1073, -1060, -1023, -1022, -1021, -970,
                                    -500,  -33,   -32,   -31,   -1,    0,     1,
                                    31,    32,    33,    500,   958,   969,   970};
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 16);
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        /* The last place of a number of 53 bits is 2^e. */
        int e = exponents[i];

        for (int variant = 0; variant < 400; variant++) {
            double big = ldexp(0x1p52 + (double)(rng_next(&r) >> 12), e);
            size_t n = 0;

            if (variant % 4 == 1)
                big = ldexp(0x1p53 - 1, e); /* rounding up carries to the top */
            if (variant % 4 == 2)
                big = ldexp(0x1p52, e);
            x[n++] = big;
            if (e > -1074)
                x[n++] = ldexp(1, e - 1);
            if (variant / 4 % 4 == 1)
                x[n++] = 0x1p-1074;
            if (variant / 4 % 4 == 2)
                x[n++] = -0x1p-1074;
            if (variant / 4 % 4 == 3 && e > -1070)
                x[n++] = ldexp(rng_next(&r) & 1 ? 1 : -1,
                               -1074 + (int)rng_below(&r, (uint64_t)(e + INT64_C(1073))));
            if (variant / 16 % 2)
                for (size_t j = 0; j < n; j++)
                    x[j] = -x[j];
            /* Through a large number and back. */
            if (variant / 32 % 2) {
                x[n++] = 0x1.fffp1023;
                x[n++] = -0x1.fffp1023;
            }
            {
                struct exact sum = sum_of(x, n);
                check_value(&family, &sum, n, 1, "rounding", &r);
            }
        }
    }
    tap_family_end(&family, "ties, and a hair beside them, at every kind of place");

    /* Long carries: 2^a - 2^b is a row of ones. */
    for (int a = 1023; a > -1074; a -= 61) {
        for (int b = -1074; b < a; b += 67) {
            for (int sign = -1; sign <= 1; sign += 2) {
                struct exact sum;

                x[0] = sign * ldexp(1, a);
                x[1] = -sign * ldexp(1, b);
                sum = sum_of(x, 2);
                check_value(&family, &sum, 2, 1, "long carry", &r);
                x[2] = -x[0];
                sum = sum_of(x, 3);
                check_value(&family, &sum, 3, 1, "long borrow", &r);
            }
        }
    }
    tap_family_end(&family, "carries over many digits");

    /* Quotients that are halfway: (2m + 1) d over 2 d. */
    for (int i = 0; i < 4000; i++) {
        uint64_t d = (rng_next(&r) >> (20 + rng_below(&r, 44))) | 1;
        int e = i % 2 ? -1074 : -500 + (int)rng_below(&r, 1000);
        uint64_t m = 0x10000000000000 | rng_next(&r) >> 12;
        double expected, got;
        struct exact sum;

        if (i % 2)
            m >>= rng_below(&r, 53); /* subnormals */
        /* Every bit of d adds a copy of the odd number, which has up to 54 bits: two doubles. */
        exact_clear(&sum);
        for (int bit = 0; bit < 64; bit++) {
            if (d >> bit & 1) {
                exact_add(&sum, ldexp((double)m, e + bit + 1));
                exact_add(&sum, ldexp(1, e + bit));
            }
        }
        x[0] = ldexp((double)m, e + 1);
        x[1] = ldexp(1, e);
        got = exact_divide(&sum, 2 * d);
        expected = oracle_scaled(x, 2, d, 2 * d);
        tap_case(&family,
                 oracle_same(got, expected) && oracle_same(got, ldexp((double)(m + (m & 1)), e)),
                 "(2 * %llu + 1) * %llu * 2^%d over %llu: %a, not %a", (unsigned long long)m,
                 (unsigned long long)d, e, 2 * (unsigned long long)d, got, expected);
    }
    tap_family_end(&family, "quotients that are ties");
}

/* Sums of up to 2^64 values, by doubling. */
static void check_many(void)
{
    static const double values[] = {DBL_MAX, -DBL_MAX, 0x1p-1074, -0x1p-1074, 1, 0.1, -1e-310};
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 17);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct exact power, all;

        x[0] = values[i];
        power = sum_of(x, 1);
        exact_clear(&all);
        for (int bit = 0; bit < 64; bit++) {
            struct exact copy = power;

            check_value(&family, &power, 1, (uint64_t)1 << bit, "doubled", &r);
            exact_merge(&all, &power);
            check_value(&family, &all, 1, bit == 63 ? UINT64_MAX : ((uint64_t)2 << bit) - 1,
                        "summed doubles", &r);
            exact_merge(&power, &copy);
        }
    }
    tap_family_end(&family, "up to 2^64 - 1 copies of a value");
}

/* Digits as far from zero as the additions that `pending` tells of can have made them. The value
   goes to x; the digits that binary64 cannot reach stay zero. Returns how many values. */
static size_t fill_digits(struct exact *e, uint32_t pending, int pattern, struct rng *r)
{
    size_t n = 0;

    exact_clear(e);
    e->pending = pending;
    for (int i = 0; i < 62; i++) {
        int64_t limit = (int64_t)pending * 0xffffffff;
        int64_t digit = pattern == 0   ? limit
                        : pattern == 1 ? -limit
                        : pattern == 2
                            ? (i % 2 ? limit : -limit)
                            : (int64_t)(rng_next(r) % (uint64_t)limit) * (rng_next(r) & 1 ? 1 : -1);
        int64_t high = digit / (INT64_C(1) << 32), low = digit % (INT64_C(1) << 32);

        e->digit[i] = digit;
        x[n++] = ldexp((double)high, 32 * (i + 1) - 1074);
        x[n++] = ldexp((double)low, 32 * i - 1074);
    }
    return n;
}

static void check_pending(void)
{
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 18);
    for (int pattern = 0; pattern < 8; pattern++) {
        for (uint32_t less = 0; less < 4; less++) {
            struct exact e, other;
            size_t n = fill_digits(&e, EXACT_PENDING_MAX - less, pattern, &r);
            size_t more = n;

            check_value(&family, &e, n, 1, "full digits", &r);
            other = e;
            exact_carry(&other);
            check_value(&family, &other, n, 1, "full digits, carried", &r);
            for (int i = 0; i < EXACT_DIGITS - 1; i++)
                tap_case(&family, other.digit[i] >= 0 && other.digit[i] < INT64_C(1) << 32,
                         "digit %d is %lld after a carry", i, (long long)other.digit[i]);
            other = e;
            /* Over the mark, one addition after the other. */
            while (more < n + 200) {
                x[more] = random_finite(&r);
                if (more % 3 == 0)
                    x[more] = copysign(DBL_MAX, x[more]);
                exact_add(&e, x[more++]);
                tap_case(&family, e.pending <= EXACT_PENDING_MAX, "pending is %u",
                         (unsigned)e.pending);
            }
            check_value(&family, &e, more, 1, "additions to full digits", &r);

            /* Two that are full. */
            exact_merge(&other, &other);
            check_value(&family, &other, n, 2, "full merged with full", &r);
            n = fill_digits(&e, EXACT_PENDING_MAX, pattern, &r);
            exact_clear(&other);
            exact_merge(&other, &e);
            check_value(&family, &other, n, 1, "full merged into nothing", &r);
            tap_case(&family, other.pending <= EXACT_PENDING_MAX, "pending is %u",
                     (unsigned)other.pending);
        }
    }
    tap_family_end(&family, "accumulators at the limit of their waiting carries");
}

int main(void)
{
    tap_note("oracle: %s", oracle_backend());
    check_split();
    check_two_sum();
    check_key();
    check_group_fits();
    check_distributions();
    check_rounding();
    check_many();
    check_pending();
    return tap_done();
}
