#include "config.h"

#include "core/moments.h"

#include <math.h>

#include "core/digits.h"
#include "core/element_round.h"
#include "core/term.h"

void moments_take(struct partial *p, double x, enum element_type type, uint64_t times)
{
    const double magnitude = fabs(x), least = ldexp(1, element_formats[type].exponent_min);

    if (isnan(x))
        return;
    if (exact_key(magnitude) < p->least_magnitude)
        p->least_magnitude = exact_key(magnitude);
    p->zeros += x == 0 ? times : 0;
    p->negative += x < 0 ? times : 0;
    p->subnormal += x != 0 && magnitude < least ? times : 0;
    if (isinf(x))
        return;
    if (times == 1) {
        exact_add(&p->absolute, magnitude);
        exact_wide_add_squares(&p->squares, &x, 1);
    } else {
        /* Squares have 8 bits, and times 32: the products are exact. */
        exact_add(&p->absolute, magnitude * (double)times);
        exact_wide_add(&p->squares, x * x * (double)times);
    }
}

/* The bit of the wide accumulator that weighs 1. */
#define WIDE_ONE_BIT ((unsigned)-EXACT_WIDE_LSB_EXPONENT)

/* Adds an element of an integer type, given as magnitude and sign, as often as `times` says. */
static void take_integer(struct partial *p, uint64_t magnitude, bool negative, uint64_t times)
{
    const int64_t key = element_key(ELEMENT_U64, &magnitude);
    const uint64_t low = magnitude & UINT32_MAX, high = magnitude >> 32;

    if (key < p->least_magnitude)
        p->least_magnitude = key;
    p->zeros += magnitude == 0 ? times : 0;
    p->negative += negative ? times : 0;
    /* For types of one byte all of this is below 2^48. */
    exact_add_integer(&p->absolute, times == 1 ? magnitude : magnitude * times, EXACT_ONE_BIT, 0);
    exact_wide_add_integer(&p->squares, low * low * times, WIDE_ONE_BIT, 0);
    if (high == 0)
        return;
    exact_wide_add_integer(&p->squares, low * high, WIDE_ONE_BIT + 33, 0);
    exact_wide_add_integer(&p->squares, high * high, WIDE_ONE_BIT + 64, 0);
}

void moments_take_element(struct partial *p, enum element_type type, const void *bytes)
{
    struct integer x;

    if (!element_is_integer(type)) {
        moments_take(p, element_load(type, bytes), type, 1);
        return;
    }
    x = element_load_integer(type, bytes);
    take_integer(p, x.low, x.negative, 1);
}

void moments_take_byte(struct partial *p, enum element_type type, bool moments, unsigned char byte,
                       uint64_t times)
{
    const double x = element_load(type, &byte);

    if (isnan(x))
        p->nan += times;
    else if (!isinf(x))
        exact_add(&p->sum, x * (double)times); /* 8 bits and 32: the product is exact */
    else if (x > 0)
        p->positive_infinity += times;
    else
        p->negative_infinity += times;
    if (moments && element_is_integer(type))
        take_integer(p, (uint64_t)fabs(x), x < 0, times);
    else if (moments)
        moments_take(p, x, type, times);
}

/*
 * Quotients of squares. MOMENTS_BELOW digits stand below those of the squares, so that the root of a
 * quotient, cut off to an integer, ends 32 bits below what decides a rounding; MOMENTS_ABOVE are for
 * multiplying by a count.
 */
struct quotient {
    uint32_t *digit;
    int size, lsb_exponent;
    int low, top; /* those from `top` on are 0, and those below `low` are not looked at */
    bool sticky;  /* something is left below the digits, or below `low` */
};

/* Digits that a quotient begins with, at most, unless its last one is the first there is. Two
   divisors take up to 4 of them: 7 whole ones are left, and a root wants 120 bits. */
#define KEPT 12

/* Leaves leading zeros out. */
static void trim(struct quotient *q)
{
    while (q->top > q->low && q->digit[q->top - 1] == 0)
        q->top--;
}

