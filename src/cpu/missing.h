/*
 * Missing values (core/missing.h) as the CPU's kernels look for them: by the bits of elements.
 */
#ifndef GPUREDUCE_CPU_MISSING_H
#define GPUREDUCE_CPU_MISSING_H

#include <stddef.h>

#include "core/element.h"
#include "core/missing.h"
#include "cpu/kernel.h"

/* Makes *m those of a set with at least one range, for elements of the type. */
void cpu_missing_set(struct cpu_missing *m, const struct cpu_kernels *kernels,
                     enum element_type type, const struct missing *set);

/* Returns how many of `count` elements at `from`, in this machine's byte order, are not missing.
   Unless that is all of them, they are at `to` then, one after the other. `to` has room for all of
   them, and does not overlap `from`. */
static inline size_t cpu_missing_leave_out(const struct cpu_missing *m, void *to, const void *from,
                                           size_t count)
{
    return m->leave_out(m, to, from, count);
}

/* Copies `count` elements, of at most 2^20 bytes, to `to`, with that at `other` in place of each
   that is missing. Returns how many these are. For elements of 1 byte there is no such
   function: then m->stand_in is NULL. */
static inline size_t cpu_missing_stand_in(const struct cpu_missing *m, void *to, const void *from,
                                          size_t count, const void *other)
{
    return m->stand_in(m, to, from, count, other);
}

/* Whether the element at `from` is missing. */
static inline bool cpu_missing_has(const struct cpu_missing *m, const void *from)
{
    uint64_t element;

    return cpu_missing_leave_out(m, &element, from, 1) == 0;
}

/* The index among `count` elements at `from` of the one that is number `n`, from 0, of those that
   are not missing; there is one. `scratch` has room for all of them. */
size_t cpu_missing_find(const struct cpu_missing *m, void *scratch, const void *from, size_t count,
                        size_t n);

#endif
