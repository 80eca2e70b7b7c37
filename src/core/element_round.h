/*
 * Rounding to the numbers of an element type. Compiles as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_ELEMENT_ROUND_H
#define GPUREDUCE_ELEMENT_ROUND_H

#include <math.h>

#include "core/element.h"
#include "core/exact.h"

/* The greatest number of a float type. */
EXACT_SHARED double element_greatest(const struct element_format *format)
{
    /* If the greatest exponent has a NaN, its greatest fraction is none of a number. */
    const unsigned missing = format->kind == ELEMENT_FINITE ? 2 : 1;
    const uint64_t fraction = (UINT64_C(1) << (format->significant_bits - 1)) - missing;

    return exact_from_bits((uint64_t)(format->exponent_max + 1023) << 52 |
                           fraction << (53 - format->significant_bits));
}

/* The nearest integer, ties to even: what nearbyint comes to in the default mode, which nothing
   here changes. From 2^52 on there are integers alone; below, the addition rounds to one. */
EXACT_SHARED double element_nearest_integer(double x)
{
    const double size = fabs(x);

    return size < 0x1p52 ? copysign(size + 0x1p52 - 0x1p52, x) : x;
}

/* Rounds x to a float type, to nearest, ties to even; returns it as a binary64. A number beyond the
   greatest of the type becomes an infinity, also if the type has none. All NaNs become the same. */
EXACT_SHARED double element_round_as(const struct element_format *format, double x)
{
    const unsigned lower = 53u - (unsigned)format->significant_bits; /* bits that the type lacks */
    const uint64_t bits = exact_bits(fabs(x));
    double rounded;

    if (!(x - x == 0))
        return x == x ? x : exact_from_bits(EXACT_NAN);
    if (lower == 0)
        return x;
    if (fabs(x) < exact_power_of_two(format->exponent_min)) {
        /* Subnormals are multiples of the least one. */
        const int least = format->exponent_min + 1 - format->significant_bits;

        return element_nearest_integer(x * exact_power_of_two(-least)) * exact_power_of_two(least);
    }
    /* The addition carries into the bits that are left where these are to be one more. */
    rounded = exact_from_bits((bits + (UINT64_C(1) << (lower - 1)) - 1 + (bits >> lower & 1)) >>
                              lower << lower);
    return copysign(rounded > element_greatest(format) ? (double)INFINITY : rounded, x);
}

static inline double element_round(enum element_type type, double x)
{
    return element_round_as(&element_formats[type], x);
}

#endif
