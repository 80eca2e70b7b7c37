/*
 * Kernels that also find what moments.h is about: blocks of elements whose values are binary32. A
 * part of kernel_template.h.
 *
 * Squares of binary32 have at most 48 bits, so they are binary64 values. Each is added to one of a
 * few accumulators that begin at a large power of two, whose last place cuts it off: the rest,
 * which is exact, goes to a second one, which begins at a constant of its own. Squares of a block
 * whose elements are below 2^square_bound, and not too far below, end in the two without rounding;
 * doc/numerics.md has the bounds.
 */
#ifndef GPUREDUCE_CPU_KERNEL_MOMENTS32_H
#define GPUREDUCE_CPU_KERNEL_MOMENTS32_H

#include "cpu/kernel_block32.h"
#include "cpu/kernel_moments.h"

/* Accumulators of squares side by side, and log2 of the elements of a block that come to each of
   their lanes. */
#define SQUARE_SUMS 4
#define SQUARES_LOG2 (CPU_BLOCK32_LOG2 - W_LANES_LOG2 - 2)

/* The exponents of the last places of the upper and of the lower accumulators. 2^SQUARES_LOG2
   squares below 2^(2 bound) stay within half a binade of the upper ones, which are 2^52 last places
   wide; as many rests of at most half a last place, within a quarter of the lower ones'. */
#define UPPER_PLACE(bound) (2 * (bound) + SQUARES_LOG2 - 51)
#define LOWER_PLACE(bound) (UPPER_PLACE(bound) + SQUARES_LOG2 - 52)

/* The beginnings of the upper and the lower accumulators. */
static inline double upper_start32(int bound)
{
    return exact_power_of_two(UPPER_PLACE(bound) + 52);
}

static inline double lower_start32(int bound)
{
    return 1.5 * exact_power_of_two(LOWER_PLACE(bound) + 52);
}

/* Whether all is exact if elements are multiples of 2^place. */
INLINE_TARGET bool squares_fit(int place, int bound)
{
    return 2 * place >= LOWER_PLACE(bound);
}

/* Every f16 is a multiple of 2^-24 below 2^16: all its squares go the fast way. */
INLINE_TARGET bool squares_always_fit(enum element_type type)
{
    const struct element_format *f = &element_formats[type];

    return squares_fit(f->exponent_min - f->significant_bits + 1, f->exponent_max + 1);
}

struct moments32 {
    vec max_s, max_u; /* as in struct extremes32 */
    vec least;        /* the bits of the least magnitude */
    vec negative;     /* counts of elements with a sign, -0 among them */
    vecd sum[4], absolute[4];
    vecd upper[SQUARE_SUMS], lower[SQUARE_SUMS]; /* of squares */
};

/* Adds the squares of values to the accumulators number i. */
INLINE_TARGET void take_squares(struct moments32 *b, vecd x, int i)
{
    const vecd sum = d_fma(x, x, b->upper[i]);
    const vecd rest = d_fma(x, x, d_sub(b->upper[i], sum));

    b->upper[i] = sum;
    b->lower[i] = d_add(b->lower[i], rest);
}

/* `half` chooses two of the four accumulators. */
INLINE_TARGET void take_moments32(struct moments32 *b, const unsigned char *x,
                                  enum element_type type, unsigned finds, int half)
{
    /* From memory, f32 is widened without moving lanes. */
    const vec a = v_held(load32(x, type));
    const vecd low = type == ELEMENT_F32 ? d_load_f32(x) : v_low(a);
    const vecd high = type == ELEMENT_F32 ? d_load_f32(x + 4 * W_LANES) : v_high(a);

    b->max_s = v_max_s(b->max_s, a);
    b->max_u = v_max_u(b->max_u, a);
    b->least = v_min_magnitude(b->least, a);
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
        take_squares(b, low, 2 * half);
        take_squares(b, high, 2 * half + 1);
    }
}

INLINE_TARGET void pass_moments32(struct moments32 *b, const unsigned char *x, uintptr_t origin,
                                  size_t n, enum element_type type, unsigned finds, int bound)
{
    const size_t size = element_formats[type].size;
    const size_t quarter = n / (STREAMS * V_LANES) * V_LANES;

    /* One by one: what is not to be found is not to be cleared either. */
    b->max_s = v_set1(SIGN32);
    b->max_u = v_set1(0);
    b->least = v_set1(INFINITY32);
    if (finds & PARTIAL_NEGATIVE)
        b->negative = v_set1(0);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        if (finds & PARTIAL_SUM)
            b->sum[i] = d_set1(0);
        if (finds & PARTIAL_ABSOLUTE)
            b->absolute[i] = d_set1(0);
        if (finds & PARTIAL_SQUARES) {
            b->upper[i] = d_set1(upper_start32(bound));
            b->lower[i] = d_set1(lower_start32(bound));
        }
    }
    for (size_t i = 0; i < quarter; i += V_LANES)
#pragma GCC unroll 4
        for (size_t stream = 0; stream < STREAMS; stream++) {
            prefetch_stream(origin, stream, quarter * size, i * size, V_LANES * size,
                            size << CPU_BLOCK32_LOG2, true);
            take_moments32(b, x + (stream * quarter + i) * size, type, finds, stream % 2);
        }
    /* In turns, so that no accumulator has more than its share. */
    for (size_t i = STREAMS * quarter; i < n; i += 2 * V_LANES) {
        take_moments32(b, x + i * size, type, finds, 0);
        if (i + V_LANES < n)
            take_moments32(b, x + (i + V_LANES) * size, type, finds, 1);
    }
}

