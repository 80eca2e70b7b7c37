/*
 * The reducer of elements of up to 32 bits, f32, f16 and bf16: what one thread does with its
 * groups.
 *
 * The elements of a group are added up in binary64, once rounding down and once rounding up. The
 * two totals are the same just when no addition was rounded. The total goes to the thread's
 * expansion. If a group of the warp does not add up like that, the warp's elements go to exponent
 * bins; it tries groups again some tiles later.
 */
#ifndef GPUREDUCE_CUDA_REDUCER32_CUH
#define GPUREDUCE_CUDA_REDUCER32_CUH

#include "cuda/bins.cuh"
#include "cuda/superaccumulator.cuh"
#include "cuda/thread_state.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

template <typename Type, bool SWAP, bool SUM, bool HAS_MISSING = false>
struct reducer : thread_state<int32_t>, missing_state<HAS_MISSING> {
    typedef int32_t order;
    static const int UNROLL = tuning<Type>::UNROLL, BLOCK = tuning<Type>::BLOCK;
    static const int GROUP_WORDS = UNROLL * LOAD_BYTES / 4;
    static_assert(Type::PER_WORD <= 2,
                  "load_part, take_specials and take know no smaller elements");
    static const int GROUP = GROUP_WORDS * Type::PER_WORD;
    static const int PER_LOAD = LOAD_BYTES / 4 * Type::PER_WORD;
    static const int TILE = BLOCK * GROUP;
    /* Sums are multiples of 2^-149, of biased exponent 874, and below 2^158; what bins add reaches
       32 bits further. */
    typedef superaccumulator<865, 1200> sum_accumulator;

    struct memory {
        sum_accumulator accumulator;
        typename Type::bins::memory bins;
    };

    struct group {
        uint32_t words[GROUP_WORDS];
    };

    sum_accumulator *accumulator;
    typename Type::bins bins;
    int tiles_to_bin; /* tiles that go to the bins without a try to add groups up */
    struct expansion sum;

    __device__ void begin(memory *shared, size_t elements, bool)
    {
        thread_state::begin(elements);
        accumulator = &shared->accumulator;
        bins.begin(shared->bins);
        tiles_to_bin = 0;
        sum.upper = sum.lower = 0;
    }

    __device__ __forceinline__ static void load(struct group *g, const struct cuda_rows &rows,
                                                unsigned tile)
    {
        load_words<4 / Type::PER_WORD, UNROLL, BLOCK>(g->words, rows, tile);
        if (SWAP)
#pragma unroll
            for (int i = 0; i < GROUP_WORDS; i++)
                g->words[i] = Type::swap(g->words[i]);
    }

    /* The place of an element of the thread's group in the chunk. */
    __device__ __forceinline__ static uint64_t place(unsigned tile, int word, int half)
    {
        return (uint64_t)tile * TILE + (word / 4 * BLOCK + threadIdx.x) * PER_LOAD +
               word % 4 * Type::PER_WORD + half;
    }

    /* How many elements of the thread's group are in the chunk. */
    __device__ __forceinline__ int valid_of(unsigned tile) const
    {
        return valid_elements<BLOCK * PER_LOAD, PER_LOAD, GROUP>(place(tile, 0, 0));
    }

    /* Loads what there is of the last tile. NaNs take the place of the rest, and are not counted.
     */
    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            uint64_t at = place(tile, i, 0);
            uint32_t w = ~0u;

