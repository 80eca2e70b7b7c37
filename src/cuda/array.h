/*
 * Reductions of elements that lie in device memory of the caller, on its streams: whatever else the
 * process does with its devices goes on. Works on the primary contexts, which all users of the CUDA
 * runtime share, and leaves the current device as it was.
 *
 * An accumulator has memory on each device on which it was given elements. Launches add to a
 * partial result there. After each of them a small kernel copies that to memory of the host, with
 * the number of the launch, so whoever wants the result only looks there: no stream is needed, which
 * the caller may have destroyed by then.
 *
 * Launches on several streams of a device are put in order by an event, since they add to one
 * partial result. A launch that is captured in a graph cannot wait for what is outside of the graph:
 * each stream of a capture has a partial result of its own, which all runs of the graph add to. Two
 * executable graphs that were made of one capture must not run at a time.
 *
 * One thread at a time uses an accumulator. NULL stands for one of no elements. In a build without
 * CUDA nothing can be added.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_H
#define GPUREDUCE_CUDA_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/missing.h"
#include "core/partial.h"
#include "core/view.h"

struct cuda_array;

/* Elements in device memory, of any alignment, or in managed memory. */
struct cuda_array_elements {
    enum element_type type;
    bool swap;                     /* they are not in the machine's byte order */
    const struct missing *missing; /* elements that are left out; NULL: none */
    const struct view_layout *layout;
    uint64_t count; /* the first ones of the layout; at least one, but for cuda_array_add */
    int device;     /* that reads managed memory; negative: the current one */
    void
        *stream; /* a cudaStream_t of their device: they are read after what was put on it before */
    /* For cuda_array_reduce_slices: floats with a mask, which this view has and whose memory is on their
       device; NULL: without one. */
    const struct view *masked;
};

/* Adds elements, of which `wants` is found: partial_want bits, a part of PARTIAL_ALL | PARTIAL_DIGEST.
   Between two calls of cuda_array_clear all have one type, byte order and missing values, and the wants
   are the same.
   `index` is that of the first; that of the first NaN is right only if all lie in a row, or if PARTIAL_WHERE is
   wanted. Waits for nothing. Allocates only the first time on a device or in
   a capture, and for the first elements that are not aligned to their size or not in a row; makes
   *array if it is NULL. After an error of a GPU it has no results. */
bool cuda_array_add(struct cuda_array **array, const struct cuda_array_elements *elements,
                    unsigned wants, uint64_t index, struct error *error);

/* Waits for all that was added, and merges it into *partial; more can be added after. `wants` are
   those of the elements. Runs of graphs count that were launched before. */
bool cuda_array_snapshot(struct cuda_array *array, unsigned wants, struct partial *partial,
                         struct error *error);

/* Forgets what was added. Waits only where launches were captured. */
bool cuda_array_clear(struct cuda_array *array, struct error *error);

/* Waits, and frees all memory. Graphs that add to the array cannot run after it. */
void cuda_array_close(struct cuda_array *array);

#endif
