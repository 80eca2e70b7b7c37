/*
 * How much memory there is, as Linux tells.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_MEMORY_H
#define GPUREDUCE_BENCH_LIMITS_MEMORY_H

#include <stdint.h>

/* Bytes of memory that this process could still use: the least of what the machine and its
   container (cgroup v2) have available. UINT64_MAX when neither is known. */
uint64_t limits_memory_available(void);

#endif
