/*
 * Kernels that also find what spread.h is about: blocks of elements whose values are binary32. A
 * part of kernel_template.h.
 *
 * Squares of binary32 have at most 48 bits, so they are binary64 values. Each is added to one of a
 * few accumulators that begin at a large power of two, whose last place cuts it off: the rest,
 * which is exact, goes to a second one, which begins at a constant of its own. Squares of a block
 * whose elements are below 2^square_bound, and not too far below, end in the two without rounding;
 * doc/numerics.md has the bounds.
 */
#ifndef GPUREDUCE_CPU_KERNEL_SPREAD32_H
#define GPUREDUCE_CPU_KERNEL_SPREAD32_H

#include "engine/cpu/kernel_block32.h"
#include "engine/cpu/kernel_spread.h"

/* Accumulators of squares side by side, and log2 of the elements of a block that come to each of
   their lanes. */
#define SQUARE_SUMS 4
#define SQUARES_LOG2 (CPU_BLOCK32_LOG2 - W_LANES_LOG2 - 2)

/* The exponents of the last places of the upper and of the lower accumulators. 2^SQUARES_LOG2
   squares below 2^(2 bound) stay within half a binade of the upper ones, which are 2^52 last places
   wide; as many rests of at most half a last place, within a quarter of the lower ones'. */
#define UPPER_PLACE(bound) (2 * (bound) + SQUARES_LOG2 - 51)
#define LOWER_PLACE(bound) (UPPER_PLACE(bound) + SQUARES_LOG2 - 52)

/* What the upper and the lower accumulators begin at. */
static inline double upper_start32(int bound)
{
    return power_of_two(UPPER_PLACE(bound) + 52);
}

static inline double lower_start32(int bound)
{
    return 1.5 * power_of_two(LOWER_PLACE(bound) + 52);
}

/* Every f16 is a multiple of 2^-24 below 2^16: all its squares go the fast way. */
INLINE_TARGET bool squares_always_fit(enum element_type type)
{
    const struct element_format *f = &element_formats[type];

    return 2 * (f->exponent_min - f->significant_bits + 1) >= LOWER_PLACE(f->exponent_max + 1);
}

struct spread32 {
    struct extremes32 extremes;
    vec least;    /* twice the bits of the least magnitude */
    vec negative; /* counts of elements with a sign, -0 among them */
    vecd sum[4], absolute[4];
    vecd upper[SQUARE_SUMS], lower[SQUARE_SUMS]; /* of squares */
};

INLINE_TARGET void take_square(vecd *upper, vecd *lower, vecd x)
{
    vecd sum = d_fma(x, x, *upper);
    vecd rest = d_fma(x, x, d_sub(*upper, sum));

    *upper = sum;
    *lower = d_add(*lower, rest);
}

/* `half` chooses two of the four accumulators. */
INLINE_TARGET void take_spread32(struct spread32 *b, vec a, unsigned finds, int half)
{
    const vecd low = v_low(a), high = v_high(a);

    b->extremes.max_s = v_max_s(b->extremes.max_s, a);
    b->extremes.max_u = v_max_u(b->extremes.max_u, a);
    b->extremes.min_u = v_min_u(b->extremes.min_u, a);
    b->least = v_min_u(b->least, v_add(a, a));
    if (finds & PARTIAL_NEGATIVE)
        b->negative = v_tally(b->negative, v_gt_s(v_set1(0), a));
    if (finds & PARTIAL_SUM) {
        b->sum[2 * half] = d_add(b->sum[2 * half], low);
        b->sum[2 * half + 1] = d_add(b->sum[2 * half + 1], high);
    }
    if (finds & PARTIAL_ABSOLUTE) {
        b->absolute[2 * half] = d_add(b->absolute[2 * half], d_abs(low));
        b->absolute[2 * half + 1] = d_add(b->absolute[2 * half + 1], d_abs(high));
    }
    if (finds & PARTIAL_SQUARES) {
        take_square(&b->upper[2 * half], &b->lower[2 * half], low);
        take_square(&b->upper[2 * half + 1], &b->lower[2 * half + 1], high);
    }
}

