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
#include "cpu/kernel_common.h"

_Static_assert(V_LANES <= CPU_LANES_MAX, "the room that cells need");

/* x + PLACE_ROUNDER is x, from 0 on, rounded to an integer, which is then the lower part of the
   bits. */
#define PLACE_ROUNDER 0x1p52

/* The most cells that are kept in one pass: their vectors fit the registers. */
#define PASS_CELLS 4

/* The functions for elements of `bits`, by operations whose names begin with v. `floats` and `cells`
   are constants.

   order: elements as signed integers in their order: floats by v_order, integers by a change of the
   sign bits, where `flip` has them set. Keys are changed likewise.

   count: the elements that are not before a key.

   keep: a pass for the cells with these numbers. It counts the elements that are not before them, and
   keeps those in them. For each element the last key of the cell that it is in, or that it comes
   after, is found: so cells cost a comparison each, and it takes one more to know whether the
   element is in any. */
#define TALLY(bits, v, vector, mask, lane, lanes, load, sign)                                    \
    INLINE_TARGET vector flip##bits(enum element_type type)                                      \
    {                                                                                            \
        return v##_set1(element_formats[type].kind == ELEMENT_UNSIGNED ? sign : 0);              \
    }                                                                                            \
    INLINE_TARGET vector order##bits(bool floats, vector flip, vector x)                         \
    {                                                                                            \
        return floats ? v##_order(x) : v##_xor(x, flip);                                         \
    }                                                                                            \
    INLINE_TARGET uint64_t count##bits(const unsigned char *x, size_t n, enum element_type type, \
                                       bool floats, uint64_t key)                                \
    {                                                                                            \
        const vector flip = flip##bits(type), first = v##_set1((lane)key ^ sign);                \
        vector count = v##_set1(0);                                                              \
                                                                                                 \
        for (size_t i = 0; i < n; i += lanes)                                                    \
            count = v##_tally(                                                                   \
                count, v##_ge_s(order##bits(floats, flip, load(x + i * sizeof(lane))), first));  \
        return v##_h_add(count);                                                                 \
    }                                                                                            \
    INLINE_TARGET void keep##bits(struct tally *t, const unsigned char *x, size_t n,             \
                                  const unsigned *number, unsigned cells, bool floats)           \
    {                                                                                            \
        const struct tally_plan *plan = t->plan;                                                 \
        const vector flip = flip##bits(plan->type);                                              \
        lane *to = (lane *)t->kept + t->kept_count;                                              \
        vector first[PASS_CELLS], last[PASS_CELLS], count[PASS_CELLS];                           \
                                                                                                 \
        for (unsigned c = 0; c < cells; c++) {                                                   \
            first[c] = v##_set1((lane)plan->first[number[c]] ^ sign);                            \
            last[c] = v##_set1((lane)tally_last(plan, number[c]) ^ sign);                        \
            count[c] = v##_set1(0);                                                              \
        }                                                                                        \
        for (size_t i = 0; i < n; i += lanes) {                                                  \
            const unsigned char *p = x + i * sizeof(lane);                                       \
            const vector elements = load(p), key = order##bits(floats, flip, elements);          \
            const mask first_cell = v##_ge_s(key, first[0]);                                     \
            vector end = last[0];                                                                \
            mask within;                                                                         \
                                                                                                 \
            __builtin_prefetch((const void *)((uintptr_t)p + CPU_PIECE_BYTES), 0, 2);            \
            count[0] = v##_tally(count[0], first_cell);                                          \
            UNROLL_INLINED(4)                                                                    \
            for (unsigned c = 1; c < cells; c++) {                                               \
                const mask reached = v##_ge_s(key, first[c]);                                    \
                                                                                                 \
                count[c] = v##_tally(count[c], reached);                                         \
                end = v##_select(reached, last[c], end);                                         \
            }                                                                                    \
            within = v##_also_ge_s(first_cell, end, key);                                        \
            if (SIMD_PACKS || v##_some(within))                                                  \
                to += v##_pack(to, within, elements);                                            \
        }                                                                                        \
        for (unsigned c = 0; c < cells; c++)                                                     \
            if (number[c] > 0)                                                                   \
                t->counts[number[c]] += n - v##_h_add(count[c]);                                 \
        t->kept_count = (size_t)(to - (lane *)t->kept);                                          \
    }
TALLY(32, v, vec, vmask, uint32_t, V_LANES, v_load_f32, SIGN32)
TALLY(64, w, wvec, wmask, uint64_t, W_LANES, w_load, SIGN64)

/* An instance for each number of cells. */
#define KEEP(bits, kind, floats, cells)                                                            \
    static SIMD_TARGET void keep##bits##_##kind##_##cells(struct tally *t, const unsigned char *x, \
                                                          size_t n, const unsigned *number)        \
    {                                                                                              \
        keep##bits(t, x, n, number, cells, floats);                                                \
    }

/* The passes over a block: for cells that are kept, and for the others, but those in front of which
   the elements are known from the cell before, and the first. */
