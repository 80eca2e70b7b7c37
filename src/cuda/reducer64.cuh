/*
 * The reducers of binary64 elements.
 *
 * The first kernel extracts three parts of each element, at fixed bits below a bound that follows
 * the data, and adds each to an accumulator of its own (pre-rounding: J. Demmel, H. D. Nguyen,
 * "Parallel reproducible summation", 2015). The parts reach 69 bits of exponents down from the
 * largest element. A group that reaches further goes to the superaccumulator, and its warp leaves
 * the rest of its tiles to a second kernel, which has bins for all exponents. Those take so much
 * shared memory that only one block fits a multiprocessor, too few for the first kernel. On GPUs
 * that have less shared memory, all such groups go to the superaccumulator.
 */
#ifndef GPUREDUCE_CUDA_REDUCER64_CUH
#define GPUREDUCE_CUDA_REDUCER64_CUH

#include "cuda/bins.cuh"
#include "cuda/superaccumulator.cuh"
#include "cuda/thread_state.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

/*
 * All but the sum, of groups of so many loads.
 */
template <bool SWAP, int LOADS = tuning<f64>::UNROLL, bool HAS_MISSING = false>
struct values64 : thread_state<int64_t>, missing_state<HAS_MISSING> {
    typedef int64_t order;
    static const int UNROLL = LOADS;
    static const int GROUP = UNROLL * LOAD_BYTES / 8;
    static const int TILE = THREADS * GROUP;

    struct group {
        double elements[GROUP];
    };

    /* Loads a group as it lies in memory. */
    template <bool ONE_ROW = false>
    __device__ __forceinline__ static void load_raw(struct group *g, const struct cuda_rows &rows,
                                                    unsigned tile)
    {
        load_units<double2, 8, UNROLL, THREADS, ONE_ROW>(rows, tile, [g](int j, double2 v) {
            g->elements[2 * j] = v.x;
            g->elements[2 * j + 1] = v.y;
        });
    }

    /* Puts what was loaded into the machine's byte order. */
    __device__ __forceinline__ static void settle(struct group *g)
    {
        if (SWAP)
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                g->elements[i] =
                    __hiloint2double(__byte_perm(__double2loint(g->elements[i]), 0, 0x0123),
                                     __byte_perm(__double2hiint(g->elements[i]), 0, 0x0123));
    }

    __device__ __forceinline__ static void load(struct group *g, const struct cuda_rows &rows,
                                                unsigned tile)
    {
        load_raw(g, rows, tile);
        settle(g);
    }

    __device__ __forceinline__ static uint64_t place(unsigned tile, int i)
    {
        return (uint64_t)tile * TILE + (i / 2 * THREADS + threadIdx.x) * 2 + i % 2;
    }

    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            uint64_t at = place(tile, i);

