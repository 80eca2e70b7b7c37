/*
 * Sums and extremes of scaled numbers (scale.h), made of the partial results of the stored ones of
 * one array, or of several, each with a scale and a type of its own. They are exact, so that totals
 * over different scales are rounded once, too.
 *
 * Partial results of arrays of one scale merge as partial results (partial_merge); of different
 * ones only here.
 *
 * Plain data, which belongs to one thread at a time. No function here can fail.
 */
#ifndef GPUREDUCE_SCALED_H
#define GPUREDUCE_SCALED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/moments.h"
#include "core/partial.h"
#include "core/scale.h"

/* A stored number, by its element_key, and its scale. */
struct scaled_number {
    bool known; /* there is such a number */
    enum element_type type;
    int64_t key;
    struct scale scale;
};

/* A known number, or its magnitude, rounded once. *integer: all digits of it, if it stands for an
   integer that stays one (scale_keeps_integers); otherwise it is left as it is. */
double scaled_value(const struct scaled_number *x, bool magnitude, struct integer *integer);

/* Digits of a sum of squares. Those of scaled numbers are multiples of 2^-4296; a sum of 2^64 of
   them is less than 2^4162. So it has 8458 bits and a sign: 265 digits. */
#define SCALED_SQUARES_DIGITS 266
#define SCALED_SQUARES_LSB_EXPONENT (2 * EXACT_WIDE_LSB_EXPONENT)

/* Digits that three factors of 64 bits add to a number. */
#define SCALED_FACTOR_DIGITS 6

struct scaled {
    struct exact_wide sum;      /* sum of the finite numbers */
    struct exact_wide absolute; /* sum of their magnitudes */
    int64_t
        squares[SCALED_SQUARES_DIGITS]; /* sum of their squares, in digits of base 2^32, carried;
                                               the first weighs 2^-4296 */
    struct scaled_number min, max;      /* extremes of the numbers that are not NaN */
    struct scaled_number least;         /* the one whose magnitude is least */
    uint64_t min_index, max_index, first_nan; /* PARTIAL_NO_INDEX if there is none */
    uint64_t count, missing, nan, positive_infinity, negative_infinity, zeros, negative; /* as in
                                                                              struct partial */
    uint64_t
        subnormal; /* as there; PARTIAL_NO_INDEX once a number has a scale: nobody counts these */
    bool integers; /* all numbers are integers with all digits */
};

/* Adds a number of `count` digits, the first of which weighs 2^lsb_exponent, times three factors, to
   a sum of squares. The digits of the number are changed, and SCALED_FACTOR_DIGITS more stand above
   them. Digits of the sum grow by less than 2^33. */
void scaled_squares_add(int64_t squares[SCALED_SQUARES_DIGITS], uint32_t *digit, int count,
                        int lsb_exponent, const uint64_t factors[3], bool negative);

/* Makes *s that of no numbers. */
void scaled_clear(struct scaled *s);

/* Adds the numbers that stand for the elements of p after those before: their count is added to
   the indices of p. The elements are of this type. A partial result without a scale is not split
   (PARTIAL_SPLIT), one with a scale is, or nobody wants the results that need it. */
void scaled_append(struct scaled *s, const struct partial *p, enum element_type type,
                   const struct scale *scale);

/* Computes all results, in the way of partial_finish_type and moments_finish. Only `skip_nan`,
   `ddof` and `unwanted` of the terms matter. */
void scaled_finish(const struct scaled *s, const struct moments_terms *terms,
                   struct result *result);

/* Computes all results of the numbers that stand for the elements of p, which are of terms->type. */
void scaled_round(const struct partial *p, const struct scale *scale,
                  const struct moments_terms *terms, struct result *result);

/* Exact values, from which results are rounded. */
enum scaled_value {
    SCALED_SUM,
    SCALED_SUMSQ,
    SCALED_L1,
    SCALED_MIN,
    SCALED_MAX,
    SCALED_ABSMAX,
    SCALED_ABSMIN,
    SCALED_RANGE
};

/* Writes the magnitude of a value: digits of base 2^32, the first of which weighs 2^*lsb_exponent.
   False if there is none: there are no numbers, or an infinity has a part in it. NaNs do not
   matter. */
bool scaled_exact(const struct scaled *s, enum scaled_value value,
                  uint32_t digit[SCALED_SQUARES_DIGITS], int *lsb_exponent, bool *negative);

#endif
