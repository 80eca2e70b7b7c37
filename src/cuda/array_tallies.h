/*
 * Tallies (core/tally.h) and samples of elements that lie in device memory of the caller, as array.h
 * does.
 *
 * All elements are launched before the stream is waited for. Elements of cells that are kept remain
 * on the device: if they are few, they are copied to the tally; if not, they are counted in parts of
 * their cells, and the tally has dropped them. A next pass, whose cells are within those, then looks
 * at what was kept in place of all elements. So a quantile takes one pass over the elements.
 *
 * A tallier keeps memory from one call to the next: on the device, a sixteenth of that of the
 * elements and a few megabytes. One thread at a time uses it. In a build without CUDA nothing can be
 * tallied.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_TALLIES_H
#define GPUREDUCE_CUDA_ARRAY_TALLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/partial.h"
#include "core/pass_plan.h"
#include "core/tally.h"
#include "cuda/array.h"

struct cuda_tallier;

/* How much a tallier keeps, elements: room for at least so many on the device, and up to so many are
   copied from there. From `counted` elements on those of one byte are reduced by counting them. */
struct cuda_tallier_tuning {
    uint64_t room, fetched, counted;
};
extern const struct cuda_tallier_tuning cuda_tallier_shipped;

/* NULL without memory. */
struct cuda_tallier *cuda_tallier_open(const struct cuda_tallier_tuning *tuning);

/* Frees all memory. NULL is allowed. */
void cuda_tallier_close(struct cuda_tallier *tallier);

/* Adds the elements to the tallies of a set, at least one, and ends them. `again` says that the
   elements are those of the call before. */
bool cuda_array_tally(struct cuda_tallier *tallier, const struct cuda_array_elements *elements,
                      bool again, struct tally_set *set, struct error *error);

/* Whether elements are of one byte, and what is wanted of them (partial_want bits) is sooner known from
   counts of their values than by the kernels of array.h: these are as fast for sums, and of integers for
   extremes, or sums of squares, unless the values are `tallied` anyway. */
bool cuda_array_counts_values(const struct cuda_tallier *tallier,
                              const struct cuda_array_elements *elements, unsigned wants,
                              bool tallied);

/* Counts the values of such elements, unless a tally has `counted` them, and makes *partial, which is clear,
   their partial result, without indices. */
bool cuda_array_count_values(struct cuda_tallier *tallier,
                             const struct cuda_array_elements *elements,
                             const struct tally *counted, struct partial *partial,
                             struct error *error);

/* Has runs of elements copied, which are spread evenly. There are no fewer elements than in the
   runs, and they lie at even distances. Waits for nothing, once there is memory for it. */
bool cuda_array_begin_sample(struct cuda_tallier *tallier,
                             const struct cuda_array_elements *elements, struct pass_runs runs,
                             struct error *error);

/* Waits for the sample that was begun last: its elements, in the machine's byte order, which remain
   until the next call. NULL after an error. */
const void *cuda_array_sample(struct cuda_tallier *tallier, struct error *error);

#endif
