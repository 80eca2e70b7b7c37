/*
 * The reduction kernel, as a template over an element type, without its launch.
 *
 * One pass over a chunk gives its exact sum, extremes and counts. The chunk is cut into tiles, and
 * blocks take them in turn. A thread takes a group of elements of each tile, a few loads of 16
 * bytes, and adds them up where that is exact (reducer32.cuh, reducer64.cuh). Elements that do not
 * add up go to exponent bins (bins.cuh) or to the block's superaccumulator (superaccumulator.cuh).
 * At the end all of a block meets in the superaccumulator, which is cut into digits of base 2^32,
 * and these are added to the partial result in global memory (merge.cuh).
 *
 * On GPUs with slow binary64 (tuning.h), extraction in binary32 takes the place of binary64.
 */
#ifndef GPUREDUCE_CUDA_REDUCE_KERNEL_CUH
#define GPUREDUCE_CUDA_REDUCE_KERNEL_CUH

#include "cuda/merge.cuh"
#include "cuda/reducer32.cuh"
#include "cuda/reducer64.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"

static_assert(WARPS <= CUDA_WARPS_MAX, "more warps than there is room for in the scratch");

/* FINDS are partial_want bits; the extremes are always found. */
template <typename Type, bool SWAP, unsigned FINDS>
__global__ void __launch_bounds__(THREADS, resident(tuning<Type>::BLOCKS))
    reduce(const __grid_constant__ struct job job)
{
    const bool sum = (FINDS & PARTIAL_SUM) != 0;
    const bool missing = (FINDS & PARTIAL_MISSING) != 0;
    typedef struct reducer<Type, SWAP, sum, missing> thread_reducer;
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    /* The block's tiles. */
    const bool contiguous = tuning<Type>::CONTIGUOUS;
    const unsigned share = (tiles - 1) / gridDim.x + 1;
    const unsigned first = contiguous ? blockIdx.x * share : blockIdx.x;
    const unsigned end = contiguous ? min(tiles, first + share) : tiles;
    const unsigned step = contiguous ? 1 : gridDim.x;
    unsigned tile = first;
    bool leaves = false;

    if (sum) {
        shared.accumulator.clear();
        __syncthreads();
    }

    r.begin(&shared, job.count, job.defers);
    r.begin_missing(&job.missing);
    for (; tile < end && !leaves; tile += step) {
        typename thread_reducer::group g;

        fetch<thread_reducer>(&g, &job, tile);
        r.take(&g, tile);
        leaves = r.leaves();
    }
    if (job.defers && threadIdx.x % 32 == 0)
        job.scratch->left[blockIdx.x * WARPS + threadIdx.x / 32] = tile < end ? tile : ~0u;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude<FINDS>(&r, &shared, &job);
}

#endif
