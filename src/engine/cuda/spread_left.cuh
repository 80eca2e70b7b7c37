/*
 * Two kernels that together find spread of f32, in place of the one of spread_kernel.cuh, where
 * there is much data. The first has no exponent bins, and so room for more loads: a warp that meets
 * elements whose exponents lie too far apart leaves its other tiles to the second, whose blocks
 * have bins for all exponents. Without their launches.
 */
#ifndef GPUREDUCE_CUDA_SPREAD_LEFT_CUH
#define GPUREDUCE_CUDA_SPREAD_LEFT_CUH

#include "engine/cuda/spread_kernel.cuh"
#include "engine/cuda/spread_reducer_left.cuh"

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
    /* The tile that the warp has left: the one before. */
    unsigned left = r.leaves() ? tile - gridDim.x : ~0u;

    if (tile == full && tile < tiles_of<thread_reducer>(&job) && !r.leaves()) {
        typename thread_reducer::group g;

        thread_reducer::load_part(&g, job.data, tile, job.count);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
        left = r.leaves() ? tile : ~0u;
    }
    if (threadIdx.x % 32 == 0)
        job.scratch->left[blockIdx.x * WARPS + threadIdx.x / 32] = left;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude_spread<FINDS>(&r, &shared, &job);
}

/* The first kernel had `blocks` blocks, which took the tiles in turn. This one has twice as many
   threads a block, and takes the same tiles: the elements of a thread, half as many, are such that
   one warp of the first kernel had all those of a warp. */
template <unsigned FINDS>
__global__ void __launch_bounds__(tuning<f32_left>::BLOCK, tuning<f32_left>::BLOCKS)
    spread_left(const __grid_constant__ struct job job, const unsigned blocks)
{
    typedef spread_left_reducer<FINDS> thread_reducer;
    typedef typename thread_reducer::rarely state;
    static_assert(state::TILE == spread_reducer<f32_first, FINDS>::TILE, "tiles differ");
    DYNAMIC_SHARED(dynamic);
    __shared__ typename state::memory shared;
    __shared__ unsigned first_left, last_left;
    const unsigned tiles = tiles_of<state>(&job), full = (unsigned)(job.count / state::TILE);
    const unsigned *const left_by_warp = job.scratch->left + threadIdx.x / 32 % WARPS;

    find_left(&first_left, &last_left, job.scratch->left, blocks);
    if (first_left >= tiles)
        return;

    thread_reducer r;
    state rest;
    unsigned tile = first_left + blockIdx.x;

    shared.clear();
    r.begin(dynamic, job.partial);
    rest.begin(job.count);
    __syncthreads();

    /* Tiles are taken in rounds: those that not all warps have left, then all others, and at last
       the one that is not full, if there is one, by one block. A thread takes its tiles in order,
       so that the first of equal extremes is what it keeps. The threads of a warp agree. */
    bool part = blockIdx.x == 0 && full < tiles;
    unsigned rounds = 0, careful = 0;

#pragma unroll 1
    while (tile < full || part) {
        const bool ends = tile >= full, all = !ends && tile > last_left;
        const unsigned first = ends ? full : tile;
        const unsigned last = ends ? full : all ? full - 1 : min(full - 1, last_left);
        const unsigned count = min((last - first) / gridDim.x + 1, thread_reducer::ROUND);
        uint32_t left = ~0u >> (32 - count);

        if (careful > 0) {
            careful--;
        } else if (all) {
            left = r.take_round(&job, tile, count, gridDim.x);
            if (__popc(left) > LOOKS_MAX)
                careful = ROUNDS_CAREFUL;
        }
#pragma unroll 1
        for (; left != 0; left &= left - 1) {
            const unsigned at = first + (unsigned)(__ffs((int)left) - 1) * gridDim.x;
            const unsigned from = left_by_warp[at % blocks * WARPS];

            if (at >= from)
                r.take(&job, at, at == from, &rest);
        }
        part = part && !ends;
        if (!ends)
            tile += count * gridDim.x;
        if (++rounds % thread_reducer::ROUNDS_MAX == 0)
            r.empty(&shared, &rest);
    }
    r.empty(&shared, &rest);
    conclude_spread<FINDS>(&rest, &shared, &job);
}

#endif
