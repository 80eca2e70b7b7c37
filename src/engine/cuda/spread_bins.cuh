/*
 * Exponent bins of elements and their squares together, for all exponents of binary32: what a
 * thread adds up by exponent, in shared memory.
 *
 * Bin i takes elements of biased exponents from 4 i to 4 i + 3. In units of 2^(4 i - 150) they are
 * integers m below 2^27 in magnitude. A bin is one integer of 96 bits that begins at 2^94; to it
 * m 2^61 + m^2 is added. Squares may come to 2^61 before they reach the sum of m, and that to 2^34
 * either way. A warp empties its bins behind a group after which squares of one have reached 2^60,
 * or a sum 2^33. A group of 2^5 elements adds half of that at most.
 */
#ifndef GPUREDUCE_CUDA_SPREAD_BINS_CUH
#define GPUREDUCE_CUDA_SPREAD_BINS_CUH

#include "engine/cuda/superaccumulator.cuh"

struct fine_bins {
    static const int BINS = 64;
    static const int SQUARE_BITS = 61;
    static const uint32_t UPPER_BEGIN = 1u << 30;

    /* Bin i of thread t is element i * THREADS + t of both. `upper` are the upper 32 bits. */
    struct memory {
        uint2 lower[BINS * THREADS];
        uint32_t upper[BINS * THREADS];
    };

    struct memory *bins;
    /* The upper words of what was put into bins, one or another: bit 28 of the one tells that
       squares have reached 2^60, bit 31 of the other that a sum is beyond 2^33 or below -2^33. */
    uint32_t squares_seen, sums_seen;
    bool used; /* the bins are not just anything */

    __device__ void begin(void *dynamic)
    {
        bins = (struct memory *)dynamic;
        squares_seen = sums_seen = 0;
        used = false;
    }

    __device__ void clear()
    {
#pragma unroll 1
        for (int i = 0; i < BINS; i++) {
            bins->lower[i * THREADS + threadIdx.x] = make_uint2(0, 0);
            bins->upper[i * THREADS + threadIdx.x] = UPPER_BEGIN;
        }
    }

    /* Hands the warp's bins to the superaccumulators: a lane adds up a bin of all lanes, and then
       another one. All threads of the warp together. */
    template <typename Sum, typename Squares>
    __device__ __noinline__ static void empty(const struct memory *bins, Sum *sum, Squares *squares)
    {
        const unsigned lane = threadIdx.x % 32;

        __syncwarp();
#pragma unroll 1
        for (unsigned i = lane; i < BINS; i += 32) {
            const int exponent = 4 * (int)i - 150;
            long long total = 0, squares_low = 0, squares_high = 0;

#pragma unroll 4
            for (unsigned k = 0; k < 32; k++) {
                const unsigned at = i * THREADS + threadIdx.x - lane + (lane + k) % 32;
                const uint2 lower = bins->lower[at];
                const int upper = (int)(bins->upper[at] - UPPER_BEGIN);

                total += (long long)upper * 8 + (lower.y >> (SQUARE_BITS - 32));
                squares_low += lower.x;
                squares_high += lower.y & ((1u << (SQUARE_BITS - 32)) - 1);
            }
            if (total != 0)
                sum->add_integer(Sum::cell_of(exponent), total);
            if (squares_low != 0)
                squares->add_integer(2 * exponent - EXACT_WIDE_LSB_EXPONENT, squares_low);
            if (squares_high != 0)
                squares->add_integer(2 * exponent + 32 - EXACT_WIDE_LSB_EXPONENT, squares_high);
        }
        __syncwarp();
    }

    struct bin {
        uint2 lower;
        uint32_t upper;
    };

    /* x as an integer in the unit of its bin, whose exponents begin at the one of `field`. The
       product with the power of two is below 2^4, and exact. */
    __device__ static __forceinline__ int integer(float x, uint32_t field)
    {
        const float scale = __uint_as_float((254u << 23) - field);

        return __float2int_rn(__fmul_rn(__fmul_rn(x, scale), 0x1p23f));
    }

    /* The thread's bin of a field: a byte offset, so that a shift and an addition find it. */
    __device__ __forceinline__ uint2 *lower_at(uint32_t field) const
    {
        return (uint2 *)((char *)(bins->lower + threadIdx.x) +
                         field / ((1u << 25) / (THREADS * sizeof(uint2))));
    }
    __device__ __forceinline__ uint32_t *upper_at(uint32_t field) const
    {
        return (uint32_t *)((char *)(bins->upper + threadIdx.x) +
                            field / ((1u << 25) / (THREADS * sizeof(uint32_t))));
    }

    /* Adds m 2^61. The compiler makes one multiplication of this: of the upper two words. */
    __device__ static __forceinline__ void add_sum(struct bin *b, int m)
    {
        const uint64_t words =
            ((uint64_t)b->upper << 32 | b->lower.y) + ((uint64_t)(int64_t)m << (SQUARE_BITS - 32));

        b->lower.y = (uint32_t)words;
        b->upper = (uint32_t)(words >> 32);
    }
    __device__ static __forceinline__ void add_square(struct bin *b, int m)
    {
        const uint64_t words =
            ((uint64_t)b->lower.y << 32 | b->lower.x) + (uint64_t)((int64_t)m * m);

        b->lower.x = (uint32_t)words;
        b->lower.y = (uint32_t)(words >> 32);
    }

    /* Two elements at a time: neither is waited for until the other is under way. Where they have a
       bin in common, the second takes the first along, and is the last to be stored. */
    __device__ __forceinline__ void take(float x, float y)
    {
        const uint32_t mask = 0x7e000000u;
        const uint32_t of_x = __float_as_uint(x) & mask, of_y = __float_as_uint(y) & mask;
        uint2 *const lower_x = lower_at(of_x), *const lower_y = lower_at(of_y);
        uint32_t *const upper_x = upper_at(of_x), *const upper_y = upper_at(of_y);
        struct bin bin_x = {*lower_x, *upper_x}, bin_y = {*lower_y, *upper_y};
        const int m_x = integer(x, of_x), m_y = integer(y, of_y), along = of_x == of_y ? m_x : 0;

        add_square(&bin_x, m_x);
        add_square(&bin_y, m_y);
        add_square(&bin_y, along);
        add_sum(&bin_x, m_x);
        add_sum(&bin_y, m_y + along);
        *lower_x = bin_x.lower;
        *upper_x = bin_x.upper;
        *lower_y = bin_y.lower;
        *upper_y = bin_y.upper;
        squares_seen |= bin_x.lower.y | bin_y.lower.y;
        sums_seen |= bin_x.upper | bin_y.upper;
    }

    /* Puts a group of at most 2^5 elements into the bins. The warp does that together. */
    template <int WORDS, typename Sum, typename Squares>
    __device__ __forceinline__ void take_group(const uint32_t (&words)[WORDS], Sum *sum,
                                               Squares *squares)
    {
        static_assert(WORDS <= 32 && WORDS % 2 == 0, "bins overflow");
        if (!used) {
            clear();
            used = true;
        }
#pragma unroll
        for (int i = 0; i < WORDS; i += 2)
            take(__uint_as_float(words[i]), __uint_as_float(words[i + 1]));
        if (__any_sync(ALL_LANES, (squares_seen >> 28 & 1) | sums_seen >> 31)) {
            empty(bins, sum, squares);
            clear();
            squares_seen = sums_seen = 0;
        }
    }

    template <typename Sum, typename Squares>
    __device__ void finish(Sum *sum, Squares *squares) const
    {
        if (used)
            empty(bins, sum, squares);
    }
};

#endif
