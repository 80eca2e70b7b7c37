/*
 * Blocks without sequences, raw ones among them: their literals go straight to the ring. Only
 * slices that have no others.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_COPY_CUH
#define GPUREDUCE_CUDA_ZSTD_COPY_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "cuda/zstd/resolve.cuh"
#include "cuda/zstd/tuning.h"

/* A grid of the blocks in x, and of as many pieces of COPY_BYTES as the largest of them has in y.
 */
__global__ static void __launch_bounds__(COPY_THREADS)
    zstd_copy_kernel(const __grid_constant__ struct zstd_copy_launch launch)
{
    const struct zstd_execution *const e = &launch.blocks[blockIdx.x];
    const uint8_t *const from = e->place == ZSTD_IN_SOURCE     ? launch.batch.source + e->literals
                                : e->place == ZSTD_IN_LITERALS ? launch.batch.pool + e->literals
                                                               : 0;
    const uint8_t byte = (uint8_t)e->literals;
    const uint32_t begin = blockIdx.y * COPY_BYTES;
    const uint32_t end = e->size < begin + COPY_BYTES ? e->size : begin + COPY_BYTES;

    UNROLL_BY(8)
    for (uint32_t i = begin + threadIdx.x; i < end; i += COPY_THREADS)
        launch.to.ring[ring_place(launch.to, (int64_t)e->position + i)] =
            from ? from[i] : byte;
}

/* A grid over words, MOVE_WORDS a block. */
__global__ static void __launch_bounds__(COPY_THREADS)
    zstd_move_kernel(uint32_t *to, const uint32_t *from, size_t words)
{
    const size_t begin = (size_t)blockIdx.x * MOVE_WORDS + threadIdx.x;

    UNROLL
    for (int k = 0; k < MOVE_WORDS / COPY_THREADS; k++) {
        const size_t i = begin + (size_t)k * COPY_THREADS;

        if (i < words)
            to[i] = from[i];
    }
}

#endif
