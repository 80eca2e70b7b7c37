#include "config.h"

#include "lib/oracle_moments.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/data_gen.h"

/*
 * Natural numbers: words of 32 bits, the least significant first. Sums of squares are in units of
 * 2^-2148 and below 2^4300; what they are compared with stays below 2^4500.
 */
#define WORDS 144

struct natural {
    uint32_t word[WORDS];
};

/* a += x 2^shift */
static void add(struct natural *a, uint64_t x, unsigned shift)
{
    uint64_t piece[3] = {(x << shift % 32) & UINT32_MAX, (x >> (32 - shift % 32)) & UINT32_MAX,
                         x >> 32 >> (32 - shift % 32)};
    uint64_t carry = 0;
    unsigned at = shift / 32;

    for (unsigned i = 0; i < 3 || carry; i++) {
        carry += a->word[at + i] + (i < 3 ? piece[i] : 0);
        a->word[at + i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a *= x */
static void multiply(struct natural *a, uint64_t x)
{
    struct natural product = {{0}};
    unsigned words = WORDS;

    while (words > 0 && a->word[words - 1] == 0)
        words--;
    for (unsigned i = 0; i < words; i++) {
        add(&product, (uint64_t)a->word[i] * (uint32_t)x, 32 * i);
        if (x >> 32)
            add(&product, (uint64_t)a->word[i] * (x >> 32), 32 * i + 32);
    }
    *a = product;
}

/* a <<= shift */
static void shift_up(struct natural *a, unsigned shift)
{
    struct natural shifted = {{0}};

    for (unsigned i = 0; i + shift / 32 < WORDS; i++)
        if (a->word[i])
            add(&shifted, a->word[i], 32 * i + shift);
    *a = shifted;
}

static int compare(const struct natural *a, const struct natural *b)
{
    int i = WORDS - 1;

    while (i > 0 && a->word[i] == b->word[i])
        i--;
    return a->word[i] < b->word[i] ? -1 : a->word[i] > b->word[i];
}

/* a - b, which is not negative. */
static struct natural difference(const struct natural *a, const struct natural *b)
{
    struct natural rest;
    bool borrow = false;

    for (int i = 0; i < WORDS; i++) {
        uint64_t taken = (uint64_t)b->word[i] + borrow;

        borrow = a->word[i] < taken;
        rest.word[i] = (uint32_t)(a->word[i] - taken);
    }
    return rest;
}

static struct natural square(const struct natural *a)
{
    struct natural product = {{0}};

    for (unsigned i = 0; i < WORDS / 2; i++)
        for (unsigned j = 0; a->word[i] && j < WORDS / 2; j++)
            if (a->word[j])
                add(&product, (uint64_t)a->word[i] * a->word[j], 32 * (i + j));
    return product;
}

/* A magnitude as an integer, and the place of its last bit in units of 2^-1074. */
static uint64_t take_apart(double x, unsigned *place)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);

    exponent += 1074 - 53;
    for (; exponent < 0; exponent++)
        mantissa /= 2;
    *place = (unsigned)exponent;
    return mantissa;
}

/*
 * Rounding. The exact value is numerator / (by[0] by[1]) 2^-2148, or the root of that.
 */
struct exact_value {
    struct natural numerator;
    uint64_t by[2];
    bool root;
};

static double from_pattern(uint64_t pattern)
{
    double x;

    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* How the value compares with what lies halfway between the numbers of two consecutive patterns,
   the greatest finite one being followed by 2^1024. */
static int against_halfway(const struct exact_value *value, uint64_t pattern)
{
    const unsigned field = (unsigned)(pattern >> 52);
    /* Twice the number and one more of its last bit, whose half weighs 2^(field - 1076). */
    const uint64_t odd = 2 * ((pattern & 0xfffffffffffff) | (uint64_t)(field > 0) << 52) + 1;
    const int exponent = (int)(field > 0 ? field : 1) - 1076;
    struct natural halfway = {{0}}, numerator = value->numerator;

    add(&halfway, odd, 0);
    if (value->root)
        multiply(&halfway, odd);
    multiply(&halfway, value->by[0]);
    multiply(&halfway, value->by[1]);
    /* In units of 2^-2150: the least that the root's exponent comes to. */
    shift_up(&halfway, (unsigned)((value->root ? 2 : 1) * exponent + 2150));
    shift_up(&numerator, 2);
    return compare(&numerator, &halfway);
}

/* The least number that the value does not lie above the upper halfway mark of. */
static double nearest(const struct exact_value *value)
{
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    uint64_t low = 0, high = infinity;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = against_halfway(value, middle);

        if (order < 0 || (order == 0 && middle % 2 == 0))
            high = middle;
        else
            low = middle + 1;
    }
    return from_pattern(low);
}

static double quotient(const struct natural *numerator, uint64_t by, uint64_t by_too, bool root)
{
    struct exact_value value = {*numerator, {by, by_too}, root};

    return nearest(&value);
}

/* max - min in the type: the nearest of its numbers, by looking at those around. Both are multiples
   of 2^-1074, and the difference is an integer of these. */
static double range_of(enum element_type type, double min, double max)
{
    struct natural positive = {{0}}, negative = {{0}}, exact;
    const uint64_t last = (uint64_t)((1u << data_exponent_bits(type)) - 1)
                          << data_fraction_bits(type);
    uint64_t low = 0, high = last; /* patterns of the type; the last one is infinity's */
    unsigned place;
    uint64_t mantissa;

    if (!isfinite(max - min) && (isinf(max) || isinf(min)))
        return max - min;
    mantissa = take_apart(fabs(max), &place);
    add(max < 0 ? &negative : &positive, mantissa, place + 1);
    mantissa = take_apart(fabs(min), &place);
    add(min < 0 ? &positive : &negative, mantissa, place + 1);
    exact = difference(&positive, &negative);
    /* Bisection in units of 2^-1075. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct natural halfway = {{0}};
        unsigned char bytes[8], next[8];
        int order;

        data_put_pattern(type, bytes, 0, middle);
        mantissa = take_apart(data_value(type, bytes, 0), &place);
        add(&halfway, mantissa, place);
        if (middle + 1 == last) {
            add(&halfway, 1, (unsigned)(element_formats[type].exponent_max + 1 + 1074));
        } else {
            data_put_pattern(type, next, 0, middle + 1);
            mantissa = take_apart(data_value(type, next, 0), &place);
            add(&halfway, mantissa, place);
        }
        order = compare(&exact, &halfway);
        if (order < 0 || (order == 0 && middle % 2 == 0))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == last)
        return INFINITY;
    {
        unsigned char bytes[8];

        data_put_pattern(type, bytes, 0, low);
        return data_value(type, bytes, 0);
    }
}

/* The counts, the extremes of magnitudes, and the range. Whether an element is infinite. */
static bool look(enum element_type type, const double *x, size_t n, struct result *r)
{
    double min = INFINITY, max = -INFINITY;
    bool infinite = false;

    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs(x[i]);

        r->zeros += magnitude == 0;
        r->negatives += x[i] < 0;
        r->subnormals += magnitude > 0 && magnitude < ldexp(1, element_formats[type].exponent_min);
        r->absmax = i == 0 || magnitude > r->absmax ? magnitude : r->absmax;
        r->absmin = i == 0 || magnitude < r->absmin ? magnitude : r->absmin;
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        infinite = infinite || isinf(x[i]);
    }
    if (n > 0)
        r->range = range_of(type, min, max);
    return infinite;
}

void oracle_moments(enum element_type type, const double *x, size_t n, uint64_t ddof,
                    struct result *r)
{
    struct natural positive = {{0}}, negative = {{0}}, squares = {{0}}, both, sum, numerator;

    r->zeros = r->negatives = r->subnormals = 0;
    r->absmax = r->absmin = r->range = NAN;
    r->sumsq = r->l1 = r->l2 = r->rms = INFINITY;
    r->var = r->std = NAN;
    if (look(type, x, n, r))
        return;
    for (size_t i = 0; i < n; i++) {
        unsigned place;
        uint64_t mantissa = take_apart(fabs(x[i]), &place);
        uint64_t low = mantissa & UINT32_MAX, high = mantissa >> 32;

        if (mantissa == 0)
            continue;
        add(x[i] < 0 ? &negative : &positive, mantissa, place);
        add(&squares, low * low, 2 * place);
        add(&squares, low * high, 2 * place + 33);
        add(&squares, high * high, 2 * place + 64);
    }
    r->sumsq = quotient(&squares, 1, 1, false);
    r->l2 = quotient(&squares, 1, 1, true);
    both = positive;
    for (unsigned i = 0; i < WORDS - 2; i++)
        add(&both, negative.word[i], 32 * i);
    shift_up(&both, 1074);
    r->l1 = quotient(&both, 1, 1, false);
    r->rms = n > 0 ? quotient(&squares, n, 1, true) : (double)NAN;
    if (n <= ddof)
        return;
    sum = compare(&positive, &negative) < 0 ? difference(&negative, &positive)
                                            : difference(&positive, &negative);
    numerator = squares;
    multiply(&numerator, n);
    sum = square(&sum);
    numerator = difference(&numerator, &sum);
    r->var = quotient(&numerator, n, n - ddof, false);
    r->std = quotient(&numerator, n, n - ddof, true);
}
