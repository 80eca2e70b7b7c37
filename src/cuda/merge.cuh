/*
 * The end of a kernel: what the threads know is merged by warps, by blocks, and into the partial
 * result in global memory.
 */
#ifndef GPUREDUCE_CUDA_MERGE_CUH
#define GPUREDUCE_CUDA_MERGE_CUH

#include "cuda/kernels.h"
#include "cuda/thread_state.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

/* The job of a kernel. */
struct job {
    struct cuda_rows rows;
    size_t count;   /* elements */
    uint64_t index; /* of the first */
    struct partial *partial;
    struct cuda_scratch *scratch;
    bool defers; /* a second kernel follows, for what the warps leave */
    bool swap;   /* elements are not in the machine's byte order: for reducers that are not made for
                    one of the two */
    bool bins;   /* there is dynamic shared memory for exponent bins: for moments.cuh */
    struct cuda_missing missing; /* for kernels that leave out missing elements */
};

static inline struct job make_job(const struct cuda_launch *l, bool defers, bool bins)
{
    struct job job = {l->rows,    l->count, l->index,     l->partial,
                      l->scratch, defers,   l->swap != 0, bins, {}};

    if (l->wants & PARTIAL_MISSING)
        job.missing = *l->missing;
    return job;
}

template <typename Reducer> __device__ static __forceinline__ unsigned tiles_of(const struct job *j)
{
    static_assert(CUDA_TILES % Reducer::TILE == 0, "whole tiles");
    return (unsigned)((j->count + Reducer::TILE - 1) / Reducer::TILE);
}

/* Loads a thread's group of a tile, in the machine's byte order. */
template <typename Reducer>
__device__ static __forceinline__ void fetch(typename Reducer::group *g, const struct job *j,
                                             unsigned tile)
{
    if (tile < (unsigned)(j->count / Reducer::TILE))
        Reducer::load(g, j->rows, tile);
    else
        Reducer::load_part(g, j->rows.data, tile, j->count);
    Reducer::arrange(g, j->swap);
}

/* Finds the first tile that any warp of the first kernel's `blocks` left; ~0 if none did. `first`
   is in shared memory. All threads of the block together. */
__device__ static __forceinline__ void find_first_left(unsigned *first, const unsigned *left,
                                                       unsigned blocks)
{
    unsigned least = ~0u;

    if (threadIdx.x == 0)
        *first = ~0u;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < blocks * WARPS; i += THREADS)
        least = min(least, left[i]);
    if (least != ~0u)
        atomicMin(first, least);
    __syncthreads();
}

/* Merges an extreme over a warp: into that of lane 0, or of all lanes. */
template <bool WHERE> __device__ static void merge_warp(struct extreme<int32_t> *e)
{
    const int32_t order = min_of_warp(e->order);

    if (WHERE) /* tiles are below 2^30, and ~0 as an int is -1 */
        e->tile = (unsigned)min_of_warp(e->order == order ? (int)(e->tile & INT32_MAX) : INT32_MAX);
    e->order = order;
}

template <bool WHERE> __device__ static void merge_warp(struct extreme<int64_t> *e)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        const int64_t order = __shfl_down_sync(ALL_LANES, e->order, distance);
        const unsigned tile = WHERE ? __shfl_down_sync(ALL_LANES, e->tile, distance) : 0;

        e->take(order, tile);
    }
}

/* Merges the extremes of every thread of the block into those of thread 0. `shared` has an element
   a warp, and is free for others after the next barrier. */
template <bool WHERE, typename Order, int WARPS_OF_BLOCK>
__device__ static void merge_block(struct extreme<Order> *least, struct extreme<Order> *greatest,
                                   struct extreme<Order> (&shared)[WARPS_OF_BLOCK][2])
{
    merge_warp<WHERE>(least);
    merge_warp<WHERE>(greatest);
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32][0] = *least;
        shared[threadIdx.x / 32][1] = *greatest;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        *least = shared[threadIdx.x % WARPS_OF_BLOCK][0];
        *greatest = shared[threadIdx.x % WARPS_OF_BLOCK][1];
        merge_warp<WHERE>(least);
        merge_warp<WHERE>(greatest);
    }
}

/* One step of carrying, on digits that other blocks may be adding to: the value never changes. It
   keeps the digits small, however many launches follow. The topmost digit keeps all it has. */
template <int DIGITS> __device__ static void carry(int64_t *digits)
{
    static_assert(DIGITS <= THREADS, "a thread for each digit");
    const int t = threadIdx.x;

    if (t < DIGITS - 1) {
        const long long over = exact_carry_out(*(volatile int64_t *)(digits + t));

        if (over != 0) {
            atomicAdd((unsigned long long *)digits + t, -((unsigned long long)over << 32));
            atomicAdd((unsigned long long *)digits + t + 1, (unsigned long long)over);
        }
    }
}

/* Adds a thread's counts to the partial result. `index` is that of the chunk's first element. */
__device__ static __forceinline__ void add_counts(struct partial *partial,
                                                  const struct counts *counts, uint64_t index)
{
    typedef unsigned long long counter;

    atomicAdd((counter *)&partial->nan, (counter)counts->nan);
    atomicAdd((counter *)&partial->positive_infinity, (counter)counts->positive_infinity);
    atomicAdd((counter *)&partial->negative_infinity, (counter)counts->negative_infinity);
    if (counts->nan)
        atomicMin((counter *)&partial->first_nan, (counter)(index + counts->first_nan));
}

/* Adds a thread's count of missing elements, if it has one, to the partial result. All threads of
   the warp together. */
