/*
 * Quantiles: which order statistics a quantile is made of, and what lies between two of them. All
 * of it is exact, in integers; the result is rounded once.
 *
 * The quantile q of n numbers x[0] <= ... <= x[n-1] is at position q (n - 1); between two numbers
 * it is interpolated linearly (R. J. Hyndman and Y. Fan, "Sample quantiles in statistical
 * packages", 1996, definition 7; NumPy's default method). q is the decimal that the user wrote, and
 * no binary number near it.
 */
#ifndef GPUREDUCE_QUANTILE_H
#define GPUREDUCE_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/quantile_place.h"
#include "core/scale.h"

/* Digits of q after the point, at most: 10^18 is below 2^60. */
#define QUANTILE_DECIMALS_MAX 18
#define QUANTILE_DENOMINATOR_MAX UINT64_C(1000000000000000000)

/* Reads median, qX for the quantile X from 0 to 1, or pX for the percentile X from 0 to 100, where
   X is a plain decimal: the first `length` characters of `name`. Returns false for anything else,
   and where q would have more than QUANTILE_DECIMALS_MAX digits after the point. */
bool quantile_parse(const char *name, size_t length, struct quantile *q);

/* Whether a quantile is the least number, or the greatest. */
static inline bool quantile_is_extreme(const struct quantile *q)
{
    return q->numerator == 0 || q->numerator == q->denominator;
}

/* The quantile of stored numbers that stands for one of scaled ones: 1 - q, if the factor is less than
   0. */
struct quantile quantile_stored(const struct quantile *q, const struct scale *scale);

/* The number that lies fraction / denominator of the way from the value with the key `low` to that
   with the key `high` (core/order.h), low <= high, fraction < denominator < 2^60; with a scale,
   that which it stands for. It is the exact value rounded once to binary64. Without a scale two
   equal ones give themselves, so that -0 stays -0; any other exact zero is +0. With a fraction of 0
   it is the lower. Between a number and an infinity lies that infinity, between two infinities a
   NaN. */
double quantile_between(enum element_type type, const struct scale *scale, uint64_t low,
                        uint64_t high, uint64_t fraction, uint64_t denominator);

/* Keys of numbers among which order statistics are. They are changed, and so is `scratch`, which has room
   for as many. */
struct quantile_keys {
    uint64_t *keys, *scratch;
    size_t kept;   /* keys that there are, from 1 to 2^32 - 1 */
    size_t before; /* others that are less */
    size_t all;    /* all numbers */
};

/* Sets to[i] to quantile i, scaled, of `count` ones of stored numbers, at most ORDER_STATISTICS_MAX / 2.
   False, with nothing done, where one is not among the keys. */
bool quantile_select(enum element_type type, const struct scale *scale, const struct quantile *q,
                     unsigned count, const struct quantile_keys *k, double *to);

#endif
