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
    static const int FIELD_MAX = 254;

    __device__ static __forceinline__ int field(uint32_t magnitude)
    {
        return max((int)(magnitude >> 23), format::LEAST);
    }

    __device__ static __forceinline__ void clear_element(group *g, int word, int half)
    {
        g->words[word] &= PER_WORD == 1 ? 0 : half ? 0x0000ffffu : 0xffff0000u;
    }

    /* Exponents are biased as binary32 has them. */
    typedef look_at_present<group_look<group, order, uint32_t>, Reducer::MISSING> look;

    __device__ __noinline__ static void examine(look *l, unsigned tile, size_t count)
    {
        uint32_t low = ~0u, high = 0;

        l->counts.clear();
        l->small.clear();
        l->low = l->high = INT32_MAX;
        l->smallest = ~0u;
#pragma unroll 1
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll 1
            for (int half = 0; half < PER_WORD; half++) {
                const float x = Type::element(l->g.words[i], half);
                const uint32_t bits = __float_as_uint(x) & 0x7fffffffu;

                if (leaves_out(l, i + 16 * half))
                    continue;
                if (bits > 0x7f800000u) {
                    const uint64_t at = Reducer::place(tile, i, half);

                    if (at < count) {
                        l->counts.nan++;
                        l->counts.take_nan(at);
                    }
                    clear_element(&l->g, i, half);
                    continue;
                }
                l->low = min(l->low, order_of(x));
                l->high = min(l->high, ~order_of(x));
                l->smallest = min(l->smallest, bits);
                l->small.zeros += bits == 0;
                l->small.subnormal += bits != 0 && bits >> 23 < (uint32_t)format::LEAST;
                l->small.negative += x < 0;
                if (bits == 0x7f800000u) {
                    l->counts.positive_infinity += x > 0;
                    l->counts.negative_infinity += x < 0;
                    clear_element(&l->g, i, half);
                } else if (bits != 0) {
                    low = min(low, bits);
                    high = max(high, bits);
                }
            }
        l->e = high == 0 ? exponents{FIELD_MAX, 0} : exponents{field(low), field(high)};
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