/* Leaves out also what decides no more than whether anything is left. */
static void shorten(struct quotient *q)
{
    trim(q);
    for (; q->low < q->top - KEPT; q->low++)
        q->sticky |= q->digit[q->low] != 0;
}

static void divide(struct quotient *q, uint64_t divisor)
{
    shorten(q);
    if (q->top > q->low)
        q->sticky |= digits_divide(q->digit + q->low, q->top - q->low, divisor) != 0;
}

static double rounded(struct quotient *q)
{
    shorten(q);
    return digits_round(q->digit + q->low, q->top - q->low, q->lsb_exponent + 32 * q->low,
                        q->sticky, false);
}

static double rounded_root(struct quotient *q)
{
    shorten(q);
    return digits_square_root(q->digit + q->low, q->top - q->low, q->lsb_exponent + 32 * q->low,
                              q->sticky);
}

/* Makes n sum x^2 - (sum x)^2 of q, which are the squares, and of the magnitude of the sum. */
static void subtract_square(struct quotient *q, const uint32_t *sum, int sum_digits, uint64_t n)
{
    int first = 0, low = 0, top = sum_digits, at;

    trim(q);
    while (first < q->top && q->digit[first] == 0)
        first++;
    /* 64 bits are two digits, and there are as many above those of the squares. */
    q->top = q->top + 2 < q->size ? q->top + 2 : q->size;
    digits_multiply(q->digit + first, q->top - first, n);
    while (top > 0 && sum[top - 1] == 0)
        top--;
    while (low < top && sum[low] == 0)
        low++;
    at = MOMENTS_BELOW + 2 * low;
    digits_subtract_square(q->digit + at, q->size - at, sum + low, top - low);
}

bool moments_agree(const struct partial *p)
{
    uint32_t squares[MOMENTS_BELOW + EXACT_WIDE_DIGITS + MOMENTS_ABOVE] = {0}, sum[EXACT_DIGITS];
    const int size = sizeof squares / sizeof *squares;
    struct quotient q = {.digit = squares, .size = size, .top = size};

    (void)exact_wide_magnitude(&p->squares, squares + MOMENTS_BELOW);
    (void)exact_magnitude(&p->sum, sum);
    subtract_square(&q, sum, EXACT_DIGITS, partial_numbers(p) - partial_infinities(p));
    return squares[size - 1] == 0; /* below 0 it has borrowed from all digits */
}

/* Rounding a difference to binary64 first changes nothing for floats of at most 25 bits: binary64
   has twice as many and two (S. A. Figueroa, "When is double rounding innocuous?", 1995). */
#define CHECK_RANGE(CONSTANT, name, size, kind, significant_bits, ...) \
    _Static_assert(significant_bits <= 25 || significant_bits == 53, "ranges would round twice");
ELEMENT_FLOAT_TABLE(CHECK_RANGE)
ELEMENT_FLOAT8_TABLE(CHECK_RANGE)
#undef CHECK_RANGE

/* The magnitude of a key of the type. */
static double key_magnitude(enum element_type type, int64_t key, struct integer *integer)
{
    if (element_is_integer(type)) {
        *integer = element_key_integer(type, key);
        integer->negative = false;
    }
    return fabs(element_key_value(type, key));
}

/* The results that come of extremes, where there are any. */
static void finish_extremes(const struct partial *p, enum element_type type, struct result *result)
{
    struct exact sum, difference;

    result->absmin =
        key_magnitude(partial_least_type(type), p->least_magnitude, &result->absmin_integer);
    if (!element_is_integer(type)) {
        const double least = exact_key_value(p->min_key), most = exact_key_value(p->max_key);

        /* The difference of two numbers is what a processor rounds once. */
        result->absmax = fabs(least) > fabs(most) ? fabs(least) : fabs(most);
        result->range = element_round(type, most - least);
        return;
    }
    exact_clear(&sum);
    term_add(&sum, term_of_key(type, p->max_key), 1, false);
    difference = sum;
    term_add(&sum, term_of_key(type, p->min_key), 1, false);
    term_add(&difference, term_of_key(type, p->min_key), 1, true);
    result->absmax = key_magnitude(type, exact_round(&sum) < 0 ? p->min_key : p->max_key,
                                   &result->absmax_integer);
    result->range = exact_round(&difference);
    result->range_integer = exact_integer(&difference);
}

