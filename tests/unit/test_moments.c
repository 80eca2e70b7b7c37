/*
 * moments.h: norms, moments and counts, against an oracle that divides nothing and draws no root, and
 * against values worked out by hand where a rounding is a tie.
 */
#include "config.h"

#include "bench/common/difference.h"
#include "core/moments.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/oracle_moments.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

#define N_MAX 400

static void take_all(struct partial *p, enum element_type type, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        partial_take(p, x[i], p->count);
        moments_take(p, x[i], type, 1);
    }
}

/* How often other results were not the same without some results. */
static unsigned others_changed;

static struct result finish(const struct partial *p, bool skip_nan, uint64_t ddof,
                            enum element_type type)
{
    struct moments_terms terms = {.skip_nan = skip_nan, .ddof = ddof, .type = type};
    struct result r, without;

    memset(&r, 0x55, sizeof r); /* nothing may be left as it was */
    moments_finish(p, &terms, &r);
    /* Results that are not wanted change nothing else. */
    for (unsigned i = 0; i < 32; i++) {
        terms.unwanted = i;
        moments_finish(p, &terms, &without);
        if (i & MOMENTS_SUMSQ)
            without.sumsq = r.sumsq;
        if (i & MOMENTS_VAR)
            without.var = r.var;
        if (i & MOMENTS_L2)
            without.l2 = r.l2;
        if (i & MOMENTS_RMS)
            without.rms = r.rms;
        if (i & MOMENTS_STD)
            without.std = r.std;
        if (moments_difference(&r, &without, PARTIAL_ALL))
            others_changed++;
    }
    return r;
}

static struct result of(enum element_type type, const double *x, size_t n, uint64_t ddof)
{
    struct partial p;

    partial_clear(&p);
    take_all(&p, type, x, n);
    return finish(&p, false, ddof, type);
}

/* n elements of the type, as numbers. */
static void make(double *x, enum data_kind kind, enum element_type type, size_t n, uint64_t seed)
{
    unsigned char data[8 * N_MAX];

    data_fill(kind, type, data, n, seed);
    for (size_t i = 0; i < n; i++)
        x[i] = data_value(type, data, i);
}

/* Every distribution of every type, in parts that are merged, for several ddof. */
static void check_random(void)
{
    static double x[N_MAX];
    struct rng rng;

    rng_seed(&rng, 71);
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        struct tap_family family = {0};

        for (int round = 0; round < (SANITIZED ? 2 : 8) * DATA_KINDS; round++) {
            size_t n = (size_t)rng_below(&rng, rng_below(&rng, 3) ? 12 : N_MAX), cut;
            uint64_t ddof = rng_below(&rng, 4) ? rng_below(&rng, 3) : rng_below(&rng, n + 2);
            struct partial p, other;
            struct result got, expected = {0};
            const char *differs;

            make(x, (enum data_kind)(round % DATA_KINDS), type, n, rng_next(&rng) >> 8);
            if (n > 0 && round % 16 == 7)
                x[rng_below(&rng, n)] = round % 32 == 7 ? INFINITY : -INFINITY;
            cut = n > 0 ? (size_t)rng_below(&rng, n) : 0;
            partial_clear(&p);
            partial_clear(&other);
            take_all(&p, type, x, cut);
            take_all(&other, type, x + cut, n - cut);
            if (round % 2)
                partial_merge(&p, &other);
            else
                partial_append(&p, &other, p.count);
            got = finish(&p, round % 3 == 0, ddof, type);
            oracle_moments(type, x, n, ddof, &expected);
            differs = moments_difference(&got, &expected, PARTIAL_ALL);
            tap_case(&family, !differs,
                     "%s, %zu elements, ddof %llu: %s: var %a std %a rms %a range %a, expected "
                     "%a %a %a %a",
                     data_kind_name((enum data_kind)(round % DATA_KINDS)), n,
                     (unsigned long long)ddof, differs, got.var, got.std, got.rms, got.range,
                     expected.var, expected.std, expected.rms, expected.range);
        }
        tap_family_end(&family, "%s, every distribution, merged", element_name(type));
    }
}