#define CELLS(bits, kind, floats)                                                                \
    KEEP(bits, kind, floats, 1)                                                                  \
    KEEP(bits, kind, floats, 2)                                                                  \
    KEEP(bits, kind, floats, 3)                                                                  \
    KEEP(bits, kind, floats, 4)                                                                  \
    static SIMD_TARGET void count##bits##_##kind(struct tally *t, const void *x, size_t n,       \
                                                 unsigned cell, uint64_t key)                    \
    {                                                                                            \
        t->counts[cell] += n - count##bits(x, n, t->plan->type, floats, key);                    \
    }                                                                                            \
    static SIMD_TARGET void cells##bits##_##kind(struct tally *t, const void *x, size_t n)       \
    {                                                                                            \
        typedef void keep_pass(struct tally *, const unsigned char *, size_t, const unsigned *); \
        static keep_pass *const passes[PASS_CELLS] = {                                           \
            keep##bits##_##kind##_1, keep##bits##_##kind##_2, keep##bits##_##kind##_3,           \
            keep##bits##_##kind##_4};                                                            \
        const struct tally_plan *plan = t->plan;                                                 \
        unsigned number[PASS_CELLS], cells = 0;                                                  \
                                                                                                 \
        for (unsigned i = 0; i < plan->cells; i++) {                                             \
            if (plan->keep[i])                                                                   \
                number[cells++] = i;                                                             \
            else if (i > 0 && !plan->keep[i - 1])                                                \
                count##bits##_##kind(t, x, n, i, plan->first[i]);                                \
            if (cells == PASS_CELLS || (cells > 0 && i + 1 == plan->cells)) {                    \
                passes[cells - 1](t, x, n, number);                                              \
                cells = 0;                                                                       \
            }                                                                                    \
        }                                                                                        \
    }
CELLS(32, float, true)
CELLS(32, integer, false)
CELLS(64, float, true)
CELLS(64, integer, false)

/* Floats alone have NaNs. */
#define TALLY_KERNELS(bits)                                                                     \
    static SIMD_TARGET void tally_cells##bits(struct tally *t, const void *data, size_t n,      \
                                              bool nans)                                        \
    {                                                                                           \
        if (element_is_integer(t->plan->type))                                                  \
            cells##bits##_integer(t, data, n);                                                  \
        else                                                                                    \
            cells##bits##_float(t, data, n);                                                    \
        if (nans) {                                                                             \
            count##bits##_float(t, data, n, 0, t->plan->first[0]);                              \
            count##bits##_float(t, data, n, t->plan->cells, order_greatest(t->plan->type) + 1); \
        }                                                                                       \
    }
TALLY_KERNELS(32)
TALLY_KERNELS(64)

/* Computes the places of W_LANES values in units of bins: the place p of each, from -1/4 for what
   lies below the bins, or is NaN, to 1/4 above them. Returns p + 1/2 rounded to an integer, added
   to PLACE_ROUNDER: unless p is nearly an integer, that is one more than the number of the bin, 0
   below all. *far has the greatest distance of p + 1/2 from an integer, which is 1/2 where p is
   one. */
