/*
 * From symbols to bytes. A slice is resolved in waves, in order: all before a wave is final, so a
 * symbol is a few steps through the symbols of the wave and one byte of the ring away. A wave is
 * launched beside the one before it, and waits for its end only before it looks at bytes.
 *
 * Every symbol points to a position before its own (execute.cuh), so every chain ends; and what
 * stands before the slice is in the ring, as far back as ZSTD_BIAS.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_RESOLVE_CUH
#define GPUREDUCE_CUDA_ZSTD_RESOLVE_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "cuda/zstd/tuning.h"

struct resolve_launch {
    struct zstd_ring_slice to;
    const uint32_t *symbols; /* of the slice */
    uint32_t begin, end;     /* of the wave in the slice */
};

/* The place of a byte in the ring: `at` bytes from the slice's begin, less than the ring's size
   either way. */
__device__ static __forceinline__ uint64_t ring_place(struct zstd_ring_slice to, int64_t at)
{
    int64_t place = (int64_t)to.begin + at;

    if (place < 0)
        place += (int64_t)to.ring_size;
    else if (place >= (int64_t)to.ring_size)
        place -= (int64_t)to.ring_size;
    return (uint64_t)place;
}

/* A grid over the wave's bytes, RESOLVE_THREADS * RESOLVE_SYMBOLS a block. */
__global__ static void __launch_bounds__(RESOLVE_THREADS)
    zstd_resolve_kernel(const __grid_constant__ struct resolve_launch launch)
{
    const uint32_t wave = launch.begin + ZSTD_BIAS;
    const uint32_t first =
        launch.begin +
        (blockIdx.x * (RESOLVE_THREADS / 32) + (threadIdx.x >> 5)) * (32 * RESOLVE_SYMBOLS) +
        (threadIdx.x & 31);
    uint32_t symbol[RESOLVE_SYMBOLS];
    int more;

    NEXT_KERNEL_MAY_BEGIN();
    UNROLL
    for (int k = 0; k < RESOLVE_SYMBOLS; k++) {
        const uint32_t i = first + 32 * (uint32_t)k;

        symbol[k] = i < launch.end ? launch.symbols[i] : ZSTD_BYTE;
    }
    do {
        more = 0;
        UNROLL
        for (int k = 0; k < RESOLVE_SYMBOLS; k++)
            if (symbol[k] >= wave && symbol[k] < ZSTD_BYTE) {
                symbol[k] = launch.symbols[symbol[k] - ZSTD_BIAS];
                more = 1;
            }
    } while (more);
    AWAIT_KERNEL_BEFORE();
    /* Around the level-1 cache, where there may be what stood in the ring before. */
    UNROLL
    for (int k = 0; k < RESOLVE_SYMBOLS; k++)
        if (symbol[k] < ZSTD_BYTE)
            symbol[k] = __ldcg(launch.to.ring +
                               ring_place(launch.to, (int64_t)symbol[k] - (int64_t)ZSTD_BIAS));
    UNROLL
    for (int k = 0; k < RESOLVE_SYMBOLS; k++) {
        const uint32_t i = first + 32 * (uint32_t)k;

        if (i < launch.end)
            launch.to.ring[ring_place(launch.to, i)] = (uint8_t)symbol[k];
    }
}

#endif