/* A number of equal elements has no variance at all, whatever they are and however many. */
static void check_constants(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 72);
    for (int round = 0; round < 300; round++) {
        double x[30], value;
        size_t n = 1 + (size_t)rng_below(&rng, 29);
        struct result r;

        make(&value, DATA_FULL_RANGE, round % 2 ? ELEMENT_F64 : ELEMENT_F32, 1,
             rng_next(&rng) >> 8);
        for (size_t i = 0; i < n; i++)
            x[i] = value;
        r = of(ELEMENT_F64, x, n, 0);
        tap_case(&family, oracle_same(r.var, 0) && oracle_same(r.std, 0) && r.range == 0,
                 "%zu times %a: var %a", n, value, r.var);
        tap_case(&family, oracle_same(r.rms, fabs(value)), "%zu times %a: rms %a", n, value, r.rms);
        /* One last bit more in one of them, and it has one. */
        x[0] = value > 0 && value < DBL_MAX / 2 ? nextafter(value, INFINITY) : value;
        if (n > 1 && x[0] != value && x[0] > 1e-100) {
            r = of(ELEMENT_F64, x, n, 1);
            tap_case(&family, r.var > 0 && r.std > 0, "next to %a: var %a", value, r.var);
        }
    }
    tap_family_end(&family, "constants have no spread");
}

/* As if the data were there 2^k times: quotients by counts of up to 64 bits. */
static void check_large_counts(void)
{
    static double x[60];
    struct tap_family family = {0};

    for (int round = 0; round < 60; round++) {
        enum element_type type = (enum element_type)(round % ELEMENT_FLOATS);
        size_t n = 1 + (size_t)round;
        struct result once = {0}, r;
        struct partial p;

        make(x, (enum data_kind)(round % DATA_KINDS), type, n, (uint64_t)round);
        oracle_moments(type, x, n, 0, &once);
        partial_clear(&p);
        take_all(&p, type, x, n);
        for (int doubled = 0; doubled < 56; doubled++) {
            struct partial copy = p;

            partial_merge(&p, &copy);
        }
        r = finish(&p, false, 0, type);
        tap_case(&family,
                 oracle_same(r.var, once.var) && oracle_same(r.std, once.std) &&
                     oracle_same(r.rms, once.rms),
                 "%zu elements of %s: var %a rms %a, expected %a %a", n, element_name(type), r.var,
                 r.rms, once.var, once.rms);
        tap_case(&family,
                 r.zeros == once.zeros << 56 && r.negatives == once.negatives << 56 &&
                     r.subnormals == once.subnormals << 56,
                 "counts of %zu elements", n);
    }
    tap_family_end(&family, "2^56 times as many elements");
}

/* The tables below are of lists that end in a NaN. */
#define LIST_MAX 6
#define END NAN

static size_t length(const double *list)
{
    size_t n = 0;

    while (n < LIST_MAX && !isnan(list[n]))
        n++;
    return n;
}

