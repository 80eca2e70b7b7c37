/*
 * Kernels that also find what moments.h is about: blocks of binary64 elements. A part of
 * kernel_template.h.
 *
 * Squares of binary64 have up to 106 bits. An element below 2^square_bound is cut at fixed bits
 * into three limbs of LIMB_BITS64, so that a product of two limbs is a binary64 value, and so is
 * the sum of as many as come to a lane: six products add up to the square without rounding
 * anywhere. An element that has bits below the third limb, which is rare, is set aside in the
 * scratch and its place is taken by a zero; doc/numerics.md has the bounds.
 */
#ifndef GPUREDUCE_CPU_KERNEL_MOMENTS64_H
#define GPUREDUCE_CPU_KERNEL_MOMENTS64_H

#include "cpu/kernel_block64.h"
#include "cpu/kernel_moments.h"

/* log2 of the elements of a block that come to a lane, and the bits of a limb: products of two, as
   many as that, stay within a quarter of a binade that is 2^53 last places wide. */
#define LANE_LOG2 (CPU_BLOCK64_LOG2 - W_LANES_LOG2)
#define LIMB_BITS64 ((51 - LANE_LOG2) / 2)

/* The exponent of the last place of limb i. The first has elements of up to 2^bound, and each of
   the others at most half of the last place before. */
#define LIMB_PLACE(bound, i) ((bound) - ((i) + 1) * LIMB_BITS64 - (i))

/* The bounds for which the constants of the accumulators neither overflow nor lose their spacing.
 */
#define LIMB_BOUND_MAX 500
#define LIMB_BOUND_MIN (-460)
_Static_assert(2 * LIMB_PLACE(LIMB_BOUND_MAX, 0) + 53 <= 1023 &&
                   2 * LIMB_PLACE(LIMB_BOUND_MIN, 2) >= EXACT_LSB_EXPONENT,
               "bounds of limbs");

/* If more elements of a block than one in so many are set aside, the next ones go the slow way. */
#define SET_ASIDE_PART 16

/* The products: limbs `first` and `second`, and how many times. */
enum { PRODUCTS = 6 };
static const struct {
    int first, second, log2_times;
} limb_products[PRODUCTS] = {{0, 0, 0}, {0, 1, 1}, {0, 2, 1}, {1, 1, 0}, {1, 2, 1}, {2, 2, 0}};

struct moments64 {
    wvec max_s, max_u;        /* as in struct extremes64 */
    vecd least;               /* the least magnitude */
    wvec negative;            /* counts of elements with a sign, -0 among them */
    vecd sum[3], absolute[3]; /* of limbs */
    vecd product[PRODUCTS];
};

/* The beginning of the accumulator of a product. */
static inline double product_start(int bound, int product)
{
    return 1.5 * exact_power_of_two(LIMB_PLACE(bound, limb_products[product].first) +
                                    LIMB_PLACE(bound, limb_products[product].second) + 52);
}

/* Cuts a value into limbs; returns what is left, in any form that is zero when nothing is. */
INLINE_TARGET wvec cut(vecd limb[3], vecd value, const vecd constant[3])
{
    vecd rest = value;

#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        limb[i] = d_sub(d_add(rest, constant[i]), constant[i]);
        rest = d_sub(rest, limb[i]);
    }
    limb[2] = rest;
    /* In this order nothing is +0, never -0. */
    return d_bits(d_sub(d_sub(d_add(rest, constant[2]), constant[2]), rest));
}

/* Puts zeros in place of the elements of a vector that have bits below the limbs, and sets them
   aside in the scratch. */
static SIMD_TARGET wvec set_aside(struct cpu_reducer *r, wvec v, vecd constant0, vecd constant1,
                                  vecd constant2)
{
    const vecd constant[3] = {constant0, constant1, constant2};
    double value[W_LANES], rest[W_LANES];
    vecd limb[3];

    d_store(rest, w_value(cut(limb, w_value(v), constant)));
    d_store(value, w_value(v));
    for (int i = 0; i < W_LANES; i++) {
        if (exact_bits(rest[i]) == 0)
            continue;
        r->scratch[r->aside++] = value[i];
        value[i] = 0;
    }
    return d_bits(d_load(value));
}

INLINE_TARGET void take_moments64(struct moments64 *b, wvec v, unsigned finds)
{
    b->max_s = w_max_s(b->max_s, v);
    b->max_u = w_max_u(b->max_u, v);
    b->least = d_min_magnitude(b->least, w_value(v));
    if (finds & PARTIAL_NEGATIVE)
        b->negative = w_tally(b->negative, w_gt_s(w_set1(0), v));
}

