/*
 * The kernel of integers, without its launch: as moments_kernel.cuh.
 */
#ifndef GPUREDUCE_CUDA_INTEGER_KERNEL_CUH
#define GPUREDUCE_CUDA_INTEGER_KERNEL_CUH

#include "cuda/integer_reducer.cuh"
#include "cuda/merge.cuh"

/* The end of a kernel that finds FINDS (partial_want bits), by all threads of all its blocks. The
   compiler drops all in the reducer that is for other results. */
template <unsigned FINDS, typename Reducer>
__device__ static __forceinline__ void
conclude_integers(Reducer *r, typename Reducer::memory *shared, const struct job *job)
{
    typedef typename Reducer::order order;
    const bool extremes = (FINDS & PARTIAL_EXTREMES) != 0, squares = (FINDS & PARTIAL_SQUARES) != 0;
    const bool magnitudes = (FINDS & PARTIAL_ABSOLUTE) != 0;
    const unsigned wide_one = (unsigned)-EXACT_WIDE_LSB_EXPONENT;
    __shared__ struct extreme<order> of_warps[WARPS][2], of_all[2];
    __shared__ unsigned found[2];
    __shared__ bool last;
    struct partial *const partial = job->partial;

    r->template finish<squares, magnitudes>();
    /* The barrier also completes the sums of the block. */
    if (extremes)
        merge_block<true>(&r->least, &r->greatest, of_warps);
    else
        __syncthreads();
    shared->sum.add_to(partial->sum.digit, EXACT_ONE_BIT);
    if (squares)
        shared->squares.add_to(partial->squares.digit, wide_one);
    if (magnitudes)
        shared->absolute.add_to(partial->absolute.digit, EXACT_ONE_BIT);
    if (magnitudes && threadIdx.x == 0)
        shared->small.add_to(partial);
    add_missing(partial, r);
    if (blockIdx.x == 0) {
        carry<EXACT_DIGITS>(partial->sum.digit);
        if (squares)
            carry<EXACT_WIDE_DIGITS>(partial->squares.digit);
        if (magnitudes)
            carry<EXACT_DIGITS>(partial->absolute.digit);
    }
    if (extremes && is_last_block<order>(r, job->scratch, &last))
        locate_extremes(r, job, partial, of_warps, of_all, found);
}

template <typename Type, unsigned FINDS>
__global__ void __launch_bounds__(THREADS, resident(integer_tuning::BLOCKS))
    reduce_integers(const __grid_constant__ struct job job)
{
    typedef struct integer_reducer<Type, (FINDS & PARTIAL_MISSING) != 0> thread_reducer;
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);

    shared.clear();
    __syncthreads();
    r.begin(&shared, job.count);
    r.begin_missing(&job.missing);
    for (unsigned tile = blockIdx.x; tile < full; tile += gridDim.x) {
        typename thread_reducer::group g;

        thread_reducer::load(&g, job.rows, tile);
        thread_reducer::arrange(&g, job.swap);
        r.take(&g, tile);
    }
    if (full < tiles && blockIdx.x == full % gridDim.x)
        r.take_part(&job, full);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude_integers<FINDS>(&r, &shared, &job);
}

#endif
