#include "config.h"

#include "core/spread.h"

#include <math.h>

#include "core/digits.h"

void spread_take(struct partial *p, double x, enum element_type type)
{
    const double magnitude = fabs(x);

    if (isnan(x))
        return;
    if (exact_key(magnitude) < p->least_magnitude)
        p->least_magnitude = exact_key(magnitude);
    p->zeros += x == 0;
    p->negative += x < 0;
    p->subnormal += x != 0 && magnitude < ldexp(1, element_formats[type].exponent_min);
    if (isfinite(x)) {
        exact_add(&p->absolute, magnitude);
        exact_wide_add_squares(&p->squares, &x, 1);
    }
}

/*
 * Quotients of squares. Two digits stand below those of the wide accumulator, so that the root of a
 * quotient, cut off to an integer, ends 32 bits below what decides a rounding; two above are for
 * multiplying by a count.
 */
#define BELOW 2
#define DIGITS (BELOW + EXACT_WIDE_DIGITS + 2)
#define LSB_EXPONENT (EXACT_WIDE_LSB_EXPONENT - 32 * BELOW)

struct quotient {
    uint32_t digit[DIGITS];
    bool sticky; /* something is left below the digits */
};

static void begin_with_squares(struct quotient *q, const struct partial *p)
{
    memset(q, 0, sizeof *q);
    exact_wide_digits(&p->squares, q->digit + BELOW);
}

static void divide(struct quotient *q, uint64_t divisor)
{
    q->sticky |= digits_divide(q->digit, DIGITS, divisor) != 0;
}

static double rounded(const struct quotient *q)
{
    return digits_round(q->digit, DIGITS, LSB_EXPONENT, q->sticky, false);
}

static double rounded_root(const struct quotient *q)
{
    return digits_square_root(q->digit, DIGITS, LSB_EXPONENT, q->sticky);
}

/* The variance: (n sum x^2 - (sum x)^2) / (n (n - ddof)). The numerator is an integer, and not
   negative, by the inequality of Cauchy and Schwarz. Dividing in two steps gives the quotient and
   tells whether anything is left, as dividing by the product would. */
static void variance(struct quotient *q, const struct partial *p, uint64_t n, uint64_t ddof)
{
    uint32_t sum[EXACT_DIGITS];

    begin_with_squares(q, p);
    digits_multiply(q->digit, DIGITS, n);
    (void)exact_magnitude(&p->sum, sum);
    digits_subtract_square(q->digit + BELOW, DIGITS - BELOW, sum, EXACT_DIGITS);
    divide(q, n);
    divide(q, n - ddof);
}

/* Rounding a difference to binary64 first changes nothing for types of at most 25 bits: binary64
   has twice as many and two (S. A. Figueroa, "When is double rounding innocuous?", 1995). */
#define CHECK_RANGE(CONSTANT, name, size, significant_bits, ...) \
    _Static_assert(significant_bits <= 25 || significant_bits == 53, "ranges would round twice");
ELEMENT_TABLE(CHECK_RANGE)
#undef CHECK_RANGE

/* The results that come of squares, where all elements are finite; there are n. */
static void finish_squares(const struct partial *p, uint64_t n, uint64_t ddof,
                           struct result *result)
{
    struct quotient q;

    begin_with_squares(&q, p);
    result->sumsq = rounded(&q);
    result->l2 = rounded_root(&q);
    if (n == 0)
        return;
    divide(&q, n);
    result->rms = rounded_root(&q);
    if (n <= ddof)
        return;
    variance(&q, p, n, ddof);
    result->var = rounded(&q);
    result->std = rounded_root(&q);
}

void spread_finish(const struct partial *p, const struct spread_terms *terms, struct result *result)
{
    uint64_t n = p->count - p->nan;
    double min = exact_key_value(p->min_key), max = exact_key_value(p->max_key);

    result->zeros = p->zeros;
    result->negatives = p->negative;
    result->subnormals = p->subnormal;
    result->sumsq = result->l1 = result->l2 = result->rms = result->var = result->std = NAN;
    result->absmax = result->absmin = result->range = NAN;
    if (p->nan && !terms->skip_nan)
        return;
    if (n > 0) {
        result->absmax = fabs(min) > fabs(max) ? fabs(min) : fabs(max);
        result->absmin = exact_key_value(p->least_magnitude);
        result->range = element_round(terms->type, max - min);
    }
    if (p->positive_infinity || p->negative_infinity) {
        result->sumsq = result->l1 = result->l2 = result->rms = INFINITY;
        return;
    }
    result->l1 = exact_round(&p->absolute);
    finish_squares(p, n, terms->ddof, result);
}

const char *spread_difference(const struct result *a, const struct result *b, unsigned wants)
{
    const bool squares = wants & PARTIAL_SQUARES, extremes = wants & PARTIAL_EXTREMES;
    const bool variance = squares && (wants & PARTIAL_SUM), small = wants & PARTIAL_SMALL;

    if (squares && !result_same_number(a->sumsq, b->sumsq))
        return "sum of squares";
    if (squares && !result_same_number(a->l2, b->l2))
        return "Euclidean norm";
    if (squares && !result_same_number(a->rms, b->rms))
        return "root mean square";
    if (variance && !result_same_number(a->var, b->var))
        return "variance";
    if (variance && !result_same_number(a->std, b->std))
        return "standard deviation";
    if ((wants & PARTIAL_ABSOLUTE) && !result_same_number(a->l1, b->l1))
        return "sum of magnitudes";
    if (extremes && !result_same_number(a->absmax, b->absmax))
        return "greatest magnitude";
    if (extremes && !result_same_number(a->range, b->range))
        return "range";
    if (small && !result_same_number(a->absmin, b->absmin))
        return "least magnitude";
    if (small && a->zeros != b->zeros)
        return "number of zeros";
    if (small && a->subnormals != b->subnormals)
        return "number of subnormals";
    if ((wants & PARTIAL_NEGATIVE) && a->negatives != b->negatives)
        return "number of negative elements";
    return NULL;
}
