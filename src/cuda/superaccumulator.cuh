/*
 * The superaccumulator of a block, in shared memory, and the expansion of a thread. doc/numerics.md
 * has the argument that neither loses a bit.
 */
#ifndef GPUREDUCE_CUDA_SUPERACCUMULATOR_CUH
#define GPUREDUCE_CUDA_SUPERACCUMULATOR_CUH

#include "core/exact.h"
#include "cuda/tuning.h"
#include "cuda/warp.cuh"

/* Adds an integer below 2^58 in magnitude to a cell, whose halves these are. The thread that finds
   that the upper half had reached 2^29 moves it to the cell 32 exponents further on, which is so
   many cells from here. Until that is done, the half may grow by 2^21 for each thread of the block,
   or by what a few threads add at the end: it stays below 2^31. */
template <int CELLS_ON>
__device__ static __forceinline__ void add_to_cell(unsigned *lower, int *upper, int64_t x)
{
    const unsigned low = (unsigned)x;
    const unsigned before = atomicAdd(lower, low);
    const int high = (int)(x >> 32) + (before + low < low);
    const int upper_before = atomicAdd(upper, high);

    if (abs(upper_before) >= 1 << 29) {
        const int taken = atomicExch(upper, 0);
        const unsigned there = atomicAdd(lower + CELLS_ON, (unsigned)taken);

        atomicAdd(upper + CELLS_ON, (taken >> 31) + (there + taken < (unsigned)taken));
    }
}

/* Cells in two halves. */
template <int CELLS> struct accumulator_cells {
    unsigned lower[CELLS];
    int upper[CELLS];

    /* All threads of the block together. */
    __device__ void clear()
    {
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            lower[i] = 0;
            upper[i] = 0;
        }
    }
};

/* Adds to three digits in global memory what is not zero. */
__device__ static __forceinline__ void add_digits(unsigned long long *to, long long first,
                                                  long long second, long long third)
{
    typedef unsigned long long digit;

    if (first != 0)
        atomicAdd(to, (digit)first);
    if (second != 0)
        atomicAdd(to + 1, (digit)second);
    if (third != 0)
        atomicAdd(to + 2, (digit)third);
}

/*
 * An integer for each biased exponent e from FIRST to LAST, to which mantissas are added: cell
 * e - FIRST counts in units of 2^(e - 1075), the weight of the last bit of a binary64 of that
 * exponent. This is the "large superaccumulator" of R. M. Neal, "Fast exact summation using small
 * and large superaccumulators" (2015), with cells in two halves, because GPUs add to 32-bit words
 * natively. The lower half wraps around; the thread whose addition wraps it carries into the upper
 * half, which is signed. All threads of a block add at once, by atomics.
 */
template <int FIRST, int LAST>
struct superaccumulator : accumulator_cells<(LAST - FIRST + 32) / 32 * 32 + 32> {
    /* One more group of 32 cells for what overflows from the last. */
    static const int CELLS = (LAST - FIRST + 32) / 32 * 32 + 32;
    using accumulator_cells<CELLS>::lower;
    using accumulator_cells<CELLS>::upper;
    /* Cell 0 begins at bit FIRST - 1 of the fixed-point number (exact.h), and so does a digit. */
    static_assert((FIRST - 1) % EXACT_DIGIT_BITS == 0, "cell 0 does not begin a digit");
    static_assert(CELLS + FIRST - 1 <= (EXACT_DIGITS - 2) * EXACT_DIGIT_BITS, "too wide");

    /* Adds an integer below 2^58 in magnitude to a cell. */
    __device__ void add_integer(int cell, int64_t x)
    {
        add_to_cell<32>(lower + cell, upper + cell, x);
    }

    /* The cell that counts in units of 2^exponent. */
    __device__ static __forceinline__ int cell_of(int exponent)
    {
        return exponent + 1075 - FIRST;
    }

    /* Adds a finite x, zero or of an exponent from FIRST to LAST. */
    __device__ void add(double x)
    {
        const int high = __double2hiint(x);
        const int exponent = high >> 20 & 0x7ff;
        const int64_t fraction = (int64_t)(exact_bits(x) & 0xfffffffffffffu);
        const int64_t mantissa = fraction | (int64_t)(exponent != 0) << 52;

        if (mantissa != 0)
            add_integer(exponent - (exponent != 0) + 1 - FIRST, high < 0 ? -mantissa : mantissa);
    }

    /* Adds all cells to the digits of an exact sum in global memory. All threads of the block
       together, after a barrier. */
    __device__ void add_to(int64_t *digits) const
    {
        typedef unsigned long long digit;
        const int bit = threadIdx.x % 32;

        for (int group = threadIdx.x / 32; group < CELLS / 32; group += WARPS) {
            const uint64_t low = lower[group * 32 + bit];
            const int64_t high = upper[group * 32 + bit];

            unsigned used = __ballot_sync(ALL_LANES, low != 0 || high != 0);

            if (used == 0)
                continue;
            long long first = (long long)(low << bit & 0xffffffffu);
            long long second = (long long)((low << bit >> 32) + (high << bit & 0xffffffffu));
            long long third = high << bit >> 32;
            digit *to = (digit *)digits + (FIRST - 1) / EXACT_DIGIT_BITS + group;

            if (__popc(used) <= 4) { /* always so with ordinary data */
                long long all[3] = {0, 0, 0};

                for (; used != 0; used &= used - 1) {
                    const int lane = __ffs((int)used) - 1;

                    all[0] += __shfl_sync(ALL_LANES, first, lane);
                    all[1] += __shfl_sync(ALL_LANES, second, lane);
                    all[2] += __shfl_sync(ALL_LANES, third, lane);
                }
                first = all[0];
                second = all[1];
                third = all[2];
            } else {
                for (int distance = 16; distance > 0; distance /= 2) {
                    first += __shfl_down_sync(ALL_LANES, first, distance);
                    second += __shfl_down_sync(ALL_LANES, second, distance);
                    third += __shfl_down_sync(ALL_LANES, third, distance);
                }
            }
            if (bit == 0)
                add_digits(to, first, second, third);
        }
    }
};

/*
 * An expansion: two numbers whose sum, upper + lower, is exactly what was added, but for what the
 * functions return.
 */
struct expansion {
    double upper, lower;
};

/* Adds x to `lower`; returns what that could not take. */
__device__ static __forceinline__ double add_lower(struct expansion *e, double x)
{
    double rest;

    e->lower = exact_two_sum(e->lower, x, &rest);
    return rest;
}

/* Adds x; returns what neither number could take. */
__device__ static __forceinline__ double add(struct expansion *e, double x)
{
    double rest;

    e->upper = exact_two_sum(e->upper, x, &rest);
    return rest == 0 ? 0 : add_lower(e, rest);
}

__device__ static __forceinline__ double power_of_two(int exponent)
{
    return exact_from_bits((uint64_t)(1023 + exponent) << 52);
}

#endif
