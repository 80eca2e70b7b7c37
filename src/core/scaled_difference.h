/*
 * Differences of scaled numbers (scale.h): of a pair of elements, which may have different types and
 * scales, and of all pairs of two arrays together. All are exact. Pure functions.
 */
#ifndef GPUREDUCE_SCALED_DIFFERENCE_H
#define GPUREDUCE_SCALED_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"
#include "core/scale.h"

/* A pair a, b, as digits of multiples of 2^EXACT_WIDE_LSB_EXPONENT. */
struct scaled_pair {
    bool infinite;                       /* |a - b| is, and nothing else is set */
    uint32_t gap[EXACT_WIDE_DIGITS];     /* |a - b| */
    uint32_t largest[EXACT_WIDE_DIGITS]; /* max(|a|, |b|); 0 if both are the same infinity */
};

/* Finds the pair of two elements, no NaNs, by their bits (order_load). */
void scaled_pair_find(struct scaled_pair *pair, const enum element_type types[2],
                      const struct scale scales[2], uint64_t a, uint64_t b);

/* Whether a = b. */
bool scaled_pair_is_equal(const struct scaled_pair *pair);

/* Compares |a - b|, or with `relative` |a - b| / max(|a|, |b|), of two pairs, neither of which is
   equal: below 0, 0 or above 0. */
int scaled_pair_compare(const struct scaled_pair *p, const struct scaled_pair *q, bool relative);

/* Whether it is at most `limit`, which is finite and not negative. */
bool scaled_pair_within(const struct scaled_pair *pair, double limit, bool relative);

/* It, rounded once to binary64, and as an integer. The pair is not equal. */
double scaled_pair_round(const struct scaled_pair *pair, bool relative);
struct integer scaled_pair_integer(const struct scaled_pair *pair);

/* Sums over n pairs of stored numbers, all of which are finite. */
struct scaled_sums {
    const struct exact *sums[2];         /* of x, and of y */
    const struct exact_wide *squares[2]; /* of x x, and of y y */
    const struct exact_wide *products;   /* of x y */
    uint64_t n;
};

/* Sets the root of the mean of (a - b)^2 over `count` pairs, and the cosine of the angle between the
   arrays as vectors, NaN if one is zero, both rounded once. */
void scaled_sums_finish(const struct scaled_sums *sums, const struct scale scales[2],
                        uint64_t count, double *root_mean_square, double *cosine);

#endif
