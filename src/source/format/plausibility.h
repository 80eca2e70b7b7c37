/*
 * Whether raw elements can be of the type that they are taken for. Pure.
 */
#ifndef GPUREDUCE_PLAUSIBILITY_H
#define GPUREDUCE_PLAUSIBILITY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"
#include "core/error.h"

/* Looks at elements of a type in a byte order; some KiB are enough, and some hundred bytes too few.
   Whether they hardly are what they are taken for but make sense in the other byte order, or as
   f64: *better is then ADVICE_BETTER_TYPE, and says which of these changes. Floats are looked at,
   and i8 and u8, which mean 8 bytes to NumPy. */
bool plausibility_better(const void *bytes, size_t size, enum element_type type, bool big_endian,
                         struct advice *better);

/* Whether there are many NaNs among the elements, most of which differ by more than the sign: those
   that calculations make are all alike. */
bool plausibility_nans(const void *bytes, size_t size, enum element_type type, bool big_endian);

#endif
