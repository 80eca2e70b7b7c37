/*
 * The second kernel for binary64: it takes the tiles that warps of the first one left, into
 * exponent bins for all exponents. On GPUs without the shared memory for those it never runs, and
 * the first kernel leaves nothing.
 */
#ifndef GPUREDUCE_CUDA_REDUCE_LEFT_CUH
#define GPUREDUCE_CUDA_REDUCE_LEFT_CUH

#include "cuda/reduce.cuh"

/* The elements of a tile that a warp takes. */
template <typename Reducer> struct staged {
    typename Reducer::group group;
    bool left; /* the first kernel's warp left it */
};

/* The first kernel had `blocks` blocks, which took the tiles in turn. A multiprocessor has few
   threads here, so loads run a tile ahead. Those of the last tile, which may not be full, do not:
   where two ways of loading meet, the compiler would wait for both. */
template <bool SWAP, unsigned FINDS>
__global__ void __launch_bounds__(THREADS, 1)
    reduce_left(const __grid_constant__ struct job job, const unsigned blocks)
{
    typedef struct reducer<f64_left, SWAP, true> thread_reducer;
    extern __shared__ uint4 dynamic[];
    typename thread_reducer::memory *const shared = (typename thread_reducer::memory *)dynamic;
    __shared__ unsigned first_left;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);
    const unsigned *const left_by_warp = job.scratch->left + threadIdx.x / 32;

    find_first_left(&first_left, job.scratch->left, blocks);
    if (first_left >= tiles)
        return;

    thread_reducer r;
    struct staged<thread_reducer> even, odd;
    /* The tile to be staged, the block that had it, and the tile from which on its warp left them:
       that is loaded a tile ahead, too. */
    unsigned next = first_left + blockIdx.x, of = next % blocks, from = left_by_warp[of * WARPS];
    const unsigned step = gridDim.x % blocks;
    const auto stage = [&](struct staged<thread_reducer> *s) {
        s->left = next < full && next >= from;
        of += step;
        of -= of >= blocks ? blocks : 0;
        from = left_by_warp[of * WARPS];
        thread_reducer::template load_raw<true>(&s->group, job.rows, s->left ? next : 0);
        next += gridDim.x;
    };

    shared->accumulator.clear();
    __syncthreads();
    r.begin(shared, job.count);
    if (full > 0)
        stage(&even);
    for (unsigned tile = first_left + blockIdx.x; tile < full; tile += 2 * gridDim.x) {
        stage(&odd);
        if (even.left)
            r.take_raw(even.group, tile);
        stage(&even);
        if (odd.left)
            r.take_raw(odd.group, tile + gridDim.x);
    }
    if (full < tiles && blockIdx.x == 0 && full >= left_by_warp[full % blocks * WARPS]) {
        thread_reducer::load_part(&even.group, job.rows.data, full, job.count);
        r.take(even.group, full);
    }
    conclude<FINDS>(&r, shared, &job);
}

/* Only sums have something to leave. */
template <bool SWAP, unsigned FINDS> struct second_kernel<f64, SWAP, FINDS> {
    /* Missing elements, and all that is with them, the first kernel keeps. */
    static const bool LEAVES = (FINDS & PARTIAL_SUM) && !(FINDS & PARTIAL_MISSING);
    static const unsigned LEFT = (FINDS & ~(unsigned)PARTIAL_MISSING) | PARTIAL_SUM;
    static const size_t SHARED_BYTES = sizeof(typename reducer<f64_left, SWAP, true>::memory);

    static bool follows(size_t tiles, size_t blocks)
    {
        if (!LEAVES || tiles < blocks * TILES_TO_LEAVE)
            return false;
        if (cudaFuncSetAttribute(reduce_left<SWAP, LEFT>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 SHARED_BYTES) == cudaSuccess)
            return true;
        (void)cudaGetLastError(); /* it is no failure */
        return false;
    }
    static void launch(const struct job &job, size_t tiles, size_t processors, unsigned blocks,
                       cudaStream_t stream)
    {
        const unsigned blocks_left = (unsigned)std::min(tiles, processors);

        reduce_left<SWAP, LEFT><<<blocks_left, THREADS, SHARED_BYTES, stream>>>(job, blocks);
    }
};

#endif
