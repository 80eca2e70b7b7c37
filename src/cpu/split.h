/*
 * The CPU's sums and counts on both sides of a threshold (PARTIAL_SPLIT): the elements of each side
 * are packed, and reduced by a reducer of their own.
 */
#ifndef GPUREDUCE_CPU_SPLIT_H
#define GPUREDUCE_CPU_SPLIT_H

#include <stddef.h>

#include "core/scale.h"
#include "cpu/kernel.h"

struct cpu_split;

/* Opens one for elements of a type. NULL without memory. */
struct cpu_split *cpu_split_open(const struct cpu_kernels *kernels, enum element_type type,
                                 const struct partial_split *split);
void cpu_split_close(struct cpu_split *s);

/* Adds `count` elements, of at most CPU_PIECE_BYTES and in this machine's byte order. */
void cpu_split_take(struct cpu_split *s, const void *data, size_t count);

/* Adds an element `times` times. */
void cpu_split_take_same(struct cpu_split *s, const void *element, uint64_t times);

/* Adds what was found to the fields of p that PARTIAL_SPLIT defines, and forgets it. */
void cpu_split_drain(struct cpu_split *s, struct partial *p);

/* Sets the fields of p that PARTIAL_SPLIT defines. */
void cpu_split_finish(const struct cpu_split *s, struct partial *p);

#endif
