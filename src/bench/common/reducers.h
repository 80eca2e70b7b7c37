/*
 * The exact CPU kernels as the threads of gpureduce-bench use them: to measure them, and to get the
 * right results.
 *
 * The reducers belong to the caller, who frees them together. One thread at a time uses a reducer.
 */
#ifndef GPUREDUCE_BENCH_REDUCERS_H
#define GPUREDUCE_BENCH_REDUCERS_H

#include "cpu/kernel.h"

/* `count` empty reducers for elements of `type`, with these kernels. They find what `wants` asks
   for (partial_want bits, PARTIAL_SUM among them). NULL without memory, after an error message. */
struct cpu_reducer *reducers_new(const struct cpu_kernels *kernels, enum element_type type,
                                 unsigned wants, unsigned count);

/* `reducers` may be NULL. */
void reducers_free(struct cpu_reducer *reducers, unsigned count);

#endif