INLINE_TARGET struct spread32 pass_spread32(const unsigned char *x, size_t n,
                                            enum element_type type, unsigned finds, double upper,
                                            double lower)
{
    const size_t size = element_formats[type].size;
    const size_t quarter = n / (STREAMS * V_LANES) * V_LANES;
    struct spread32 b = {
        .extremes = extremes32_none(),
        .least = v_set1(UINT32_MAX),
        .negative = v_set1(0),
    };

    for (int i = 0; i < 4; i++) {
        b.sum[i] = b.absolute[i] = d_set1(0);
        b.upper[i] = d_set1(upper);
        b.lower[i] = d_set1(lower);
    }
    for (size_t i = 0; i < quarter; i += V_LANES) {
        vec v0 = load32(x + i * size, type);
        vec v1 = load32(x + (quarter + i) * size, type);
        vec v2 = load32(x + (2 * quarter + i) * size, type);
        vec v3 = load32(x + (3 * quarter + i) * size, type);

        prefetch(x, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        take_spread32(&b, v0, finds, 0);
        take_spread32(&b, v1, finds, 1);
        take_spread32(&b, v2, finds, 0);
        take_spread32(&b, v3, finds, 1);
    }
    /* In turns, so that no accumulator has more than its share. */
    for (size_t i = STREAMS * quarter; i < n; i += 2 * V_LANES) {
        take_spread32(&b, load32(x + i * size, type), finds, 0);
        if (i + V_LANES < n)
            take_spread32(&b, load32(x + (i + V_LANES) * size, type), finds, 1);
    }
    return b;
}

/* Looks for small and for negative numbers in a block, which may hold anything. */
INLINE_TARGET struct small count_small32(const unsigned char *x, size_t n, enum element_type type)
{
    const size_t size = element_formats[type].size;
    const uint32_t normal = (uint32_t)(element_formats[type].exponent_min + 127) << 23;
    vec zeros = v_set1(0), small = v_set1(0), signs = v_set1(0), negative_zeros = v_set1(0);
    vec least = v_set1(UINT32_MAX);
    uint32_t bits;
    struct small s;

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type), a = v_and(v, v_set1(~SIGN32));
        vec number = v_select(v_gt_s(a, v_set1(INFINITY32)), v_set1(0), v);

        zeros = v_tally(zeros, v_eq(a, v_set1(0)));
        small = v_tally(small, v_gt_s(v_set1(normal), a));
        signs = v_tally(signs, v_gt_s(v_set1(0), number));
        negative_zeros = v_tally(negative_zeros, v_eq(v, v_set1(SIGN32)));
        /* Less one, zero becomes the greatest of all. */
        least = v_min_u(least, v_add(a, v_set1(UINT32_MAX)));
    }
    bits = v_h_min_u(least) + 1;
    s.zeros = v_h_add(zeros);
    s.subnormal = v_h_add(small) - s.zeros;
    s.negative = v_h_add(signs) - v_h_add(negative_zeros);
    s.least = bits > 0 && bits <= INFINITY32 ? value32(bits) : (double)NAN;
    return s;
}

/* The same after a pass over a block of numbers. That has found what is there to count, unless
   there are zeros or subnormal numbers. */
INLINE_TARGET struct small small_of_pass32(const struct spread32 *b, const unsigned char *x,
                                           size_t n, enum element_type type, unsigned finds)
{
    const uint32_t normal = (uint32_t)(element_formats[type].exponent_min + 127) << 23;
    const uint32_t bits = v_h_min_u(b->least) / 2;
    struct small s = {.least = value32(bits)};

    if (bits < normal)
        return count_small32(x, n, type);
    if (finds & PARTIAL_NEGATIVE)
        s.negative = v_h_add(b->negative);
    return s;
}

