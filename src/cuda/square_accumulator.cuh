/*
 * The superaccumulator of squares of a block, in shared memory: as superaccumulator.cuh, but for
 * exponents twice as far apart, so that there is a cell only for every fourth.
 */
#ifndef GPUREDUCE_CUDA_SQUARE_ACCUMULATOR_CUH
#define GPUREDUCE_CUDA_SQUARE_ACCUMULATOR_CUH

#include "cuda/superaccumulator.cuh"

/*
 * It holds the digits of an exact_wide from FIRST on, DIGITS of them. Bits are counted as there:
 * bit i weighs 2^(i - 2148). Cell c counts in units of bit 32 FIRST + 4 c.
 */
template <int FIRST, int DIGITS>
struct square_accumulator : accumulator_cells<DIGITS * EXACT_DIGIT_BITS / 4> {
    static const int CELL_BITS = 4;
    static const int CELLS_PER_DIGIT = EXACT_DIGIT_BITS / CELL_BITS;
    static const int CELLS = DIGITS * CELLS_PER_DIGIT;
    static_assert(DIGITS % 4 == 0, "a warp takes four digits at a time");
    static_assert(FIRST + DIGITS <= EXACT_WIDE_DIGITS, "too wide");
    using accumulator_cells<CELLS>::lower;
    using accumulator_cells<CELLS>::upper;

    /* Adds x 2^(bit - 2148). x is below 2^50 in magnitude, so that 2^21 bounds what is added to an
       upper half. */
    __device__ __forceinline__ void add_integer(int bit, int64_t x)
    {
        const int cell = bit / CELL_BITS - FIRST * CELLS_PER_DIGIT;

        add_to_cell<CELLS_PER_DIGIT>(lower + cell, upper + cell,
                                     (int64_t)((uint64_t)x << bit % CELL_BITS));
    }

    /* Adds the squares of m 2^e, which is an element, m below 2^53. */
    __device__ __forceinline__ void add_square(uint64_t m, int exponent)
    {
        const int bit = 2 * exponent - EXACT_WIDE_LSB_EXPONENT;
        const uint64_t low = m * m, high = __umul64hi(m, m);
        const uint64_t part = ((uint64_t)1 << 36) - 1;
        const uint64_t middle = low >> 36 | high << 28;

        add_integer(bit, (int64_t)(low & part));
        if ((middle | high >> 8) == 0) /* always so with 18 bits */
            return;
        add_integer(bit + 36, (int64_t)(middle & part));
        add_integer(bit + 72, (int64_t)(high >> 8));
    }

    /* Adds all cells to the digits of an exact_wide in global memory. All threads of the block
       together, after a barrier. */
    __device__ void add_to(int64_t *digits) const
    {
        typedef unsigned long long digit;
        const int bit = threadIdx.x % CELLS_PER_DIGIT * CELL_BITS;

        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            const uint64_t low = lower[i];
            const int64_t high = upper[i];

            if (__ballot_sync(ALL_LANES, low != 0 || high != 0) == 0)
                continue;
            long long first = (long long)(low << bit & 0xffffffffu);
            long long second =
                (long long)((low << bit >> 32) + ((uint64_t)high << bit & 0xffffffffu));
            long long third = (long long)((uint64_t)high << bit) >> 32;
            digit *to = (digit *)digits + FIRST + i / CELLS_PER_DIGIT;

            for (int distance = CELLS_PER_DIGIT / 2; distance > 0; distance /= 2) {
                first += __shfl_down_sync(ALL_LANES, first, distance);
                second += __shfl_down_sync(ALL_LANES, second, distance);
                third += __shfl_down_sync(ALL_LANES, third, distance);
            }
            if (bit == 0)
                add_digits(to, first, second, third);
        }
    }
};

#endif