            g->elements[i] = at < count ? ((const double *)data)[at] : __longlong_as_double(-1);
        }
        settle(g);
    }

    /* How many elements of the thread's group are in the chunk. */
    __device__ __forceinline__ int valid_of(unsigned tile) const
    {
        return this->template valid_elements<THREADS * 2, 2, GROUP>(place(tile, 0));
    }

    /* Finds the missing elements of a group, and counts them. Zeros take their places. */
    __device__ __forceinline__ uint32_t take_missing(struct group *g, unsigned tile)
    {
        const uint32_t gone = this->template find_missing<uint32_t, uint64_t, GROUP>(
            [&](int i) { return exact_bits(g->elements[i]); });

        if (HAS_MISSING) {
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                g->elements[i] = gone >> i & 1 ? 0 : g->elements[i];
            this->count_missing((unsigned)__popc(gone & ((1u << valid_of(tile)) - 1)));
        }
        return gone;
    }

    /* Counts the NaNs and infinities of a group, makes them zeros, and finds the extremes of what
       is no NaN. Zeros that have taken the place of missing elements do not count. */
    __device__ void take_specials(struct group *g, unsigned tile, uint32_t gone, order *low,
                                  order *high)
    {
        const int valid = valid_of(tile);
        int first_nan = GROUP;

        *low = *high = limits<order>::ORDER_MAX;
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            const double x = g->elements[i];
            const order o = order_of(x);
            const bool nan = x != x, infinite = fabs(x) == __hiloint2double(0x7ff00000, 0);

            if (HAS_MISSING && (gone >> i & 1)) {
                /* it is no extreme, and a zero */
            } else if (!nan) {
                *low = min(*low, o);
                *high = min(*high, ~o);
            } else if (i < valid) {
                this->counts.nan++;
                first_nan = min(first_nan, i);
            }
            this->counts.positive_infinity += infinite && x > 0;
            this->counts.negative_infinity += infinite && x < 0;
            if (nan || infinite)
                g->elements[i] = 0;
        }
        if (first_nan < GROUP)
            this->counts.take_nan(place(tile, first_nan));
    }

    /* The magnitude's upper half, in which infinities and NaNs are at least 0x7ff00000. */
    __device__ static __forceinline__ int magnitude(double x)
    {
        return __double2hiint(x) & 0x7fffffff;
    }

    /* The largest magnitude's upper half. */
    __device__ static __forceinline__ int largest_magnitude(const struct group *g)
    {
        int largest = magnitude(g->elements[0]);

#pragma unroll
        for (int i = 1; i < GROUP; i++)
            largest = max(largest, magnitude(g->elements[i]));
        return largest;
    }

    /* The upper half of the order. */
    __device__ static __forceinline__ int upper_order(double x)
    {
        const int high = __double2hiint(x);

        return high ^ (int)((unsigned)(high >> 31) >> 1);
    }

    /* Takes the extremes of a group of numbers of which some may be missing. */
    __device__ __forceinline__ void renew_extremes(const struct group *g, unsigned tile,
                                                   uint32_t gone)
    {
        order low = limits<order>::ORDER_MAX, high = low;

#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            const order o = order_of(g->elements[i]);

            low = gone >> i & 1 ? low : min(low, o);
            high = gone >> i & 1 ? high : min(high, ~o);
        }
        this->take_extremes(low, high, tile);
    }

    /* As take_values, if elements may be missing. The upper halves of the orders tell mostly that
       there is no new extreme; a missing element has one that is above the least. If the least
       order's lower half is 0, none with the same upper half is below it. */
    __device__ __forceinline__ int take_present(struct group *g, unsigned tile)
    {
        const uint32_t gone = take_missing(g, tile);
        const int between = this->has_extremes() ? (int)(this->least.order >> 32) + 1 : 0;
        int lowest = INT32_MAX, highest = INT32_MIN;

#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            const int upper = gone >> i & 1 ? between : upper_order(g->elements[i]);

            lowest = min(lowest, upper);
            highest = max(highest, upper);
        }
        /* A missing element's upper half at most makes it larger. */
        const int largest = max(highest, ~lowest);

        if (largest >= 0x7ff00000) {
            order low, high;

            take_specials(g, tile, gone, &low, &high);
            this->take_extremes(low, high, tile);
            return largest_magnitude(g) >> 20;
        }
        if (lowest <= (int)((this->least.order - 1) >> 32) ||
            highest >= (int)(~this->greatest.order >> 32))
            renew_extremes(g, tile, gone);
        return largest >> 20;
    }

    /* Takes all of a group but its sum; returns the largest biased exponent of what is finite, or
       one that is larger. */
    __device__ __forceinline__ int take_values(struct group *g, unsigned tile)
    {
        if (HAS_MISSING)
            return take_present(g, tile);

        double low = g->elements[0], high = low;
        int largest = magnitude(low);
        order first, last;

#pragma unroll
        for (int i = 1; i < GROUP; i++) {
            low = fmin(low, g->elements[i]);
            high = fmax(high, g->elements[i]);
            largest = max(largest, magnitude(g->elements[i]));
        }
        first = order_of(low);
        last = ~order_of(high);
        if (largest >= 0x7ff00000) {
            take_specials(g, tile, 0, &first, &last);
            largest = largest_magnitude(g);
        }
        this->take_extremes(first, last, tile);
        return largest >> 20;
    }

    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll
        for (int i = 0; i < GROUP; i++)
            if (order_of(g->elements[i]) == wanted)
                first = min(first, (unsigned)place(0, i));
        return first;
    }
};

