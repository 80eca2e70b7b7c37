#include "config.h"

#include "lib/oracle_moments.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/natural.h"

/* Squares, and what they are compared with, are integers of 2^UNIT. */
#define UNIT (-2148)

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
    mantissa = natural_take_apart(fabs(max), &place);
    natural_add(max < 0 ? &negative : &positive, mantissa, place + 1);
    mantissa = natural_take_apart(fabs(min), &place);
    natural_add(min < 0 ? &positive : &negative, mantissa, place + 1);
    exact = natural_difference(&positive, &negative);
    /* Bisection in units of 2^-1075. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct natural halfway = {{0}};
        unsigned char bytes[8], next[8];
        int order;

        data_put_pattern(type, bytes, 0, middle);
        mantissa = natural_take_apart(data_value(type, bytes, 0), &place);
        natural_add(&halfway, mantissa, place);
        if (middle + 1 == last) {
            natural_add(&halfway, 1, (unsigned)(element_formats[type].exponent_max + 1 + 1074));
        } else {
            data_put_pattern(type, next, 0, middle + 1);
            mantissa = natural_take_apart(data_value(type, next, 0), &place);
            natural_add(&halfway, mantissa, place);
        }
        order = natural_compare(&exact, &halfway);
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
        uint64_t mantissa = natural_take_apart(fabs(x[i]), &place);
        uint64_t low = mantissa & UINT32_MAX, high = mantissa >> 32;

        if (mantissa == 0)
            continue;
        natural_add(x[i] < 0 ? &negative : &positive, mantissa, place);
        natural_add(&squares, low * low, 2 * place);
        natural_add(&squares, low * high, 2 * place + 33);
        natural_add(&squares, high * high, 2 * place + 64);
    }
    r->sumsq = natural_quotient(&squares, 1, 1, UNIT, false);
    r->l2 = natural_quotient(&squares, 1, 1, UNIT, true);
    both = positive;
    for (unsigned i = 0; i < NATURAL_WORDS - 2; i++)
        natural_add(&both, negative.word[i], 32 * i);
    natural_shift(&both, 1074);
    r->l1 = natural_quotient(&both, 1, 1, UNIT, false);
    r->rms = n > 0 ? natural_quotient(&squares, n, 1, UNIT, true) : (double)NAN;
    if (n <= ddof)
        return;
    sum = natural_compare(&positive, &negative) < 0 ? natural_difference(&negative, &positive)
                                                    : natural_difference(&positive, &negative);
    numerator = squares;
    natural_multiply(&numerator, n);
    sum = natural_square(&sum);
    numerator = natural_difference(&numerator, &sum);
    r->var = natural_quotient(&numerator, n, n - ddof, UNIT, false);
    r->std = natural_quotient(&numerator, n, n - ddof, UNIT, true);
}
