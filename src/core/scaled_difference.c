#include "config.h"

#include "core/scaled_difference.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "core/order.h"
#include "core/quotient.h"
#include "core/scaled.h"
#include "core/term.h"

/*
 * Pairs.
 */

/* Adds the number that an element stands for, or takes it away. */
static void add_number(struct exact_wide *to, const struct scale *scale, struct term stored,
                       bool subtract)
{
    struct exact x;

    exact_clear(&x);
    term_add(&x, stored, 1, false);
    scale_add(to, scale, &x, 1, subtract);
}

static int compare_digits(const uint32_t *x, const uint32_t *y, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (x[i] != y[i])
            return x[i] > y[i] ? 1 : -1;
    return 0;
}

void scaled_pair_find(struct scaled_pair *pair, const enum element_type types[2],
                      const struct scale scales[2], uint64_t a, uint64_t b)
{
    const uint64_t keys[2] = {order_key(types[0], a), order_key(types[1], b)};
    const double x = order_value(types[0], keys[0]), y = order_value(types[1], keys[1]);
    uint32_t other[EXACT_WIDE_DIGITS] = {0};
    struct exact_wide gap;

    memset(pair, 0, sizeof *pair);
    if (isinf(x) || isinf(y)) {
        pair->infinite = scale_infinity(&scales[0], x) != scale_infinity(&scales[1], y);
        return;
    }
    exact_wide_clear(&gap);
    for (int i = 0; i < 2; i++) {
        struct exact_wide number;

        exact_wide_clear(&number);
        add_number(&number, &scales[i], term_of_order(types[i], keys[i]), false);
        (void)exact_wide_magnitude(&number, i == 0 ? pair->largest : other);
        add_number(&gap, &scales[i], term_of_order(types[i], keys[i]), i == 1);
    }
    (void)exact_wide_magnitude(&gap, pair->gap);
    if (compare_digits(other, pair->largest, EXACT_WIDE_DIGITS) > 0)
        memcpy(pair->largest, other, sizeof other);
}

bool scaled_pair_is_equal(const struct scaled_pair *pair)
{
    return !pair->infinite && quotient_length(pair->gap, EXACT_WIDE_DIGITS) == 0;
}

int scaled_pair_compare(const struct scaled_pair *p, const struct scaled_pair *q, bool relative)
{
    uint32_t left[2 * EXACT_WIDE_DIGITS], right[2 * EXACT_WIDE_DIGITS];

    if (p->infinite || q->infinite)
        return (int)p->infinite - (int)q->infinite;
    if (!relative)
        return compare_digits(p->gap, q->gap, EXACT_WIDE_DIGITS);
    quotient_multiply(left, p->gap, q->largest, EXACT_WIDE_DIGITS);
    quotient_multiply(right, q->gap, p->largest, EXACT_WIDE_DIGITS);
    return compare_digits(left, right, 2 * EXACT_WIDE_DIGITS);
}

bool scaled_pair_within(const struct scaled_pair *pair, double limit, bool relative)
{
    const struct term t = term_of(limit);
    uint32_t left[2 * EXACT_WIDE_DIGITS] = {0}, right[2 * EXACT_WIDE_DIGITS] = {0};
    struct exact_wide number;

    if (pair->infinite)
        return false;
    if (!relative) {
        exact_wide_clear(&number);
        exact_wide_add(&number, limit);
        (void)exact_wide_magnitude(&number, right);
        return compare_digits(pair->gap, right, EXACT_WIDE_DIGITS) <= 0;
    }
    if (limit >= 2)
        return true;
    /* The limit is an integer of 53 bits over 2^-t.exponent. */
    for (int i = 0; i < EXACT_WIDE_DIGITS; i++) {
        const uint64_t digit = (uint64_t)pair->gap[i] << -t.exponent % 32;

        left[i + -t.exponent / 32] |= (uint32_t)digit;
        left[i + -t.exponent / 32 + 1] |= (uint32_t)(digit >> 32);
    }
    memcpy(right, pair->largest, sizeof pair->largest);
    digits_multiply(right, 2 * EXACT_WIDE_DIGITS, t.magnitude);
    return compare_digits(left, right, 2 * EXACT_WIDE_DIGITS) <= 0;
}

double scaled_pair_round(const struct scaled_pair *pair, bool relative)
{
    if (pair->infinite)
        return INFINITY;
    return relative
               ? quotient_round(pair->gap, pair->largest, EXACT_WIDE_DIGITS, false)
               : digits_round(pair->gap, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, false, false);
}

struct integer scaled_pair_integer(const struct scaled_pair *pair)
{
    struct exact_wide gap;

    if (pair->infinite)
        return (struct integer){.known = false};
    exact_wide_set(&gap, pair->gap);
    return exact_wide_integer(&gap);
}

