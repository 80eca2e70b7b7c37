/*
 * NaNs and infinities in slices, which kernels leave. They are counted in a few integers a slice,
 * and the numbers among them are added one by one, so that an array in which some are missing needs
 * no partial result for each slice that one is in.
 *
 * Slices belong to one thread.
 */
#ifndef GPUREDUCE_CPU_SLICES_SPECIAL_H
#define GPUREDUCE_CPU_SLICES_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/partial.h"
#include "engine/cpu/slices_state.h"

/* Elements of a slice, `stride` bytes apart, whose indices in it are index, index + step, ... */
struct slices_run {
    const unsigned char *x;
    size_t stride, count;
    uint64_t index, step;
};

/* The partial result of a slice; a new one is empty. NULL without memory. */
struct partial *slices_partial(struct cpu_slices *s, size_t i);

/* Moves the sum of a slice to its partial result. */
void slices_drain(struct cpu_slices *s, size_t i, struct partial *p);

/* Takes elements of a float type into a slice: numbers into the sum and the keys that number `at`
   of `sums` has, and others are counted in s. If a sum does not fit, it goes to the partial result
   of the slice, together with the element. False without memory. */
bool slices_take_one_by_one(struct cpu_slices *s, size_t slice, struct cpu_slices *sums, size_t at,
                            enum element_type type, const struct slices_run *run);

/* Adds some to those of a slice. False without memory. */
bool slices_special_add(struct cpu_slices *s, size_t slice, const struct cpu_slice_special *x);

/* Adds those of a slice, if it has any, to its partial result, but for the count. */
void slices_special_add_to(const struct cpu_slices *s, size_t slice, struct partial *p);

#endif
