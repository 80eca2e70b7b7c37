/*
 * Kernels: blocks of binary64 elements. A part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_BLOCK64_H
#define GPUREDUCE_CPU_KERNEL_BLOCK64_H

#include <limits.h>

#include "cpu/kernel_common.h"

/* Extremes as values: few processors compare lanes of 64 bits as integers in one step. The greatest
   and the least value leave open which sign a zero has. */
struct extremes64 {
    vecd min, max;
    wvec any; /* the bits that any element has */
};

INLINE_TARGET struct extremes64 extremes64_none(void)
{
    return (struct extremes64){d_set1(HUGE_VAL), d_set1(-HUGE_VAL), w_set1(0)};
}

/* Those of one vector. */
INLINE_TARGET struct extremes64 extremes64_of(wvec v)
{
    return (struct extremes64){w_value(v), w_value(v), v};
}

/* Those of two. */
INLINE_TARGET struct extremes64 extremes64_both(struct extremes64 a, struct extremes64 b)
{
    return (struct extremes64){d_min(a.min, b.min), d_max(a.max, b.max), w_or(a.any, b.any)};
}

/* Whether one of n elements is +0. */
static SIMD_TARGET bool has_positive_zero(const unsigned char *x, size_t n)
{
    for (size_t i = 0; i < n; i += W_LANES)
        if (w_some(w_eq(w_load(x + i * 8), w_set1(0))))
            return true;
    return false;
}

/* The extremes of the n elements at x, as bits. */
INLINE_TARGET struct bit_extremes extremes64_bits(const struct extremes64 *e,
                                                  const unsigned char *x, size_t n)
{
    const double least = d_h_min(e->min), greatest = d_h_max(e->max);
    const bool signs = w_h_or(e->any) & SIGN64;
    uint64_t min = exact_bits(least), max = exact_bits(greatest);

    if (least == 0)
        min = signs ? SIGN64 : 0;
    if (greatest == 0)
        max = signs && !has_positive_zero(x, n) ? SIGN64 : 0;
    return (struct bit_extremes){max, min, max & SIGN64 ? max : min, SIGN64};
}

/* Adds the n finite elements in the scratch. */
INLINE_TARGET void sum_scratch64(struct cpu_reducer *r, size_t n)
{
    if (r->blocks_dearest > 0) {
        r->blocks_dearest--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS64))
            return;
        r->blocks_dearest = BLOCKS_DEAREST;
    }
    cpu_add_to_cells(r, r->scratch, n);
}

/* A block with a NaN or an infinity in it: counts them and sums the rest. */
INLINE_TARGET void special64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, bool sum)
{
    const wvec magnitude = w_set1(~SIGN64), infinity = w_set1(INFINITY64);
    struct extremes64 e = extremes64_none();
    struct specials s = {0};
    struct bit_extremes bits;

    for (size_t i = 0; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);
        wmask is_nan = w_gt_s(w_and(v, magnitude), infinity);

        s.nan += w_count(is_nan);
        s.positive_infinity += w_count(w_eq(v, infinity));
        s.negative_infinity += w_count(w_eq(v, w_set1(INFINITY64 | SIGN64)));
        e.min = d_min(w_value(w_select(is_nan, infinity, v)), e.min);
        e.max = d_max(w_value(w_select(is_nan, w_set1(INFINITY64 | SIGN64), v)), e.max);
        e.any = w_or(e.any, w_select(is_nan, w_set1(0), v));
        d_store(r->scratch + i,
                w_value(w_select(w_gt_s(infinity, w_and(v, magnitude)), v, w_set1(0))));
    }
    if (sum)
        sum_scratch64(r, n);
    bits = extremes64_bits(&e, x, n);
    take_specials(r, &s, &bits, x, n, index);
}

struct block64 {
    struct extremes64 extremes;
    vecd upper[2], lower[2]; /* sums of the parts */
    wvec rests;              /* all bits of what is left of the elements */
    wvec odd; /* without a sum: not 0, apart from the sign, for NaNs and infinities */
};

