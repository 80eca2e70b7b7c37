/*
 * The reducer that also accumulates squares, magnitudes and counts, for elements of up to 32 bits.
 * One pass adds up the elements, their magnitudes and their squares, each beside a constant whose
 * last place is such that nothing is rounded.
 *
 * Squares have at most 48 bits, so they are binary64 values. The upper accumulator cuts one off at
 * its last place; the rest, which is exact, goes to the lower one. The elements of a group have to
 * be below 2^bound, which is the same for a warp, and not too far below. A smaller one is set
 * aside: it goes to the block's superaccumulators, and a zero takes its place. If many elements of
 * binary32 lie too far below, their warp puts this group and the next ones into exponent bins. If
 * there are two kernels (moments_left.cuh), it leaves them to the second. doc/numerics.md counts the
 * bits.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_REDUCER32_CUH
#define GPUREDUCE_CUDA_MOMENTS_REDUCER32_CUH

#include "cuda/reducer32.cuh"
#include "cuda/reducer8.cuh"
#include "cuda/moments_counter.cuh"
#include "cuda/moments_state.cuh"
#include "cuda/square_bins.cuh"

/* The exponent bins of a block, in dynamic shared memory, for types that have them. */
struct moments_bins {
    exponent_bins_f32::memory sums;
    square_bins::memory squares;
};

/* So many elements of a group are set aside one by one; more of them have the warp use bins. */
static const int ASIDE_MAX = 4;

/* Whether a reducer leaves groups that do not fit to a second kernel. */
template <typename Type> struct moments_turn {
    static const bool FIRST = false;
};
template <> struct moments_turn<f32_first> {
    static const bool FIRST = true;
};

