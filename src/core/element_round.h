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
    const int missing = format->kind == ELEMENT_FINITE ? 2 : 1;

    return ldexp(ldexp(1.0, format->significant_bits) - missing,
                 format->exponent_max + 1 - format->significant_bits);
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
    int shift;
    double rounded;

    if (x == 0 || !(x - x == 0))
        return x == x ? x : exact_from_bits(EXACT_NAN);
    (void)frexp(x, &shift); /* |x| in [2^(shift - 1), 2^shift) */
    if (shift - 1 < format->exponent_min)
        shift = format->exponent_min + 1; /* subnormals have the last bit of the least normal */
    shift -= format->significant_bits;
    /* The element's last bit weighs 2^shift. */
    rounded = ldexp(element_nearest_integer(ldexp(x, -shift)), shift);
    return fabs(rounded) > element_greatest(format) ? copysign(INFINITY, x) : rounded;
}

static inline double element_round(enum element_type type, double x)
{
    return element_round_as(&element_formats[type], x);
}

#endif
