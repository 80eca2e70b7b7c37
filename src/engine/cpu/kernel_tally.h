/*
 * Kernels: what tallies take vectors for. A part of kernel_template.h.
 *
 * A block lies in the level-1 cache while it is gone over for a few cells at a time, so that a pass
 * needs no more registers than there are, whatever the number of cells. Meanwhile the bytes that
 * come a piece later are asked for: else memory would be idle.
 */
#ifndef GPUREDUCE_CPU_KERNEL_TALLY_H
#define GPUREDUCE_CPU_KERNEL_TALLY_H

#include "core/order.h"
#include "core/tally.h"
#include "engine/cpu/kernel_common.h"

_Static_assert(V_LANES <= CPU_LANES_MAX, "the room that cells need");

/* x + PLACE_ROUNDER is x, from 0 on, rounded to an integer, which is then the lower part of the
   bits. */
#define PLACE_ROUNDER 0x1p52

/* Edges as v_order and w_order have elements. */
static inline uint32_t edge32(uint64_t key)
{
    return (uint32_t)key ^ SIGN32;
}

static inline uint64_t edge64(uint64_t key)
{
    return key ^ SIGN64;
}

/* Elements below an edge. */
static SIMD_TARGET uint64_t count32(const unsigned char *x, size_t n, uint64_t key)
{
    const vec edge = v_set1(edge32(key));
    vec count = v_set1(0);

    for (size_t i = 0; i < n; i += V_LANES)
        count = v_tally(count, v_gt_s(edge, v_order(v_load_f32(x + i * 4))));
    return v_h_add(count);
}

static SIMD_TARGET uint64_t count64(const unsigned char *x, size_t n, uint64_t key)
{
    const wvec edge = w_set1(edge64(key));
    wvec count = w_set1(0);

    for (size_t i = 0; i < n; i += W_LANES)
        count = w_tally(count, w_gt_s(edge, w_order(w_load(x + i * 8))));
    return w_h_add(count);
}

/* The most cells that are kept in one pass: what it needs of each fits the registers. */
#define PASS_CELLS 4

/* Takes what a pass over a cell found. The first edge and the last are counted apart; an upper edge
   may be the lower one of the next cell that is kept. */
static inline void take_cell(struct tally *t, unsigned cell, uint64_t below, uint64_t kept)
{
    if (cell > 0)
        t->counts[cell] += below;
    if (cell + 2 < t->plan->edges && !t->plan->keep[cell + 1])
        t->counts[cell + 1] += below + kept;
    t->kept_count += kept;
}

/* A pass over the cells that begin at these edges: counts the elements below them, and keeps those
   in them. `cells` is a constant. */
INLINE_TARGET void keep32(struct tally *t, const unsigned char *x, size_t n, const unsigned *first,
                          unsigned cells)
{
    uint32_t *to = (uint32_t *)t->kept + t->kept_count;
    vec low[PASS_CELLS], high[PASS_CELLS], below[PASS_CELLS];
    uint64_t kept[PASS_CELLS] = {0};

    for (unsigned c = 0; c < cells; c++) {
        low[c] = v_set1(edge32(t->plan->edge[first[c]]));
        high[c] = v_set1(edge32(t->plan->edge[first[c] + 1]));
        below[c] = v_set1(0);
    }
    for (size_t i = 0; i < n; i += V_LANES) {
        const vec v = v_load_f32(x + i * 4), key = v_order(v);

        __builtin_prefetch((const void *)((uintptr_t)x + i * 4 + CPU_PIECE_BYTES), 0, 2);
#pragma GCC unroll 4
        for (unsigned c = 0; c < cells; c++) {
            vmask below_low = v_gt_s(low[c], key);
            vmask within = v_without(v_gt_s(high[c], key), below_low);

            below[c] = v_tally(below[c], below_low);
            if (v_some(within)) {
                unsigned more = v_pack(to, within, v);

                to += more;
                kept[c] += more;
            }
        }
    }
    for (unsigned c = 0; c < cells; c++)
        take_cell(t, first[c], v_h_add(below[c]), kept[c]);
}

INLINE_TARGET void keep64(struct tally *t, const unsigned char *x, size_t n, const unsigned *first,
                          unsigned cells)
{
    uint64_t *to = (uint64_t *)t->kept + t->kept_count;
    wvec low[PASS_CELLS], high[PASS_CELLS], below[PASS_CELLS];
    uint64_t kept[PASS_CELLS] = {0};

    for (unsigned c = 0; c < cells; c++) {
        low[c] = w_set1(edge64(t->plan->edge[first[c]]));
        high[c] = w_set1(edge64(t->plan->edge[first[c] + 1]));
        below[c] = w_set1(0);
    }
    for (size_t i = 0; i < n; i += W_LANES) {
        const wvec v = w_load(x + i * 8), key = w_order(v);

        __builtin_prefetch((const void *)((uintptr_t)x + i * 8 + CPU_PIECE_BYTES), 0, 2);
#pragma GCC unroll 4
        for (unsigned c = 0; c < cells; c++) {
            wmask below_low = w_gt_s(low[c], key);
            wmask within = w_without(w_gt_s(high[c], key), below_low);

            below[c] = w_tally(below[c], below_low);
            if (w_some(within)) {
                unsigned more = w_pack(to, within, v);

                to += more;
                kept[c] += more;
            }
        }
    }
    for (unsigned c = 0; c < cells; c++)
        take_cell(t, first[c], w_h_add(below[c]), kept[c]);
}

