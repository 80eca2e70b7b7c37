/*
 * What is true of elements on the host: what the right results are, found by the exact kernels of
 * the CPU, and how large the elements are, from which the errors follow that others may make.
 */
#ifndef GPUREDUCE_BENCH_REFERENCE_H
#define GPUREDUCE_BENCH_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"
#include "engine/cpu/kernel.h"

struct reference {
    struct partial partial; /* the exact sum and all the rest, indices counted from 0 */
    double magnitude;       /* at least the sum of the elements' magnitudes */
};

/* Finds out what is true of `count` elements at `data`, by one thread a core. False on failure,
   which has been said. */
bool reference_find(struct reference *r, enum element_type type, const void *data, uint64_t count);

/* `threads` reducers for reference_of. NULL without memory, which has been said. */
struct cpu_reducer *reference_reducers(enum element_type type, unsigned threads);

/* What is true of a few elements of the reducer's type, the first of which has this index. Any
   thread may call it that has a reducer of its own. */
struct reference reference_of(struct cpu_reducer *reducer, const void *data, size_t count,
                              uint64_t index);

#endif