INLINE_TARGET vecd bin_place(vecd x, vecd low, vecd scale, vecd last, vecd *far)
{
    const vecd rounder = d_set1(PLACE_ROUNDER);
    vecd place = d_clamp(d_mul(d_sub(x, low), scale), d_set1(-0.25), last);
    vecd shifted = d_add(place, d_set1(0.5)), rounded = d_add(shifted, rounder);

    *far = d_max_magnitude(*far, d_sub(shifted, d_sub(rounded, rounder)));
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

/* Constants for computing the places of a plan with a fixed point. */
struct fixed_places {
    vecf low, scale, origin, first, last;
    vec shift, number, certain;
};

INLINE_TARGET struct fixed_places fixed_places(const struct tally_plan *plan)
{
    const uint32_t unit = UINT32_C(1) << plan->fraction32, whole = (UINT32_C(1) << 23) / unit;

    /* From `whole` to twice that, binary32 has this unit: the fraction of its bits counts them. */
    return (struct fixed_places){
        .low = f_set1(plan->low32),
        .scale = f_set1(plan->scale32),
        .origin = f_set1((float)(whole + 1) + (float)plan->doubt32 / (float)unit),
        .first = f_set1((float)whole + 0.5F),
        .last = f_set1((float)(whole + plan->bins) + 1.5F),
        .shift = v_set1(plan->fraction32),
        .number = v_set1(whole - 1),
        .certain = v_set1((unit - 1) & ~(2 * plan->doubt32 - 1)),
    };
}

/* Puts the bins of the V_LANES elements at `at` at `bin`, counting from 1, with 0 for elements
   below all bins, and NaNs. The computed places are too great by 0 to 2 doubt32 units: returns
   whether a bin is in doubt, since these would take it to another one. */
INLINE_TARGET bool find_bins(struct fixed_places p, const unsigned char *at, uint32_t *bin)
{
    const vecf value = f_value(v_load_f32(at));
    const vec place =
        f_bits(f_clamp(f_madd(f_sub(value, p.low), p.scale, p.origin), p.first, p.last));

    __builtin_prefetch((const void *)((uintptr_t)at + CPU_PIECE_BYTES), 0, 2);
    v_store(bin, v_and(v_shift_right(place, p.shift), p.number));
    return v_some(v_without(place, p.certain));
}

/* Corrects such bins: the bounds decide whether it is one less. */
INLINE_TARGET void correct_bins(const struct tally_plan *plan, const unsigned char *at,
                                uint32_t *bin)
{
    const vec found = v_load_f32(bin);
    const vmask before = v_gt_s(v_gather(plan->order32, found), v_order(v_load_f32(at)));

    v_store(bin, v_add(found, v_select(before, v_set1(UINT32_MAX), v_set1(0))));
}

/* Adds an element to the counter of its bin in each set. A load has two bins. */
#define COUNT_BINS(set, bin)                      \
    do {                                          \
        uint64_t two, next_two;                   \
                                                  \
        memcpy(&two, (bin), sizeof two);          \
        memcpy(&next_two, (bin) + 2, sizeof two); \
        (set)[0][(uint32_t)two]++;                \
        (set)[1][two >> 32]++;                    \
        (set)[2][(uint32_t)next_two]++;           \
        (set)[3][next_two >> 32]++;               \
    } while (0)

/* Counts V_LANES elements. `small` is a constant. */
INLINE_TARGET void count_bins(const struct cpu_counters *counters, const uint32_t *bin, bool small)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < V_LANES; i += CPU_COUNTER_SETS) {
        if (small)
            COUNT_BINS(counters->small_set, bin + i);
        else
            COUNT_BINS(counters->set, bin + i);
    }
}

/* Elements whose bins are found before they are counted. Processors add to one counter a cycle: so
   the bins of other elements are found meanwhile, a vector at a time, and not just before they are
   counted, since a number that has only just been stored has to be waited for. */
#define COUNT_AHEAD ((size_t)256)

/* Finds the bins of n elements, at most COUNT_AHEAD; with `counts`, counts as many whose bins were
   there before. Returns how many vectors were in doubt. If that is `often` so, such vectors are
   only noted, without a branch, and looked at after the others. `small`, `counts` and `often` are
   constants. */
INLINE_TARGET size_t find_stretch(const struct tally_plan *plan, struct fixed_places places,
                                  const unsigned char *x, size_t n, uint32_t *bin,
                                  const struct cpu_counters *counters, bool small, bool counts,
                                  bool often)
{
    uint32_t doubtful[COUNT_AHEAD / V_LANES + 1];
    size_t doubts = 0;

    for (size_t i = 0; i < n; i += V_LANES) {
        bool doubt;

        if (counts)
            count_bins(counters, bin + i, small);
        doubt = find_bins(places, x + i * 4, bin + i);
        if (often)
            doubtful[doubts] = (uint32_t)i;
        else if (doubt)
            correct_bins(plan, x + i * 4, bin + i);
        doubts += doubt;
    }
    for (size_t k = 0; often && k < doubts; k++)
        correct_bins(plan, x + (size_t)doubtful[k] * 4, bin + doubtful[k]);
    return doubts;
}

/* Values of few digits often lie on a bound, one in twenty of bf16 values: of so many vectors of a
   stretch in doubt a branch could not be predicted in the next. */
#define DOUBTS_OFTEN 2

INLINE_TARGET void find_and_count(const struct tally_plan *plan, const unsigned char *x, size_t n,
                                  struct cpu_counters counters, bool small)
{
    const struct fixed_places places = fixed_places(plan);
    _Alignas(64) uint32_t bin[COUNT_AHEAD];
    size_t found = n < COUNT_AHEAD ? n : COUNT_AHEAD;
    size_t doubts = find_stretch(plan, places, x, found, bin, &counters, small, false, true);

    for (size_t i = found; i < n; i += COUNT_AHEAD) {
        const size_t some = n - i < COUNT_AHEAD ? n - i : COUNT_AHEAD;

        for (size_t k = some; k < found; k += V_LANES)
            count_bins(&counters, bin + k, small);
        if (doubts >= DOUBTS_OFTEN)
            doubts = find_stretch(plan, places, x + i * 4, some, bin, &counters, small, true, true);
        else
            doubts =
                find_stretch(plan, places, x + i * 4, some, bin, &counters, small, true, false);
        found = some;
    }
    for (size_t i = 0; i < found; i += V_LANES)
        count_bins(&counters, bin + i, small);
}

static SIMD_TARGET void tally_count32(const struct tally *t, const void *data, size_t n,
                                      struct cpu_counters counters)
{
    if (counters.small)
        find_and_count(t->plan, data, n, counters, true);
    else
        find_and_count(t->plan, data, n, counters, false);
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