INLINE_TARGET void take_limbs(struct moments64 *b, vecd limb[3], wvec v, unsigned finds)
{
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        if (finds & PARTIAL_SUM)
            b->sum[i] = d_add(b->sum[i], limb[i]);
        if (finds & PARTIAL_ABSOLUTE) {
            /* With the sign of the element: limbs may have another. */
            wvec negated = d_bits(d_sub(d_set1(0), limb[i]));
            wvec chosen = w_select(w_gt_s(w_set1(0), v), negated, d_bits(limb[i]));
            b->absolute[i] = d_add(b->absolute[i], w_value(chosen));
        }
    }
    if (finds & PARTIAL_SQUARES)
#pragma GCC unroll 6
        for (int i = 0; i < PRODUCTS; i++)
            b->product[i] =
                d_fma(limb[limb_products[i].first], limb[limb_products[i].second], b->product[i]);
}

/* Takes `count` vectors, at most 2, that lie `distance` bytes apart. */
INLINE_TARGET void take_vectors64(struct cpu_reducer *r, struct moments64 *b,
                                  const unsigned char *x, size_t count, size_t distance,
                                  const vecd constant[3], unsigned finds, bool limbs)
{
    wvec v[2], rest = w_set1(0);
    vecd limb[2][3];

    UNROLL_INLINED(2)
    for (size_t i = 0; i < count; i++) {
        v[i] = w_load(x + i * distance);
        take_moments64(b, v[i], finds);
        if (limbs)
            rest = w_or(rest, cut(limb[i], w_value(v[i]), constant));
    }
    if (!limbs)
        return;
    if (__builtin_expect(w_any(rest), 0)) {
        UNROLL_INLINED(2)
        for (size_t i = 0; i < count; i++) {
            v[i] = set_aside(r, v[i], constant[0], constant[1], constant[2]);
            (void)cut(limb[i], w_value(v[i]), constant);
        }
    }
    UNROLL_INLINED(2)
    for (size_t i = 0; i < count; i++)
        take_limbs(b, limb[i], v[i], finds);
}

INLINE_TARGET void pass_moments64(struct cpu_reducer *r, struct moments64 *b,
                                  const unsigned char *x, size_t n, unsigned finds, bool limbs)
{
    const int bound = r->square_bound;
    const vecd constant[3] = {d_set1(extraction_constant(LIMB_PLACE(bound, 0))),
                              d_set1(extraction_constant(LIMB_PLACE(bound, 1))),
                              d_set1(extraction_constant(LIMB_PLACE(bound, 2)))};
    const size_t part = n / (STREAMS * W_LANES) * W_LANES;

    r->aside = 0;
    b->max_s = w_set1(SIGN64);
    b->max_u = b->negative = w_set1(0);
    b->least = d_set1(HUGE_VAL);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        b->sum[i] = b->absolute[i] = d_set1(0);
#pragma GCC unroll 6
    for (int i = 0; i < PRODUCTS; i++)
        b->product[i] = d_set1(product_start(bound, i));
    for (size_t i = 0; i < part; i += W_LANES) {
        prefetch((uintptr_t)x + r->origin, part * 8, i * 8, W_LANES * 8,
                 (size_t)8 << CPU_BLOCK64_LOG2);
        /* Two and two: the limbs of four would not stay in registers. */
        take_vectors64(r, b, x + i * 8, 2, part * 8, constant, finds, limbs);
        take_vectors64(r, b, x + (2 * part + i) * 8, 2, part * 8, constant, finds, limbs);
    }
    for (size_t i = STREAMS * part; i < n; i += W_LANES)
        take_vectors64(r, b, x + i * 8, 1, 0, constant, finds, limbs);
}

COUNT_SMALL(64, w, wvec, static SIMD_TARGET, w_load(x + i * 8), exact_from_bits)

/* Lays the block out in the scratch. */
static SIMD_TARGET void fill_scratch64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                       enum scratch_of what)
{
    const wvec magnitude = w_set1(~SIGN64), infinity = w_set1(INFINITY64);

    for (size_t i = 0; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8), a = w_and(v, magnitude);

        if (what == SCRATCH_MAGNITUDES)
            v = a;
        d_store(r->scratch + i, w_value(w_select(w_gt_s(infinity, a), v, w_set1(0))));
    }
}

/* The sums of a block, the slow way; its values are finite, or left out. */
static SIMD_TARGET void add_again64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                    unsigned finds)
{
    if (finds & PARTIAL_SQUARES) {
        fill_scratch64(r, x, n, SCRATCH_VALUES);
        exact_wide_add_squares(&r->partial.squares, r->scratch, n);
    }
    if (finds & PARTIAL_ABSOLUTE) {
        fill_scratch64(r, x, n, SCRATCH_MAGNITUDES);
        add_scratch_of_magnitudes(r, n);
    }
    if (finds & PARTIAL_SUM) {
        fill_scratch64(r, x, n, SCRATCH_VALUES);
        sum_scratch64(r, n);
    }
}

