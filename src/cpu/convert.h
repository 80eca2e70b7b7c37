/*
 * Converting elements: to a type that has all their numbers, and to others by rounding. Functions of plain data, which any
 * thread may call.
 */
#ifndef GPUREDUCE_CPU_CONVERT_H
#define GPUREDUCE_CPU_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/cast.h"
#include "core/element.h"
#include "cpu/kernel.h"

/* Converts `count` elements, in this machine's byte order, to another type, which is
   difference_common_type's of the two, exactly. NaNs become NaNs, and truth values 0 or 1. The
   memory of the two does not overlap. */
void cpu_convert(const struct cpu_kernels *kernels, void *to, enum element_type to_type,
                 const void *from, enum element_type from_type, size_t count);

/* Casts `count` elements, in this machine's byte order. The memory of the two does not overlap. Returns
   whether the type has a number for each. */
bool cpu_cast(const struct cpu_kernels *kernels, void *to, const void *from, const struct cast *how,
              size_t count);

#endif
