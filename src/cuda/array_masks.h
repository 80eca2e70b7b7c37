/*
 * Masks of elements that lie in device memory of the caller, as array.h does: a kernel copies the
 * elements that a mask leaves into a row, in any order, which the other kernels then reduce. Another
 * one finds the place of an element by its value, once that is known.
 *
 * Calls make *masker if it is NULL. A masker keeps memory from one call to the next: on the device,
 * that of the largest row. One thread at a time uses it. In a build without CUDA nothing can be copied
 * or found.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_MASKS_H
#define GPUREDUCE_CUDA_ARRAY_MASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/view.h"
#include "cuda/array_tallies.h"
#include "cuda/missing.h"

struct cuda_masker;

/* Frees all memory. NULL is allowed. */
void cuda_masker_close(struct cuda_masker *masker);

/* Copies those of `count` elements from number `first` on, at least one, that the mask of `view` leaves.
   The mask is in memory of their device, or managed. *kept: how many they are; *row: where they lie,
   until the next call, for work on the elements' stream. Waits for that. */
bool cuda_array_keep(struct cuda_masker **masker, const struct cuda_array_elements *elements,
                     const struct view *view, uint64_t first, uint64_t count,
                     const unsigned char **row, uint64_t *kept, struct error *error);

/* Finds for each of `count` ranges, at most CUDA_FIND_MAX, the first of the elements that the mask of
   `view`, if it has one, leaves and whose order_key is in the range. Numbers of floats in a range have
   one sign, or are both zeros; the key of the first NaN alone stands for all NaNs. `numbers`: of these
   elements; UINT64_MAX: there is none. Waits for that. */
bool cuda_array_find(struct cuda_masker **masker, const struct cuda_array_elements *elements,
                     const struct view *view, const struct missing_range *ranges, unsigned count,
                     uint64_t *numbers, struct error *error);

#endif
