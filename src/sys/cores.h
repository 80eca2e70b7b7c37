/*
 * The processor cores that this process may use, and the caches that they have.
 */
#ifndef GPUREDUCE_CORES_H
#define GPUREDUCE_CORES_H

#include <stddef.h>

/* How many they are: those of its affinity mask, as taskset(1) sets it. At least 1. */
unsigned cores_available(void);

/* Bytes of the level-2 cache of a core; 0 where the system does not tell. */
size_t cores_l2_cache(void);

#endif
