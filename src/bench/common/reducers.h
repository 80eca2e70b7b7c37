/*
 * The exact CPU kernels as threads of gpureduce-bench use them: to be measured, and to know what
 * the right results are.
 *
 * Reducers of one call belong to the caller, who hands them all back at once; each of them belongs
 * to one thread at a time.
 */
#ifndef GPUREDUCE_BENCH_REDUCERS_H
#define GPUREDUCE_BENCH_REDUCERS_H

#include "engine/cpu/kernel.h"

/* `count` reducers for elements of `type`, with these kernels, that find what `wants` (partial_want
   bits, PARTIAL_SUM among them) asks for, and have taken nothing yet. NULL without memory, which
   has been said. */
struct cpu_reducer *reducers_new(const struct cpu_kernels *kernels, enum element_type type,
                                 unsigned wants, unsigned count);

/* Takes NULL, too. */
void reducers_free(struct cpu_reducer *reducers, unsigned count);

#endif