/* Lays the block out in the scratch. */
INLINE_TARGET void fill_scratch32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                  enum element_type type, enum scratch_of what)
{
    const size_t size = element_formats[type].size;
    const vec magnitude = v_set1(~SIGN32), infinity = v_set1(INFINITY32);

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);
        vec finite = v_select(v_gt_s(infinity, v_and(v, magnitude)), v, v_set1(0));

        if (what == SCRATCH_MAGNITUDES)
            finite = v_and(finite, magnitude);
        for (int half = 0; half < 2; half++) {
            vecd value = half ? v_high(finite) : v_low(finite);

            if (what == SCRATCH_SQUARES)
                value = d_fma(value, value, d_set1(0));
            d_store(r->scratch + i + (size_t)half * W_LANES, value);
        }
    }
}

/* Takes the squares of a pass, if none was cut off: then two integers say what they come to. The
   block's magnitudes are from `least` to `greatest`, and not zero. */
INLINE_TARGET bool take_squares32(struct cpu_reducer *r, const struct spread32 *b, double least,
                                  double greatest, int bound, enum element_type type)
{
    const int last_place =
        bound_exponent(exact_bits(least)) - element_formats[type].significant_bits;

    if (!squares_always_fit(type) &&
        (bound_exponent(exact_bits(greatest)) > bound || 2 * last_place < LOWER_PLACE(bound)))
        return false;
    add_to_squares(r, added_to(b->upper, SQUARE_SUMS, upper_start32(bound)), UPPER_PLACE(bound));
    add_to_squares(r, added_to(b->lower, SQUARE_SUMS, lower_start32(bound)), LOWER_PLACE(bound));
    return true;
}

/* The sums of a block, each another way. */
INLINE_TARGET void add_squares_again32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                       enum element_type type)
{
    fill_scratch32(r, x, n, type, SCRATCH_SQUARES);
    add_scratch_of_squares(r, n);
}

INLINE_TARGET void add_absolute_again32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                        enum element_type type)
{
    fill_scratch32(r, x, n, type, SCRATCH_MAGNITUDES);
    add_scratch_of_magnitudes(r, n);
}

/* A block of n elements, a multiple of V_LANES, some of which are no numbers or infinite. */
INLINE_TARGET void special_spread32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                    uint64_t index, enum element_type type, unsigned finds)
{
    const struct small s = count_small32(x, n, type);

    special32(r, x, n, index, type, finds & PARTIAL_SUM);
    take_small(r, &s, finds);
    if (finds & PARTIAL_SQUARES)
        add_squares_again32(r, x, n, type);
    if (finds & PARTIAL_ABSOLUTE)
        add_absolute_again32(r, x, n, type);
}

/* A block of n elements, a multiple of V_LANES. */
INLINE_TARGET void block_spread32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                  uint64_t index, enum element_type type, unsigned finds)
{
    const int bound =
        squares_always_fit(type) ? element_formats[type].exponent_max + 1 : r->square_bound;
    const struct spread32 b =
        pass_spread32(x, n, type, finds, upper_start32(bound), lower_start32(bound));
    const struct bit_extremes bits = extremes32_bits(&b.extremes);
    const uint64_t magnitude = bits_magnitude(&bits);
    const double greatest = value32((uint32_t)magnitude);
    struct small s;
    uint32_t least;

    if (magnitude >= INFINITY32) {
        special_spread32(r, x, n, index, type, finds);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    s = small_of_pass32(&b, x, n, type, finds);
    take_small(r, &s, finds);
    if (magnitude == 0)
        return;
    /* Twice the bits of a binary32, as add_block32 has it. */
    least = 2 * bits32(s.least);
    if ((finds & PARTIAL_SUM) && !add_block32(&r->partial.sum, b.sum, least, magnitude, type)) {
        fill_scratch32(r, x, n, type, SCRATCH_VALUES);
        sum_scratch32(r, x, n, type);
    }
    if ((finds & PARTIAL_ABSOLUTE) &&
        !add_block32(&r->partial.absolute, b.absolute, least, magnitude, type))
        add_absolute_again32(r, x, n, type);
    if ((finds & PARTIAL_SQUARES) && !take_squares32(r, &b, s.least, greatest, bound, type)) {
        r->square_bound = bound_exponent(exact_bits(greatest));
        add_squares_again32(r, x, n, type);
    }
}

#endif
