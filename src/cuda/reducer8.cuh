/*
 * Floats of one byte. All of their values are those of f16, so a load makes pairs of f16 of them, which
 * moments_reducer32.cuh reduces. For sums alone there is less to do: bytes are added up as units.
 */
#ifndef GPUREDUCE_CUDA_REDUCER8_CUH
#define GPUREDUCE_CUDA_REDUCER8_CUH

#include "cuda/reducer32.cuh"

/* The lower or the upper two bytes of a word, each as the upper one of a half. */
__device__ static __forceinline__ uint32_t upper_bytes(uint32_t w, int half)
{
    return __byte_perm(w, 0, half ? 0x3424 : 0x1404);
}

/* widen makes those bytes f16. */
struct byte_float : f16 {
    __device__ static uint32_t swap(uint32_t w)
    {
        return w;
    }
};

struct f8e5m2 : byte_float {
    /* A byte is the upper one of the f16. */
    __device__ static __forceinline__ uint32_t widen(uint32_t w, int half)
    {
        return upper_bytes(w, half);
    }
};

struct f8e4m3 : byte_float {
    /* One bit further down, a magnitude has the exponent of a value 2^8 times smaller; and what has
       all bits set becomes a NaN. */
    __device__ static __forceinline__ uint32_t widen(uint32_t w, int half)
    {
#if __CUDA_ARCH__ >= 890
        uint32_t pair;

        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((uint16_t)(half ? w >> 16 : w)));
        return pair;
#else
        const uint32_t upper = upper_bytes(w, half), magnitudes = upper & 0x7f007f00u;
        const uint32_t small = (upper & 0x80008000u) | magnitudes >> 1;
        const uint32_t nan = (magnitudes + 0x01000100u) & 0x80008000u;
        const __half2 value = __hmul2(*(const __half2 *)&small, __float2half2_rn(256));

        return *(const uint32_t *)&value | (nan - (nan >> 15));
#endif
    }
};

/* Floats of a byte as units. A unit is a wider float that has the bits of the byte, shifted: its value is
   that of the byte times a power of two, of subnormal numbers, too. NaNs and infinities become
   numbers. MOST units add up exactly.

     of(w)    the unit of the upper byte of a word
     value    the value of a sum of units
     SPECIAL  added to the magnitudes of a word, sets the upper bit of those bytes that are infinite or
              NaN; NANS sets that of NaNs */
template <typename Type> struct float8_units;
template <> struct float8_units<f8e4m3> {
    typedef float type;
    static const int MOST = 64; /* magnitudes are 7 * 2^15 times the least at most */
    static const uint32_t SPECIAL = 0x01010101, NANS = 0x01010101;

    __device__ static __forceinline__ float of(uint32_t w)
    {
        return __int_as_float(((int32_t)w >> 4) & (int32_t)0x87f00000);
    }
    __device__ static __forceinline__ double value(float sum)
    {
        return (double)sum * 0x1p120;
    }
};
template <> struct float8_units<f8e5m2> {
    typedef double type;
    static const int MOST = 1 << 20; /* 7 * 2^29 times the least */
    static const uint32_t SPECIAL = 0x04040404, NANS = 0x03030303;

    __device__ static __forceinline__ double of(uint32_t w)
    {
        return __hiloint2double(((int32_t)w >> 6) & (int32_t)0x81fc0000, 0);
    }
    __device__ static __forceinline__ double value(double sum)
    {
        return sum * 0x1p1008;
    }
};

/* As the reducer of reducer32.cuh, as far as moments_reducer32.cuh uses it. */
template <typename Type, bool HAS_MISSING>
struct reducer8 : thread_state<int32_t>, missing_state<HAS_MISSING> {
    typedef int32_t order;
    static const int UNROLL = tuning<Type>::UNROLL;
    static const int PER_LOAD = LOAD_BYTES, GROUP = UNROLL * PER_LOAD;
    static const int WORDS_PER_LOAD = PER_LOAD / 2, GROUP_WORDS = GROUP / 2;
    static const int TILE = THREADS * GROUP;
    typedef superaccumulator<865, 1200> sum_accumulator;

    struct group {
        uint32_t words[GROUP_WORDS];
    };

    /* Puts four bytes into two words. */
    __device__ static __forceinline__ void put(uint32_t *words, uint32_t bytes)
    {
        words[0] = Type::widen(bytes, 0);
        words[1] = Type::widen(bytes, 1);
    }

