/*
 * The reducer of binary64 elements that also finds what core/spread.h is about.
 *
 * An element below 2^bound is cut at fixed bits into three limbs, so that the products of two limbs
 * of all elements of a group add up beside a constant without rounding: the square is six products,
 * two of which share an accumulator with another. Sums of elements and of magnitudes are sums of
 * limbs. An element that has bits below the third limb is set aside, and so is one beyond the
 * greatest bound: it goes to the block's superaccumulators, and a zero takes its place.
 * doc/numerics.md counts the bits.
 */
#ifndef GPUREDUCE_CUDA_SPREAD_REDUCER64_CUH
#define GPUREDUCE_CUDA_SPREAD_REDUCER64_CUH

#include "engine/cuda/reducer64.cuh"
#include "engine/cuda/spread_state.cuh"

template <typename Type, unsigned FINDS> struct spread_reducer;

template <unsigned FINDS> struct spread_reducer<f64, FINDS> : values64<false> {
    typedef values64<false> values;
    typedef values::group group;
    typedef values::order order;
    typedef superaccumulator<1, 2078> sum_accumulator;
    static const bool ABSOLUTE = (FINDS & PARTIAL_ABSOLUTE) != 0;

    typedef square_accumulator<0, EXACT_WIDE_DIGITS> squares_accumulator;
    typedef spread_memory<sum_accumulator, squares_accumulator> memory;

    /*
     * Limbs. The bound is a biased exponent: elements are below 2^(bound - 1022). The first limb
     * has 23 bits of its own, the second 22 and the third 23, and each of the last two is at most
     * half of the last place before. So, in units of the products' last places, a group of 2^4
     * comes to at most 2^50, 2^49, 1.25 2^50, 2^49 and 2^50.
     */
    static_assert(values::GROUP <= 16, "the accumulators leave their binades");
    static const int LIMBS = 3, PRODUCTS = 5;
    __device__ static __forceinline__ constexpr int limb_place(int bound, int i)
    {
        return bound - 1022 - (i == 0 ? 23 : i == 1 ? 46 : 70);
    }
    /* Of first and first, first and second, second and second with twice first and third, second
       and third, third and third. */
    __device__ static __forceinline__ constexpr int product_place(int bound, int i)
    {
        return limb_place(bound, i / 2) + limb_place(bound, (i + 1) / 2);
    }
    __device__ static __forceinline__ constexpr int field_of(int place)
    {
        return place + 52 + 1023;
    }

    /* How many exponents elements may reach down from the bound: the third limb's last place is
       2^(bound - 1092), and an element's 2^(field - 1075). */
    static const int SPREAD = 17;

    /* Bounds for which the constants are normal numbers, and the squares of what is below. */
    static const int BOUND_MIN = 555, BOUND_MAX = 1530;
    static_assert(2 * (BOUND_MIN - 1022 - 70) >= -1074 && 2 * (BOUND_MAX - 1022 - 23) + 53 <= 1023,
                  "bounds of limbs");

    /* Groups before the totals are emptied: each of at most 2^51 last places. Sums of limbs grow by
       2^28 at most. */
    static const unsigned GROUPS_MAX = 1u << 10;

    memory *shared;
    int bound; /* the same for all threads of the warp */
    unsigned groups;
    double sum[LIMBS], absolute[LIMBS];
    int64_t product_total[PRODUCTS]; /* in last places */
    struct small_counts small;
    int64_t smallest; /* bits of the least magnitude; NO_MAGNITUDE: none */

    __device__ static __forceinline__ double limb_begin(int bound, int i)
    {
        return extraction_at(field_of(limb_place(bound, i)));
    }
    __device__ static __forceinline__ double product_begin(int bound, int i)
    {
        return extraction_at(field_of(product_place(bound, i)));
    }

    __device__ void begin(memory *of_block, size_t elements, bool)
    {
        values::begin(elements);
        shared = of_block;
        small.clear();
        smallest = NO_MAGNITUDE;
        set_bound(BOUND_MIN);
    }

    __device__ static __forceinline__ void arrange(group *g, bool swap)
    {
        if (swap)
            values64<true>::settle((values64<true>::group *)g);
    }

    __device__ __forceinline__ void set_bound(int biased_exponent)
    {
        bound = biased_exponent;
        groups = 0;
        for (int i = 0; i < LIMBS; i++)
            sum[i] = absolute[i] = limb_begin(bound, i);
        for (int i = 0; i < PRODUCTS; i++)
            product_total[i] = 0;
    }

    /* Hands the totals to the superaccumulators. All threads of the warp together. */
    __device__ void flush()
    {
        for (int i = 0; i < LIMBS; i++) {
            const double begin = limb_begin(bound, i);

            warp_total(places_added(sum[i], begin))
                .add_to(&shared->accumulator, limb_place(bound, i));
            if (ABSOLUTE)
                warp_total(places_added(absolute[i], begin))
                    .add_to(&shared->absolute, limb_place(bound, i));
        }
        for (int i = 0; i < PRODUCTS; i++)
            warp_total(product_total[i])
                .add_to_squares(&shared->squares, product_place(bound, i) + i % 2);
    }

    /* Of a group's numbers that are not zero: the greatest is 0 where there is none. */
    struct exponents {
        int least, greatest;
    };

    /* The biased exponent that the upper half of a magnitude has; subnormal numbers have 1. */
    __device__ static __forceinline__ int field(int high)
    {
        return max(high >> 20, 1);
    }

    /* Adds an element by itself. */
    __device__ void add_alone(double x)
    {
        const uint64_t bits = exact_bits(x);
        const int e = (int)(bits >> 52) & 0x7ff;
        const uint64_t m = (bits & 0xfffffffffffffu) | (uint64_t)(e != 0) << 52;

        shared->accumulator.add(x);
        if (ABSOLUTE)
            shared->absolute.add(fabs(x));
        shared->squares.add_square(m, e + (e == 0) - 1075);
    }

    /* Whether an element whose magnitude has this upper half fits the bound. */
    __device__ __forceinline__ bool fits(int high) const
    {
        return field(high) <= bound && field(high) >= bound - SPREAD;
    }

    __device__ void set_aside(group *g)
    {
        const group all = *g;
        uint32_t aside = 0;

#pragma unroll
        for (int i = 0; i < values::GROUP; i++)
            if (g->elements[i] != 0 && !fits(values::magnitude(g->elements[i]))) {
                aside |= 1u << i;
                g->elements[i] = 0;
            }
#pragma unroll 1
        for (; aside != 0; aside &= aside - 1)
            add_alone(all.elements[__ffs((int)aside) - 1]);
    }

    /* As that of spread_reducer32.cuh. */
    __device__ void adapt(group *g, struct exponents e)
    {
        const int greatest = -min_of_warp(-e.greatest), lowest = min_of_warp(e.least);
        const bool all_fit = lowest >= greatest - SPREAD;
        const int next =
            min(max(greatest + (lowest >= greatest + 1 - SPREAD), BOUND_MIN), BOUND_MAX);

        if (next > bound || (next < bound && (all_fit || next < bound - SPREAD / 4))) {
            flush();
            set_bound(next);
        }
        if (e.greatest > bound || e.least < bound - SPREAD)
            set_aside(g);
    }

    /* Adds a group whose elements fit. */
    __device__ __forceinline__ void add_group(const group *g)
    {
        const double begin0 = limb_begin(bound, 0), begin1 = limb_begin(bound, 1);
        double product[PRODUCTS];

#pragma unroll
        for (int i = 0; i < PRODUCTS; i++)
            product[i] = product_begin(bound, i);
#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const double x = g->elements[i];
            const double upper = (x + begin0) - begin0, rest = x - upper;
            const double middle = (rest + begin1) - begin1, lower = rest - middle;

            sum[0] += upper;
            sum[1] += middle;
            sum[2] += lower;
            if (ABSOLUTE) {
                /* With the sign of the element: limbs may have another. */
                const int high = (__double2hiint(x) & (int)0x80000000) | 0x3ff00000;
                const double sign = __hiloint2double(high, 0);

                absolute[0] = __fma_rn(upper, sign, absolute[0]);
                absolute[1] = __fma_rn(middle, sign, absolute[1]);
                absolute[2] = __fma_rn(lower, sign, absolute[2]);
            }
            product[0] = __fma_rn(upper, upper, product[0]);
            product[1] = __fma_rn(upper, middle, product[1]);
            product[2] = __fma_rn(middle, middle, product[2]);
            product[2] = __fma_rn(upper + upper, lower, product[2]);
            product[3] = __fma_rn(middle, lower, product[3]);
            product[4] = __fma_rn(lower, lower, product[4]);
        }
#pragma unroll
        for (int i = 0; i < PRODUCTS; i++)
            product_total[i] += places_added(product[i], product_begin(bound, i));
    }

    /* As that of spread_reducer32.cuh. */
    __device__ struct exponents examine(group *g, unsigned tile, bool special, order *first,
                                        order *last)
    {
        int low = INT32_MAX, high = 0;

#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const double x = g->elements[i];
            const int64_t bits = (int64_t)exact_bits(fabs(x));

            if (x != x)
                continue;
            smallest = min(smallest, bits);
            small.zeros += x == 0;
            small.subnormal += bits != 0 && values::magnitude(x) < 0x100000;
            small.negative += x < 0;
            if (bits != 0 && values::magnitude(x) < 0x7ff00000) {
                low = min(low, field(values::magnitude(x)));
                high = max(high, field(values::magnitude(x)));
            }
        }
        if (special)
            this->take_specials(g, tile, first, last);
        return exponents{low, high};
    }

    /* The upper half of the order. */
    __device__ static __forceinline__ int upper_order(double x)
    {
        const int high = __double2hiint(x);

        return high ^ (int)((unsigned)(high >> 31) >> 1);
    }

    /* The upper halves tell nearly always that there is no new extreme, nor least magnitude. */
    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        int lowest = INT32_MAX, highest = INT32_MIN, nearest = INT32_MAX;
        unsigned negative = 0;
        struct exponents e;

