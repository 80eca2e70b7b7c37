/*
 * Records of slices: all that may be wanted of one, as a GPU finds it, in a few numbers. They merge
 * as partial results do, exactly, where the numbers can hold the sums. Pure functions.
 */
#ifndef GPUREDUCE_CPU_SLICES_RECORD_H
#define GPUREDUCE_CPU_SLICES_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/partial.h"
#include "engine/engine.h"

struct cpu_slice_record {
    /* The exact sum of the numbers is that of the elements, the magnitudes or the squares. */
    double sum[2], absolute[2], squares[ENGINE_SLICE_SQUARES];
    /* As in struct partial. */
    int64_t min_key, max_key, least_magnitude;
    uint64_t min_index, max_index;
    uint64_t zeros, negative, subnormal;
};

/* Makes it that of no elements. */
void cpu_slice_record_clear(struct cpu_slice_record *r);

/* Makes it what was found of part number i, whose elements have the indices from `index` on. */
void cpu_slice_record_set(struct cpu_slice_record *r, const struct engine_found *found, size_t i,
                          uint64_t index);

/* Merges `other` into r. False, with r as it was, where its numbers cannot hold a sum. */
bool cpu_slice_record_merge(struct cpu_slice_record *r, const struct cpu_slice_record *other);

/* Adds a record to a partial result, but for the count. */
void cpu_slice_record_add_to(const struct cpu_slice_record *r, struct partial *p);

#endif