/* +0 for numbers, else a NaN. */
INLINE_TARGET wvec odd64(wvec v)
{
    return d_bits(d_sub(w_value(v), w_value(v)));
}

/* One pass over a block: its extremes, and for a sum two parts of each element, below 2^bound. */
INLINE_TARGET struct block64 pass64(const unsigned char *x, uintptr_t origin, size_t n, bool sum,
                                    int bound)
{
    /* The rest after the first extraction is at most half of the upper part's last bit. */
    const int bit = bound - PART_BITS64;
    const vecd constant[2] = {d_set1(extraction_constant(bit)),
                              d_set1(extraction_constant(bit - 1 - PART_BITS64))};
    const size_t quarter = n / (STREAMS * W_LANES) * W_LANES;
    struct block64 b = {
        .extremes = extremes64_none(),
        .upper = {d_set1(0), d_set1(0)},
        .lower = {d_set1(0), d_set1(0)},
        .rests = w_set1(0),
        .odd = w_set1(0),
    };
    struct extremes64 *e = &b.extremes;

    for (size_t i = 0; i < quarter; i += W_LANES) {
        wvec v0 = w_load(x + i * 8), v1 = w_load(x + (quarter + i) * 8);
        wvec v2 = w_load(x + (2 * quarter + i) * 8), v3 = w_load(x + (3 * quarter + i) * 8);

        prefetch(origin, quarter * 8, i * 8, W_LANES * 8, (size_t)8 << CPU_BLOCK64_LOG2);
        *e = extremes64_both(extremes64_both(extremes64_both(extremes64_of(v0), extremes64_of(v1)),
                                             extremes64_both(extremes64_of(v2), extremes64_of(v3))),
                             *e);
        if (sum) {
            b.rests = w_or(b.rests, extract_twice(w_value(v0), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v1), constant, &b.upper[1], &b.lower[1]));
            b.rests = w_or(b.rests, extract_twice(w_value(v2), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v3), constant, &b.upper[1], &b.lower[1]));
        } else {
            b.odd = w_or(b.odd, w_or(w_or(odd64(v0), odd64(v1)), w_or(odd64(v2), odd64(v3))));
        }
    }
    for (size_t i = STREAMS * quarter; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);

        *e = extremes64_both(extremes64_of(v), *e);
        if (sum)
            b.rests = w_or(b.rests, extract_twice(w_value(v), constant, &b.upper[0], &b.lower[0]));
        else
            b.odd = w_or(b.odd, odd64(v));
    }
    return b;
}

