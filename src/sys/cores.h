/*
 * The processor cores that this process may use.
 */
#ifndef GPUREDUCE_CORES_H
#define GPUREDUCE_CORES_H

/* How many they are: those of its affinity mask, as taskset(1) sets it. At least 1. */
unsigned cores_available(void);

#endif