    __device__ __forceinline__ static void load(struct group *g, const struct cuda_rows &rows,
                                                unsigned tile)
    {
        load_units<uint4, 1, UNROLL, THREADS>(rows, tile, [g](int j, uint4 v) {
            put(&g->words[WORDS_PER_LOAD * j], v.x);
            put(&g->words[WORDS_PER_LOAD * j + 2], v.y);
            put(&g->words[WORDS_PER_LOAD * j + 4], v.z);
            put(&g->words[WORDS_PER_LOAD * j + 6], v.w);
        });
    }

    __device__ __forceinline__ static uint64_t place(unsigned tile, int word, int half)
    {
        return (uint64_t)tile * TILE + (word / WORDS_PER_LOAD * THREADS + threadIdx.x) * PER_LOAD +
               word % WORDS_PER_LOAD * 2 + half;
    }

    __device__ __forceinline__ int valid_of(unsigned tile) const
    {
        return this->template valid_elements<THREADS * PER_LOAD, PER_LOAD, GROUP>(
            place(tile, 0, 0));
    }

    /* NaNs take the place of what is not there. */
    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i += 2) {
            uint32_t bytes = 0;

#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint64_t at = place(tile, i, k);

                bytes |= (at < count ? ((const uint8_t *)data)[at] : 0xffu) << 8 * k;
            }
            put(&g->words[i], bytes);
        }
    }

    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (order_of(Type::element(g->words[i], half)) == wanted)
                    first = min(first, (unsigned)place(0, i, half));
        return first;
    }
};

template <bool HAS_MISSING>
struct reducer<f8e4m3, false, false, HAS_MISSING> : reducer8<f8e4m3, HAS_MISSING> {
};
template <bool HAS_MISSING>
struct reducer<f8e5m2, false, false, HAS_MISSING> : reducer8<f8e5m2, HAS_MISSING> {
};

/* The reducer for sums alone: groups are loaded as those of f16 are, of twice as many elements, and their
   totals have the range of those of f16. It finds no extremes. */
template <typename Type> struct summing_reducer8 : reducer<f16, false, true> {
    typedef float8_units<Type> units;
    static const int PER_LOAD = LOAD_BYTES, GROUP = 4 * GROUP_WORDS;
    static const int TILE = BLOCK * GROUP;
    static_assert(GROUP <= units::MOST, "the sum of a group is exact");

    /* The place of the first element of a word of the thread's group in the chunk. */
    __device__ __forceinline__ static uint64_t place(unsigned tile, int word)
    {
        return (uint64_t)tile * TILE + (word / 4 * BLOCK + threadIdx.x) * PER_LOAD + word % 4 * 4;
    }

    /* Zeros take the place of what is not there. */
    __device__ static void load_part(group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            const uint64_t at = place(tile, i);

            g->words[i] = 0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (at + k < count)
                    g->words[i] |= (uint32_t)((const uint8_t *)data)[at + k] << 8 * k;
        }
    }

    /* Counts the NaNs and infinities of a group, and makes them zeros. */
    __device__ __forceinline__ void take_specials(group *g, unsigned tile)
    {
        uint32_t first = 0; /* the word that has the first NaN: its bytes that are NaN */
        int word = 0;

#pragma unroll
        for (int i = GROUP_WORDS - 1; i >= 0; i--) {
            const uint32_t w = g->words[i], magnitudes = w & 0x7f7f7f7f;
            const uint32_t special = (magnitudes + units::SPECIAL) & 0x80808080;
            const uint32_t nan = (magnitudes + units::NANS) & 0x80808080;

            first = nan ? nan : first;
            word = nan ? i : word;
            counts.nan += (unsigned)__popc(nan);
            counts.positive_infinity += (unsigned)__popc(special & ~nan & ~w);
            counts.negative_infinity += (unsigned)__popc(special & ~nan & w);
            g->words[i] &= ~((special >> 7) * 255);
        }
        if (first)
            counts.take_nan(place(tile, word) + __ffs((int)first) / 8 - 1);
    }

    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        typename units::type total = 0;
        uint32_t any = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
            any |= (g->words[i] & 0x7f7f7f7f) + units::SPECIAL;
        if (any & 0x80808080)
            take_specials(g, tile);
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                total += units::of(g->words[i] << (24 - 8 * k));
        if (total != 0)
            add_exactly(units::value(total));
    }
};
template <> struct reducer<f8e4m3, false, true> : summing_reducer8<f8e4m3> {
};
template <> struct reducer<f8e5m2, false, true> : summing_reducer8<f8e5m2> {
};

#endif