/* Roundings that are ties, or just not, and the ends of the range. */
static void check_by_hand(void)
{
    const double tiny = 0x1p-1074, max = DBL_MAX;
    const struct {
        double x[LIST_MAX];
        uint64_t ddof;
        const char *op;
        double got, expected;
    } cases[] = {
        /* 2^54 + 2 lies between 2^54 and 2^54 + 4. */
        {{0x1p27, 1, 1, END}, 0, "sumsq", 0, 0x1p54},
        {{0x1p27, 1, 1, 0x1p-500, END}, 0, "sumsq", 0, 0x1p54 + 4},
        {{0x1p27, 1, 2, 1, END}, 0, "sumsq", 0, 0x1p54 + 8},
        /* (2^53 + 1)^2 = (2^53)^2 + (2^27)^2 + 1: the root lies between two numbers. */
        {{0x1p53, 0x1p27, 1, END}, 0, "l2", 0, 0x1p53},
        {{0x1p53, 0x1p27, 1, 0x1p-500, END}, 0, "l2", 0, 0x1p53 + 2},
        {{0x1p53, 0x1p27, 0x1.fffffffffffffp-1, END}, 0, "l2", 0, 0x1p53},
        {{0x1p-447, 0x1p-473, 0x1p-500, END}, 0, "l2", 0, 0x1p-447},
        {{0x1p-447, 0x1p-473, 0x1p-500, tiny, END}, 0, "l2", 0, 0x1.0000000000001p-447},
        /* With four elements: twice as much. */
        {{0x1p54, 0x1p28, 2, 0, END}, 0, "rms", 0, 0x1p53},
        {{0x1p54, 0x1p28, 2, 0x1p-500, END}, 0, "rms", 0, 0x1p53 + 2},
        /* For {a, -a} it is a^2, and 2 a^2 with one degree of freedom less. */
        {{3, -3, END}, 0, "var", 0, 9},
        {{3, -3, END}, 1, "var", 0, 18},
        {{3, -3, END}, 2, "var", 0, NAN},
        {{3, -3, END}, 3, "var", 0, NAN},
        {{3, END}, 0, "std", 0, 0},
        {{3, END}, 1, "std", 0, NAN},
        {{END}, 0, "var", 0, NAN},
        {{END}, 0, "rms", 0, NAN},
        {{END}, 0, "sumsq", 0, 0},
        {{END}, 0, "l2", 0, 0},
        {{END}, 0, "l1", 0, 0},
        /* (2^27 + 1)^2 has 55 bits; a half of the 54th: 2^54 + 2^28 + 1. */
        {{0x1p27 + 1, -0x1p27 - 1, END}, 0, "var", 0, 0x1p54 + 0x1p28},
        /* Squares far below the least number, whose roots are not. */
        {{tiny, END}, 0, "sumsq", 0, 0},
        {{tiny, END}, 0, "l2", 0, tiny},
        {{tiny, tiny, END}, 0, "l2", 0, tiny},
        {{tiny, tiny, tiny, END}, 0, "l2", 0, 2 * tiny},
        {{tiny, 0, END}, 0, "rms", 0, tiny},
        {{tiny, 0, 0, END}, 0, "rms", 0, tiny},
        {{tiny, 0, 0, 0, END}, 0, "rms", 0, 0}, /* exactly a half of it */
        {{3 * tiny, 0, 0, 0, END}, 0, "rms", 0, 2 * tiny},
        {{tiny, 0, 0, 0, 0, END}, 0, "rms", 0, 0},
        {{tiny, -tiny, END}, 0, "std", 0, tiny},
        {{tiny, -tiny, END}, 1, "std", 0, tiny}, /* 1.41 of it */
        {{0, tiny, END}, 0, "std", 0, 0},        /* a half of it */
        {{0, tiny, END}, 1, "std", 0, tiny},     /* 0.7 of it */
        {{0x1p-537, END}, 0, "sumsq", 0, tiny},
        {{0x1p-538, 0x1p-538, END}, 0, "sumsq", 0, 0}, /* 2^-1075: a tie */
        {{0x1p-538, 0x1p-538, tiny, END}, 0, "sumsq", 0, tiny},
        /* Sums of squares beyond the range. */
        {{max, max, END}, 0, "sumsq", 0, INFINITY},
        {{max, max, END}, 0, "rms", 0, max},
        {{max, -max, END}, 0, "std", 0, max},
        {{max, -max, END}, 0, "var", 0, INFINITY},
        {{max, -max, END}, 0, "l2", 0, INFINITY},
        {{max, -max, END}, 0, "l1", 0, INFINITY},
        {{max, -max, END}, 0, "range", 0, INFINITY},
        {{1e200, 1e200, 1e200, 1e200, END}, 0, "l2", 0, 2e200},
        {{max, 0, 0, 0, END}, 0, "rms", 0, max / 2},
        /* The least sum of squares that is no number, and the one before it. */
        {{0x1p512, END}, 0, "sumsq", 0, INFINITY},
        {{0x1.fffffffffffffp511, END}, 0, "sumsq", 0, 0x1.ffffffffffffep1023},
        /* Infinities. */
        {{INFINITY, 1, END}, 0, "sumsq", 0, INFINITY},
        {{INFINITY, -INFINITY, END}, 0, "l1", 0, INFINITY},
        {{-INFINITY, 1, END}, 0, "l2", 0, INFINITY},
        {{-INFINITY, 1, END}, 0, "rms", 0, INFINITY},
        {{INFINITY, 1, END}, 0, "var", 0, NAN},
        {{INFINITY, 1, END}, 0, "std", 0, NAN},
        {{INFINITY, 1, END}, 0, "range", 0, INFINITY},
        {{INFINITY, INFINITY, END}, 0, "range", 0, NAN},
        {{-INFINITY, 1, END}, 0, "absmax", 0, INFINITY},
        {{-INFINITY, 1, END}, 0, "absmin", 0, 1},
        {{-INFINITY, END}, 0, "absmin", 0, INFINITY},
        {{-0.0, 0.0, END}, 0, "absmin", 0, 0},
        {{-0.0, END}, 0, "range", 0, 0},
        {{-7, 3, END}, 0, "absmax", 0, 7},
        {{-7, 3, END}, 0, "range", 0, 10},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result r = of(ELEMENT_F64, cases[i].x, length(cases[i].x), cases[i].ddof);
        const char *op = cases[i].op;
        double got = strcmp(op, "sumsq") == 0    ? r.sumsq
                     : strcmp(op, "l1") == 0     ? r.l1
                     : strcmp(op, "l2") == 0     ? r.l2
                     : strcmp(op, "rms") == 0    ? r.rms
                     : strcmp(op, "var") == 0    ? r.var
                     : strcmp(op, "std") == 0    ? r.std
                     : strcmp(op, "absmax") == 0 ? r.absmax
                     : strcmp(op, "absmin") == 0 ? r.absmin
                                                 : r.range;

        tap_case(&family, oracle_same(got, cases[i].expected), "case %zu, %s: %a, expected %a", i,
                 op, got, cases[i].expected);
    }
    tap_family_end(&family, "ties, subnormals, overflow and infinities, by hand");
}

