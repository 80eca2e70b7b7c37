/*
 * The launch of the reduction kernel of reduce_kernel.cuh; INSTANCE makes it and the kernels for one
 * type, in a file of its own, so that the types compile side by side.
 */
#ifndef GPUREDUCE_CUDA_REDUCE_CUH
#define GPUREDUCE_CUDA_REDUCE_CUH

#include <algorithm>

#include "core/moments.h"
#include "cuda/reduce_kernel.cuh"

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
    /* The second one reads one row. */
    const bool defers = l->rows.row.inverse == 0 && second::follows(tiles, blocks);
    const struct job job = make_job(l, defers, false);

    reduce<Type, SWAP, FINDS><<<blocks, THREADS, 0, stream>>>(job);
    if (defers)
        second::launch(job, tiles, processors, blocks, stream);
}

/* Launches the cheapest kernel that finds what is wanted. The rows are in order of cost, and the
   last finds everything but what moments.cuh is for, and leaves out missing elements. */
template <typename Type, bool SWAP>
static void choose_kernel(const struct cuda_launch *l, cudaStream_t stream)
{
    static const unsigned EXTREMES = PARTIAL_EXTREMES, SUM = PARTIAL_SUM | PARTIAL_EXTREMES;
    static const unsigned ALL = SUM | PARTIAL_WHERE;
    static const struct {
        unsigned finds;
        void (*launch)(const struct cuda_launch *l, cudaStream_t stream);
    } rows[] = {
        {EXTREMES, launch<Type, SWAP, EXTREMES>},
        {EXTREMES | PARTIAL_WHERE, launch<Type, SWAP, EXTREMES | PARTIAL_WHERE>},
        {SUM, launch<Type, SWAP, SUM>},
        {ALL, launch<Type, SWAP, ALL>},
        {ALL | PARTIAL_MISSING, launch<Type, SWAP, ALL | PARTIAL_MISSING>},
    };
    static_assert(ALL == (CUDA_FINDS & ~MOMENTS_WANTS), "the last row finds everything");
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
