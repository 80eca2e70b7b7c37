/*
 * Kernels: integers of all widths, and truth values. A part of kernel_template.h.
 *
 * Sums are exact because no accumulator can overflow before it is emptied. All are of numbers that
 * are not negative: 2^(bits - 1) is added to each signed element, which changes its sign bit and
 * nothing else, and taken off the sum again, once for all of them (cpu_end_chunk). To those of 64
 * bits it is added at the end of a group.
 *
 *   8 bits    one instruction adds eight bytes up, to a lane of 64 bits
 *   16 bits   as signed numbers: one instruction adds two up, to a lane of 32 bits that is in
 *             [-2^16, 2^16); a group has 2^12 vectors at most, which makes 2^28
 *   32 bits   as they are, modulo 2^32, and their upper 16 bits, to lanes of 32 bits: the sum of the
 *             upper halves fits, and what is missing to the other sum is that of the lower halves,
 *             below 2^28
 *   64 bits   as they are, modulo 2^64, and their upper halves, signed ones as such, to lanes of 64
 *             bits, 2^31 of which fit: what is missing to the other sum is that of the lower halves
 *
 * The sums of lanes go into two integers a chunk, which count 2^31 elements at most.
 *
 * Missing elements that are one range of bits are left out by kernels of their own: a number that
 * changes neither the sum nor an extreme takes the place of each.
 */
#ifndef GPUREDUCE_CPU_KERNEL_INTEGER_H
#define GPUREDUCE_CPU_KERNEL_INTEGER_H

#include "cpu/kernel_moments.h"

/* Elements of one byte, and integers, are taken in groups of so many bytes: what a vector's lanes
   come to has to be put together, byte by byte, once a group. */
#define GROUP_BYTES ((size_t)64 << 10)

/* Those whose squares are added up, too, by a pass that finds them in the level-1 cache. */
#define SQUARES_BYTES ((size_t)16 << 10)

/* Within a group, streams are as far apart as in the blocks of floats. */
#define GROUP_PART ((size_t)8 << 10)

/* Sums alone of 64 bits are as fast as the level-2 cache: in chunks of up to so many bytes, which it
   may hold, they ask for nothing that it has. */
#define NEAR_BYTES ((size_t)1 << 20)

_Static_assert(GROUP_BYTES / V_BYTES <= 1 << 12, "sums of 16 bits fit");

/* The findings of the vectors of a group. */
struct integers {
    vec min, max;    /* of 8 bits: as unsigned numbers; of more, as signed ones */
    vec sum, upper;  /* of 16 bits: the sum; of 32: modulo 2^32, and of the upper halves */
    wvec low, other; /* of 8 bits: `low` is the sum; of 64: modulo 2^64, and of the upper halves */
    wvec present;    /* if some may be missing: counts of the others, in lanes of the elements'
                        size; of 8 bits in lanes of 64 */
};

/* How missing elements are told (struct cpu_missing), and what changes no extreme. */
struct present {
    vec add, last, min, max;
};

/* A vector with the sign bits changed. */
INLINE_TARGET vec flip_signs(vec x, size_t size)
{
    return v_xor(x, v_set1(size == 1   ? UINT32_C(0x80808080)
                           : size == 2 ? UINT32_C(0x80008000)
                                       : SIGN32));
}

INLINE_TARGET struct integers integers_none(size_t size)
{
    struct integers none = {.sum = v_set1(0),
                            .upper = v_set1(0),
                            .low = w_set1(0),
                            .other = w_set1(0),
                            .present = w_set1(0)};

    none.min = v_set1(size == 1   ? UINT32_MAX
                      : size == 2 ? UINT32_C(0x7fff7fff)
                                  : UINT32_C(0x7fffffff));
    none.max = size == 1 ? v_set1(0) : flip_signs(v_set1(0), size);
    if (size == 8) {
        none.min = w_narrow(w_set1(~SIGN64));
        none.max = w_narrow(w_set1(SIGN64));
    }
    return none;
}

