/*
 * The reducer of binary64 elements that also finds what core/moments.h is about.
 *
 * An element below 2^bound is cut at fixed bits into three limbs, so that the products of two limbs
 * of all elements of a group add up beside a constant without rounding: the square is six products,
 * two of which share an accumulator with another. Sums of elements and of magnitudes are sums of
 * limbs. An element that has bits below the third limb is set aside, and so is one beyond the
 * greatest bound: it goes to the block's superaccumulators, and a zero takes its place.
 * doc/numerics.md counts the bits.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_REDUCER64_CUH
#define GPUREDUCE_CUDA_MOMENTS_REDUCER64_CUH

#include "cuda/moments_state.cuh"
#include "cuda/reducer64.cuh"

template <typename Type, unsigned FINDS> struct moments_reducer;

template <unsigned FINDS>
struct moments_reducer<f64, FINDS>
    : values64<false, moments_tuning<f64>::UNROLL, (FINDS & PARTIAL_MISSING) != 0> {
    typedef values64<false, moments_tuning<f64>::UNROLL, (FINDS & PARTIAL_MISSING) != 0> values;
    typedef typename values::group group;
    typedef typename values::order order;
    typedef values64<true, moments_tuning<f64>::UNROLL> swapped_values;
    typedef superaccumulator<1, 2078> sum_accumulator;
    static const bool ABSOLUTE = (FINDS & PARTIAL_ABSOLUTE) != 0;

    typedef square_accumulator<0, EXACT_WIDE_DIGITS> squares_accumulator;
    typedef moments_memory<sum_accumulator, squares_accumulator> memory;

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
    /* The place of a product: of first and first, first and second, second and second with twice
       first and third, second and third, third and third. */
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
    static const int MOMENTS = 17;

    /* Bounds for which the constants are normal numbers, and the squares of what is below. */
    static const int BOUND_MIN = 555, BOUND_MAX = 1530;
    static_assert(2 * (BOUND_MIN - 1022 - 70) >= -1074 && 2 * (BOUND_MAX - 1022 - 23) + 53 <= 1023,
                  "bounds of limbs");

    /* Groups before the totals are emptied: each of at most 2^51 last places. Sums of limbs grow by
       2^34 at most. */
    static const unsigned GROUPS_MAX = 1u << 7;

    /* Upper halves of the least and the greatest order, and of the least magnitude, of all that the
       warp has taken; -1 where the least magnitude is 0. Only a group that reaches one of them may
       hold a new extreme. Its own extremes a thread would pass 32 times as often. */
    struct upper_halves {
        int least, greatest, magnitude;
    };

    memory *shared;
    int bound; /* the same for all threads of the warp */
    unsigned groups;
    double sum[LIMBS], absolute[LIMBS];
    int64_t product_total[PRODUCTS]; /* in last places */
    struct small_counts small;
    int64_t smallest; /* bits of the least magnitude; NO_MAGNITUDE: none */
    struct upper_halves known;

    __device__ static __forceinline__ double limb_begin(int bound, int i)
    {
        return extraction_at(field_of(limb_place(bound, i)));
    }
    __device__ static __forceinline__ double product_begin(int bound, int i)
    {
        return extraction_at(field_of(product_place(bound, i)));
    }

    static const bool BINS = false;

    __device__ void begin(memory *of_block, size_t elements, void *)
    {
        values::begin(elements);
        shared = of_block;
        small.clear();
        smallest = NO_MAGNITUDE;
        known = upper_halves{INT32_MAX, INT32_MIN, INT32_MAX};
        set_bound(BOUND_MIN);
    }

    __device__ static __forceinline__ void arrange(group *g, bool swap)
    {
        if (swap)
            swapped_values::settle((typename swapped_values::group *)g);
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

    /* The totals beside a bound, in last places. */
    struct totals {
        int64_t sum[LIMBS], absolute[LIMBS], product[PRODUCTS];
    };

    /* Hands totals to the superaccumulators. All threads of the warp together. This and what
       follows is out of line: it is rare, and would take registers from the main loop. */
    __device__ __noinline__ static void empty(memory *shared, int bound, struct totals t)
    {
        for (int i = 0; i < LIMBS; i++) {
            warp_total(t.sum[i]).add_to(&shared->accumulator, limb_place(bound, i));
            if (ABSOLUTE)
                warp_total(t.absolute[i]).add_to(&shared->absolute, limb_place(bound, i));
        }
        for (int i = 0; i < PRODUCTS; i++)
            warp_total(t.product[i])
                .add_to_squares(&shared->squares, product_place(bound, i) + i % 2);
    }

    __device__ __forceinline__ void flush()
    {
        struct totals t;

        if (groups == 0)
            return;
        for (int i = 0; i < LIMBS; i++) {
            t.sum[i] = places_added(sum[i], limb_begin(bound, i));
            t.absolute[i] = places_added(absolute[i], limb_begin(bound, i));
        }
        for (int i = 0; i < PRODUCTS; i++)
            t.product[i] = product_total[i];
        empty(shared, bound, t);
    }

    /* The biased exponent that the upper half of a magnitude has; subnormal numbers have 1. */
    __device__ static __forceinline__ int field(int high)
    {
        return max(high >> 20, 1);
    }

    /* Adds an element by itself. */
    __device__ static void add_alone(memory *shared, double x)
    {
        const uint64_t bits = exact_bits(x);
        const int e = (int)(bits >> 52) & 0x7ff;
        const uint64_t m = (bits & 0xfffffffffffffu) | (uint64_t)(e != 0) << 52;

        shared->accumulator.add(x);
        if (ABSOLUTE)
            shared->absolute.add(fabs(x));
        shared->squares.add_square(m, e + (e == 0) - 1075);
    }

    /* Adds the elements of a group that do not fit the bound, and makes them zeros. */
    __device__ __noinline__ static void set_aside(memory *shared, group *g, int bound)
    {
#pragma unroll 1
        for (int i = 0; i < values::GROUP; i++) {
            const double x = g->elements[i];
            const int at = field(values::magnitude(x));

            if (x == 0 || (at <= bound && at >= bound - MOMENTS))
                continue;
            add_alone(shared, x);
            g->elements[i] = 0;
        }
    }

    /* As that of moments_reducer32.cuh. */
    __device__ void adapt(group *g, struct exponents e)
    {
        const int greatest = -min_of_warp(-e.greatest), lowest = min_of_warp(e.least);
        const bool all_fit = lowest >= greatest - MOMENTS;
        const int next =
            min(max(greatest + (lowest >= greatest + 1 - MOMENTS), BOUND_MIN), BOUND_MAX);

        if (next > bound || (next < bound && (all_fit || next < bound - MOMENTS / 4))) {
            flush();
            set_bound(next);
        }
        if (e.greatest > bound || e.least < bound - MOMENTS) {
            group copy = *g;

            set_aside(shared, &copy, bound);
            *g = copy;
        }
    }

    /* Adds a group whose elements fit. */
    __device__ __forceinline__ void add_group(const group *g)
    {
        double product[PRODUCTS];

#pragma unroll
        for (int i = 0; i < PRODUCTS; i++)
            product[i] = product_begin(bound, i);
#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const double x = g->elements[i];
            const double sum0 = sum[0] + x, upper = sum0 - sum[0], rest = x - upper;
            const double sum1 = sum[1] + rest, middle = sum1 - sum[1], lower = rest - middle;

            sum[0] = sum0;
            sum[1] = sum1;
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

    typedef look_at_present<group_look<group, order, int64_t>, values::MISSING> look;

    __device__ __noinline__ static void examine(look *l, unsigned tile, size_t count)
    {
        int low = INT32_MAX, high = 0;

        l->counts.clear();
        l->small.clear();
        l->low = l->high = INT64_MAX;
        l->smallest = NO_MAGNITUDE;
#pragma unroll 1
        for (int i = 0; i < values::GROUP; i++) {
            const double x = l->g.elements[i];
            const int64_t bits = (int64_t)exact_bits(fabs(x));
            const int upper = values::magnitude(x);

            if (leaves_out(l, i))
                continue;
            if (x != x) {
                const uint64_t at = values::place(tile, i);

                if (at < count) {
                    l->counts.nan++;
                    l->counts.take_nan(at);
                }
                l->g.elements[i] = 0;
                continue;
            }
            l->low = min(l->low, order_of(x));
            l->high = min(l->high, ~order_of(x));
            l->smallest = min(l->smallest, bits);
            l->small.zeros += bits == 0;
            l->small.subnormal += bits != 0 && upper < 0x100000;
            l->small.negative += x < 0;
            if (upper >= 0x7ff00000) {
                l->counts.positive_infinity += x > 0;
                l->counts.negative_infinity += x < 0;
                l->g.elements[i] = 0;
            } else if (bits != 0) {
                low = min(low, field(upper));
                high = max(high, field(upper));
            }
        }
        l->e = exponents{low, high};
    }

    /* As that of moments_reducer32.cuh; `least` is the upper half, INT32_MAX where all are zero. */
    struct small_look {
        struct small_counts counts;
        int least;
    };

    __device__ __noinline__ static struct small_look count_small(const group *g)
    {
        struct small_look l;

        l.counts.clear();
        l.least = INT32_MAX;
#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const int upper = values::magnitude(g->elements[i]);
            const bool zero = g->elements[i] == 0;

            l.least = min(l.least, zero ? INT32_MAX : upper);
            l.counts.zeros += zero;
            l.counts.subnormal += !zero && upper < 0x100000;
            l.counts.negative -= zero && __double2hiint(g->elements[i]) < 0;
        }
        return l;
    }

    /* Takes the extremes and the least magnitude of a group of numbers. */
    __device__ __forceinline__ void renew(const group *g, unsigned tile, uint32_t gone)
    {
        order low = INT64_MAX, high = INT64_MAX;

#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const double x = g->elements[i];

            if (values::MISSING && (gone >> i & 1))
                continue;
            low = min(low, order_of(x));
            high = min(high, ~order_of(x));
            smallest = min(smallest, (int64_t)exact_bits(fabs(x)));
        }
        this->take_extremes(low, high, tile);
    }

    /* All threads of the warp together. */
    __device__ __forceinline__ void renew_known()
    {
        known.least = min_of_warp((int)(this->least.order >> 32));
        known.greatest = ~min_of_warp((int)(this->greatest.order >> 32));
        known.magnitude = min_of_warp(smallest == 0 ? -1 : (int)(smallest >> 32));
    }

    /* The upper halves tell nearly always that there is no new extreme, nor least magnitude. As
       integers with a sign, those of positive numbers are the greatest, and without one, those of
       negative numbers are. */
    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        const uint32_t gone = this->take_missing(g, tile);
        int positive = INT32_MIN, nearest = INT32_MAX;
        unsigned most = 0, negative = 0;
        struct exponents e;

