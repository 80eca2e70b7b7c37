/*
 * Two kernels that together find moments of f32, in place of the one of moments_kernel.cuh, where
 * there is much data. The first has no exponent bins, and so room for more loads: a warp that meets
 * elements whose exponents lie too far apart leaves its other tiles to the second, whose blocks
 * have bins for all exponents. Without their launches.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_LEFT_CUH
#define GPUREDUCE_CUDA_MOMENTS_LEFT_CUH

#include "cuda/moments_kernel.cuh"
#include "cuda/moments_reducer_left.cuh"

/* Each block takes its tiles in turn, and loads run a tile ahead. */
template <unsigned FINDS>
__global__ void __launch_bounds__(THREADS, resident(moments_tuning<f32_first>::BLOCKS))
    moments_first(const __grid_constant__ struct job job)
{
    typedef struct moments_reducer<f32_first, FINDS> thread_reducer;
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);
    unsigned tile = blockIdx.x;

    shared.clear();
    __syncthreads();
    r.begin(&shared, job.count, NULL);
    typename thread_reducer::group next;

    if (tile < full)
        thread_reducer::load(&next, job.rows, tile);
#pragma unroll 1
    for (; tile < full && !r.leaves(); tile += gridDim.x) {
        typename thread_reducer::group g = next;

        if (tile + gridDim.x < full)
            thread_reducer::load(&next, job.rows, tile + gridDim.x);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
    }
    /* The tile that the warp has left: the one before. */
    unsigned left = r.leaves() ? tile - gridDim.x : ~0u;

    if (tile == full && tile < tiles_of<thread_reducer>(&job) && !r.leaves()) {
        typename thread_reducer::group g;

        thread_reducer::load_part(&g, job.rows.data, tile, job.count);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
        left = r.leaves() ? tile : ~0u;
    }
    if (threadIdx.x % 32 == 0)
        job.scratch->left[blockIdx.x * WARPS + threadIdx.x / 32] = left;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude_moments<FINDS>(&r, &shared, &job);
}

/* Says which of `count` tiles the warp has, from `first` on and as far apart as there are blocks:
   bit i stands for tile i. Those at which a warp of the first kernel left, of which all but sums is
   known, go to *known instead. The first kernel had `blocks` blocks; left_by_warp is the first
   block's for this warp. All threads of the warp together. */
__device__ static __forceinline__ uint32_t left_of_round(uint32_t *known, unsigned first,
                                                         unsigned count,
                                                         const unsigned *left_by_warp,
                                                         unsigned blocks)
{
    const unsigned lane = threadIdx.x % 32, tile = first + lane * gridDim.x;
    const unsigned from = left_by_warp[tile % blocks * WARPS];

    *known = __ballot_sync(ALL_LANES, lane < count && tile == from);
    return __ballot_sync(ALL_LANES, lane < count && tile > from);
}

/* The tile of the first bit. */
__device__ static __forceinline__ unsigned tile_of_round(unsigned first, uint32_t bits)
{
    return first + (unsigned)(__ffs((int)bits) - 1) * gridDim.x;
}

/* Whether these are the last of `count` tiles, from some tile on. */
__device__ static __forceinline__ bool are_last(uint32_t bits, unsigned count)
{
    return bits != 0 && (bits | (bits - 1)) == ~0u >> (32 - count);
}

/* The first kernel had `blocks` blocks, which took the tiles in turn. This one has twice as many
   threads a block, and takes the same tiles: the elements of a thread, half as many, are such that
   one warp of the first kernel had all those of a warp. */
template <unsigned FINDS>
__global__ void __launch_bounds__(tuning<f32_left>::BLOCK, tuning<f32_left>::BLOCKS)
    moments_left(const __grid_constant__ struct job job, const unsigned blocks)
{
    typedef moments_left_reducer<FINDS> thread_reducer;
    typedef typename thread_reducer::rarely state;
    static_assert(state::TILE == moments_reducer<f32_first, FINDS>::TILE, "tiles differ");
    DYNAMIC_SHARED(dynamic);
    __shared__ typename state::memory shared;
    __shared__ unsigned first_left;
    const unsigned tiles = tiles_of<state>(&job), full = (unsigned)(job.count / state::TILE);
    const unsigned *const left_by_warp = job.scratch->left + threadIdx.x / 32 % WARPS;

    find_first_left(&first_left, job.scratch->left, blocks);
    if (first_left >= tiles)
        return;

    thread_reducer r;
    state rest;
    unsigned tile = first_left + blockIdx.x;

    shared.clear();
    r.begin(dynamic, job.partial);
    rest.begin(job.count);
    __syncthreads();

    /* Tiles are taken in rounds, at last the one that is not full, if there is one, by one block. A
       thread takes its tiles in order, so that the first of equal extremes is what it keeps. The
       threads of a warp agree. */
    bool part = blockIdx.x == 0 && full < tiles;
    unsigned rounds = 0, careful = 0;

#pragma unroll 1
    while (tile < full || part) {
        const bool ends = tile >= full;
        const unsigned first = ends ? full : tile;
        const unsigned count =
            ends ? 1 : min((full - 1 - first) / gridDim.x + 1, thread_reducer::ROUND);
        uint32_t known;
        uint32_t left = left_of_round(&known, first, count, left_by_warp, blocks);

        if (careful > 0) {
            careful--;
        } else if (!ends && are_last(left, count)) {
            left = r.take_round(&job, tile_of_round(first, left), left, gridDim.x);
            if (__popc(left) > LOOKS_MAX)
                careful = ROUNDS_CAREFUL;
        }
        left |= known;
#pragma unroll 1
        for (; left != 0; left &= left - 1)
            r.take(&job, tile_of_round(first, left), (known & left & -left) != 0, &rest);
        part = part && !ends;
        if (!ends)
            tile += count * gridDim.x;
        if (++rounds % thread_reducer::ROUNDS_MAX == 0)
            r.empty(&shared, &rest);
    }
    r.empty(&shared, &rest);
    conclude_moments<FINDS>(&rest, &shared, &job);
}

#endif
