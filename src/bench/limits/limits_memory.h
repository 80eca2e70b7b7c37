/*
 * How much memory there is, as Linux tells.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_MEMORY_H
#define GPUREDUCE_BENCH_LIMITS_MEMORY_H

#include <stdint.h>

/* Bytes of memory that this process could still use: what the machine or its container (cgroup v2)
   has available, whichever is less; and no more than half of the address space. */
uint64_t limits_memory_available(void);

#endif
