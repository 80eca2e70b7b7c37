/*
 * The place of a quantile among numbers in order (quantile.h). Compiles as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_QUANTILE_PLACE_H
#define GPUREDUCE_QUANTILE_PLACE_H

#include <stdint.h>

#include "core/bits.h"

/* q = numerator / denominator, from 0 to 1. The denominator is at most QUANTILE_DENOMINATOR_MAX; of
   a decimal it is a power of ten. */
struct quantile {
    uint64_t numerator, denominator;
};

/* The position of a quantile among n numbers, n > 0: `fraction` / q->denominator of the way from
   x[rank] to x[rank + 1]; with a fraction of 0 it is x[rank]. */
struct quantile_place {
    uint64_t rank, fraction;
};

/* p / divisor, where the quotient has 64 bits: p.high < divisor < 2^63. */
EXACT_SHARED uint64_t quantile_divide(struct product p, uint64_t divisor, uint64_t *remainder)
{
    uint64_t rest = p.high, quotient = 0;

    if (rest == 0) {
        *remainder = p.low % divisor;
        return p.low / divisor;
    }
    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | (p.low >> bit & 1);
        quotient <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
    }
    *remainder = rest;
    return quotient;
}

EXACT_SHARED struct quantile_place quantile_place(const struct quantile *q, uint64_t n)
{
    struct quantile_place place = {n - 1, 0};

    if (q->numerator != q->denominator)
        place.rank =
            quantile_divide(product_of(q->numerator, n - 1), q->denominator, &place.fraction);
    return place;
}

#endif