INLINE_TARGET struct present present_of(const struct cpu_missing *m, size_t size)
{
    const uint64_t add = m->add[0], last = m->last[0];
    const struct integers none = integers_none(size);
    struct present present = {.min = none.min, .max = none.max};

    present.add = size == 1   ? b_set1((uint8_t)add)
                  : size == 2 ? h_set1((uint16_t)add)
                  : size == 4 ? v_set1((uint32_t)add)
                              : w_narrow(w_set1(add));
    present.last = size == 1   ? b_set1((uint8_t)last)
                   : size == 2 ? h_set1((uint16_t)last)
                   : size == 4 ? v_set1((uint32_t)last)
                               : w_narrow(w_set1(last));
    return present;
}

/* Lanes of the elements' size: all bits of those that are not missing. They are counted. */
INLINE_TARGET vec find_present(struct integers *g, vec x, size_t size, const struct present *p)
{
    vec found;

    if (size == 1) {
        found = b_lanes(b_gt_s(b_add(x, p->add), p->last));
        g->present = w_add(g->present, b_sum(v_and(found, v_set1(UINT32_C(0x01010101)))));
    } else if (size == 2) {
        found = h_lanes(h_gt_s(h_add(x, p->add), p->last));
        g->present = v_wide(h_sub(w_narrow(g->present), found));
    } else if (size == 4) {
        found = v_lanes(v_gt_s(v_add(x, p->add), p->last));
        g->present = v_wide(v_sub(w_narrow(g->present), found));
    } else {
        found = w_narrow(w_lanes(w_gt_s(w_add(v_wide(x), v_wide(p->add)), v_wide(p->last))));
        g->present = w_sub(g->present, v_wide(found));
    }
    return found;
}

/* The elements of a vector x, as they are compared and as they are summed, and what stands for those
   that are missing. `p` is NULL if none is. */
struct integer_lanes {
    vec least, greatest, summed;
};

INLINE_TARGET struct integer_lanes lanes_of(struct integers *g, vec x, vec compared, vec summed,
                                            size_t size, const struct present *p)
{
    struct integer_lanes lanes = {compared, compared, summed};

    if (p) {
        const vec found = find_present(g, x, size, p);

        lanes.least = v_blend(found, compared, p->min);
        lanes.greatest = v_blend(found, compared, p->max);
        lanes.summed = v_and(found, summed);
    }
    return lanes;
}

/* Takes the vector of elements of up to 32 bits at q. */
INLINE_TARGET void take_integers(struct integers *g, const unsigned char *q, enum element_type type,
                                 bool sum, const struct present *p)
{
    const enum element_kind kind = element_formats[type].kind;
    const size_t size = element_formats[type].size;
    vec x = v_load_f32(q), other = flip_signs(x, size);
    vec as_signed = kind == ELEMENT_SIGNED ? x : other;
    vec as_unsigned = kind == ELEMENT_SIGNED ? other : x;
    struct integer_lanes a;

    if (kind == ELEMENT_TRUTH)
        as_unsigned = b_min_u(x, v_set1(UINT32_C(0x01010101)));
    if (size == 1) {
        a = lanes_of(g, x, as_unsigned, as_unsigned, size, p);
        g->min = b_min_u(g->min, a.least);
        g->max = b_max_u(g->max, a.greatest);
        if (sum)
            g->low = w_add(g->low, b_sum(a.summed));
    } else if (size == 2) {
        a = lanes_of(g, x, as_signed, as_signed, size, p);
        g->min = h_min_s(g->min, a.least);
        g->max = h_max_s(g->max, a.greatest);
        if (sum)
            g->sum = v_add(g->sum, h_pairs(a.summed));
    } else {
        a = lanes_of(g, x, as_signed, x, size, p);
        g->min = v_min_s(g->min, a.least);
        g->max = v_max_s(g->max, a.greatest);
        if (sum) {
            g->sum = v_add(g->sum, a.summed);
            g->upper = v_add(g->upper, kind == ELEMENT_SIGNED ? v_shift_right_s(a.summed, 16)
                                                              : v_upper_u(a.summed));
        }
    }
}

