/*
 * Two kernels that together find spread of f32, in place of the one of spread_kernel.cuh, where
 * there is much data. The first has no exponent bins, and so room for more loads: a warp that meets
 * elements whose exponents lie too far apart leaves its other tiles to the second. That has a block
 * a multiprocessor, with bins for all exponents. Without their launches.
 */
#ifndef GPUREDUCE_CUDA_SPREAD_LEFT_CUH
#define GPUREDUCE_CUDA_SPREAD_LEFT_CUH

#include "engine/cuda/spread_kernel.cuh"

/* Each block takes its tiles in turn, and loads run a tile ahead. */
template <unsigned FINDS>
__global__ void __launch_bounds__(THREADS, resident(spread_tuning<f32_first>::BLOCKS))
    spread_first(const __grid_constant__ struct job job)
{
    typedef struct spread_reducer<f32_first, FINDS> thread_reducer;
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);
    unsigned tile = blockIdx.x;

    shared.clear();
    __syncthreads();
    r.begin(&shared, job.count, NULL);
    typename thread_reducer::group next;

    if (tile < full)
        thread_reducer::load(&next, job.data, tile);
#pragma unroll 1
    for (; tile < full && !r.leaves(); tile += gridDim.x) {
        typename thread_reducer::group g = next;

        if (tile + gridDim.x < full)
            thread_reducer::load(&next, job.data, tile + gridDim.x);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
    }
    if (tile == full && tile < tiles_of<thread_reducer>(&job) && !r.leaves()) {
        typename thread_reducer::group g;

        thread_reducer::load_part(&g, job.data, tile, job.count);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
        tile = ~0u;
    }
    if (threadIdx.x % 32 == 0)
        job.scratch->left[blockIdx.x * WARPS + threadIdx.x / 32] = r.leaves() ? tile : ~0u;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude_spread<FINDS>(&r, &shared, &job);
}

/* The first kernel had `blocks` blocks, which took the tiles in turn. */
template <unsigned FINDS>
__global__ void __launch_bounds__(THREADS, 1)
    spread_left(const __grid_constant__ struct job job, const unsigned blocks)
{
    typedef struct spread_reducer<f32_left, FINDS> thread_reducer;
    DYNAMIC_SHARED(dynamic);
    __shared__ typename thread_reducer::memory shared;
    __shared__ unsigned first_left;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);
    const unsigned *const left_by_warp = job.scratch->left + threadIdx.x / 32;

    find_first_left(&first_left, job.scratch->left, blocks);
    if (first_left >= tiles)
        return;

    thread_reducer r;
    typename thread_reducer::group next;
    /* The tile that comes next, the block that had it, and the tile from which on its warp left
       them; that is loaded a tile ahead, too. The threads of a warp agree. */
    unsigned tile = first_left + blockIdx.x, of = tile % blocks, from = left_by_warp[of * WARPS];
    const unsigned step = gridDim.x % blocks;
    bool mine = tile < tiles && tile >= from;
    const auto turn = [&] {
        of += step;
        of -= of >= blocks ? blocks : 0;
        from = left_by_warp[of * WARPS];
    };

    shared.clear();
    __syncthreads();
    r.begin(&shared, job.count, dynamic);
    if (mine && tile < full)
        thread_reducer::load(&next, job.data, tile);
    turn();
#pragma unroll 1
    while (tile < full) {
        typename thread_reducer::group g = next;
        const bool had = mine;
        const unsigned at = tile;

        tile += gridDim.x;
        mine = tile < tiles && tile >= from;
        if (mine && tile < full)
            thread_reducer::load(&next, job.data, tile);
        turn();
        if (had) {
            thread_reducer::arrange(&g, job.swap);
            r.take(&g, at);
        }
    }
    if (tile == full && mine) {
        typename thread_reducer::group g;

        thread_reducer::load_part(&g, job.data, tile, job.count);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
    }
    conclude_spread<FINDS>(&r, &shared, &job);
}

#endif
