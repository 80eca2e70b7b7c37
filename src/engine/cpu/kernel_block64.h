/*
 * Kernels: blocks of binary64 elements. A part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_BLOCK64_H
#define GPUREDUCE_CPU_KERNEL_BLOCK64_H

#include "engine/cpu/kernel_common.h"

struct extremes64 {
    wvec max_s, max_u, min_u;
};

INLINE_TARGET struct extremes64 extremes64_none(void)
{
    return (struct extremes64){w_set1(SIGN64), w_set1(0), w_set1(UINT64_MAX)};
}

INLINE_TARGET struct bit_extremes extremes64_bits(const struct extremes64 *e)
{
    return (struct bit_extremes){w_h_max_s(e->max_s), w_h_max_u(e->max_u), w_h_min_u(e->min_u),
                                 SIGN64};
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
        e.max_s = w_max_s(e.max_s, w_select(is_nan, w_set1(SIGN64), v));
        e.max_u = w_max_u(e.max_u, w_select(is_nan, w_set1(0), v));
        e.min_u = w_min_u(e.min_u, w_select(is_nan, w_set1(UINT64_MAX), v));
        d_store(r->scratch + i,
                w_value(w_select(w_gt_s(infinity, w_and(v, magnitude)), v, w_set1(0))));
    }
    if (sum)
        sum_scratch64(r, n);
    bits = extremes64_bits(&e);
    take_specials(r, &s, &bits, x, n, index);
}

struct block64 {
    struct extremes64 extremes;
    vecd upper[2], lower[2]; /* sums of the parts */
    wvec rests;              /* all bits of what is left of the elements */
};

/* One pass over a block: its extremes, and for a sum two parts of each element, below 2^bound. */
INLINE_TARGET struct block64 pass64(const unsigned char *x, size_t n, bool sum, int bound)
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
    };
    struct extremes64 *e = &b.extremes;

    for (size_t i = 0; i < quarter; i += W_LANES) {
        wvec v0 = w_load(x + i * 8), v1 = w_load(x + (quarter + i) * 8);
        wvec v2 = w_load(x + (2 * quarter + i) * 8), v3 = w_load(x + (3 * quarter + i) * 8);

        prefetch(x, quarter * 8, i * 8, W_LANES * 8, (size_t)8 << CPU_BLOCK64_LOG2);
        e->max_s = w_max_s(w_max_s(e->max_s, w_max_s(v0, v1)), w_max_s(v2, v3));
        e->max_u = w_max_u(w_max_u(e->max_u, w_max_u(v0, v1)), w_max_u(v2, v3));
        e->min_u = w_min_u(w_min_u(e->min_u, w_min_u(v0, v1)), w_min_u(v2, v3));
        if (sum) {
            b.rests = w_or(b.rests, extract_twice(w_value(v0), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v1), constant, &b.upper[1], &b.lower[1]));
            b.rests = w_or(b.rests, extract_twice(w_value(v2), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v3), constant, &b.upper[1], &b.lower[1]));
        }
    }
    for (size_t i = STREAMS * quarter; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);

        e->max_s = w_max_s(e->max_s, v);
        e->max_u = w_max_u(e->max_u, v);
        e->min_u = w_min_u(e->min_u, v);
        if (sum)
            b.rests = w_or(b.rests, extract_twice(w_value(v), constant, &b.upper[0], &b.lower[0]));
    }
    return b;
}

/* A block of n elements, a multiple of W_LANES. */
INLINE_TARGET void block64(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           bool sum)
{
    const struct block64 b = pass64(x, n, sum, r->extraction_bound);
    const struct bit_extremes bits = extremes64_bits(&b.extremes);
    const uint64_t magnitude = bits_magnitude(&bits);

    if (magnitude >= INFINITY64) {
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

#endif
