/*
 * Exponent bins of a block, for elements of binary32 and their squares together: what its threads
 * add up by exponent, in shared memory, by atomic additions of 32 bits.
 *
 * Bin i takes elements of biased exponents from 4 i to 4 i + 3. In units of 2^(4 i - 150) they are
 * integers m below 2^27 in magnitude, and their squares are below 2^54. A bin has five words for
 * each lane, which the lanes of that number of all warps share, so that no two lanes of a warp use
 * the same bank. To the words are added m^2, m^2 / 2^18, m^2 / 2^36, m and m / 2^13, rounded down
 * and modulo 2^32. The third and the last do not overflow with ADDITIONS_MAX additions. A sum of
 * quotients, multiplied again, falls short of the sum that is wanted by less than 2^32, as each
 * remainder is below 2^18 or 2^13: so what the word of that sum has modulo 2^32 tells all of it.
 *
 * With magnitudes there are bins for each sign, and m is the magnitude.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_BINS_CUH
#define GPUREDUCE_CUDA_MOMENTS_BINS_CUH

#include "cuda/square_accumulator.cuh"
#include "cuda/superaccumulator.cuh"

/* THREADS_OF_BLOCK use it, all of them together. */
template <bool SIGNS, int THREADS_OF_BLOCK> struct block_bins {
    static const int EXPONENT_BITS = 2; /* of an element's exponent that its bin leaves */
    static const int EXPONENTS = 256 >> EXPONENT_BITS, BINS = SIGNS ? 2 * EXPONENTS : EXPONENTS;
    static const int LANES = 32;
    static const int ADDITIONS_MAX = 1 << 14;
    static const int SQUARE_STEP = 18, STEP = 13;
    static const int THREADS_A_BIN = THREADS_OF_BLOCK / BINS;
    static_assert(THREADS_A_BIN >= 4 && THREADS_A_BIN <= LANES, "empty has work for four");

    enum { SQUARE, SQUARE_MIDDLE, SQUARE_UPPER, SUM, SUM_UPPER, WORDS };
    struct memory {
        uint32_t word[WORDS][BINS][LANES];
    };

    struct memory *bins;

    __device__ void begin(void *dynamic)
    {
        bins = (struct memory *)dynamic;
        for (unsigned i = threadIdx.x; i < sizeof *bins / sizeof(uint32_t); i += THREADS_OF_BLOCK)
            (&bins->word[0][0][0])[i] = 0;
    }

    /* The lane's word of the bin that begins at the exponent of `field`: a byte offset, so that one
       instruction finds it. */
    __device__ __forceinline__ uint32_t *word_of(uint32_t field) const
    {
        const uint32_t row = (uint32_t)sizeof bins->word[0][0];

        return (uint32_t *)((char *)&bins->word[0][0][threadIdx.x % LANES] +
                            field / ((1u << (23 + EXPONENT_BITS)) / row));
    }

    /* x as an integer in the unit of its bin. The product with the power of two is below 2^4, and
       exact. */
    __device__ static __forceinline__ int integer(float x, uint32_t exponent)
    {
        const float scale = __uint_as_float((254u << 23) - exponent);

        return __float2int_rn(__fmul_rn(__fmul_rn(SIGNS ? fabsf(x) : x, scale), 0x1p23f));
    }

    __device__ __forceinline__ void take(uint32_t bits)
    {
        const uint32_t exponent = bits & 0x7e000000u;
        uint32_t *const to = word_of(SIGNS ? bits & 0xfe000000u : exponent);
        const int m = integer(__uint_as_float(bits), exponent);
        const uint64_t square = (uint64_t)((int64_t)m * m);
        const int next = BINS * LANES;

        atomicAdd(to + SQUARE * next, (uint32_t)square);
        atomicAdd(to + SQUARE_MIDDLE * next, (uint32_t)(square >> SQUARE_STEP));
        atomicAdd(to + SQUARE_UPPER * next, (uint32_t)(square >> 2 * SQUARE_STEP));
        atomicAdd(to + SUM * next, (uint32_t)m);
        atomicAdd(to + SUM_UPPER * next, (uint32_t)(m >> STEP));
    }

    /* A total that is `quotients` times 2^step and less than 2^32 more. */
    __device__ static __forceinline__ int64_t complete(int64_t quotients, int step, uint32_t word)
    {
        const int64_t least = quotients * ((int64_t)1 << step);

        return least + (uint32_t)(word - (uint32_t)least);
    }

    /* Adds up over the threads of a bin, in all of them. */
    __device__ static __forceinline__ int64_t total_of_bin(long long x)
    {
        for (int distance = THREADS_A_BIN / 2; distance > 0; distance /= 2)
            x += __shfl_xor_sync(ALL_LANES, x, distance);
        return x;
    }

    /* Hands all bins to the superaccumulators, and clears them. `absolute` is for SIGNS. All
       threads of the block together. */
    template <typename Sum, typename Squares>
    __device__ __noinline__ static void empty(struct memory *bins, Sum *sum, Sum *absolute,
                                              Squares *squares)
    {
        const int bin = (int)threadIdx.x / THREADS_A_BIN, thread = (int)threadIdx.x % THREADS_A_BIN;
        const int exponent = (bin % EXPONENTS << EXPONENT_BITS) - 150;
        const bool negative = SIGNS && bin >= EXPONENTS;
        /* For squares: the count of the second word, 2^50 at most for each lane, and the rest of
           the first word. */
        int64_t total = 0, upper = 0, rest = 0;

        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < LANES / THREADS_A_BIN; k++) {
            /* Bins of a warp begin at different banks. */
            const int lane = (thread + THREADS_A_BIN * (k + bin)) % LANES;
            uint32_t words[WORDS];

            for (int i = 0; i < WORDS; i++) {
                words[i] = bins->word[i][bin][lane];
                bins->word[i][bin][lane] = 0;
            }

            const int64_t quotients =
                complete(words[SQUARE_UPPER], SQUARE_STEP, words[SQUARE_MIDDLE]);
            total += complete((int)words[SUM_UPPER], STEP, words[SUM]);
            upper += quotients;
            rest += words[SQUARE] - (uint32_t)(quotients << SQUARE_STEP);
        }
        total = total_of_bin(total);
        upper = total_of_bin(upper);
        rest = total_of_bin(rest);
        if (thread < 3) {
            const int bit = 2 * exponent - EXACT_WIDE_LSB_EXPONENT;
            const int64_t part = thread == 0   ? rest
                                 : thread == 1 ? upper & 0xffffffff
                                               : upper >> 32;

            if (part != 0)
                squares->add_integer(bit + (thread == 0   ? 0
                                            : thread == 1 ? SQUARE_STEP
                                                          : SQUARE_STEP + 32),
                                     part);
        } else if (thread == 3 && total != 0) {
            sum->add_integer(Sum::cell_of(exponent), negative ? -total : total);
            if (SIGNS)
                absolute->add_integer(Sum::cell_of(exponent), total);
        }
        __syncthreads();
    }
};

#endif
