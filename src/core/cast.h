/*
 * Casts: the number of a type that another number is rounded to, to nearest, ties to even, as IEEE
 * 754 has it. A number beyond the greatest of a float type becomes an infinity, or where the type
 * has none a NaN. Integer types have no such number: the nearest they have stands for it. Cast to a
 * truth value, all but zero is true. Pure functions.
 */
#ifndef GPUREDUCE_CAST_H
#define GPUREDUCE_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"

/* Finds the bits (order_load) of the element of type `to` that an element is cast to. Returns false
   if an integer type has no number for it: it is beyond the range, or a NaN, which becomes 0. */
bool cast_bits(enum element_type to, enum element_type from, uint64_t bits, uint64_t *cast);

/* Whether another rounding, up or down, casts an element to `other`, while rounding to nearest does
   to `nearest`. NaNs are not rounded. */
bool cast_is_rounded(enum element_type to, enum element_type from, uint64_t bits, uint64_t nearest,
                     uint64_t other);

#endif
