/*
 * Shared by the reducers of moments_reducer32.cuh and moments_reducer64.cuh: a thread's counts, its
 * findings in a group, and the memory of its block.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_STATE_CUH
#define GPUREDUCE_CUDA_MOMENTS_STATE_CUH

#include "cuda/square_accumulator.cuh"
#include "cuda/superaccumulator.cuh"
#include "cuda/thread_state.cuh"

/* No magnitude: more than any. */
static const int64_t NO_MAGNITUDE = INT64_MAX;

/* Counts of elements that are not NaN. */
struct small_counts {
    unsigned zeros, negative, subnormal;

    __device__ void clear()
    {
        zeros = negative = subnormal = 0;
    }
    __device__ void take(const struct small_counts *other)
    {
        zeros += other->zeros;
        negative += other->negative;
        subnormal += other->subnormal;
    }
};

/* The counts of a block, in shared memory. `least` is an exact_key. */
struct block_small {
    unsigned long long zeros, negative, subnormal;
    long long least;

    /* By one thread. */
    __device__ void clear()
    {
        zeros = negative = subnormal = 0;
        least = NO_MAGNITUDE;
    }

    /* Takes what the threads of a warp have counted. All of them together. */
    __device__ void take(const struct small_counts *counts, int64_t key)
    {
        add(&zeros, counts->zeros);
        add(&negative, counts->negative);
        add(&subnormal, counts->subnormal);
        key = least_of_warp(key);
        if (threadIdx.x % 32 == 0 && key != NO_MAGNITUDE)
            atomicMin(&least, (long long)key);
    }

    __device__ static void add(unsigned long long *total, unsigned count)
    {
        const unsigned long long all = sum_of_warp((unsigned long long)count);

        if (threadIdx.x % 32 == 0 && all != 0)
            atomicAdd(total, all);
    }

    /* Adds it all to a partial result in global memory. By one thread, after a barrier. */
    __device__ void add_to(struct partial *partial) const
    {
        typedef unsigned long long counter;

        if (zeros != 0)
            atomicAdd((counter *)&partial->zeros, zeros);
        if (negative != 0)
            atomicAdd((counter *)&partial->negative, negative);
        if (subnormal != 0)
            atomicAdd((counter *)&partial->subnormal, subnormal);
        if (least != NO_MAGNITUDE)
            atomicMin((long long *)&partial->least_magnitude, least);
    }
};

/* The biased exponents of a group's numbers that are not zero, subnormal ones as the least normal
   number's: the greatest is none, 0, where there is no such number. */
struct exponents {
    int least, greatest;
};

/* The findings of a closer look at a group. */
template <typename Group, typename Order, typename Magnitude> struct group_look {
    Group g; /* zeros take the place of what is not finite */
    struct counts counts;
    struct small_counts small;
    Order low, high;    /* as take_extremes has them */
    Magnitude smallest; /* bits of the least one */
    struct exponents e;
};

/* Such findings, if missing elements are left out. */
template <typename Look, bool HAS_MISSING> struct look_at_present : Look {
};
template <typename Look> struct look_at_present<Look, true> : Look {
    uint32_t gone; /* the bits of missing elements, which are zeros */
};

/* Whether a look leaves out the element with this bit. */
template <typename Look>
__device__ static __forceinline__ bool leaves_out(const look_at_present<Look, false> *, int)
{
    return false;
}
template <typename Look>
__device__ static __forceinline__ bool leaves_out(const look_at_present<Look, true> *l, int bit)
{
    return l->gone >> bit & 1;
}
template <typename Look>
__device__ static __forceinline__ void leave_out(look_at_present<Look, false> *, uint32_t)
{
}
template <typename Look>
__device__ static __forceinline__ void leave_out(look_at_present<Look, true> *l, uint32_t gone)
{
    l->gone = gone;
}

/* The memory of a block: a Sum, which is a superaccumulator, and Squares. */
template <typename Sum, typename Squares> struct moments_memory {
    Sum accumulator;
    Sum absolute;
    Squares squares;
    struct block_small small;

    /* All threads of the block together. */
    __device__ void clear()
    {
        accumulator.clear();
        absolute.clear();
        squares.clear();
        if (threadIdx.x == 0)
            small.clear();
    }
};

/* A total of 64 bits in units of 2^exponent, each of which all threads of a warp have: adds them up
   in lane 0, as two halves, each of which then has 37 bits. */
struct warp_total {
    long long low, high;

    __device__ __forceinline__ explicit warp_total(int64_t total)
    {
        low = total & 0xffffffff;
        high = total >> 32;
        for (int distance = 16; distance > 0; distance /= 2) {
            low += __shfl_down_sync(ALL_LANES, low, distance);
            high += __shfl_down_sync(ALL_LANES, high, distance);
        }
    }

    template <typename Sum> __device__ __forceinline__ void add_to(Sum *sum, int exponent) const
    {
        if (threadIdx.x % 32 != 0)
            return;
        if (low != 0)
            sum->add_integer(Sum::cell_of(exponent), low);
        if (high != 0)
            sum->add_integer(Sum::cell_of(exponent + 32), high);
    }

    template <typename Squares>
    __device__ __forceinline__ void add_to_squares(Squares *squares, int exponent) const
    {
        if (threadIdx.x % 32 != 0)
            return;
        if (low != 0)
            squares->add_integer(exponent - EXACT_WIDE_LSB_EXPONENT, low);
        if (high != 0)
            squares->add_integer(exponent + 32 - EXACT_WIDE_LSB_EXPONENT, high);
    }
};

/* The sum of the addends of an accumulator that began at `constant`, in whose binade it stayed, in
   units of its last place: numbers of one binade differ by the difference of their bits. */
__device__ static __forceinline__ int64_t places_added(double accumulator, double constant)
{
    return (int64_t)(exact_bits(accumulator) - exact_bits(constant));
}

/* 2^(field - 1023), and 1.5 times that. */
__device__ static __forceinline__ double power_at(int field)
{
    return __hiloint2double(field << 20, 0);
}
__device__ static __forceinline__ double extraction_at(int field)
{
    return __hiloint2double(field << 20 | 0x80000, 0);
}

#endif