/* The range is rounded to the type of the elements. */
static void check_range(void)
{
    const struct {
        enum element_type type;
        double min, max, expected;
    } cases[] = {
        {ELEMENT_F32, -1, 0x1p24, 0x1p24}, /* a tie */
        {ELEMENT_F32, -0x1.000002p0, 0x1p24, 0x1p24 + 2},
        {ELEMENT_F32, -1, 0x1p24 + 2, 0x1p24 + 4}, /* a tie */
        {ELEMENT_F32, -0x1p-149, 0x1.000002p0, 0x1.000002p0},
        {ELEMENT_BF16, -1, 0x1p8, 0x1p8},
        {ELEMENT_BF16, -0x1p-126, 0x1.02p8, 0x1.02p8},
        {ELEMENT_F32, -0x1.fffffep127, 0x1.fffffep127, INFINITY},
        {ELEMENT_F16, -1, 65504, 65504},
        {ELEMENT_F16, -16, 65504, INFINITY}, /* a tie with 2^16 */
        {ELEMENT_F16, -15, 65504, 65504},
        {ELEMENT_F64, -1, 0x1p53, 0x1p53},
        {ELEMENT_F64, -0x1p-1074, 0x1p-1074, 0x1p-1073},
    };
    struct tap_family family = {0};
    struct rng rng;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x[2] = {cases[i].max, cases[i].min};
        struct result r = of(cases[i].type, x, 2, 0);

        tap_case(&family, oracle_same(r.range, cases[i].expected), "case %zu: %a, expected %a", i,
                 r.range, cases[i].expected);
    }
    rng_seed(&rng, 73);
    for (int round = 0; round < (SANITIZED ? 1000 : 4000); round++) {
        enum element_type type = (enum element_type)(round % ELEMENT_FLOATS);
        unsigned char data[16];
        double x[2];
        struct result r, expected = {0};

        for (size_t i = 0; i < 2; i++) {
            unsigned fields = (1u << data_exponent_bits(type)) - 1;
            uint64_t field = rng_below(&rng, fields), fraction = rng_next(&rng) >> 12;

            if (round % 8 < 4) /* close to each other, and of few bits */
                field = fields / 2 + rng_below(&rng, i == 0 ? 3 : 40) - 20;
            fraction >>= 52 - data_fraction_bits(type);
            if (rng_below(&rng, 2))
                fraction &= ~UINT64_C(0) << rng_below(&rng, data_fraction_bits(type) + 1);
            data_put_fields(type, data, i, (unsigned)rng_below(&rng, 2),
                            (unsigned)(field < fields ? field : fields - 1), fraction);
            x[i] = data_value(type, data, i);
        }
        r = of(type, x, 2, 0);
        oracle_moments(type, x, 2, 0, &expected);
        tap_case(&family, oracle_same(r.range, expected.range), "%s, %a and %a: %a, expected %a",
                 element_name(type), x[0], x[1], r.range, expected.range);
    }
    tap_family_end(&family, "the range is rounded once, to the type");
}

