/*
 * Exponent bins: a thread's sums by exponent, in shared memory, which never round. They take the
 * elements of groups whose exponents lie too far apart to be added up in binary64. doc/numerics.md
 * counts the bits.
 */
#ifndef GPUREDUCE_CUDA_BINS_CUH
#define GPUREDUCE_CUDA_BINS_CUH

#include "cuda/superaccumulator.cuh"
#include "cuda/tuning.h"
#include "cuda/warp.cuh"

/* Bin i of thread t is element i * THREADS + t: the bins i of a warp lie side by side, and no two
   of its threads use the same bank at a time. The threads of a warp use their bins together, so
   they have all taken the same number of elements. */
template <typename Sum, int BINS> struct exponent_bins {
    static const int ADDITIONS_MAX = 1 << (sizeof(Sum) == 16 ? 12 : sizeof(Sum) == 8 ? 13 : 9);
    typedef Sum memory[BINS * THREADS];

    Sum *first; /* the thread's bin 0 */
    int taken;  /* elements since they were zero; -1: not even that */

    __device__ void begin(memory shared)
    {
        first = shared + threadIdx.x;
        taken = -1;
    }

    __device__ void clear()
    {
#pragma unroll
        for (int i = 0; i < BINS; i++)
            first[i * THREADS] = Sum();
        taken = 0;
    }
};

/* Bins that a warp empties by itself, with Bins::empty, where they are full. */
template <typename Bins, typename Sum, int BINS>
struct exponent_bins_by_warp : exponent_bins<Sum, BINS> {
    typedef exponent_bins<Sum, BINS> base;

    /* Makes room for `count` more elements. */
    template <typename Accumulator>
    __device__ __forceinline__ void reserve(int count, Accumulator *accumulator)
    {
        if (this->taken < 0)
            static_cast<Bins *>(this)->clear();
        if (this->taken + count > base::ADDITIONS_MAX) {
            static_cast<Bins *>(this)->empty(accumulator);
            static_cast<Bins *>(this)->clear();
        }
        this->taken += count;
    }

    template <typename Accumulator>
    __device__ void finish(const typename base::memory, Accumulator *accumulator)
    {
        if (this->taken > 0)
            static_cast<Bins *>(this)->empty(accumulator);
    }
};

/* For binary32 values: bin i takes biased exponents from 16 i to 16 i + 15. Those values are
   multiples of 2^(16 i - 150) below 2^(16 i - 111): 39 bits, so that 2^13 of them add up in
   binary64. */
struct exponent_bins_f32 : exponent_bins_by_warp<exponent_bins_f32, double, 16> {
    static const int UNIT_EXPONENT = -150;

    __device__ __forceinline__ void take(float x)
    {
        const unsigned bin = (__float_as_uint(x) & 0x7fffffffu) >> (23 + 4);

        first[bin * THREADS] += (double)x;
    }

    /* Two values at a time: the first is not waited for until the second is under way. */
    __device__ __forceinline__ void take(float x, float y)
    {
        double *const bin_x = first + ((__float_as_uint(x) & 0x7fffffffu) >> (23 + 4)) * THREADS;
        double *const bin_y = first + ((__float_as_uint(y) & 0x7fffffffu) >> (23 + 4)) * THREADS;
        double sum_x = *bin_x, sum_y = *bin_y;

        sum_x += (double)x;
        sum_y = (bin_x == bin_y ? sum_x : sum_y) + (double)y;
        *bin_x = sum_x;
        *bin_y = sum_y;
    }

    template <typename Accumulator> __device__ __forceinline__ void empty(Accumulator *accumulator)
    {
        for (int i = 0; i < 16; i++)
            accumulator->add(first[i * THREADS]);
    }

    /* Empties the bins of the block, by all its threads. */
    template <typename Accumulator>
    __device__ void finish(const memory shared, Accumulator *accumulator)
    {
        if (!__syncthreads_or(taken >= 0))
            return;
        if (taken < 0)
            clear();
        __syncthreads();
        for (int i = threadIdx.x / 32; i < 16; i += WARPS) {
            /* In units of the bin they are integers below 2^53, and 2^8 of them an int64_t. */
            const double scale = power_of_two(-UNIT_EXPONENT - 16 * i);
            const int cell = Accumulator::cell_of(UNIT_EXPONENT + 16 * i);
            long long total = 0;

            for (int t = threadIdx.x % 32; t < THREADS; t += 32)
                total += __double2ll_rn(shared[i * THREADS + t] * scale);
            total = sum_of_warp(total);
            if (threadIdx.x % 32 == 0 && total != 0) {
                accumulator->add_integer(cell, total & 0xffffffff);
                accumulator->add_integer(cell + 32, total >> 32);
            }
        }
    }
};

/* For bfloat16 values: bin i takes biased exponents from 8 i to 8 i + 7, scaled by 2^-10 so that
   sums stay in range. The scaled values are multiples of 2^(8 i - 144) below 2^(8 i - 129): 15
   bits, so that 2^9 of them add up in binary32. */
struct exponent_bins_bf16 : exponent_bins_by_warp<exponent_bins_bf16, float, 32> {
    static const int UNIT_EXPONENT = -134; /* of the values themselves */
    static const int SCALE_EXPONENT = -10;

    __device__ __forceinline__ void take(float x)
    {
        const unsigned bin = (__float_as_uint(x) & 0x7fffffffu) >> (23 + 3);

        first[bin * THREADS] = __fmaf_rn(x, 0x1p-10f, first[bin * THREADS]);
    }

