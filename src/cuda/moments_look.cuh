/*
 * The closer look of the reducer of moments_reducer32.cuh at the elements of a group, one by one,
 * and the constants of their formats that it needs.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_LOOK_CUH
#define GPUREDUCE_CUDA_MOMENTS_LOOK_CUH

#include "cuda/reducer32.cuh"
#include "cuda/reducer8.cuh"
#include "cuda/moments_state.cuh"

/* The significant bits of a type, and the biased binary32 exponent of its least normal number. */
template <typename Type> struct narrow_format;
template <> struct narrow_format<f32> {
    static const int BITS = 24, LEAST = 1;
};
template <> struct narrow_format<f32_first> : narrow_format<f32> {
};
template <> struct narrow_format<f32_left> : narrow_format<f32> {
};
template <> struct narrow_format<f16> {
    static const int BITS = 11, LEAST = 113;
};
template <> struct narrow_format<bf16> {
    static const int BITS = 8, LEAST = 1;
};

template <> struct narrow_format<f8e4m3> {
    static const int BITS = 4, LEAST = 121;
};
template <> struct narrow_format<f8e5m2> {
    static const int BITS = 3, LEAST = 113;
};

/* The signs of two words' elements of 16 bits: a byte is -1 for a negative one, or 0. ~0 is
   such bytes, too: __dp4a adds up products of four. */
__device__ static __forceinline__ int moments_signs(uint32_t first, uint32_t second)
{
#ifdef __CUDA_ARCH__
    uint32_t signs;

    /* Bytes 1, 3, 5 and 7, of each of which it takes the sign alone. */
    asm("prmt.b32 %0, %1, %2, 0xfdb9;" : "=r"(signs) : "r"(first), "r"(second));
    return (int)signs;
#else
    return (int)((__byte_perm(first, second, 0x7531) >> 7 & 0x01010101u) * 255);
#endif
}

/* Reducer is the one of the type's groups. */
template <typename Type, typename Reducer> struct moments_look {
    typedef typename Reducer::group group;
    typedef typename Reducer::order order;
    typedef narrow_format<Type> format;
    static const int GROUP_WORDS = Reducer::GROUP_WORDS, PER_WORD = Type::PER_WORD;
    static const int FIELD_MAX = 254, GROUP = GROUP_WORDS * PER_WORD;
    static const int EXAMINED = 4; /* words at a time */

    /* The place of element n of the thread's group in the chunk. */
    __device__ static __forceinline__ uint64_t place(unsigned tile, int n)
    {
        return Reducer::place(tile, n / PER_WORD, n % PER_WORD);
    }

    __device__ static __forceinline__ int field(uint32_t magnitude)
    {
        return max((int)(magnitude >> 23), format::LEAST);
    }

    __device__ static __forceinline__ void clear_element(uint32_t *word, int half)
    {
        *word &= PER_WORD == 1 ? 0 : half ? 0x0000ffffu : 0xffff0000u;
    }

    /* Exponents are biased as binary32 has them. */
    typedef look_at_present<group_look<group, order, uint32_t>, Reducer::MISSING> look;

    __device__ __noinline__ static void examine(look *l, unsigned tile, size_t count)
    {
        order first = INT32_MAX, last = INT32_MAX;
        uint32_t least = ~0u, low = ~0u, high = 0, nans = 0;

        static_assert(GROUP <= 32 && GROUP_WORDS % EXAMINED == 0, "a bit for each element");
        l->counts.clear();
        l->small.clear();
        /* Without branches, which lanes would part at with each element; some words at a time, since the kernel
           has few registers left. */
#pragma unroll 1
        for (int i = 0; i < GROUP_WORDS; i += EXAMINED) {
            struct counts counts = l->counts;
            struct small_counts small = l->small;
            uint32_t words[EXAMINED];

#pragma unroll
            for (int k = 0; k < EXAMINED; k++)
                words[k] = l->g.words[i + k];
#pragma unroll
            for (int n = 0; n < EXAMINED * PER_WORD; n++) {
                const int k = n / PER_WORD, half = n % PER_WORD;
                const float x = Type::element(words[k], half);
                const uint32_t bits = __float_as_uint(x) & 0x7fffffffu;
                const bool out = leaves_out(l, i + k + 16 * half), nan = bits > 0x7f800000u;
                const bool infinite = bits == 0x7f800000u, number = !nan && !out;

                nans |= (uint32_t)(nan && !out) << (i * PER_WORD + n);
                first = min(first, number ? order_of(x) : INT32_MAX);
                last = min(last, number ? ~order_of(x) : INT32_MAX);
                least = min(least, number ? bits : ~0u);
                small.zeros += number && bits == 0;
                small.subnormal += number && bits - 1 < ((uint32_t)format::LEAST << 23) - 1;
                small.negative += number && x < 0;
                counts.positive_infinity += infinite && x > 0;
                counts.negative_infinity += infinite && x < 0;
                /* Less one, zero is the greatest of all. */
                low = min(low, number && !infinite ? bits - 1 : ~0u);
                high = max(high, number && !infinite ? bits : 0);
                if (bits >= 0x7f800000u)
                    clear_element(&words[k], half);
            }
#pragma unroll
            for (int k = 0; k < EXAMINED; k++)
                l->g.words[i + k] = words[k];
            l->counts = counts;
            l->small = small;
        }
#pragma unroll 1
        for (int n = place(tile, GROUP - 1) < count ? GROUP : 0; n < GROUP; n++)
            nans &= ~((uint32_t)(place(tile, n) >= count) << n);
        l->counts.nan = (unsigned)__popc(nans);
        if (nans != 0)
            l->counts.take_nan(place(tile, __ffs((int)nans) - 1));
        l->low = first;
        l->high = last;
        l->smallest = least;
        l->e = high == 0 ? exponents{FIELD_MAX, 0} : exponents{field(low + 1), field(high)};
    }

    /* The zeros and subnormal numbers of a group of numbers, and the least magnitude that is not
       zero. The signs of zeros are not counted among the negative ones. */
    struct small_look {
        struct small_counts counts;
        uint32_t least;
    };

    __device__ __noinline__ static struct small_look count_small(const group *g)
    {
        struct small_look l;

        l.counts.clear();
        l.least = ~0u;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < PER_WORD; half++) {
                const uint32_t bits =
                    __float_as_uint(Type::element(g->words[i], half)) & 0x7fffffffu;

                /* Less one, zero is the greatest of all. */
                l.least = min(l.least, bits - 1);
                l.counts.zeros += bits == 0;
                l.counts.subnormal += bits - 1 < ((uint32_t)format::LEAST << 23) - 1;
                l.counts.negative -= bits == 0 && is_negative(g->words[i], half);
            }
        l.least++;
        return l;
    }

    __device__ static __forceinline__ bool is_negative(uint32_t word, int half)
    {
        return (word >> (PER_WORD == 1 || half ? 31 : 15) & 1) != 0;
    }
};

#endif
