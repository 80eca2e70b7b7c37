/*
 * Tallies (core/tally.h) on a GPU: what their kernels offer to the engine, as kernels.h does.
 */
#ifndef GPUREDUCE_CUDA_TALLY_LAUNCH_H
#define GPUREDUCE_CUDA_TALLY_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tally.h"
#include "cuda/missing.h"
#include "cuda/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first keys of cells, and whether their elements are kept, in device memory; and of those
   that are kept alone, in order, their first keys, how much more the last ones are, and the shifts
   of their parts (tally_fine_shift). */
struct cuda_tally_cells {
    uint64_t first[TALLY_CELLS_MAX];
    unsigned char keep[TALLY_CELLS_MAX];
    uint64_t kept_first[TALLY_CELLS_MAX], kept_distance[TALLY_CELLS_MAX];
    unsigned char kept_shift[TALLY_CELLS_MAX];
};

/* Numbers that follow a tally's counts in device memory: the two special counts of struct tally, and how many
   elements of cells were to be kept. */
#define CUDA_TALLY_SPECIAL 0
#define CUDA_TALLY_KEPT 2
#define CUDA_TALLY_MORE 3

struct cuda_tally_launch {
    /* By cuda_tallies_describe. Keys are made of bits as by order_key: all but the sign are changed
       where the sign is set, if `turn` has them, and those in `flip` always. */
    const struct tally_plan *plan;
    unsigned element_size; /* bytes */
    bool integers;
    unsigned size; /* counts, without what is after them */
    uint64_t turn, flip;
    uint64_t greatest; /* the key of the greatest number */

    /* For cells. */
    bool more; /* kept elements follow those of the launches before */
    bool fine; /* none are kept: those of kept cells are counted in 2^fine_bits parts of each, cell
                  after cell; one more count has all others */

    /* Elements that are left out; NULL: none. */
    const struct cuda_missing *missing;
    bool swap;             /* elements are not in the machine's byte order */
    struct cuda_rows rows; /* in device memory; each can be read up to a multiple of 16 bytes */
    size_t count;          /* elements, at least 1, below 2^30 */
    const void *table;     /* device memory: struct cuda_tally_cells, or the plan's bounds */
    uint64_t *counts;      /* device memory: `size`, and CUDA_TALLY_MORE; to be added to */
    void *kept;            /* device memory, of cells */
    uint64_t room;         /* elements that it has room for: others are dropped */
    int multiprocessors;   /* of the device */
    size_t shared;         /* bytes of shared memory that a block may ask for */
};

/* Tallies a chunk on the device: asynchronous, on the stream and the device that is current. Counts
   mean what those of struct tally do; but those in front of a cell after one that is kept are
   right here, too. Elements are kept in the machine's byte order, and in any order. */
cudaError_t cuda_tally(const struct cuda_tally_launch *launch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
