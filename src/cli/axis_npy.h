/*
 * Results along an axis as a .npy file, version 1 of the format (NumPy's documentation of
 * numpy.lib.format). One operation makes an array of numbers; several make an array of records,
 * with a field of the operation's name for each. The functions print nothing, unless they say so.
 */
#ifndef GPUREDUCE_AXIS_NPY_H
#define GPUREDUCE_AXIS_NPY_H

#include <stdbool.h>

#include "run/axis.h"

/* Adds the header. Sums of integers are int64 or uint64, counts and indices int64, and what has the
   elements' type has it, but that bf16 and floats of one byte become float32, and absmax, absmin
   and range of integers uint64. All else is float64. False without memory. */
bool axis_npy_header(const struct axis_plan *plan, struct buffer *bytes);

/* Bytes of each result. */
size_t axis_npy_size(const struct axis_plan *plan);

/* Whether each result is one binary64 number, as a batch has it. */
bool axis_npy_is_numbers(const struct axis_plan *plan);

/* Adds results, in this machine's byte order; those that do not stand in the array are left out.
   False without memory, or where an integer is beyond its type: then *beyond is the operation's
   number, and *slice which of the batch. */
bool axis_npy_values(const struct axis_batch *batch, struct buffer *bytes, size_t *beyond,
                     size_t *slice);

#endif