#define VALUE32(bits) element_value(ELEMENT_F32, bits)
COUNT_SMALL(32, v, vec, INLINE_TARGET, load32(x + i * element_formats[type].size, type), VALUE32)
#undef VALUE32

/* The counts after a pass over a block of numbers. The pass has counted all, unless there are zeros
   or subnormal numbers. */
INLINE_TARGET struct small small_of_pass32(const struct moments32 *b, const unsigned char *x,
                                           size_t n, enum element_type type, unsigned finds)
{
    const uint32_t normal = (uint32_t)(element_formats[type].exponent_min + 127) << 23;
    const uint32_t bits = v_h_min_u(b->least);
    struct small s = {.least = element_value(ELEMENT_F32, bits)};

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

/* Takes the squares of a pass, none of which was cut off, in units of last places. */
INLINE_TARGET void add_squares32(struct cpu_reducer *r, const struct moments32 *b, int bound)
{
    add_to_squares(r, added_to(b->upper, SQUARE_SUMS, upper_start32(bound)), UPPER_PLACE(bound));
    add_to_squares(r, added_to(b->lower, SQUARE_SUMS, lower_start32(bound)), LOWER_PLACE(bound));
}

/* The sums of a block, each another way. */
INLINE_TARGET void add_squares_again32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                       enum element_type type)
{
    if (r->squares_dearest > 0) {
        r->squares_dearest--;
        fill_scratch32(r, x, n, type, SCRATCH_VALUES);
        exact_wide_add_squares(&r->partial.squares, r->scratch, n);
    } else {
        fill_scratch32(r, x, n, type, SCRATCH_SQUARES);
        add_scratch_of_squares(r, n);
    }
}

INLINE_TARGET void add_absolute_again32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                        enum element_type type)
{
    fill_scratch32(r, x, n, type, SCRATCH_MAGNITUDES);
    add_scratch_of_magnitudes(r, n);
}

/* A block of n elements, a multiple of V_LANES, some of which are no numbers or infinite. */
INLINE_TARGET void special_moments32(struct cpu_reducer *r, const unsigned char *x, size_t n,
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

/* The extremes of a pass. If all elements have one sign, the least unsigned integer is the one of
   the least magnitude. */
INLINE_TARGET struct bit_extremes moments32_bits(const struct moments32 *b)
{
    const uint32_t max_u = v_h_max_u(b->max_u), least = v_h_min_u(b->least);

    return (struct bit_extremes){v_h_max_s(b->max_s), max_u, least | (max_u & SIGN32), SIGN32};
}

/* Whether squares have to go another way than that of the pass, or below another bound. */
INLINE_TARGET bool squares_rounded(int exponent, int last_place, int bound, enum element_type type)
{
    return !squares_always_fit(type) && (exponent > bound || !squares_fit(last_place, bound));
}

/* Takes the sums of a pass over a block of numbers that are not all zero, with magnitudes from
   `least` on; adds up another way what was rounded. */
INLINE_TARGET void take_sums32(struct cpu_reducer *r, struct moments32 *b, double least,
                               uint64_t magnitude, int bound, const unsigned char *x, size_t n,
                               enum element_type type, unsigned finds)
{
    /* As add_block32 has it. */
    const uint32_t twice = 2 * exact_bits32((float)least);
    const int exponent = bound_exponent(exact_bits(element_value(ELEMENT_F32, magnitude)));
    const int last_place =
        bound_exponent(exact_bits(least)) - element_formats[type].significant_bits;
    bool rounded = (finds & PARTIAL_SQUARES) && squares_rounded(exponent, last_place, bound, type);

    if (rounded) {
        r->square_bound = exponent;
        if (!squares_rounded(exponent, last_place, exponent, type)) {
            pass_moments32(b, x, (uintptr_t)x, n, type, finds, exponent);
            bound = exponent;
            rounded = false;
        }
    }
    if ((finds & PARTIAL_SUM) && !add_block32(&r->partial.sum, b->sum, twice, magnitude, type)) {
        fill_scratch32(r, x, n, type, SCRATCH_VALUES);
        sum_scratch32(r, x, n, type);
    }
    if ((finds & PARTIAL_ABSOLUTE) &&
        !add_block32(&r->partial.absolute, b->absolute, twice, magnitude, type))
        add_absolute_again32(r, x, n, type);
    if (rounded)
        add_squares_again32(r, x, n, type);
    else if (finds & PARTIAL_SQUARES)
        add_squares32(r, b, bound);
}

/* A block of n elements, a multiple of V_LANES. */
INLINE_TARGET void block_moments32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                   uint64_t index, enum element_type type, unsigned finds)
{
    const int bound =
        squares_always_fit(type) ? element_formats[type].exponent_max + 1 : r->square_bound;
    struct moments32 b;
    struct bit_extremes bits;
    struct small s;
    uint64_t magnitude;

    pass_moments32(&b, x, (uintptr_t)x + r->origin, n, type, finds, bound);
    bits = moments32_bits(&b);
    magnitude = bits_magnitude(&bits);
    if (magnitude >= INFINITY32) {
        special_moments32(r, x, n, index, type, finds);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    s = small_of_pass32(&b, x, n, type, finds);
    take_small(r, &s, finds);
    if (magnitude > 0)
        take_sums32(r, &b, s.least, magnitude, bound, x, n, type, finds);
}

#endif