    /* Adds the warp's bins up, which are integers of 24 bits in their units. Lane i gets the sum of
       bins i, and hands it to the superaccumulator. */
    template <typename Accumulator> __device__ void empty(Accumulator *accumulator)
    {
        const int lane = threadIdx.x % 32;
        int mine = 0;

        /* Unrolled it would take registers from the main loop. */
#pragma unroll 1
        for (int i = 0; i < 32; i++) {
            const double scale = power_of_two(-UNIT_EXPONENT - SCALE_EXPONENT - 8 * i);
            int total = __double2int_rn((double)first[i * THREADS] * scale);

#if __CUDA_ARCH__ >= 800
            total = __reduce_add_sync(ALL_LANES, total);
#else
            for (int distance = 16; distance > 0; distance /= 2)
                total += __shfl_xor_sync(ALL_LANES, total, distance);
#endif
            if (lane == i)
                mine = total;
        }
        if (mine != 0)
            accumulator->add_integer(Accumulator::cell_of(UNIT_EXPONENT + 8 * lane), mine);
    }
};

/*
 * For binary64 values: bin k takes biased exponents from 48 k to 48 k + 47, scaled by
 * 2^(1000 - 48 k), so that all bins look alike: multiples of 2^-75 below 2^25, of 100 bits. The
 * part of a value down to 2^-25 is extracted by adding a constant, 1.5 times the power of two whose
 * last place that is, and so is the rest: the bits of each sum count units. A bin is two integers,
 * of at most 2^50 and 2^49 units a value: 2^12 values add up in 63 bits.
 */
struct alignas(16) parts {
    long long upper, lower;
};

struct exponent_bins_f64 : exponent_bins_by_warp<exponent_bins_f64, parts, 43> {
    static const int EXPONENTS = 48;
    static const int SCALE_EXPONENT = 1000;
    static const int UPPER_EXPONENT = -25; /* of a unit, in bin 0, as scaled */
    static const int LOWER_EXPONENT = -75;
    static const int COLUMNS = 2 * 43;

    /* Which bin takes x, and the two parts of x there. */
    __device__ __forceinline__ parts *extract(double x, parts *x_parts) const
    {
        /* 86 / 2^32 of the upper seven bits, which stand at bit 24, is a third of them. */
        const int k = __umulhi(__double2hiint(x) & 0x7f000000, 86);
        const double scale =
            __hiloint2double(((1023 + SCALE_EXPONENT) << 20) - k * (EXPONENTS << 20), 0);
        const double upper_constant = 0x1.8p27, lower_constant = 0x1.8p-23;
        const double upper = __fma_rn(x, scale, upper_constant);
        const double lower = __fma_rn(x, scale, -(upper - upper_constant)) + lower_constant;

        x_parts->upper = __double_as_longlong(upper) - __double_as_longlong(upper_constant);
        x_parts->lower = __double_as_longlong(lower) - __double_as_longlong(lower_constant);
        return first + k * THREADS;
    }

    /* Two values at a time: the first is not waited for until the second is under way. */
    __device__ __forceinline__ void take(double x, double y)
    {
        parts a, b;
        parts *const bin_a = extract(x, &a), *const bin_b = extract(y, &b);
        parts sum_a = *bin_a, sum_b = *bin_b;

        sum_a.upper += a.upper;
        sum_a.lower += a.lower;
        if (bin_a == bin_b)
            sum_b = sum_a;
        sum_b.upper += b.upper;
        sum_b.lower += b.lower;
        *bin_a = sum_a;
        *bin_b = sum_b;
    }

    /* Hands a warp's bins to the superaccumulator. A column is the upper or the lower integers of
       one bin number. Each lane adds up a column at a time and begins with its own thread's
       integer, so that the lanes do not meet at one bank. */
    template <typename Accumulator> __device__ void empty(Accumulator *accumulator)
    {
        const int lane = threadIdx.x % 32;
        const parts *const of_warp = first - lane;

        __syncwarp();
        for (int column = lane; column < COLUMNS; column += 32) {
            const int k = column / 2;
            const bool is_upper = column % 2 == 0;
            /* Bin 0 has subnormals, whose exponent counts as 1: its lower integers are even. */
            const int odd = !is_upper && k == 0;
            const int cell = Accumulator::cell_of(EXPONENTS * k - SCALE_EXPONENT + odd +
                                                  (is_upper ? UPPER_EXPONENT : LOWER_EXPONENT));
            long long low = 0, high = 0;

#pragma unroll 1
            for (int i = 0; i < 32; i++) {
                const parts *bin = &of_warp[k * THREADS + (lane + i) % 32];
                const long long x = is_upper ? bin->upper : bin->lower >> odd;

                low += x & 0xffffffff;
                high += x >> 32;
            }
            if ((low | high) != 0) {
                accumulator->add_integer(cell, low);
                accumulator->add_integer(cell + 32, high);
            }
        }
        __syncwarp();
    }
};

/* For types whose values always add up. */
struct no_exponent_bins {
    typedef char memory[1];

    __device__ void begin(memory)
    {
    }
    __device__ void take(float)
    {
    }
    template <typename Accumulator> __device__ void reserve(int, Accumulator *)
    {
    }
    template <typename Accumulator> __device__ void finish(const memory, Accumulator *)
    {
    }
};

#endif