/* Takes the sums of limbs and of their products. */
INLINE_TARGET void take_products(struct cpu_reducer *r, const struct moments64 *b, unsigned finds)
{
    const int bound = r->square_bound;

    for (int i = 0; i < 3; i++) {
        if (finds & PARTIAL_SUM)
            exact_add(&r->partial.sum, d_h_add(b->sum[i]));
        if (finds & PARTIAL_ABSOLUTE)
            exact_add(&r->partial.absolute, d_h_add(b->absolute[i]));
    }
    if (!(finds & PARTIAL_SQUARES))
        return;
#pragma GCC unroll 6
    for (int i = 0; i < PRODUCTS; i++)
        add_to_squares(r, added_to(&b->product[i], 1, product_start(bound, i)),
                       LIMB_PLACE(bound, limb_products[i].first) +
                           LIMB_PLACE(bound, limb_products[i].second) +
                           limb_products[i].log2_times);
}

/* Takes the elements that were set aside. */
static void take_aside(struct cpu_reducer *r, size_t n, unsigned finds)
{
    for (size_t i = 0; i < n; i++) {
        const double x = r->scratch[i];

        if (finds & PARTIAL_SUM)
            exact_add(&r->partial.sum, x);
        if (finds & PARTIAL_ABSOLUTE)
            exact_add(&r->partial.absolute, fabs(x));
        if (finds & PARTIAL_SQUARES)
            exact_wide_add_squares(&r->partial.squares, &x, 1);
    }
}

/* The bound for blocks like one below 2^exponent. */
static inline int limb_bound(int exponent)
{
    return exponent > LIMB_BOUND_MAX   ? LIMB_BOUND_MAX
           : exponent < LIMB_BOUND_MIN ? LIMB_BOUND_MIN
                                       : exponent;
}

/* The extremes of a pass. If all elements have one sign, the least unsigned integer is the one of
   the least magnitude. */
INLINE_TARGET struct bit_extremes moments64_bits(const struct moments64 *b)
{
    const uint64_t max_u = w_h_max_u(b->max_u), least = exact_bits(d_h_min(b->least));

    return (struct bit_extremes){w_h_max_s(b->max_s), max_u, least | (max_u & SIGN64), SIGN64};
}

/* Takes the sums of a pass over a block of numbers below 2^exponent that are not all zero, or adds
   them up the slow way. */
INLINE_TARGET void take_sums64(struct cpu_reducer *r, const struct moments64 *b, int exponent,
                               bool limbs, const unsigned char *x, size_t n, unsigned finds)
{
    if (limbs && exponent <= r->square_bound) {
        take_products(r, b, finds);
        take_aside(r, r->aside, finds);
        if (r->aside <= n / SET_ASIDE_PART)
            return;
        if (limb_bound(exponent) == r->square_bound)
            r->limbs_dearest = BLOCKS_DEAREST;
    } else {
        if (limbs && exponent > LIMB_BOUND_MAX)
            r->limbs_dearest = BLOCKS_DEAREST;
        else
            r->limbs_dearest -= r->limbs_dearest > 0;
        add_again64(r, x, n, finds);
    }
    r->square_bound = limb_bound(exponent);
}

/* A block of n elements, a multiple of W_LANES. */
INLINE_TARGET void block_moments64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                   uint64_t index, unsigned finds)
{
    const bool sums = finds & (PARTIAL_SUM | PARTIAL_SQUARES | PARTIAL_ABSOLUTE);
    const bool limbs = sums && r->limbs_dearest == 0;
    struct moments64 b;
    struct bit_extremes bits;
    struct small s;
    uint64_t magnitude;

    if (limbs)
        pass_moments64(r, &b, x, n, finds, true);
    else
        pass_moments64(r, &b, x, n, finds, false);
    bits = moments64_bits(&b);
    magnitude = bits_magnitude(&bits);
    if (magnitude >= INFINITY64) {
        s = count_small64(x, n, ELEMENT_F64);
        special64(r, x, n, index, false);
        take_small(r, &s, finds);
        add_again64(r, x, n, finds);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    s = (struct small){.least = d_h_min(b.least)};
    if (s.least < exact_power_of_two(-1022))
        s = count_small64(x, n, ELEMENT_F64);
    else if (finds & PARTIAL_NEGATIVE)
        s.negative = w_h_add(b.negative);
    take_small(r, &s, finds);
    if (magnitude > 0 && sums)
        take_sums64(r, &b, bound_exponent(magnitude), limbs, x, n, finds);
}

#endif
