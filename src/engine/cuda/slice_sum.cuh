/*
 * Sums of slices: of numbers that do not overlap much, as many as a sum needs. What they cannot
 * hold is known, and then nothing is said of the slice.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SUM_CUH
#define GPUREDUCE_CUDA_SLICE_SUM_CUH

#include "core/exact.h"
#include "engine/cuda/slice_choice.cuh"

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

    __device__ __forceinline__ void merge(const slice_sum &other)
    {
        double error, low_error, rest;

        high = exact_two_sum(high, other.high, &error);
        low = exact_two_sum(low, other.low, &low_error);
        low = exact_two_sum(low, error, &rest);
        left = left || other.left || !(rest == 0) || !(low_error == 0);
    }
};

/* Makes a sum that of the lane that is so far away, too. All lanes of the warp together. */
__device__ static __forceinline__ void slice_exchange_sums(slice_sum *sum, unsigned distance)
{
    slice_sum other;

    other.high = __shfl_xor_sync(SLICE_ALL_LANES, sum->high, distance);
    other.low = __shfl_xor_sync(SLICE_ALL_LANES, sum->low, distance);
    other.left = __shfl_xor_sync(SLICE_ALL_LANES, (int)sum->left, distance) != 0;
    sum->merge(other);
}

#endif