static void check_nan(void)
{
    const double x[] = {1, NAN, -2, 0, 0x1p-130, -0.0};
    struct partial p;
    struct result r;

    partial_clear(&p);
    take_all(&p, ELEMENT_F32, x, 6);
    r = finish(&p, false, 0, ELEMENT_F32);
    tap_ok(isnan(r.sumsq) && isnan(r.var) && isnan(r.std) && isnan(r.rms) && isnan(r.l1) &&
               isnan(r.l2) && isnan(r.absmax) && isnan(r.absmin) && isnan(r.range),
           "a NaN makes all numbers NaN");
    tap_ok(r.zeros == 2 && r.negatives == 1 && r.subnormals == 1,
           "counts are of the elements that are no NaN; -0 is a zero, and not negative");
    r = finish(&p, true, 0, ELEMENT_F32);
    tap_ok(r.absmax == 2 && r.absmin == 0 && r.range == 3 && r.l1 == 3 && r.sumsq == 5,
           "where NaNs are skipped, it is no element");
}

/* Temperatures are wrong in many programs: a constant that is large beside its moments. */
static void check_pressure(void)
{
    static double x[N_MAX];
    struct result r, expected = {0};
    struct rng rng;

    rng_seed(&rng, 74);
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = (double)(float)(101325 + 3 * (2 * rng_unit(&rng) - 1));
    r = of(ELEMENT_F32, x, N_MAX, 0);
    oracle_moments(ELEMENT_F32, x, N_MAX, 0, &expected);
    tap_ok(oracle_same(r.std, expected.std) && r.std > 1.5 && r.std < 2,
           "a little spread around a large number");
    x[7] = 0x1p100; /* one huge element among small ones */
    r = of(ELEMENT_F32, x, N_MAX, 1);
    oracle_moments(ELEMENT_F32, x, N_MAX, 1, &expected);
    tap_ok(!moments_difference(&r, &expected, PARTIAL_ALL), "a huge element among small ones");
}

/* A product by a factor of 64 bits, against additions. */
static void check_multiply(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 75);
    for (int round = 0; round < (SANITIZED ? 500 : 2000); round++) {
        uint32_t digit[6] = {0}, sum[6] = {0}, shifted[6];
        uint64_t factor = round % 3 ? rng_next(&rng) : rng_next(&rng) | UINT64_C(0xffffffff) << 32;

        for (int i = 0; i < 3; i++)
            shifted[i] = digit[i] = round % 5 ? (uint32_t)rng_next(&rng) : UINT32_MAX;
        shifted[3] = shifted[4] = shifted[5] = 0;
        for (int bit = 0; bit < 64; bit++) {
            uint64_t carry = 0;

            for (int i = 0; i < 6 && (factor >> bit & 1); i++) {
                carry += (uint64_t)sum[i] + shifted[i];
                sum[i] = (uint32_t)carry;
                carry >>= 32;
            }
            for (int i = 5; i >= 0; i--)
                shifted[i] = shifted[i] << 1 | (i > 0 ? shifted[i - 1] >> 31 : 0);
        }
        digits_multiply(digit, 6, factor);
        tap_case(&family, memcmp(digit, sum, sizeof sum) == 0, "times %llx",
                 (unsigned long long)factor);
    }
    tap_family_end(&family, "digits_multiply");
}

int main(void)
{
    check_by_hand();
    check_range();
    check_nan();
    check_constants();
    check_pressure();
    check_multiply();
    check_random();
    check_large_counts();
    tap_ok(others_changed == 0, "results that are not wanted change nothing else");
    return tap_done();
}
