/*
 * The kernel of moments.cuh, without its launch.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_KERNEL_CUH
#define GPUREDUCE_CUDA_MOMENTS_KERNEL_CUH

#include "core/moments.h"
#include "cuda/merge.cuh"
#include "cuda/moments_reducer32.cuh"
#include "cuda/moments_reducer64.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"

#ifndef DYNAMIC_SHARED
#    define DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

/* The results of the cheaper kernel beside the one that finds everything: partial_want bits. */
#define MOMENTS_FINDS                                                               \
    ((unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_SQUARES | PARTIAL_SMALL | \
                PARTIAL_NEGATIVE))

/* The end of the kernel, by all threads of all its blocks: merges what they know into the partial
   result. */
template <unsigned FINDS, typename Reducer>
__device__ static __forceinline__ void conclude_moments(Reducer *r, typename Reducer::memory *shared,
                                                       const struct job *job)
{
    struct partial *const partial = job->partial;

    /* It has barriers behind finish. */
    conclude<FINDS>(r, shared, job);
    if (among_threads<Reducer>()) {
        shared->squares.add_to(partial->squares.digit);
        if (Reducer::ABSOLUTE)
            shared->absolute.add_to(partial->absolute.digit);
    }
    if (blockIdx.x == 0) {
        carry<EXACT_WIDE_DIGITS>(partial->squares.digit);
        if (Reducer::ABSOLUTE)
            carry<EXACT_DIGITS>(partial->absolute.digit);
    }
    if (threadIdx.x == 0)
        shared->small.add_to(partial);
}

template <typename Type, unsigned FINDS>
__global__ void __launch_bounds__(THREADS, resident(moments_tuning<Type>::BLOCKS))
    reduce_moments(const __grid_constant__ struct job job)
{
    typedef struct moments_reducer<Type, FINDS> thread_reducer;
    DYNAMIC_SHARED(dynamic);
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    /* The block's tiles. */
    const bool contiguous = tuning<Type>::CONTIGUOUS;
    const unsigned share = (tiles - 1) / gridDim.x + 1;
    const unsigned first = contiguous ? blockIdx.x * share : blockIdx.x;
    const unsigned end = contiguous ? min(tiles, first + share) : tiles;
    const unsigned step = contiguous ? 1 : gridDim.x;

    shared.clear();
    __syncthreads();
    r.begin(&shared, job.count, thread_reducer::BINS && job.bins ? dynamic : NULL);
    r.begin_missing(&job.missing);
    for (unsigned tile = first; tile < end; tile += step) {
        typename thread_reducer::group g;

        fetch<thread_reducer>(&g, &job, tile);
        r.take(&g, tile);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude_moments<FINDS>(&r, &shared, &job);
}

#endif
