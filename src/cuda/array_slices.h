/*
 * Reductions of slices of arrays in device memory of the caller, whose results are put there, as array.h
 * does.
 *
 * Kernels find the sums of parts of slices exactly, in a few numbers, and list the slices whose sums do
 * not fit. Kernels find those again, in superaccumulators; results of squares and integers only where that is
 * enough, so the caller reduces the others one by one. Other kernels look at single elements, or select
 * among them.
 *
 * A summer keeps memory from one call to the next. One thread at a time uses it. In a build without
 * CUDA there is nothing to reduce.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_SLICES_H
#define GPUREDUCE_CUDA_ARRAY_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "cuda/array_tallies.h"
#include "cuda/slice_finish.h"

/* The shape of elements in C order: slices go along the one in the middle. All are above 0. */
struct cuda_array_axis {
    uint64_t outer, length, inner;
    struct cuda_slice_wish wish;      /* whose count is `length` */
    const struct view_layout *shaped; /* the elements in their shape */
    unsigned number;                  /* of the dimension that slices go along */
    bool no_wait; /* cuda_array_unknown need not be called if kernels find all */
};

/* Whether kernels find all results: those of floats that are sums, but not of squares, or extremes. */
static inline bool cuda_array_finds_all(enum element_type type, const struct cuda_slice_wish *wish)
{
    return element_is_float(type) && cuda_slice_adds(wish->op) && !cuda_slice_squares(wish->op);
}

/* The most slices that cuda_array_unknown lists. */
#define CUDA_ARRAY_UNKNOWN ((uint64_t)1 << 14)

/* A summer refers to the elements and the axis of its last call. */
struct cuda_summer;

/* Frees all memory. NULL is allowed. */
void cuda_summer_close(struct cuda_summer *summer);

/* Puts the result of each slice into outer * inner numbers at `results`, in memory of the device of
   the elements: of floats CUDA_SLICE_UNKNOWN if it is not known. Elements with a mask are copied first,
   all of them. Waits for nothing, once there is memory for it, unless slices of more than CUDA_STAGE_BYTES are
   copied; what a summer puts on a stream comes after what it put on another before. Makes *summer if it is
   NULL. Unless cuda_array_finds_all and `no_wait`, the next call must be cuda_array_unknown, and none is known of
   slices that are too large to be copied where they have to be. */
bool cuda_array_reduce_slices(struct cuda_summer **summer,
                              const struct cuda_array_elements *elements,
                              const struct cuda_array_axis *axis, uint64_t *results,
                              struct error *error);

/* Finds the results again, of the last call, that cuda_array_unknown has just listed, of var or std:
   also of slices with NaNs, infinities and sums that took more room. Waits for nothing. Does nothing
   where slices are long, and of integers where no squares of 64 bits are added up. */
bool cuda_array_reduce_listed(struct cuda_summer *summer, uint64_t *results, struct error *error);

/* Looks for `count` results of the last call from number `first` on, floats, that are not known. Waits
   for nothing. The next call must be cuda_array_unknown. */
bool cuda_array_find_unknown(struct cuda_summer *summer, const uint64_t *results, uint64_t first,
                             uint64_t count, struct error *error);

/* Waits for the last call. Sets *found to how many results of the last call are not known or, of integers, do not fit
   their type, UINT64_MAX: none is known; and *unknown to their numbers, ascending, which remain until the next
   call, if there are no more than CUDA_ARRAY_UNKNOWN. */
bool cuda_array_unknown(struct cuda_summer *summer, const uint64_t **unknown, uint64_t *found,
                        struct error *error);

/* Sets the bits of a result on the device of the last call. */
bool cuda_array_set(struct cuda_summer *summer, uint64_t *result, uint64_t bits,
                    struct error *error);

#endif
