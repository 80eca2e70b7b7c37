/*
 * Floats of one byte: how they are loaded. All of their values are those of f16, so a load makes
 * pairs of f16 of them, which moments_reducer32.cuh reduces.
 */
#ifndef GPUREDUCE_CUDA_REDUCER8_CUH
#define GPUREDUCE_CUDA_REDUCER8_CUH

#include "cuda/reducer32.cuh"

struct f8e5m2 : f16 {
    /* A byte is the upper one of the f16. */
    __device__ static __forceinline__ uint32_t widen(uint32_t upper_bytes)
    {
        return upper_bytes;
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return w;
    }
};

struct f8e4m3 : f16 {
    /* One bit further down, a magnitude has the exponent of a value 2^8 times smaller; and what has
       all bits set becomes a NaN. */
    __device__ static __forceinline__ uint32_t widen(uint32_t upper_bytes)
    {
        const uint32_t magnitudes = upper_bytes & 0x7f007f00u;
        const uint32_t small = (upper_bytes & 0x80008000u) | magnitudes >> 1;
        const uint32_t nan = (magnitudes + 0x01000100u) & 0x80008000u;
        const __half2 value = __hmul2(*(const __half2 *)&small, __float2half2_rn(256));

        return *(const uint32_t *)&value | (nan - (nan >> 15));
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return w;
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
        words[0] = Type::widen(__byte_perm(bytes, 0, 0x1404));
        words[1] = Type::widen(__byte_perm(bytes, 0, 0x3424));
    }

    __device__ __forceinline__ static void load(struct group *g, const void *data, unsigned tile)
    {
        const uint4 *from = (const uint4 *)data + (size_t)tile * THREADS * UNROLL + threadIdx.x;

#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
            const uint4 v = load_16_bytes(from + j * THREADS);

            put(&g->words[WORDS_PER_LOAD * j], v.x);
            put(&g->words[WORDS_PER_LOAD * j + 2], v.y);
            put(&g->words[WORDS_PER_LOAD * j + 4], v.z);
            put(&g->words[WORDS_PER_LOAD * j + 6], v.w);
        }
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

#endif