/* Takes the vector of integers of 64 bits at q. `finds`: the sum, the extremes, or both. */
INLINE_TARGET void take_integers64(struct integers *g, const unsigned char *q,
                                   enum element_type type, unsigned finds, const struct present *p)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    const vec x = v_held(v_load_f32(q));
    const vec compared = is_signed ? x : w_narrow(w_xor(v_wide(x), w_set1(SIGN64)));
    const struct integer_lanes a = lanes_of(g, x, compared, x, sizeof(uint64_t), p);
    const wvec summed = v_wide(a.summed);

    if (finds & PARTIAL_EXTREMES) {
        g->min = w_narrow(w_min_s(v_wide(g->min), v_wide(a.least)));
        g->max = w_narrow(w_max_s(v_wide(g->max), v_wide(a.greatest)));
    }
    if (finds & PARTIAL_SUM) {
        g->low = w_add(g->low, summed);
        g->other = w_add(g->other, is_signed ? w_odd_s(summed) : w_odd(summed));
    }
}

INLINE_TARGET void take_integer_vector(struct integers *g, const unsigned char *q,
                                       enum element_type type, unsigned finds,
                                       const struct present *p)
{
    if (element_formats[type].size == 8)
        take_integers64(g, q, type, finds, p);
    else
        take_integers(g, q, type, finds & PARTIAL_SUM, p);
}

/* One pass over a group of `bytes`, a multiple of V_BYTES. `far`: it is one of a large chunk. */
INLINE_TARGET struct integers pass_integers(const unsigned char *x, size_t bytes,
                                            enum element_type type, unsigned finds,
                                            const struct present *present, bool far)
{
    struct integers g = integers_none(element_formats[type].size);

    for (size_t part = 0; part < bytes; part += GROUP_PART) {
        const unsigned char *p = x + part;
        const size_t n = bytes - part < GROUP_PART ? bytes - part : GROUP_PART;
        const size_t quarter = n / (STREAMS * V_BYTES) * V_BYTES;

        for (size_t i = 0; i < quarter; i += V_BYTES) {
            prefetch_streams((uintptr_t)p, quarter, i, V_BYTES, GROUP_PART, far);
            take_integer_vector(&g, p + i, type, finds, present);
            take_integer_vector(&g, p + quarter + i, type, finds, present);
            take_integer_vector(&g, p + 2 * quarter + i, type, finds, present);
            take_integer_vector(&g, p + 3 * quarter + i, type, finds, present);
        }
        for (size_t i = STREAMS * quarter; i < n; i += V_BYTES)
            take_integer_vector(&g, p + i, type, finds, present);
    }
    return g;
}

/* The sum of lanes of 32 bits, signed. */
INLINE_TARGET int64_t v_h_add_s(vec a)
{
    int32_t lane[V_LANES];
    int64_t sum = 0;

    v_store(lane, a);
    for (int i = 0; i < V_LANES; i++)
        sum += lane[i];
    return sum;
}

/* The sum of elements of 32 bits, modulo 2^64. */
INLINE_TARGET uint64_t sum_of_integers32(const struct integers *g)
{
    uint32_t sum[V_LANES], upper[V_LANES];
    uint64_t total = (uint64_t)v_h_add_s(g->upper) << 16;

    v_store(sum, g->sum);
    v_store(upper, g->upper);
    for (int i = 0; i < V_LANES; i++)
        total += sum[i] - (upper[i] << 16);
    return total;
}

/* The extremes of a group, as element_keys: of u64, the value less 2^63 is what is compared. */
INLINE_TARGET void take_integer_extremes(struct cpu_reducer *r, const struct integers *g,
                                         const unsigned char *x, size_t n, uint64_t index,
                                         enum element_type type)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    union {
        uint8_t u8[V_BYTES];
        int16_t s16[V_BYTES / 2];
        int32_t s32[V_LANES];
        int64_t s64[W_LANES];
    } min, max;
    int64_t least, greatest, zero = 0; /* the key of what is compared as 0 */

    v_store(&min, g->min);
    v_store(&max, g->max);
#define LANES_EXTREMES(member)                                              \
    do {                                                                    \
        least = min.member[0];                                              \
        greatest = max.member[0];                                           \
        for (size_t i = 1; i < sizeof min / sizeof *min.member; i++) {      \
            least = min.member[i] < least ? min.member[i] : least;          \
            greatest = max.member[i] > greatest ? max.member[i] : greatest; \
        }                                                                   \
    } while (0)
    switch (element_formats[type].size) {
    case 1:
        LANES_EXTREMES(u8);
        zero = is_signed ? INT8_MIN : 0;
        break;
    case 2:
        LANES_EXTREMES(s16);
        zero = is_signed ? 0 : -(int64_t)INT16_MIN;
        break;
    case 4:
        LANES_EXTREMES(s32);
        zero = is_signed ? 0 : -(int64_t)INT32_MIN;
        break;
    default:
        LANES_EXTREMES(s64);
    }
