/*
 * Casts: the number of a type that another number is rounded to, to nearest, ties to even, as IEEE
 * 754 has it. A number beyond the greatest of a float type becomes an infinity, or where the type
 * has none a NaN. Integer types have no such number: the nearest they have stands for it. Cast to a
 * truth value, all but zero is true. Pure functions.
 *
 * With scales (scale.h), the stored number x of an array is cast to that of the other array which
 * is nearest to (x factor + offset - other offset) / other factor, exactly. Types with a scale are
 * not integers of 64 bits, to which this is not done.
 */
#ifndef GPUREDUCE_CAST_H
#define GPUREDUCE_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/scale.h"

struct cast {
    enum element_type to, from;
    bool rescales;          /* the two scales are not the same */
    struct scale scales[2]; /* of the elements that are cast, and of what they are cast to */
};

/* Finds the bits (order_load) of the element that an element is cast to. Returns false if an integer
   type has no number for it: it is beyond the range, or a NaN, which becomes 0. */
bool cast_bits(const struct cast *how, uint64_t bits, uint64_t *cast);

/* Whether another rounding, up or down, casts an element to `other`, while rounding to nearest does
   to `nearest`. NaNs are not rounded. */
bool cast_is_rounded(const struct cast *how, uint64_t bits, uint64_t nearest, uint64_t other);

#endif
