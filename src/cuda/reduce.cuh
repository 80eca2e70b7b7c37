/*
 * The reduction kernel and its launch, as templates over an element type; INSTANCE makes them for
 * one type, in a file of its own, so that the types compile side by side.
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
#ifndef GPUREDUCE_CUDA_REDUCE_CUH
#define GPUREDUCE_CUDA_REDUCE_CUH

#include <algorithm>

#include "core/moments.h"
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
    typedef struct reducer<Type, SWAP, sum> thread_reducer;
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

/* A second kernel for what the warps of the first leave. Most types need none. */
template <typename Type, bool SWAP, unsigned FINDS> struct second_kernel {
    /* Whether it is to follow a kernel of so many blocks over so many tiles. */
    static bool follows(size_t, size_t)
    {
        return false;
    }
    static void launch(const struct job &, size_t, size_t, unsigned, cudaStream_t)
    {
    }
};

template <typename Type, bool SWAP, unsigned FINDS>
static void launch(const struct cuda_launch *l, cudaStream_t stream)
{
    typedef second_kernel<Type, SWAP, FINDS> second;
    const size_t tile = reducer<Type, SWAP, (FINDS & PARTIAL_SUM) != 0>::TILE;
    const size_t tiles = (l->count + tile - 1) / tile, processors = l->multiprocessors;
    const size_t most = std::min(processors * tuning<Type>::BLOCKS, (size_t)CUDA_BLOCKS_MAX);
    const unsigned blocks = (unsigned)std::min(tiles, most);
    const bool defers = second::follows(tiles, blocks);
    const struct job job = {l->data, l->count, l->index, l->partial, l->scratch, defers, SWAP};

    reduce<Type, SWAP, FINDS><<<blocks, THREADS, 0, stream>>>(job);
    if (defers)
        second::launch(job, tiles, processors, blocks, stream);
}

/* Launches the cheapest kernel that finds what is wanted. The rows are in order of cost, and the
   last finds everything but what moments.cuh is for. */
template <typename Type, bool SWAP>
static void choose_kernel(const struct cuda_launch *l, cudaStream_t stream)
{
    static const unsigned EXTREMES = PARTIAL_EXTREMES, SUM = PARTIAL_SUM | PARTIAL_EXTREMES;
    static const struct {
        unsigned finds;
        void (*launch)(const struct cuda_launch *l, cudaStream_t stream);
    } rows[] = {
        {EXTREMES, launch<Type, SWAP, EXTREMES>},
        {EXTREMES | PARTIAL_WHERE, launch<Type, SWAP, EXTREMES | PARTIAL_WHERE>},
        {SUM, launch<Type, SWAP, SUM>},
        {SUM | PARTIAL_WHERE, launch<Type, SWAP, SUM | PARTIAL_WHERE>},
    };
    static_assert((SUM | PARTIAL_WHERE) == (CUDA_FINDS & ~MOMENTS_WANTS),
                  "the last row finds everything");
    const size_t last = sizeof rows / sizeof *rows - 1;
    size_t row = 0;

    while (row < last && (l->wants & ~rows[row].finds) != 0)
        row++;
    rows[row].launch(l, stream);
}

/* Defines what reduce.cu calls for a type: cuda_launch_NAME, which launches its kernels, and
   cuda_check_NAME, which fails where this program has no code for the current device. */
#define INSTANCE(type)                                                         \
    void cuda_launch_##type(const struct cuda_launch *l, cudaStream_t stream)  \
    {                                                                          \
        if (l->swap)                                                           \
            choose_kernel<type, true>(l, stream);                              \
        else                                                                   \
            choose_kernel<type, false>(l, stream);                             \
    }                                                                          \
    cudaError_t cuda_check_##type(void)                                        \
    {                                                                          \
        const unsigned finds = PARTIAL_SUM | PARTIAL_EXTREMES;                 \
        cudaFuncAttributes attributes;                                         \
                                                                               \
        return cudaFuncGetAttributes(&attributes, reduce<type, false, finds>); \
    }

#endif