            if (Type::PER_WORD == 1) {
                if (at < count)
                    w = ((const uint32_t *)data)[at];
            } else {
                if (at < count)
                    w = 0xffff0000u | ((const uint16_t *)data)[at];
                if (at + 1 < count)
                    w = (w & 0xffff) | (uint32_t)((const uint16_t *)data)[at + 1] << 16;
            }
            g->words[i] = SWAP ? Type::swap(w) : w;
        }
    }

    /* Counts the NaNs and infinities of a group, makes them zeros, and finds the extremes of what
       is no NaN. Zeros that have taken the place of missing elements (missing.cuh) do not count. */
    __device__ void take_specials(struct group *g, unsigned tile, uint32_t gone, order *low,
                                  order *high)
    {
        const int valid = valid_of(tile);
        int first_nan = GROUP;

        *low = *high = limits<order>::ORDER_MAX;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                const int n = i * Type::PER_WORD + half;
                const float x = Type::element(g->words[i], half);
                const order o = order_of(x);
                const bool nan = x != x, infinite = fabsf(x) == __int_as_float(0x7f800000);

                if (HAS_MISSING && is_missing<Type>(gone, i, half)) {
                    /* it is no extreme, and a zero */
                } else if (!nan) {
                    *low = min(*low, o);
                    *high = min(*high, ~o);
                } else if (n < valid) {
                    counts.nan++;
                    first_nan = min(first_nan, n);
                }
                counts.positive_infinity += infinite && x > 0;
                counts.negative_infinity += infinite && x < 0;
                if (nan || infinite)
                    g->words[i] &= Type::PER_WORD == 1 ? 0 : half ? 0x0000ffffu : 0xffff0000u;
            }
        if (first_nan < GROUP)
            counts.take_nan(place(tile, first_nan / Type::PER_WORD, first_nan % Type::PER_WORD));
    }

    __device__ __forceinline__ void bin_group(const struct group *g)
    {
        bins.reserve(GROUP, accumulator);
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                bins.take(Type::element(g->words[i], half));
    }

    __device__ __forceinline__ void add_exactly(double x)
    {
        const double rest = add(&sum, x);

        if (rest != 0)
            accumulator->add(rest);
    }

    /* Adds up a group, if that is exact. The warp decides together. */
    __device__ __forceinline__ bool add_group(const struct group *g)
    {
        double down = 0, up = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                const double x = (double)Type::element(g->words[i], half);

                down = __dadd_rd(down, x);
                if (!Type::ALWAYS_FITS)
                    up = __dadd_ru(up, x);
            }
        if (!Type::ALWAYS_FITS && __any_sync(ALL_LANES, down != up))
            return false;
        if (down != 0)
            add_exactly(down);
        return true;
    }

    /* Adds a group in binary32, for GPUs with slow binary64: three parts of each element are
       extracted, and each is added up beside its constant, as reducer64.cuh does. A constant is 1.5
       times a power of two; the sum of a group stays within 2^22 units of its last place. */
    __device__ __forceinline__ bool add_extracted(const struct group *g)
    {
        const int group_log2 = GROUP <= 16 ? 4 : GROUP <= 32 ? 5 : GROUP <= 64 ? 6 : 7;
        float largest = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                largest = fmaxf(largest, fabsf(Type::element(g->words[i], half)));

        const int exponent = max((__float_as_int(largest) >> 23), 1) + 2 + group_log2;
        const int step = 23 - group_log2;
        const float upper_constant = __int_as_float(exponent << 23 | 0x400000);
        const float middle_constant = __int_as_float(max(exponent - step, 1) << 23 | 0x400000);
        const float lower_constant = __int_as_float(max(exponent - 2 * step, 1) << 23 | 0x400000);
        float upper = upper_constant, middle = middle_constant, down = lower_constant, up = down;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                float x = Type::element(g->words[i], half), sum;

                sum = upper + x;
                x -= sum - upper;
                upper = sum;
                sum = middle + x;
                x -= sum - middle;
                middle = sum;
                down = __fadd_rd(down, x);
                up = __fadd_ru(up, x);
            }
        if (__any_sync(ALL_LANES, exponent > 254 || down != up))
            return false;
        /* Two parts together are 46 bits. */
        add_exactly((double)(upper - upper_constant) + (double)(middle - middle_constant));
        if (down != lower_constant)
            add_exactly((double)(down - lower_constant));
        return true;
    }

    __device__ __forceinline__ void take(struct group *g, unsigned tile)
    {
        typename Type::pair low = Type::view(g->words[0]), high = low;
        order first, last;
        float lowest, highest;
        uint32_t gone = 0;

        if (HAS_MISSING) {
            struct present_extremes<Type, false> extremes;

            gone = take_words(this, g->words, valid_of(tile), &extremes);
            low = extremes.low;
            high = extremes.high;
        } else {
#pragma unroll
            for (int i = 1; i < GROUP_WORDS; i++) {
                low = Type::least(low, Type::view(g->words[i]));
                high = Type::greatest(high, Type::view(g->words[i]));
            }
        }
        {
            const uint32_t l = *(const uint32_t *)&low, h = *(const uint32_t *)&high;

            lowest = Type::element(l, 0);
            highest = Type::element(h, 0);
            if (Type::PER_WORD == 2) {
                lowest = f32::least(lowest, Type::element(l, 1));
                highest = f32::greatest(highest, Type::element(h, 1));
            }
        }
        first = order_of(lowest);
        last = ~order_of(highest);
        if (!(lowest > __int_as_float(0xff800000) && highest < __int_as_float(0x7f800000)))
            take_specials(g, tile, gone, &first, &last);
        else if (HAS_MISSING && lowest > highest)
            first = last = limits<order>::ORDER_MAX; /* all elements are missing */
        take_extremes(first, last, tile);
        if (SUM) {
            if (tiles_to_bin > 0) {
                tiles_to_bin--;
                bin_group(g);
            } else if (!(SLOW_BINARY64 ? add_extracted(g) : add_group(g))) {
                tiles_to_bin = TILES_BINNED;
                bin_group(g);
            }
        }
    }

    /* Extracts the part of x that lies in the 47 bits below the greatest x of the warp, adds the
       parts of the warp up, which rounds nothing, and hands the sum to the superaccumulator.
       Returns the rest of x. */
    __device__ __forceinline__ double accumulate_warp(double x)
    {
        const int exponent = -min_of_warp(-(__double2hiint(x) >> 20 & 0x7ff));
        const double constant = __hiloint2double((exponent + 7) << 20 | 0x80000, 0);
        const double part = x + constant - constant;
        const double total = sum_of_warp(part);

        if (threadIdx.x % 32 == 0)
            accumulator->add(total);
        return x - part;
    }

    /* Hands what the threads hold to the superaccumulator. All threads of the block together. */
    __device__ void finish(const memory *shared)
    {
        double rest = add_lower(&sum, accumulate_warp(sum.upper));

        if (rest != 0)
            accumulator->add(rest);
        rest = accumulate_warp(sum.lower);
        if (rest != 0)
            accumulator->add(rest);
        bins.finish(shared->bins, accumulator);
    }

    /* The place in its tile of the first element of the group with this order; ~0 if none has it.
     */
    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                if (order_of(Type::element(g->words[i], half)) == wanted)
                    first = min(first, (unsigned)place(0, i, half));
        return first;
    }
};

#endif
