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

/* Whether the element at `from` is missing. */
static inline bool cpu_missing_has(const struct cpu_missing *m, const void *from)
{
    uint64_t element;

    return m->leave_out(m, &element, from, 1) == 0;
}

/* The index among `count` elements at `from` of the one that is number `n`, from 0, of those that
   are not missing; there is one. `scratch` has room for all of them. */
size_t cpu_missing_find(const struct cpu_missing *m, void *scratch, const void *from, size_t count,
                        size_t n);

#endif
