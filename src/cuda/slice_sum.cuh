/*
 * Sums of slices: of numbers that do not overlap much, as many as a sum needs. A sum that they
 * cannot hold is noticed, and the slice is then left.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SUM_CUH
#define GPUREDUCE_CUDA_SLICE_SUM_CUH

#include "core/exact.h"
#include "cuda/slice_choice.cuh"

/* A sum. */
struct slice_sum {
    double high, low;
    bool left; /* something could not be added */

    __device__ __forceinline__ void clear()
    {
        high = low = 0;
        left = false;
    }

    __device__ __forceinline__ void add(double x)
    {
        double error, rest;

        high = exact_two_sum(high, x, &error);
        low = exact_two_sum(low, error, &rest);
        left = left || !(rest == 0); /* NaN, too */
    }

    /* Adds a sum of integers of a byte, whose squares nobody takes. */
    __device__ __forceinline__ void add_bytes(int sum, int)
    {
        add((double)sum);
    }

    __device__ __forceinline__ void merge(const slice_sum &other)
    {
        double error, low_error, rest;

        high = exact_two_sum(high, other.high, &error);
        low = exact_two_sum(low, other.low, &low_error);
        low = exact_two_sum(low, error, &rest);
        left = left || other.left || !(rest == 0) || !(low_error == 0);
    }

    /* The sum of the lane that is `distance` away. All lanes of the warp together. */
    __device__ __forceinline__ slice_sum exchange(unsigned distance) const
    {
        return {__shfl_xor_sync(SLICE_ALL_LANES, high, distance),
                __shfl_xor_sync(SLICE_ALL_LANES, low, distance),
                __shfl_xor_sync(SLICE_ALL_LANES, (int)left, distance) != 0};
    }

    /* One of the two. */
    __device__ static __forceinline__ slice_sum choose(bool first, const slice_sum &x,
                                                       const slice_sum &y)
    {
        return {first ? x.high : y.high, first ? x.low : y.low, first ? x.left : y.left};
    }
};

/* A sum in COUNT numbers: each takes what was rounded off at the one before it. */
template <int COUNT> struct slice_long_sum {
    double part[COUNT];
    bool left; /* something could not be added */

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            part[i] = 0;
        left = false;
    }

    __device__ __forceinline__ void add(double x)
    {
        part[0] = exact_two_sum(part[0], x, &x);
        part[1] = exact_two_sum(part[1], x, &x);
        /* Mostly nothing is left by now. */
#pragma unroll
        for (int i = 2; i < COUNT; i++)
            if (x != 0)
                part[i] = exact_two_sum(part[i], x, &x);
        left = left || !(x == 0); /* NaN, too */
    }

    /* Adds the square of a number of up to 26 bits, or of any. */
    __device__ __forceinline__ void add_narrow_square(double x)
    {
        add(__dmul_rn(x, x));
    }
    __device__ __forceinline__ void add_square(double x)
    {
        const double square = __dmul_rn(x, x);

        add(square);
        add(__fma_rn(x, x, -square));
        /* The square of a smaller number may have bits below 2^-1074, which are lost. */
        left = left || (x != 0 && fabs(x) < 0x1p-485);
    }

    /* Makes it that of the lane that is so far away, too. All lanes of the warp together. */
    __device__ __forceinline__ void exchange(unsigned distance)
    {
        double other[COUNT];

#pragma unroll
        for (int i = 0; i < COUNT; i++)
            other[i] = __shfl_xor_sync(SLICE_ALL_LANES, part[i], distance);
        left = (__shfl_xor_sync(SLICE_ALL_LANES, (int)left, distance) != 0) || left;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            add(other[i]);
    }
};

#endif
