/*
 * The right results of elements on the host, by the exact kernels of the CPU; and the sum of the
 * elements' magnitudes, on which the bound of a rung's error depends.
 *
 * Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_REFERENCE_H
#define GPUREDUCE_BENCH_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"
#include "cpu/kernel.h"

struct reference {
    struct partial partial; /* the exact sum and all other results; indices count from 0 */
    double magnitude;       /* at least the sum of the elements' magnitudes */
};

/* Reduces `count` elements at `data`, with one thread per core. */
bool reference_find(struct reference *r, enum element_type type, const void *data, uint64_t count);

/* `threads` reducers for reference_of, for reducers_free; `wants` are partial_want bits. NULL
   without memory. */
struct cpu_reducer *reference_reducers(enum element_type type, unsigned wants, unsigned threads);

/* The reference of a few elements of the reducer's type, the first of which has this index. Any
   thread may call it with a reducer of its own. Cannot fail. */
struct reference reference_of(struct cpu_reducer *reducer, const void *data, size_t count,
                              uint64_t index);

#endif