/*
 * Sums.
 */

/* Digits as in moments.c: two below, so that the root of what a division leaves ends below all
   bits that decide its rounding. */
#define ROOT_BELOW 2

/* A sum of products of scaled numbers. */
struct big {
    int64_t digit[SCALED_SQUARES_DIGITS];
};

/* Adds a number in digits, to which SCALED_FACTOR_DIGITS have been added, times two factors and a
   count. */
static void add_term(struct big *to, uint32_t *digit, int count, int lsb_exponent, struct term x,
                     struct term y, uint64_t n, bool negative)
{
    if (x.magnitude == 0 || y.magnitude == 0)
        return;
    scaled_squares_add(to->digit, digit, count, x.exponent + y.exponent + lsb_exponent,
                       (uint64_t[]){x.magnitude, y.magnitude, n},
                       (x.negative != y.negative) != negative);
}

/* Adds the sum of (f u + o) (g v + p) over n pairs of stored numbers u, v, where i and j are their
   sides: f g UV + f p U + g o V + n o p. */
static void sum_products(struct big *sum, const struct scaled_sums *s, const struct scale scales[2],
                         int i, int j)
{
    const struct term f = term_of(scales[i].given ? scales[i].factor : 1),
                      g = term_of(scales[j].given ? scales[j].factor : 1);
    const struct term o = term_of(scales[i].offset), p = term_of(scales[j].offset);
    uint32_t products[EXACT_WIDE_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          u[EXACT_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          v[EXACT_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          one[1 + SCALED_FACTOR_DIGITS] = {1};
    bool negative = exact_wide_magnitude(i == j ? s->squares[i] : s->products, products);

    memset(sum, 0, sizeof *sum);
    add_term(sum, products, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, f, g, 1, negative);
    negative = exact_magnitude(s->sums[i], u);
    add_term(sum, u, EXACT_DIGITS, EXACT_LSB_EXPONENT, f, p, 1, negative);
    negative = exact_magnitude(s->sums[j], v);
    add_term(sum, v, EXACT_DIGITS, EXACT_LSB_EXPONENT, g, o, 1, negative);
    add_term(sum, one, 1, 0, o, p, s->n, false);
    exact_carry_digits(sum->digit, SCALED_SQUARES_DIGITS);
}

/* Writes the magnitude of a sum without carries. Returns whether it is negative. */
static bool magnitude(const struct big *sum, uint32_t digit[SCALED_SQUARES_DIGITS])
{
    const bool negative = sum->digit[SCALED_SQUARES_DIGITS - 1] < 0;
    struct big x = *sum;

    for (int i = 0; negative && i < SCALED_SQUARES_DIGITS; i++)
        x.digit[i] = -x.digit[i];
    if (negative)
        exact_carry_digits(x.digit, SCALED_SQUARES_DIGITS);
    for (int i = 0; i < SCALED_SQUARES_DIGITS; i++)
        digit[i] = (uint32_t)x.digit[i];
    return negative;
}

void scaled_sums_finish(const struct scaled_sums *sums, const struct scale scales[2],
                        uint64_t count, double *root_mean_square, double *cosine)
{
    enum { SIZE = ROOT_BELOW + SCALED_SQUARES_DIGITS };
    uint32_t xx[SCALED_SQUARES_DIGITS], yy[SCALED_SQUARES_DIGITS], xy[SCALED_SQUARES_DIGITS];
    uint32_t squares[SIZE] = {0};
    struct big x, y, both;
    bool negative, sticky;

    sum_products(&x, sums, scales, 0, 0);
    sum_products(&y, sums, scales, 1, 1);
    sum_products(&both, sums, scales, 0, 1);
    (void)magnitude(&x, xx);
    (void)magnitude(&y, yy);
    negative = magnitude(&both, xy);
    for (int i = 0; i < SCALED_SQUARES_DIGITS; i++)
        x.digit[i] += y.digit[i] - 2 * both.digit[i];
    exact_carry_digits(x.digit, SCALED_SQUARES_DIGITS);
    (void)magnitude(&x, squares + ROOT_BELOW);
    sticky = digits_divide(squares, quotient_length(squares, SIZE), count) != 0;
    *root_mean_square =
        digits_square_root(squares, SIZE, SCALED_SQUARES_LSB_EXPONENT - 32 * ROOT_BELOW, sticky);
    *cosine = quotient_length(xx, SCALED_SQUARES_DIGITS) == 0 ||
                      quotient_length(yy, SCALED_SQUARES_DIGITS) == 0
                  ? (double)NAN
                  : cosine_round(xy, negative, xx, yy, SCALED_SQUARES_DIGITS);
}