/*
 * The sum by extraction: the first kernel.
 */
template <bool SWAP, bool SUM, bool HAS_MISSING>
struct reducer<f64, SWAP, SUM, HAS_MISSING> : values64<SWAP, tuning<f64>::UNROLL, HAS_MISSING> {
    typedef values64<SWAP, tuning<f64>::UNROLL, HAS_MISSING> values;
    typedef typename values::group group;
    static const int GROUP = values::GROUP;
    static const int LEVELS = 3;
    typedef superaccumulator<1, 2046> sum_accumulator;

    struct memory {
        sum_accumulator accumulator;
    };

    /* Elements are below 2^(bound - 1022). The accumulator of level k begins at the extraction
       constant, 1.5 times a power of two, and stays in the constant's binade for 2^11 additions of
       parts of 40 bits. The rest of an element is at most half of the constant's last place, 41
       bits further down. The levels end where the exponents do: at the last place of the
       subnormals. */
    static const int BOUND_MAX = 2032;
    static const int MARGIN = 4;
    static const int GROUPS_MAX = (1 << 11) / GROUP;

    sum_accumulator *accumulator;
    bool defers;             /* there is a second kernel for what does not fit */
    int bound;               /* biased exponent that bounds the elements */
    int groups_left;         /* groups that may still be added to the levels */
    int tiles_to_accumulate; /* tiles that go to the superaccumulator without another try */
    double level[LEVELS];

    __device__ static __forceinline__ double extraction_constant(int bound, int k)
    {
        const int exponent = bound + 13 - 41 * k;

        return __hiloint2double((exponent > 1 ? exponent : 1) << 20 | 0x80000, 0);
    }

    __device__ void set_bound(int biased_exponent)
    {
        bound = biased_exponent;
        groups_left = GROUPS_MAX;
        for (int k = 0; k < LEVELS; k++)
            level[k] = extraction_constant(bound, k);
    }

    __device__ void accumulate_levels()
    {
        for (int k = 0; k < LEVELS; k++)
            accumulator->add(level[k] - extraction_constant(bound, k));
    }

    __device__ void begin(memory *shared, size_t elements, bool may_defer)
    {
        values::begin(elements);
        accumulator = &shared->accumulator;
        defers = may_defer;
        tiles_to_accumulate = 0;
        set_bound(0);
    }

    __device__ __forceinline__ bool leaves() const
    {
        return SUM && defers && __any_sync(ALL_LANES, tiles_to_accumulate > 0);
    }

