/*
 * The cosine of the angle between two vectors, from the exact products of these. Pure.
 */
#ifndef GPUREDUCE_COSINE_H
#define GPUREDUCE_COSINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/exact.h"

/* x y / sqrt(x x  y y), rounded once to binary64, to nearest, ties to even, where x y, or its
   negative, x x and y y are multiples of one number, in digits of 32 bits. x x and y y are not
   zero, and x y is not more than their geometric mean, by the inequality of Cauchy and Schwarz. */
double cosine_round(const uint32_t xy[EXACT_WIDE_DIGITS], bool negative,
                    const uint32_t xx[EXACT_WIDE_DIGITS], const uint32_t yy[EXACT_WIDE_DIGITS]);

#endif
