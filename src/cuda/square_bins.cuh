/*
 * Exponent bins of squares: as bins.cuh, for squares of binary32 values.
 *
 * Bin i takes elements of biased exponents from 16 i to 16 i + 15: their squares are multiples of
 * 2^(32 i - 300) below 2^(32 i - 222). A bin is two accumulators beside constants. The upper one
 * takes a square as it is rounded to a multiple of its last place, 2^(32 i - 261), and the lower
 * one, of last place 2^(32 i - 301), takes the rest. 2^12 squares come to at most 2^51 last places
 * of either.
 */
#ifndef GPUREDUCE_CUDA_SQUARE_BINS_CUH
#define GPUREDUCE_CUDA_SQUARE_BINS_CUH

#include "cuda/bins.cuh"
#include "cuda/moments_state.cuh"

struct alignas(16) square_bin {
    double upper, lower;
};

struct square_bins : exponent_bins_by_warp<square_bins, square_bin, 16> {
    static const int BINS = 16;
    static_assert(ADDITIONS_MAX == 1 << 12, "sums leave their binades");

    __device__ static __forceinline__ int upper_place(int bin)
    {
        return 32 * bin - 261;
    }
    __device__ static __forceinline__ int lower_place(int bin)
    {
        return 32 * bin - 301;
    }
    __device__ static __forceinline__ square_bin empty_bin(int bin)
    {
        return square_bin{power_at(upper_place(bin) + 52 + 1023),
                          extraction_at(lower_place(bin) + 52 + 1023)};
    }

    __device__ void clear()
    {
#pragma unroll 1
        for (int i = 0; i < BINS; i++)
            first[i * THREADS] = empty_bin(i);
        taken = 0;
    }

    /* Hands the warp's bins to the superaccumulator. All its threads together. */
    template <typename Squares> __device__ void empty(Squares *squares)
    {
#pragma unroll 1
        for (int i = 0; i < BINS; i++) {
            const square_bin bin = first[i * THREADS], begin = empty_bin(i);

            warp_total(places_added(bin.upper, begin.upper))
                .add_to_squares(squares, upper_place(i));
            warp_total(places_added(bin.lower, begin.lower))
                .add_to_squares(squares, lower_place(i));
        }
    }

    /* Which bin takes x, and the two parts of its square there. */
    __device__ __forceinline__ square_bin *extract(float x, square_bin *parts) const
    {
        const unsigned i = (__float_as_uint(x) & 0x7fffffffu) >> (23 + 4);
        const double y = (double)x, square = __dmul_rn(y, y);
        const double constant = extraction_at(upper_place((int)i) + 52 + 1023);

        parts->upper = square + constant - constant;
        parts->lower = square - parts->upper;
        return first + i * THREADS;
    }

    /* Two values at a time: the first is not waited for until the second is under way. */
    __device__ __forceinline__ void take(float x, float y)
    {
        square_bin x_parts, y_parts;
        square_bin *const bin_x = extract(x, &x_parts), *const bin_y = extract(y, &y_parts);
        square_bin sum_x = *bin_x, sum_y = *bin_y;

        sum_x.upper += x_parts.upper;
        sum_x.lower += x_parts.lower;
        sum_y.upper = (bin_x == bin_y ? sum_x.upper : sum_y.upper) + y_parts.upper;
        sum_y.lower = (bin_x == bin_y ? sum_x.lower : sum_y.lower) + y_parts.lower;
        *bin_x = sum_x;
        *bin_y = sum_y;
    }
};

#endif
