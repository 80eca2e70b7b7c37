/*
 * The interface of the kernels for the engine: launchers with C linkage, plain types only.
 * Everything here is asynchronous, on the stream that is given and the device that is current.
 */
#ifndef GPUREDUCE_CUDA_KERNELS_H
#define GPUREDUCE_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/moments.h"
#include "core/partial.h"
#include "cuda/missing.h"
#include "cuda/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The extremes that one block of a launch found, in the kernel's own terms, and where; the last
   block to end merges them. Only where PARTIAL_WHERE is asked for. */
struct cuda_block_result {
    int64_t least, greatest;
    unsigned least_tile, greatest_tile;
};

/* The results that there are kernels for: partial_want bits. Any of them can leave out missing
   elements, too. */
#define CUDA_FINDS ((unsigned)PARTIAL_ALL)
#define CUDA_FINDS_MISSING (CUDA_FINDS | PARTIAL_MISSING)

/* Those that integers have kernels of their own for, beside sums alone. */
#define CUDA_FINDS_EXTREMES ((unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE))
#define CUDA_FINDS_SQUARES ((unsigned)(PARTIAL_SUM | PARTIAL_SQUARES))

/* Elements that are fewer than this need only be aligned to their size: they fill no tile, and are
   read one by one. */
#define CUDA_UNALIGNED_MAX 1024

/* A multiple of the elements of a tile, of every kernel. */
#define CUDA_TILES (1 << 16)

/* The most blocks of one launch, and warps of a block. */
#define CUDA_BLOCKS_MAX 4096
#define CUDA_WARPS_MAX 8

/* A part of the next for the kernel of digests. All zero before and after each launch. */
struct cuda_digest_scratch {
    unsigned long long digits[4]; /* of the blocks' sums, of base 2^32: sums of them */
    unsigned long long nan, positive_infinity, negative_infinity;
    unsigned long long before_nan; /* the complement of the first NaN's index; 0 for none */
    unsigned ticket;               /* blocks of the current launch that have ended */
};

/* Device memory that launches of one stream share. All zero before the first. */
struct cuda_scratch {
    unsigned ticket; /* blocks of the current launch that have ended */
    struct cuda_block_result blocks[CUDA_BLOCKS_MAX];
    /* For each warp the first tile that it left to a second kernel. */
    unsigned left[CUDA_BLOCKS_MAX * CUDA_WARPS_MAX];
    struct cuda_digest_scratch digest;
};

struct cuda_launch {
    enum element_type type;
    /* With PARTIAL_MISSING: as cuda_missing_add_sums has them. */
    const struct cuda_missing *missing;
    int swap;                     /* elements are not in the machine's byte order */
    unsigned wants;               /* partial_want bits */
    struct cuda_rows rows;        /* in device memory */
    size_t count;                 /* elements, below 2^40; of rows that lie apart a multiple of
                                     CUDA_TILES */
    uint64_t index;               /* of the first */
    struct partial *partial;      /* device memory; the chunk is merged into it */
    struct cuda_scratch *scratch; /* device memory */
    int multiprocessors;          /* of the device */
};

/* Whether no result is wanted but the sum, which types of one byte and integers have kernels for. */
static inline bool cuda_wants_sum_alone(unsigned wants)
{
    return (wants & ~(unsigned)PARTIAL_SUM) == 0;
}

/* Reduces a chunk on the device. The digits of the sums in the partial are left below 2^52 in
   magnitude, and their `pending` is not kept: cuda_settle_partial makes up for that. */
cudaError_t cuda_reduce(const struct cuda_launch *launch, cudaStream_t stream);

/* Adds the digest of elements (core/digest.h) at their places in an array to that of the partial result.
   `data` has any alignment. Without `wants` but PARTIAL_DIGEST elements, NaNs and infinities are
   counted, too. Rows that lie apart, and missing elements, are for cuda_reduce alone. */
cudaError_t cuda_digest(const struct cuda_launch *launch, cudaStream_t stream);

/* Makes a partial result fit for use after it has been copied from the device: notes that the
   digits of its sums may have grown as far as they may. `wants` is that of the launches. */
static inline void cuda_settle_partial(struct partial *partial, unsigned wants)
{
    partial->sum.pending = EXACT_PENDING_MAX;
    if (wants & MOMENTS_WANTS)
        partial->absolute.pending = partial->squares.pending = EXACT_PENDING_MAX;
}

/* Whether this program holds code for the current device. */
cudaError_t cuda_reduce_check(void);

#ifdef __cplusplus
}
#endif

#endif
