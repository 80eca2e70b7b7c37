/*
 * Whether raw elements can be of the type that they are taken for. Pure.
 */
#ifndef GPUREDUCE_PLAUSIBILITY_H
#define GPUREDUCE_PLAUSIBILITY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"

/* Looks at elements of a type in a byte order; some KiB are enough, and some hundred bytes too few.
   Returns the options to type, such as "-t f64", if they hardly are what they are taken for but
   make sense in the other byte order, or as f64; NULL otherwise. Floats are looked at, and i8 and
   u8, which mean 8 bytes to NumPy. */
const char *plausibility_better(const void *bytes, size_t size, enum element_type type,
                                bool big_endian);

/* Whether there are many NaNs among the elements, most of which differ by more than the sign: those
   that calculations make are all alike. */
bool plausibility_nans(const void *bytes, size_t size, enum element_type type, bool big_endian);

#endif
