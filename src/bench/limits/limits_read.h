/*
 * Reading memory: all bytes go into a register, and nothing else is done with them.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_READ_H
#define GPUREDUCE_BENCH_LIMITS_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/cpu/kernel.h"

/* Reads `size` bytes, which begin at a multiple of 8. The last size % 128 bytes are left out. Any
   thread may call it. */
typedef void limits_read_function(const unsigned char *data, size_t size);

/* The function for the instruction set of the kernels; for data in a cache, or in memory. */
limits_read_function *limits_choose_read(const struct cpu_kernels *kernels, bool cached);

#endif