#undef LANES_EXTREMES
    cpu_take_block(r, least + zero, greatest + zero, x, n, index);
}

/* The elements of a group that are not missing. */
INLINE_TARGET size_t count_present(const struct integers *g, size_t size)
{
    uint16_t half[V_BYTES / 2];
    size_t count = 0;

    if (size == 2) {
        w_store(half, g->present);
        for (size_t i = 0; i < V_BYTES / 2; i++)
            count += half[i];
        return count;
    }
    return size == 4 ? v_h_add(w_narrow(g->present)) : w_h_add(g->present);
}

/* Adds up the lanes of n elements of 64 bits, `count` of which are not missing. The others were taken
   as 0. */
INLINE_TARGET void add_integers64(struct cpu_reducer *r, const struct integers *g, size_t n,
                                  size_t count, bool is_signed)
{
    const uint64_t upper = w_h_add(g->other) - (is_signed ? n * W_ODD_RAISED : 0);

    r->integers.low += w_h_add(g->low) - (upper << 32);
    r->integers.high += upper + (is_signed ? (uint64_t)count << 31 : 0);
}

/* A group of n elements, a multiple of those of a vector, of a chunk that is large if `far`.
   PARTIAL_MISSING: r->missing leaves some out. */
INLINE_TARGET void integer_group(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                 uint64_t index, enum element_type type, unsigned finds, bool far)
{
    const size_t size = element_formats[type].size;
    const bool missing = finds & PARTIAL_MISSING;
    const struct present present =
        present_of(missing ? r->missing : &(struct cpu_missing){0}, size);
    const struct integers g =
        pass_integers(x, n * size, type, finds, missing ? &present : NULL, far);
    const size_t count = missing ? count_present(&g, size) : n;

    r->partial.missing += n - count;
    if (count > 0 && finds & PARTIAL_EXTREMES)
        take_integer_extremes(r, &g, x, n, index, type);
    if (!(finds & PARTIAL_SUM))
        return;
    cpu_reserve_integers(r, count);
    if (size == 2) {
        r->integers.low += (uint64_t)v_h_add_s(g.sum) + ((uint64_t)count << 15);
    } else if (size == 4) {
        r->integers.low += sum_of_integers32(&g);
        if (element_formats[type].kind == ELEMENT_SIGNED)
            r->integers.low += (uint64_t)count << 31;
    } else if (size == 8) {
        add_integers64(r, &g, n, count, element_formats[type].kind == ELEMENT_SIGNED);
    } else {
        r->integers.low += w_h_add(g.low);
    }
}

/* Adds the squares of the magnitudes of a group of n integers of 16 or 32 bits, n a multiple of those
   of a vector. Magnitudes are unsigned, also that of the least integer.
   Squares of 64 bits are added up modulo 2^64, and so are their upper halves, which tell what was
   lost. */
INLINE_TARGET void integer_squares(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                   enum element_type type)
{
    const size_t size = element_formats[type].size;
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    wvec sum = w_set1(0), upper = w_set1(0);

    for (size_t i = 0; i < n * size; i += V_BYTES) {
        vec v = v_load_f32(x + i);

        if (is_signed)
            v = size == 2 ? h_max_s(v, h_sub(v_set1(0), v)) : v_max_s(v, v_sub(v_set1(0), v));
        for (int half = 0; half < (size == 2 ? 2 : 1); half++) {
            const wvec even = v_wide(size == 4   ? v
                                     : half == 0 ? v_and(v, v_set1(UINT32_C(0xffff)))
                                                 : v_upper_u(v));
            const wvec odd = w_odd(even);
            const wvec first = w_multiply(even, even), second = w_multiply(odd, odd);

            sum = w_add(sum, w_add(first, second));
            if (size == 4)
                upper = w_add(upper, w_add(w_odd(first), w_odd(second)));
        }
    }
    add_to_squares(r, w_h_add(w_sub(sum, w_raise_lower(upper))), 0);
    if (size == 4)
        add_to_squares(r, w_h_add(upper), 32);
}

#endif
