/*
 * Slices of floats that other kernels do not know the results of: those with NaNs, infinities and sums
 * that take more than two numbers. A warp takes a slice, wherever its elements lie.
 */
#ifndef GPUREDUCE_CUDA_SLICE_WHOLE_CUH
#define GPUREDUCE_CUDA_SLICE_WHOLE_CUH

#include "cuda/slice_record.cuh"

/* An element, which may not be aligned. */
template <typename Raw> __device__ static __forceinline__ Raw slice_load(const unsigned char *from)
{
    Raw x = 0;

    if ((uintptr_t)from % sizeof(Raw) == 0)
        return *(const Raw *)from;
    for (unsigned i = 0; i < sizeof(Raw); i++)
        x |= (Raw)((Raw)from[i] << 8 * i);
    return x;
}

/* Its value. */
template <typename Type, typename Raw>
__device__ static __forceinline__ double slice_wide_value(Raw raw)
{
    return (double)slice_value<Type>(raw);
}
template <> __device__ __forceinline__ double slice_wide_value<f64, uint64_t>(uint64_t raw)
{
    return __longlong_as_double((long long)raw);
}

/* Makes terms the sum of them and those of the lane that is `distance` away; false if they cannot
   hold it. All lanes of the warp together. */
template <int COUNT>
__device__ static __forceinline__ bool slice_exchange_terms(double (&term)[COUNT], unsigned distance)
{
    double other[COUNT];
    bool good = true;

#pragma unroll
    for (int i = 0; i < COUNT; i++)
        other[i] = __shfl_xor_sync(SLICE_ALL_LANES, term[i], distance);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        good = cuda_terms_add(term, COUNT, other[i]) && good;
    return good;
}

struct slice_whole_state : cuda_slice_whole {
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < CUDA_SLICE_TERMS; i++)
            sum.term[i] = 0;
        sum.left = false;
#pragma unroll
        for (int i = 0; i < ENGINE_SLICE_SQUARES; i++)
            squares[i] = 0;
        min = INT64_MAX;
        max = INT64_MIN;
        missing = nan = positive = negative = 0;
    }

    /* Takes an element; the square of one that is NARROW is exact. */
    template <bool NARROW> __device__ __forceinline__ void take(double x, enum cuda_slice_op op)
    {
        double error = 0;

        if (!(x == x)) {
            nan++;
            return;
        }
        min = ::min((long long)min, (long long)exact_key(x));
        max = ::max((long long)max, (long long)exact_key(x));
        if (fabs(x) == __longlong_as_double(0x7ff0000000000000ll)) {
            positive += x > 0;
            negative += x < 0;
            return;
        }
        sum.left = !cuda_terms_add(sum.term, CUDA_SLICE_TERMS, x) || sum.left;
        if (op != CUDA_SLICE_VAR && op != CUDA_SLICE_STD)
            return;
        const double square = cuda_slice_product(x, x, &error);

        /* The square of a smaller number may have bits that are lost. */
        sum.left = !cuda_terms_add(squares, ENGINE_SLICE_SQUARES, square) ||
                   (!NARROW && (!cuda_terms_add(squares, ENGINE_SLICE_SQUARES, error) ||
                                (x != 0 && fabs(x) < 0x1p-400))) ||
                   sum.left;
    }

    /* Makes it that of the lane that is `distance` away, too. All lanes of the warp together. */
    __device__ __forceinline__ void exchange(unsigned distance)
    {
        sum.left = (__shfl_xor_sync(SLICE_ALL_LANES, (int)sum.left, distance) != 0) || sum.left;
        sum.left = !slice_exchange_terms(sum.term, distance) || sum.left;
        sum.left = !slice_exchange_terms(squares, distance) || sum.left;
        min = ::min((long long)min, __shfl_xor_sync(SLICE_ALL_LANES, (long long)min, distance));
        max = ::max((long long)max, __shfl_xor_sync(SLICE_ALL_LANES, (long long)max, distance));
        missing += __shfl_xor_sync(SLICE_ALL_LANES, missing, distance);
        nan += __shfl_xor_sync(SLICE_ALL_LANES, nan, distance);
        positive += __shfl_xor_sync(SLICE_ALL_LANES, positive, distance);
        negative += __shfl_xor_sync(SLICE_ALL_LANES, negative, distance);
    }
};

template <typename Type>
__global__ void __launch_bounds__(SLICE_THREADS)
    slice_whole(const __grid_constant__ struct cuda_slice_whole_launch job)
{
    typedef typename slice_taker<Type>::raw raw;
    typedef typename slice_word<sizeof(raw) == 8>::type word;
    const uint64_t number = ((uint64_t)blockIdx.x * SLICE_THREADS + threadIdx.x) / 32;
    const unsigned lane = threadIdx.x % 32;
    struct slice_whole_state state;

    if (number >= job.count)
        return;
    const uint64_t slice = job.list[number];
    const unsigned char *from = cuda_slice_whole_from(&job, slice) + lane * job.step;

    state.clear();
#pragma unroll 1
    for (uint64_t at = lane; at < job.length; at += 32 * SLICE_RECORD_GROUP) {
        raw x[SLICE_RECORD_GROUP];
        unsigned gone = 0;

#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++, from += 32 * job.step) {
            x[i] = at + 32 * i < job.length ? slice_load<raw>(from) : 0;
            if (job.swap)
                x[i] = slice_swapped(x[i]);
        }
        if (job.missing.count > 0)
            gone = missing_among<unsigned, word, SLICE_RECORD_GROUP>(
                &job.missing, [&](int n) { return (word)x[n]; });
#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++)
            if (at + 32 * i < job.length) {
                if (gone >> i & 1)
                    state.missing++;
                else
                    state.take<sizeof(raw) <= 4>(slice_wide_value<Type>(x[i]), job.wish.op);
            }
    }
#pragma unroll 1
    for (unsigned distance = 16; distance > 0; distance /= 2)
        state.exchange(distance);
    if (lane == 0)
        job.results[slice] = cuda_slice_whole_result(&job.wish, &state);
}

#endif
