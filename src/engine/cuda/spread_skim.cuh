/*
 * A quicker look at groups of binary32 whose sums need no exponents: at the upper halves of their
 * elements, which are bf16 values, two at a time.
 *
 * Cutting off a lower half makes no number greater than another that was less. So an element is a
 * new extreme only if its upper half reaches that of the one that is known; so is a least
 * magnitude, and a zero is one. What is not finite is an extreme, or a NaN, from which no
 * comparison comes out true.
 */
#ifndef GPUREDUCE_CUDA_SPREAD_SKIM_CUH
#define GPUREDUCE_CUDA_SPREAD_SKIM_CUH

#include "engine/cuda/spread_look.cuh"

struct spread_skim {
    /* The warp's extremes and its least magnitude, without their lower halves. NaNs at first. */
    float low, high, nearest;

    __device__ void begin()
    {
        low = high = nearest = __int_as_float(0x7fffffff);
    }

    __device__ static __forceinline__ float cut(int bits)
    {
        return __int_as_float((int)((uint32_t)bits & 0xffff0000u));
    }

    /* Keeps the extremes of the warp, of which a thread has these orders and this least magnitude;
       the greatest of their types stand for none. All threads of the warp together. */
    __device__ __forceinline__ void note(int32_t low_order, int32_t high_order, uint32_t magnitude)
    {
        const int least = min_of_warp(low_order), greatest = ~min_of_warp(~high_order);

        low = cut(least ^ (int)((uint32_t)(least >> 31) >> 1));
        high = cut(greatest ^ (int)((uint32_t)(greatest >> 31) >> 1));
        nearest = cut(min_of_warp((int)(magnitude & INT32_MAX)));
    }

    /* If the upper halves tell that there is no new extreme, no zero, and nothing that is not
       finite, for any thread of the warp, this counts the group's elements and returns true. */
    template <int WORDS>
    __device__ __forceinline__ bool skim(const uint32_t (&words)[WORDS],
                                         struct small_counts *counts) const
    {
        uint32_t halves[WORDS / 2];
        int negative = 0;

#pragma unroll
        for (int i = 0; i < WORDS / 2; i++)
            halves[i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x7632);

        bf16::pair least = bf16::view(halves[0]), greatest = least;
        bf16::pair smallest = magnitude_of<bf16::pair>(halves[0]);

#pragma unroll
        for (int i = 1; i < WORDS / 2; i++) {
            least = bf16::least(least, bf16::view(halves[i]));
            greatest = bf16::greatest(greatest, bf16::view(halves[i]));
            smallest = bf16::least(smallest, magnitude_of<bf16::pair>(halves[i]));
        }

        const uint32_t l = *(const uint32_t *)&least, g = *(const uint32_t *)&greatest;
        const uint32_t s = *(const uint32_t *)&smallest;
        const float lowest = f32::least(bf16::element(l, 0), bf16::element(l, 1));
        const float highest = f32::greatest(bf16::element(g, 0), bf16::element(g, 1));
        const float closest = f32::least(bf16::element(s, 0), bf16::element(s, 1));

        if (!__all_sync(ALL_LANES, lowest > low && highest < high && closest > nearest))
            return false;
#pragma unroll
        for (int i = 0; i < WORDS / 2; i += 2)
            negative = __dp4a(spread_signs(halves[i], halves[i + 1]), ~0, negative);
        counts->negative += (unsigned)negative;
        if (closest < 0x1p-126f)
            counts->subnormal += count_subnormal(halves);
        return true;
    }

    /* None of them is zero. */
    template <int PAIRS>
    __device__ static __forceinline__ unsigned count_subnormal(const uint32_t (&halves)[PAIRS])
    {
        const uint32_t least_normal = 0x00800080, none = 0;
        bf16::pair count = bf16::view(none);

#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            count = __hadd2(count,
                            __hlt2(magnitude_of<bf16::pair>(halves[i]), bf16::view(least_normal)));

        const uint32_t c = *(const uint32_t *)&count;

        return (unsigned)(bf16::element(c, 0) + bf16::element(c, 1));
    }
};

#endif