/* An instance for each number of cells. */
#define KEEP(bits)                                                                            \
    static SIMD_TARGET void keep##bits##_1(struct tally *t, const unsigned char *x, size_t n, \
                                           const unsigned *first)                             \
    {                                                                                         \
        keep##bits(t, x, n, first, 1);                                                        \
    }                                                                                         \
    static SIMD_TARGET void keep##bits##_2(struct tally *t, const unsigned char *x, size_t n, \
                                           const unsigned *first)                             \
    {                                                                                         \
        keep##bits(t, x, n, first, 2);                                                        \
    }                                                                                         \
    static SIMD_TARGET void keep##bits##_3(struct tally *t, const unsigned char *x, size_t n, \
                                           const unsigned *first)                             \
    {                                                                                         \
        keep##bits(t, x, n, first, 3);                                                        \
    }                                                                                         \
    static SIMD_TARGET void keep##bits##_4(struct tally *t, const unsigned char *x, size_t n, \
                                           const unsigned *first)                             \
    {                                                                                         \
        keep##bits(t, x, n, first, PASS_CELLS);                                               \
    }
KEEP(32)
KEEP(64)

/* The passes over a block for the edges between the first and the last; those are of NaNs. */
#define CELLS(bits)                                                                              \
    static SIMD_TARGET void tally_cells##bits(struct tally *t, const void *data, size_t n)       \
    {                                                                                            \
        typedef void keep_pass(struct tally *, const unsigned char *, size_t, const unsigned *); \
        static keep_pass *const passes[PASS_CELLS] = {keep##bits##_1, keep##bits##_2,            \
                                                      keep##bits##_3, keep##bits##_4};           \
        const struct tally_plan *plan = t->plan;                                                 \
        unsigned first[PASS_CELLS], cells = 0;                                                   \
                                                                                                 \
        for (unsigned i = 0; i + 1 < plan->edges; i++) {                                         \
            if (plan->keep[i])                                                                   \
                first[cells++] = i;                                                              \
            else if (i > 0 && !plan->keep[i - 1])                                                \
                t->counts[i] += count##bits(data, n, plan->edge[i]);                             \
            if (cells == PASS_CELLS || (cells > 0 && i + 2 == plan->edges)) {                    \
                passes[cells - 1](t, data, n, first);                                            \
                cells = 0;                                                                       \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    static SIMD_TARGET void tally_nans##bits(struct tally *t, const void *data, size_t n)        \
    {                                                                                            \
        const unsigned last = t->plan->edges - 1;                                                \
                                                                                                 \
        t->counts[0] += count##bits(data, n, t->plan->edge[0]);                                  \
        t->counts[last] += count##bits(data, n, t->plan->edge[last]);                            \
    }
CELLS(32)
CELLS(64)

/* Where W_LANES values are in units of bins: the place p of each, from -1/4 for what lies below the
   bins, or is NaN, to 1/4 above them. Returns p + 1/2 rounded to an integer, added to
   PLACE_ROUNDER: unless p is nearly an integer, that is one more than the number of the bin, 0
   below all. *far has the greatest distance of p + 1/2 from an integer, which is 1/2 where p is
   one. */
INLINE_TARGET vecd bin_place(vecd x, vecd low, vecd scale, vecd last, vecd *far)
{
    const vecd rounder = d_set1(PLACE_ROUNDER);
    vecd place = d_clamp(d_mul(d_sub(x, low), scale), d_set1(-0.25), last);
    vecd shifted = d_add(place, d_set1(0.5)), rounded = d_add(shifted, rounder);

    *far = d_max(*far, d_abs(d_sub(shifted, d_sub(rounded, rounder))));
    return rounded;
}

/* A place that is so near to an integer may be on its other side: it is wrong by less than 2^-30.
 */
#define PLACE_MARGIN 0x1p-20

static SIMD_TARGET bool tally_bins32(const struct tally *t, const void *data, size_t n,
                                     double *place)
{
    const struct tally_plan *plan = t->plan;
    const vecd low = d_set1(plan->low), scale = d_set1(plan->scale);
    const vecd last = d_set1(plan->bins + 0.25);
    const unsigned char *x = data;
    vecd far = d_set1(0);

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = v_load_f32(x + i * 4);

        __builtin_prefetch((const void *)((uintptr_t)x + i * 4 + CPU_PIECE_BYTES), 0, 2);
        d_store(place + i, bin_place(v_low(v), low, scale, last, &far));
        d_store(place + i + W_LANES, bin_place(v_high(v), low, scale, last, &far));
    }
    return d_h_max(far) < 0.5 - PLACE_MARGIN;
}

static SIMD_TARGET bool tally_bins64(const struct tally *t, const void *data, size_t n,
                                     double *place)
{
    const struct tally_plan *plan = t->plan;
    const vecd low = d_set1(plan->low), scale = d_set1(plan->scale);
    const vecd last = d_set1(plan->bins + 0.25);
    const unsigned char *x = data;
    vecd far = d_set1(0);

    for (size_t i = 0; i < n; i += W_LANES) {
        __builtin_prefetch((const void *)((uintptr_t)x + i * 8 + CPU_PIECE_BYTES), 0, 2);
        d_store(place + i, bin_place(w_value(w_load(x + i * 8)), low, scale, last, &far));
    }
    return d_h_max(far) < 0.5 - PLACE_MARGIN;
}

#endif
