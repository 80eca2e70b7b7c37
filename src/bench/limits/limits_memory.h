/*
 * How much memory there is, and how large the caches are, as Linux tells.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_MEMORY_H
#define GPUREDUCE_BENCH_LIMITS_MEMORY_H

#include <stdint.h>

/* Bytes of memory that this process could still use: what the machine or its container (cgroup v2)
   has available, whichever is less; and no more than half of the address space. */
uint64_t limits_memory_available(void);

/* Data are to be so many times as large as the caches, so that little of them is read from there.
 */
#define LIMITS_CACHE_TIMES 4

/* The bytes of all last-level caches of the machine together. GPUREDUCE_CACHE_BYTES overrides the
   number. 64 MiB if nothing tells it. */
uint64_t limits_cache_bytes(void);

/* Bytes of the level-2 cache of a core; 0 where the system does not tell. */
uint64_t limits_l2_bytes(void);

#endif