void moments_finish_squares(uint32_t *squares, int size, int lsb_exponent, const uint32_t *sum,
                            int sum_digits, uint64_t n, const struct moments_terms *terms,
                            struct result *result)
{
    const unsigned wanted = ~terms->unwanted;
    uint32_t copied[MOMENTS_SQUARES_MAX];
    struct quotient all = {.digit = squares,
                           .size = size,
                           .lsb_exponent = lsb_exponent - 32 * MOMENTS_BELOW,
                           .top = size},
                    q;

    trim(&all);
    if (all.top == 0) {
        result->sumsq = result->l2 = 0;
        if (n > 0) {
            result->rms = 0;
            result->var = result->std = n > terms->ddof ? 0 : NAN;
        }
        return;
    }
    if (wanted & (MOMENTS_SUMSQ | MOMENTS_L2 | MOMENTS_RMS)) {
        q = all;
        q.digit = memcpy(copied, squares, (size_t)all.top * sizeof *squares);
        result->sumsq = rounded(&q);
        if (wanted & MOMENTS_L2)
            result->l2 = rounded_root(&q);
        if (wanted & MOMENTS_RMS) {
            divide(&q, n);
            result->rms = rounded_root(&q);
        }
    }
    if (n <= terms->ddof || !(wanted & (MOMENTS_VAR | MOMENTS_STD)))
        return;
    /* The numerator is not negative, by the inequality of Cauchy and Schwarz. Dividing in two steps gives
       the quotient and tells whether anything is left, as dividing by the product would. */
    subtract_square(&all, sum, sum_digits, n);
    divide(&all, n);
    divide(&all, n - terms->ddof);
    result->var = rounded(&all);
    if (wanted & MOMENTS_STD)
        result->std = rounded_root(&all);
}

/* The results that come of squares, where all elements are finite; there are n. */
static void finish_squares(const struct partial *p, uint64_t n, const struct moments_terms *terms,
                           struct result *result)
{
    uint32_t squares[MOMENTS_BELOW + EXACT_WIDE_DIGITS + MOMENTS_ABOVE], sum[EXACT_DIGITS];
    int size = 0;

    /* Without squares all elements are zero, or nobody asked; then nothing of this is used. */
    if (p->squares.pending > 0) {
        size = MOMENTS_BELOW + EXACT_WIDE_DIGITS + MOMENTS_ABOVE;
        memset(squares, 0, sizeof squares);
        (void)exact_wide_magnitude(&p->squares, squares + MOMENTS_BELOW);
        (void)exact_magnitude(&p->sum, sum);
    }
    moments_finish_squares(squares, size, EXACT_WIDE_LSB_EXPONENT, sum, EXACT_DIGITS, n, terms,
                           result);
}

void moments_finish(const struct partial *p, const struct moments_terms *terms,
                    struct result *result)
{
    const uint64_t n = partial_numbers(p);

    result->zeros = p->zeros;
    result->negatives = p->negative;
    result->subnormals = p->subnormal;
    result->sumsq = result->l1 = result->l2 = result->rms = result->var = result->std = NAN;
    result->absmax = result->absmin = result->range = NAN;
    result->absmax_integer = result->absmin_integer = result->range_integer = (struct integer){0};
    if (p->nan && !terms->skip_nan)
        return;
    if (n > 0)
        finish_extremes(p, terms->type, result);
    if (p->positive_infinity || p->negative_infinity) {
        result->sumsq = result->l1 = result->l2 = result->rms = INFINITY;
        return;
    }
    result->l1 = p->absolute.pending > 0 ? exact_round(&p->absolute) : 0;
    finish_squares(p, n, terms, result);
}
