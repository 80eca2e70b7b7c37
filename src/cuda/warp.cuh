/*
 * Operations that the threads of a warp do together.
 */
#ifndef GPUREDUCE_CUDA_WARP_CUH
#define GPUREDUCE_CUDA_WARP_CUH

#include "cuda/kernels.h"
#include "cuda/tuning.h"

static const int WARPS = THREADS / 32;
static_assert(WARPS <= CUDA_WARPS_MAX, "more warps than there is room for in the scratch");
static const unsigned ALL_LANES = 0xffffffffu;

/* x, of which the compiler no longer knows where it came from: so it keeps nothing in registers
   that it could work out again. */
__device__ static __forceinline__ unsigned opaque(unsigned x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* The least x of a warp, in all its lanes. */
__device__ static __forceinline__ int min_of_warp(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, x);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        x = min(x, __shfl_xor_sync(ALL_LANES, x, distance));
    return x;
#endif
}

/* The sum and the least of a warp's x, in lane 0. Lanes do this before all threads of a block add
   to one place in shared memory: an atomic operation of 64 bits there is a loop, which threads
   leave one after the other. Floats are multiples of one power of two, and so few bits that no
   addition rounds. */
template <typename T> __device__ static __forceinline__ T sum_of_warp(T x)
{
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(ALL_LANES, x, distance);
    return x;
}
__device__ static __forceinline__ long long least_of_warp(long long x)
{
    for (int distance = 16; distance > 0; distance /= 2)
        x = min(x, __shfl_down_sync(ALL_LANES, x, distance));
    return x;
}

#endif