#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            lowest = min(lowest, upper_order(g->elements[i]));
            highest = max(highest, upper_order(g->elements[i]));
            nearest = min(nearest, values::magnitude(g->elements[i]));
            negative += (unsigned)__double2hiint(g->elements[i]) >> 31;
        }
        const bool special = highest >= 0x7ff00000 || ~lowest >= 0x7ff00000;

        e = exponents{nearest >> 20, max(highest, ~lowest) >> 20};
        if (special || nearest < 0x100000 || lowest <= (int)(this->least.order >> 32) ||
            highest >= (int)(~this->greatest.order >> 32) || nearest <= (int)(smallest >> 32)) {
            order low = INT64_MAX, high = low;

#pragma unroll
            for (int i = 0; i < values::GROUP; i++) {
                low = min(low, order_of(g->elements[i]));
                high = min(high, ~order_of(g->elements[i]));
                smallest =
                    min(smallest, special ? NO_MAGNITUDE
                                          : (int64_t)exact_bits(fabs(g->elements[i])));
            }
            if (special || nearest < 0x100000)
                e = examine(g, tile, special, &low, &high);
            this->take_extremes(low, high, tile);
        }
        if (!special && nearest >= 0x100000)
            small.negative += negative;
        add(g, e);
    }

    __device__ __forceinline__ void add(group *g, struct exponents e)
    {
        if (__any_sync(ALL_LANES, e.greatest > bound || e.least < bound - SPREAD))
            adapt(g, e);
        if (groups == GROUPS_MAX) {
            flush();
            set_bound(bound);
        }
        groups++;
        add_group(g);
    }

    __device__ void finish(memory *)
    {
        flush();
        shared->small.take(&small, smallest);
    }
};

#endif