__device__ static __forceinline__ void add_missing(struct partial *, const void *)
{
}
__device__ static __forceinline__ void add_missing(struct partial *partial,
                                                   const struct missing_state<true> *state)
{
    typedef unsigned long long counter;
    const counter missing = sum_of_warp((counter)state->missing);

    if (threadIdx.x % 32 == 0 && missing != 0)
        atomicAdd((counter *)&partial->missing, missing);
}

/* Thread 0 takes the block's extremes, without their places, into the partial result. */
template <typename Order>
__device__ static __forceinline__ void publish_extremes(struct partial *partial,
                                                        const struct thread_state<Order> *r)
{
    if (threadIdx.x == 0 && r->least.order != limits<Order>::ORDER_MAX) {
        atomicMin((long long *)&partial->min_key, (long long)key_of(r->least.order));
        atomicMax((long long *)&partial->max_key, (long long)key_of((Order)~r->greatest.order));
    }
}

/* Leaves the block's extremes, which thread 0 has, where the last block finds them. Returns whether
   this is the last block, which then sees what all others left. `last` is in shared memory. */
template <typename Order>
__device__ static __forceinline__ bool is_last_block(const struct thread_state<Order> *r,
                                                     struct cuda_scratch *scratch, bool *last)
{
    if (threadIdx.x == 0) {
        struct cuda_block_result *mine = &scratch->blocks[blockIdx.x];

        mine->least = r->least.order;
        mine->least_tile = r->least.tile;
        mine->greatest = r->greatest.order;
        mine->greatest_tile = r->greatest.tile;
        __threadfence();
        *last = atomicInc(&scratch->ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!*last)
        return false;
    __threadfence();
    return true;
}

/* Merges the extremes of all blocks into those of every thread, and clears `found`. The last three
   are in shared memory. */
template <typename Order, int WARPS_OF_BLOCK>
__device__ static __forceinline__ void
merge_blocks(struct thread_state<Order> *r, const struct cuda_scratch *scratch,
             struct extreme<Order> (&shared)[WARPS_OF_BLOCK][2], struct extreme<Order> of_all[2],
             unsigned found[2])
{
    r->least.clear();
    r->greatest.clear();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) {
        const volatile struct cuda_block_result *b = &scratch->blocks[i];

        r->least.take((Order)b->least, b->least_tile);
        r->greatest.take((Order)b->greatest, b->greatest_tile);
    }
    merge_block<true>(&r->least, &r->greatest, shared);
    if (threadIdx.x == 0) {
        of_all[0] = r->least;
        of_all[1] = r->greatest;
        found[0] = found[1] = ~0u;
    }
    __syncthreads();
    r->least = of_all[0];
    r->greatest = of_all[1];
}

/* The last block finds the places of the extremes in their tiles, and takes both into the partial
   result. The last three are in shared memory. */
template <typename Reducer, int WARPS_OF_BLOCK>
__device__ static __forceinline__ void
locate_extremes(Reducer *r, const struct job *job, struct partial *partial,
                struct extreme<typename Reducer::order> (&shared)[WARPS_OF_BLOCK][2],
                struct extreme<typename Reducer::order> of_all[2], unsigned found[2])
{
    typedef typename Reducer::order order;

    merge_blocks(r, job->scratch, shared, of_all, found);
    if (!r->has_extremes())
        return;

    const order low = r->least.order, high = (order)~r->greatest.order;
    typename Reducer::group of_least, of_greatest;

    fetch<Reducer>(&of_least, job, r->least.tile);
    fetch<Reducer>(&of_greatest, job, r->greatest.tile);
    atomicMin(&found[0], Reducer::find(&of_least, low));
    atomicMin(&found[1], Reducer::find(&of_greatest, high));
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64_t tile_size = Reducer::TILE;

        partial_take_min(partial, key_of(low), job->index + r->least.tile * tile_size + found[0]);
        partial_take_max(partial, key_of(high),
                         job->index + r->greatest.tile * tile_size + found[1]);
    }
}

/* Whether a thread of a block is one of THREADS: all are, where a block has no more. */
template <typename Reducer> __device__ static __forceinline__ bool among_threads()
{
    return Reducer::BLOCK == THREADS || threadIdx.x < THREADS;
}

/* The end of a kernel that finds FINDS (partial_want bits), by all threads of all its blocks:
   merges what they know into the partial result. */
template <unsigned FINDS, typename Reducer>
__device__ static __forceinline__ void conclude(Reducer *r, typename Reducer::memory *shared,
                                                const struct job *job)
{
    typedef typename Reducer::order order;
    const bool sum = (FINDS & PARTIAL_SUM) != 0, where = (FINDS & PARTIAL_WHERE) != 0;
    __shared__ struct extreme<order> of_warps[Reducer::BLOCK / 32][2], of_all[2];
    __shared__ unsigned found[2];
    __shared__ bool last;
    struct partial *const partial = job->partial;

    if (sum)
        r->finish(shared);
    /* Its barrier also completes the superaccumulator. */
    merge_block<where>(&r->least, &r->greatest, of_warps);
    if (sum && among_threads<Reducer>())
        shared->accumulator.add_to(partial->sum.digit);
    if (r->counts.any())
        add_counts(partial, &r->counts, job->index);
    add_missing(partial, r);
    if (sum && blockIdx.x == 0)
        carry<EXACT_DIGITS>(partial->sum.digit);
    if (!where)
        publish_extremes<order>(partial, r);
    else if (is_last_block<order>(r, job->scratch, &last))
        locate_extremes(r, job, partial, of_warps, of_all, found);
}

#endif