/* A block of n elements, a multiple of W_LANES. */
INLINE_TARGET void block64(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           bool sum)
{
    const struct block64 b = pass64(x, (uintptr_t)x + r->origin, n, sum, r->extraction_bound);
    const struct bit_extremes bits = extremes64_bits(&b.extremes, x, n);
    const uint64_t magnitude = bits_magnitude(&bits);

    /* The sum of huge numbers may overflow: they go the same way as infinities. */
    if (sum ? !isfinite(d_h_add(d_add(b.upper[0], b.upper[1]))) : (w_h_or(b.odd) & ~SIGN64) != 0) {
        special64(r, x, n, index, sum);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    if (!sum || magnitude == 0 ||
        add_parts_of_block(r, bound_exponent(magnitude), b.rests, d_add(b.upper[0], b.upper[1]),
                           d_add(b.lower[0], b.lower[1])))
        return;
    expect_bound(r, bound_exponent(magnitude));
    memcpy(r->scratch, x, n * 8);
    sum_scratch64(r, n);
}

/*
 * The sum alone. One part of each element is extracted, and what is left of it is added up as it is.
 * Both sums are exact if all magnitudes are below 2^bound, and none is below 2^(bound + LEAST_BITS64):
 * then what is left, at most half of the upper part's last bit, is a multiple of a bit so high that
 * the sum of a whole block fits binary64.
 */
#define LEAST_BITS64 (51 - 2 * PART_BITS64)

struct sum64 {
    vecd upper[2], rest[2];
    vecd greatest[2], least[2]; /* magnitudes */
};

INLINE_TARGET void take_sum64(struct sum64 *s, const unsigned char *x, vecd constant, int stream)
{
    const vecd value = w_value(w_load(x)), part = d_sub(d_add(value, constant), constant);

    s->upper[stream] = d_add(s->upper[stream], part);
    s->rest[stream] = d_add(s->rest[stream], d_sub(value, part));
    s->greatest[stream] = d_max_magnitude(s->greatest[stream], value);
    s->least[stream] = d_min_magnitude(s->least[stream], value);
}

/* One pass over a block for a bound. */
INLINE_TARGET struct sum64 pass_sum64(const unsigned char *x, uintptr_t origin, size_t n, int bound)
{
    const vecd constant = d_set1(extraction_constant(bound - PART_BITS64));
    const size_t quarter = n / (STREAMS * W_LANES) * W_LANES;
    struct sum64 s = {{d_set1(0), d_set1(0)},
                      {d_set1(0), d_set1(0)},
                      {d_set1(0), d_set1(0)},
                      {d_set1(HUGE_VAL), d_set1(HUGE_VAL)}};

    for (size_t i = 0; i < quarter; i += W_LANES) {
        prefetch(origin, quarter * 8, i * 8, W_LANES * 8, (size_t)8 << CPU_BLOCK64_LOG2);
        take_sum64(&s, x + i * 8, constant, 0);
        take_sum64(&s, x + (quarter + i) * 8, constant, 1);
        take_sum64(&s, x + (2 * quarter + i) * 8, constant, 0);
        take_sum64(&s, x + (3 * quarter + i) * 8, constant, 1);
    }
    for (size_t i = STREAMS * quarter; i < n; i += W_LANES)
        take_sum64(&s, x + i * 8, constant, 0);
    return s;
}

/* Whether the two sums of a pass are exact, and, if not, the greatest exponent of the elements; NO_BOUND if no
   bound would have done. */
#define NO_BOUND INT_MAX

INLINE_TARGET bool end_sum64(const struct sum64 *s, int bound, double sums[2], int *exponent)
{
    const double most = d_h_max(d_max(s->greatest[0], s->greatest[1]));
    const int least = bound_exponent(exact_bits(d_h_min(d_min(s->least[0], s->least[1])))) - 1;
    const int greatest = bound_exponent(exact_bits(most));

    sums[0] = d_h_add(d_add(s->upper[0], s->upper[1]));
    sums[1] = d_h_add(d_add(s->rest[0], s->rest[1]));
    *exponent = !isfinite(sums[0]) || least < greatest + 1 + LEAST_BITS64 ? NO_BOUND : greatest;
    return isfinite(sums[0]) && (most == 0 || (greatest <= bound && least >= bound + LEAST_BITS64));
}

/* A block of n elements, a multiple of W_LANES, whose extremes are not wanted. */
INLINE_TARGET void block_sum64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                               uint64_t index)
{
    struct sum64 s;
    double sums[2];
    int exponent;

    if (r->blocks_to_extract > 0) {
        r->blocks_to_extract--;
        block64(r, x, n, index, true);
        return;
    }
    s = pass_sum64(x, (uintptr_t)x + r->origin, n, r->extraction_bound);
    if (end_sum64(&s, r->extraction_bound, sums, &exponent)) {
        exact_add(&r->partial.sum, sums[0]);
        exact_add(&r->partial.sum, sums[1]);
        return;
    }
    if (exponent == NO_BOUND)
        r->blocks_to_extract = BLOCKS_DEAREST;
    else
        expect_bound(r, exponent);
    block64(r, x, n, index, true);
}

#endif