#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            const int high = __double2hiint(g->elements[i]);

            if (values::MISSING && (gone >> i & 1))
                continue;
            positive = max(positive, high);
            most = max(most, (unsigned)high);
            nearest = min(nearest, high & 0x7fffffff);
            negative += (unsigned)high >> 31;
        }
        const int greatest = max(positive, (int)(most & 0x7fffffffu));
        const int lowest = (int)most < 0 ? (int)(most ^ 0x7fffffffu) : nearest;
        const int highest = positive < 0 ? ~nearest : positive;
        const bool special = greatest >= 0x7ff00000;
        const bool renews =
            lowest <= known.least || highest >= known.greatest || nearest <= known.magnitude;

        if (special) {
            look l;

            l.g = *g;
            leave_out(&l, gone);
            examine(&l, tile, this->count);
            *g = l.g;
            e = l.e;
            this->counts.take(&l.counts);
            small.take(&l.small);
            smallest = min(smallest, l.smallest);
            this->take_extremes(l.low, l.high, tile);
        } else {
            int least_number = nearest;

            if (renews)
                renew(g, tile, gone);
            if (nearest < 0x100000) {
                const group copy = *g;
                const struct small_look l = count_small(&copy);

                small.take(&l.counts);
                if (values::MISSING)
                    small.zeros -= (unsigned)__popc(gone);
                least_number = l.least;
            }
            e = least_number == INT32_MAX ? exponents{INT32_MAX, 0}
                                          : exponents{field(least_number), field(greatest)};
            small.negative += negative;
        }
        if (__any_sync(ALL_LANES, special || renews))
            renew_known();
        add(g, e);
    }

    __device__ __forceinline__ void add(group *g, struct exponents e)
    {
        if (__any_sync(ALL_LANES, e.greatest > bound || e.least < bound - MOMENTS))
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
