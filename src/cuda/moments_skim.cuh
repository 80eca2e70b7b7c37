/*
 * A quicker look at groups of binary32 whose sums need no exponents: first at the upper halves of
 * their elements, which are bf16 values, two at a time.
 *
 * Cutting off a lower half makes no number greater than another that was less. So an element is a
 * new extreme only if its upper half reaches that of the one that is known; so is a least
 * magnitude, and a zero is one. An element that is not finite is an extreme, or a NaN, with which
 * no comparison is true.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_SKIM_CUH
#define GPUREDUCE_CUDA_MOMENTS_SKIM_CUH

#include "cuda/moments_look.cuh"

struct moments_skim {
    /* The unit of counts of subnormal elements, above those of negative ones. Each is to stay below
       this. */
    static const uint32_t SUBNORMAL = 1u << 16;

    float low, high, nearest; /* extremes and a least magnitude that are known, or NaNs */

    /* From what is known of tiles before: the extremes of a partial result, if it has any. */
    __device__ void begin(const struct partial *known)
    {
        low = (float)exact_key_value(known->min_key);
        high = (float)exact_key_value(known->max_key);
        nearest = (float)exact_key_value(known->least_magnitude);
    }

    /* Takes the extremes of the warp, of which a thread has these orders and this least magnitude;
       the greatest of their types stand for none. All threads of the warp together. */
    __device__ __forceinline__ void note(int32_t low_order, int32_t high_order, uint32_t magnitude)
    {
        const int least = min_of_warp(low_order), greatest = ~min_of_warp(~high_order);
        const int smallest = min_of_warp((int)(magnitude & INT32_MAX));

        low = fminf(low, value_of(least));
        high = fmaxf(high, value_of(greatest));
        nearest = fminf(nearest, __int_as_float(smallest));
    }

    /* The upper half of x, twice. */
    __device__ static __forceinline__ bf16::pair upper_half(float x)
    {
        return bf16::view(__byte_perm(__float_as_uint(x), 0, 0x3232));
    }

    /* If there is no new extreme, no zero, and nothing that is not finite, for any thread of the
       warp, this adds to `counted` and returns true. */
    template <int WORDS>
    __device__ __forceinline__ bool skim(const uint32_t (&words)[WORDS], uint32_t *counted) const
    {
        uint32_t halves[WORDS / 2];
        int negative = (int)*counted;

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
        if (!__all_sync(ALL_LANES, __hbgt2(least, upper_half(low)) &&
                                       __hblt2(greatest, upper_half(high)) &&
                                       __hbgt2(smallest, upper_half(nearest))) &&
            !__all_sync(ALL_LANES, is_inside(words)))
            return false;
#pragma unroll
        for (int i = 0; i < WORDS / 2; i += 2)
            negative = __dp4a(moments_signs(halves[i], halves[i + 1]), ~0, negative);
        *counted = (uint32_t)negative;
        if (!__hbge2(smallest, bf16::view(LEAST_NORMAL)))
            *counted += count_subnormal(halves) * SUBNORMAL;
        return true;
    }

    /* Whether whole elements bring no new extreme either. */
    template <int WORDS>
    __device__ __forceinline__ bool is_inside(const uint32_t (&words)[WORDS]) const
    {
        bool inside = true;

#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            const float x = __uint_as_float(words[i]);

            inside = inside && x > low && x < high && fabsf(x) > nearest;
        }
        return inside;
    }

    /* None of them is zero. */
    template <int PAIRS>
    __device__ static __forceinline__ unsigned count_subnormal(const uint32_t (&halves)[PAIRS])
    {
        int count = 0;

#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            const uint32_t mask =
                __hlt2_mask(magnitude_of<bf16::pair>(halves[i]), bf16::view(LEAST_NORMAL));

            count = __dp4a((int)mask, (int)0xff00ff00, count);
        }
        return (unsigned)count;
    }

    static const uint32_t LEAST_NORMAL = 0x00800080;
};

#endif