template <typename Type, unsigned FINDS>
struct moments_reducer
    : moments_counter<Type, reducer<Type, false, false, (FINDS & PARTIAL_MISSING) != 0>, FINDS,
                      moments_turn<Type>::FIRST> {
    typedef reducer<Type, false, false, (FINDS & PARTIAL_MISSING) != 0> base;
    typedef moments_counter<Type, base, FINDS, moments_turn<Type>::FIRST> counter;
    typedef typename base::group group;
    typedef typename base::order order;
    typedef typename base::sum_accumulator sum_accumulator;
    typedef narrow_format<Type> format;
    typedef typename counter::looks looks;
    static const int GROUP = base::GROUP, GROUP_WORDS = base::GROUP_WORDS;
    static const bool BINS = moments_tuning<Type>::BINS;
    static const bool LEAVES = moments_turn<Type>::FIRST;
    static const int PER_WORD = Type::PER_WORD;
    static const bool ABSOLUTE = (FINDS & PARTIAL_ABSOLUTE) != 0;

    /* Totals are multiples of 2^-343, and below 2^305. */
    typedef square_accumulator<56, 24> squares_accumulator;
    typedef moments_memory<sum_accumulator, squares_accumulator> memory;

    /*
     * Exponents of last places. All that is added to an accumulator in a group of 2^5 comes to at
     * most 2^51 last places: half of a binade. `field` is the bound as a biased binary32 exponent:
     * elements are below 2^(field - 126).
     */
    static const int GROUP_LOG2 = 5;
    static_assert(GROUP <= 1 << GROUP_LOG2, "the accumulators leave their binades");
    __device__ static __forceinline__ constexpr int sum_place(int field)
    {
        return field - 126 + GROUP_LOG2 - 51;
    }
    __device__ static __forceinline__ constexpr int upper_place(int field)
    {
        return 2 * (field - 126) + GROUP_LOG2 - 51;
    }
    __device__ static __forceinline__ constexpr int lower_place(int field)
    {
        return upper_place(field) + GROUP_LOG2 - 52;
    }
    /* The exponent field that a constant has whose last place that is. */
    __device__ static __forceinline__ constexpr int field_of(int place)
    {
        return place + 52 + 1023;
    }

    /* How many exponents elements may reach down from the bound: the last bit of the square of one
       of exponent field - MOMENTS, 2 (field - MOMENTS - 126 - BITS), is not below the lower place, or
       not even below the upper one. The sum, whose last bit is no square's, reaches as far. */
    static const int LOWER_PLACES = 52 - GROUP_LOG2; /* of a lower accumulator */
    static const int MOMENTS = (2 * LOWER_PLACES - 1 - 2 * format::BITS) / 2;
    static_assert(MOMENTS + format::BITS <= LOWER_PLACES - 1, "the sum is rounded");
    static const int FIELD_MAX = looks::FIELD_MAX;

    /*
     * If types are added up as integers, elements are integers in units of 2^(bound - 126 -
     * INTEGER_BITS) if they do not lie too far below the bound: as above, at exponent field -
     * MOMENTS_INTEGER. They are below 2^29 in magnitude. The sum of squares of a group stays below
     * 2^63, and what it has below the upper place goes to the lower accumulator.
     */
    static const bool INTEGERS = moments_tuning<Type>::INTEGERS;
    static const int INTEGER_BITS = 29;
    static const int MOMENTS_INTEGER = INTEGER_BITS - format::BITS;
    static const int SUM_SHIFT = 51 - GROUP_LOG2 - INTEGER_BITS;
    static const int UPPER_SHIFT = 2 * INTEGER_BITS - 51 + GROUP_LOG2;
    static const int LOWER_SHIFT = 52 - GROUP_LOG2 - UPPER_SHIFT;
    static_assert(2 * INTEGER_BITS + GROUP_LOG2 <= 63 && SUM_SHIFT >= 0 && LOWER_SHIFT >= 0,
                  "integers overflow");

    /* The least bound. Below the one that is chosen for f16, all f16 are such integers. With 28 the
       scale that makes integers is 2^127, the greatest power of two. */
    static const int BOUND_MIN = !INTEGERS ? format::LEAST
                                 : format::LEAST + MOMENTS_INTEGER < 28
                                     ? 28
                                     : format::LEAST + MOMENTS_INTEGER;
    /* In binary64: down to where the upper accumulator is enough. */
    static const int MOMENTS_UPPER = PER_WORD == 2 ? (51 - GROUP_LOG2 - 2 * format::BITS) / 2 : 0;
    static const int MOMENTS_FAST = INTEGERS ? MOMENTS_INTEGER : MOMENTS_UPPER;

    /* Groups before the totals are emptied: each of at most 2^51 last places. */
    static const unsigned GROUPS_MAX = 1u << 7;

    memory *shared;
    int bound; /* a biased binary32 exponent, the same for all threads of the warp */
    unsigned groups;
    int64_t sum_total, absolute_total, upper_total, lower_total; /* in last places */
    struct moments_bins *bins; /* of the block; NULL where there are none */
    exponent_bins_f32 sum_bins;
    square_bins bins_of_squares;
    int tiles_to_bin; /* tiles that go to the bins without another look */
    bool leaving;     /* to the second kernel: the other tiles, and the sums of this one */

    __device__ void begin(memory *of_block, size_t elements, void *dynamic)
    {
        bins = BINS ? (struct moments_bins *)dynamic : NULL;
        tiles_to_bin = 0;
        leaving = false;
        if (bins != NULL) {
            sum_bins.begin(bins->sums);
            bins_of_squares.begin(bins->squares);
        }
        this->counter::begin(elements);
        shared = of_block;
        set_bound(BOUND_MIN);
    }

    __device__ __forceinline__ void set_bound(int field)
    {
        bound = field;
        groups = 0;
        sum_total = absolute_total = upper_total = lower_total = 0;
    }

    /* The totals beside a bound, in last places. */
    struct totals {
        int64_t sum, absolute, upper, lower;
    };

    /* Hands totals to the superaccumulators. All threads of the warp together. This and what
       follows is out of line: it is rare, and would take registers from the main loop. */
    __device__ __noinline__ static void empty(memory *shared, int bound, struct totals t)
    {
        warp_total(t.sum).add_to(&shared->accumulator, sum_place(bound));
        if (ABSOLUTE)
            warp_total(t.absolute).add_to(&shared->absolute, sum_place(bound));
        warp_total(t.upper).add_to_squares(&shared->squares, upper_place(bound));
        warp_total(t.lower).add_to_squares(&shared->squares, lower_place(bound));
    }

    __device__ __forceinline__ void flush()
    {
        if (groups == 0)
            return;
        empty(shared, bound, totals{sum_total, absolute_total, upper_total, lower_total});
    }

    /* Whether the warp leaves its other tiles, and the sums of this one. */
    __device__ __forceinline__ bool leaves() const
    {
        return leaving;
    }

    __device__ static void add_magnitude(memory *shared, float x)
    {
        const uint32_t bits = __float_as_uint(x), e = bits >> 23 & 0xff;
        const uint32_t m = (bits & 0x7fffffu) | (uint32_t)(e != 0) << 23;

        shared->absolute.add_integer(sum_accumulator::cell_of((int)e + (e == 0) - 150), m);
    }

    __device__ __noinline__ static void add_magnitudes(memory *shared, const group *g)
    {
#pragma unroll 1
        for (int i = 0; i < GROUP_WORDS; i++)
            if ((g->words[i] & 0x7fffffffu) != 0)
                add_magnitude(shared, __uint_as_float(g->words[i]));
    }

    /* Adds an element by itself. */
    __device__ static void add_alone(memory *shared, float x)
    {
        const uint32_t bits = __float_as_uint(x), e = bits >> 23 & 0xff;
        const uint32_t m = (bits & 0x7fffffu) | (uint32_t)(e != 0) << 23;
        const int place = (int)e + (e == 0) - 150;
        const int cell = sum_accumulator::cell_of(place);

        shared->accumulator.add_integer(cell, (int32_t)bits < 0 ? -(int64_t)m : (int64_t)m);
        if (ABSOLUTE)
            add_magnitude(shared, x);
        shared->squares.add_integer(2 * place - EXACT_WIDE_LSB_EXPONENT,
                                    (int64_t)((uint64_t)m * m));
    }

    /* Adds the elements of a group that lie too far below the bound, and makes them zeros. */
    __device__ __noinline__ static void set_aside(memory *shared, group *g, int bound)
    {
#pragma unroll 1
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll 1
            for (int half = 0; half < PER_WORD; half++) {
                const float x = Type::element(g->words[i], half);
                const uint32_t bits = __float_as_uint(x) & 0x7fffffffu;

                if (bits == 0 || looks::field(bits) >= bound - MOMENTS)
                    continue;
                add_alone(shared, x);
                looks::clear_element(&g->words[i], half);
            }
    }

    /* Some of the warp's groups, which have these exponents, do not fit the bound: finds a better
       one, and sets aside what does not fit even that. Returns false where that is too much. */
    __device__ bool adapt(group *g, struct exponents e)
    {
        const int greatest = -min_of_warp(-e.greatest), lowest = min_of_warp(e.least);
        const bool all_fit = lowest >= greatest - MOMENTS;
        const int next =
            max(min(greatest + (lowest >= greatest + 1 - MOMENTS), FIELD_MAX), BOUND_MIN);

        /* To go down a little is in vain where some are set aside anyway. */
        if (next > bound || (next < bound && (all_fit || next < bound - MOMENTS / 4))) {
            flush();
            set_bound(next);
        }
        if ((LEAVES || (BINS && bins != NULL)) &&
            __any_sync(ALL_LANES, count_aside(g) > ASIDE_MAX)) {
            leaving = LEAVES;
            tiles_to_bin = TILES_BINNED;
            return false;
        }
        if (e.least < bound - MOMENTS) {
            group copy = *g;

            set_aside(shared, &copy, bound);
            *g = copy;
        }
        return true;
    }

    __device__ __forceinline__ int count_aside(const group *g) const
    {
        int count = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            const uint32_t bits = g->words[i] & 0x7fffffffu;

            count += bits != 0 && looks::field(bits) < bound - MOMENTS;
        }
        return count;
    }

    /* Puts a group into the bins. The warp does that together. */
    __device__ __forceinline__ void bin_group(const group *g)
    {
        sum_bins.reserve(GROUP, &shared->accumulator);
        bins_of_squares.reserve(GROUP, &shared->squares);
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i += 2) {
            const float x = __uint_as_float(g->words[i]), y = __uint_as_float(g->words[i + 1]);

            sum_bins.take(x, y);
            bins_of_squares.take(x, y);
        }
        if (ABSOLUTE) {
            const group copy = *g;

            add_magnitudes(shared, &copy);
        }
    }

    /* Adds up a group whose elements fit. With LOWER it takes the lower parts of squares. */
    template <bool LOWER>
    __device__ static __forceinline__ struct totals add_up(const group *g, int bound)
    {
        const double sum_begin = extraction_at(field_of(sum_place(bound)));
        const double upper_begin = power_at(field_of(upper_place(bound)));
        const double lower_begin = extraction_at(field_of(lower_place(bound)));
        double sum = sum_begin, absolute = sum_begin, upper = upper_begin, lower = lower_begin;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < PER_WORD; half++) {
                const double x = (double)Type::element(g->words[i], half);

                sum += x;
                if (ABSOLUTE)
                    absolute += fabs(x);
                const double next = __fma_rn(x, x, upper);

                if (LOWER)
                    lower += __fma_rn(x, x, upper - next);
                upper = next;
            }
        return totals{
            places_added(sum, sum_begin), ABSOLUTE ? places_added(absolute, sum_begin) : 0,
            places_added(upper, upper_begin), LOWER ? places_added(lower, lower_begin) : 0};
    }

    __device__ __noinline__ static struct totals add_up_whole(const group *g, int bound)
    {
        return add_up<true>(g, bound);
    }

    /* Adds up elements that are integers in the unit of INTEGER_BITS. */
    __device__ static __forceinline__ struct totals add_up_integers(const group *g, int bound)
    {
        const float scale = __uint_as_float((uint32_t)(127 + 126 + INTEGER_BITS - bound) << 23);
        int64_t sum = 0, absolute = 0, squares = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i += 2) {
            int part = 0; /* of four */
            unsigned absolute_part = 0;

#pragma unroll
            for (int k = 0; k < 2 * PER_WORD; k++) {
                const uint32_t word = g->words[i + k / PER_WORD];
                const int x = __float2int_rn(Type::element(word, k % PER_WORD) * scale);

                part += x;
                if (ABSOLUTE)
                    absolute_part += (unsigned)abs(x);
                squares += (int64_t)x * x;
            }
            sum += part;
            absolute += absolute_part;
        }
        return totals{sum * (1 << SUM_SHIFT), absolute * (1 << SUM_SHIFT), squares >> UPPER_SHIFT,
                      (squares & ((1 << UPPER_SHIFT) - 1)) << LOWER_SHIFT};
    }

    /* Adds a group whose elements fit. Those that lie far below the bound take another way, which
       is out of line: the compiler would prepare both before it knows which to go. */
    __device__ __forceinline__ void add_group(const group *g, int least)
    {
        struct totals t;

        if (MOMENTS_FAST <= 0) {
            t = add_up<true>(g, bound);
        } else if (__any_sync(ALL_LANES, least < bound - MOMENTS_FAST)) {
            const group copy = *g;

            t = add_up_whole(&copy, bound);
        } else if (INTEGERS) {
            t = add_up_integers(g, bound);
        } else {
            t = add_up<false>(g, bound);
        }
        sum_total += t.sum;
        absolute_total += t.absolute;
        upper_total += t.upper;
        lower_total += t.lower;
    }

    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        const struct exponents e = this->take_group(g, tile);

        add(g, e);
    }

    /* Adds a group with these exponents. */
    __device__ __forceinline__ void add(group *g, struct exponents e)
    {
        bool binned = BINS && tiles_to_bin > 0;

        if (binned)
            tiles_to_bin--;
        else if (__any_sync(ALL_LANES, e.greatest > bound || e.least < bound - MOMENTS))
            binned = !adapt(g, e);
        if (binned) {
            if (BINS)
                bin_group(g);
            return;
        }
        if (groups == GROUPS_MAX) {
            flush();
            set_bound(bound);
        }
        groups++;
        add_group(g, e.least);
    }

    /* Hands what the threads hold to the block. All of its threads together. */
    __device__ void finish(memory *)
    {
        flush();
        if (BINS && bins != NULL) {
            sum_bins.finish(bins->sums, &shared->accumulator);
            bins_of_squares.finish(bins->squares, &shared->squares);
        }
        this->hand_counts(&shared->small);
    }
};

#endif