    /* Adds a group, if the three levels take all of it. */
    __device__ __forceinline__ bool add_group(const group *g)
    {
        double upper = level[0], middle = level[1], down = level[2], up = down;

#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            double x = g->elements[i], sum;

            sum = upper + x;
            x -= sum - upper;
            upper = sum;
            sum = middle + x;
            x -= sum - middle;
            middle = sum;
            down = __dadd_rd(down, x);
            up = __dadd_ru(up, x);
        }
        if (down != up)
            return false;
        level[0] = upper;
        level[1] = middle;
        level[2] = down;
        groups_left--;
        return true;
    }

    __device__ void accumulate_group(const group *g)
    {
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            accumulator->add(g->elements[i]);
    }

    /* `exponent` is the largest of the group. */
    __device__ __forceinline__ void take_sum(const group *g, int exponent)
    {
        if (SLOW_BINARY64) {
            accumulate_group(g);
            return;
        }
        if (tiles_to_accumulate > 0) {
            tiles_to_accumulate--;
            accumulate_group(g);
            return;
        }
        if (exponent > bound || groups_left == 0) {
            accumulate_levels();
            set_bound(min(max(bound, exponent + MARGIN), BOUND_MAX));
        }
        if (exponent <= bound && add_group(g))
            return;
        accumulate_group(g);
        if (exponent + 4 * MARGIN < bound) { /* the data have become smaller */
            accumulate_levels();
            set_bound(exponent + MARGIN);
        } else {
            tiles_to_accumulate = TILES_ACCUMULATED;
        }
    }

    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        const int exponent = values::take_values(g, tile);

        if (SUM)
            take_sum(g, exponent);
    }

    /* Hands what the threads hold to the superaccumulator. If the threads of a warp have one bound,
       their sums are added up first, as integers: 52 bits each, in units of the constant's last
       place. */
    __device__ void finish(const memory *)
    {
        if (!__all_sync(ALL_LANES, bound == __shfl_sync(ALL_LANES, bound, 0))) {
            accumulate_levels();
            return;
        }
        for (int k = 0; k < LEVELS; k++) {
            const int exponent = __double2hiint(extraction_constant(bound, k)) >> 20;
            /* The bits of numbers of one binade count units. */
            const long long total = sum_of_warp(
                (long long)(exact_bits(level[k]) - exact_bits(extraction_constant(bound, k))));

            if (threadIdx.x % 32 == 0 && total != 0)
                accumulator->add_integer(sum_accumulator::cell_of(exponent - 1075), total);
        }
    }
};

/*
 * The sum in exponent bins: the second kernel.
 */
template <bool SWAP> struct reducer<f64_left, SWAP, true> : values64<SWAP> {
    typedef values64<SWAP> values;
    typedef typename values::group group;
    /* The bin of the greatest numbers reaches 16 exponents beyond them. */
    typedef superaccumulator<1, 2078> sum_accumulator;

    struct memory {
        sum_accumulator accumulator;
        exponent_bins_f64::memory bins;
    };

    sum_accumulator *accumulator;
    exponent_bins_f64 bins;

    __device__ void begin(memory *shared, size_t elements)
    {
        values::begin(elements);
        accumulator = &shared->accumulator;
        bins.begin(shared->bins);
    }

    /* A group that holds NaNs or infinities. */
    __device__ __forceinline__ void take_special(group g, unsigned tile)
    {
        typename values::order low, high;

        this->take_specials(&g, tile, 0, &low, &high);
        this->take_extremes(low, high, tile);
#pragma unroll 1
        for (int i = 0; i < values::GROUP; i += 2)
            bins.take(g.elements[i], g.elements[i + 1]);
    }

    __device__ __forceinline__ void take_raw(group g, unsigned tile)
    {
        this->settle(&g);
        take(g, tile);
    }

    /* The group stays in the registers that it was loaded into: to move or change it, the compiler
       would wait for the load too early. The upper halves of the orders nearly always tell that
       there is no new extreme. */
    __device__ __forceinline__ void take(const group &g, unsigned tile)
    {
        int lowest = INT32_MAX, highest = INT32_MIN;

        bins.reserve(values::GROUP, accumulator);
#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            lowest = min(lowest, this->upper_order(g.elements[i]));
            highest = max(highest, this->upper_order(g.elements[i]));
        }
        if (highest >= 0x7ff00000 || ~lowest >= 0x7ff00000) {
            take_special(g, tile);
            return;
        }
        if (lowest <= (int)(this->least.order >> 32) ||
            highest >= (int)(~this->greatest.order >> 32)) {
            typename values::order low = INT64_MAX, high = low;

#pragma unroll
            for (int i = 0; i < values::GROUP; i++) {
                low = min(low, order_of(g.elements[i]));
                high = min(high, ~order_of(g.elements[i]));
            }
            this->take_extremes(low, high, tile);
        }
#pragma unroll
        for (int i = 0; i < values::GROUP; i += 2)
            bins.take(g.elements[i], g.elements[i + 1]);
    }

    __device__ void finish(const memory *shared)
    {
        bins.finish(shared->bins, accumulator);
    }
};

#endif
