/*
 * Slices of integers of up to 32 bits: their elements are added up as integers, in this machine's
 * byte order, and the sums and the extremes become what slices keep (slices.h). Nothing is left.
 */
#ifndef GPUREDUCE_CPU_SLICES_INTEGER_H
#define GPUREDUCE_CPU_SLICES_INTEGER_H

#include <stddef.h>

#include "engine/cpu/kernel.h"

/* Shorter rows are faster as floats, of which several are taken together. */
#define SLICES_INTEGER_LENGTH 128

/* Room for what kernels find of several slices: too much for a small stack. */
struct cpu_integer_found {
    int64_t sum[CPU_INTEGER_COLUMNS], min[CPU_INTEGER_COLUMNS], max[CPU_INTEGER_COLUMNS];
};

/* Adds to what there is of `rows` slices, which are rows of `length` elements of `size` bytes: as
   many as SLICES_INTEGER_LENGTH, or more. Keys have key_size bytes; without extremes there are
   none. *found is scratch memory. */
void cpu_slices_integer_rows(const struct cpu_integer_slices *kernels,
                             struct cpu_integer_found *found, const struct cpu_slice_results *to,
                             size_t key_size, const unsigned char *x, size_t rows, size_t length,
                             size_t size);

/* How many of `columns` columns of elements of `size` bytes the next function is for. */
size_t cpu_slices_integer_columns_of(size_t columns, size_t size);

/* Adds `columns` slices of `rows` elements each, `stride` bytes apart. */
void cpu_slices_integer_columns(const struct cpu_integer_slices *kernels,
                                struct cpu_integer_found *found, const struct cpu_slice_results *to,
                                size_t key_size, const unsigned char *x, size_t stride, size_t rows,
                                size_t columns, size_t size);

#endif
