/*
 * The processor cores that this process may use.
 */
#ifndef GPUREDUCE_CORES_H
#define GPUREDUCE_CORES_H

/* How many they are: those of its affinity mask, as taskset(1) sets it, but no more than the time
   that its control groups grant it can keep busy. At least 1. Any thread may call it. */
unsigned cores_available(void);

#endif
