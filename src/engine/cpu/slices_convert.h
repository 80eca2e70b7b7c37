/*
 * Elements as the kernels of slices take them: there are kernels for floats of 16 bits and more,
 * and elements of other types become equal ones of these. Pure functions.
 */
#ifndef GPUREDUCE_CPU_SLICES_CONVERT_H
#define GPUREDUCE_CPU_SLICES_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"

/* The type that elements of a type are taken as, which has all its values: a float that has
   kernels, or the same type where there is none. */
enum element_type cpu_slices_type(enum element_type type);

/* Makes `count` elements of a type, in this machine's byte order, those of the other type. The two
   places do not overlap, and have any alignment. */
void cpu_slices_convert(void *to, const void *from, size_t count, enum element_type type);

/* Makes `count` elements of a type, of the other byte order with `swap`, those of the type they are
   taken as, which may be the same, in this machine's. The two places do not overlap. */
void cpu_slices_bring(unsigned char *to, const unsigned char *from, size_t count,
                      enum element_type given, enum element_type taken, bool swap);

/* Turns `rows` rows of `columns` elements of `size` bytes, 1, 2, 4 or 8, that begin `stride` bytes
   apart, into columns that begin `step` elements apart. */
void cpu_slices_turn(void *to, size_t step, const void *from, size_t stride, size_t rows,
                     size_t columns, size_t size);

#endif
