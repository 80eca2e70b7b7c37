/*
 * Kernels: blocks of elements whose values are binary32, which are f32, f16 and bf16. A part of
 * kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_BLOCK32_H
#define GPUREDUCE_CPU_KERNEL_BLOCK32_H

#include "cpu/kernel_common.h"

INLINE_TARGET vec load32(const unsigned char *p, enum element_type type)
{
    switch (type) {
    case ELEMENT_F32:
        return v_load_f32(p);
    case ELEMENT_F16:
        return v_load_f16(p);
    case ELEMENT_BF16:
        return v_load_bf16(p);
    case ELEMENT_F64:
        break; /* has 64 bits */
        ELEMENT_CASES_BEHIND_FLOATS
        break; /* have kernels of their own */
    }
    return v_set1(0);
}

/* Whether a block adds up exactly in binary64, whatever its values. Every f16 is a multiple of
   2^-24 below 2^16: 40 bits and those of the count. */
INLINE_TARGET bool always_fits(enum element_type type)
{
    const struct element_format *f = &element_formats[type];

    return exact_group_fits(f->exponent_min, f->exponent_max, f->significant_bits,
                            CPU_BLOCK32_LOG2);
}

struct extremes32 {
    vec max_s, max_u, min_u;
};

INLINE_TARGET struct extremes32 extremes32_none(void)
{
    return (struct extremes32){v_set1(SIGN32), v_set1(0), v_set1(UINT32_MAX)};
}

INLINE_TARGET struct bit_extremes extremes32_bits(const struct extremes32 *e)
{
    return (struct bit_extremes){v_h_max_s(e->max_s), v_h_max_u(e->max_u), v_h_min_u(e->min_u),
                                 SIGN32};
}

/* The bin of element i: the upper four bits of its exponent, in a type that is the upper part of
   binary32. */
INLINE_TARGET size_t bin_of(const unsigned char *x, size_t i, enum element_type type)
{
    const size_t size = element_formats[type].size;

    return element_bits(size, x + i * size) >> (8 * size - 5) & (CPU_EXPONENT_BINS - 1);
}

/* Adds the n finite values in the scratch, a multiple of V_LANES: the elements at x, or zeros in
   place of those that are not finite. The rest of an element after extraction goes to the element's
   own bin. */
INLINE_TARGET void sum_scratch32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                 enum element_type type)
{
    enum { SETS = V_LANES < CPU_BIN_SETS ? V_LANES : CPU_BIN_SETS };

    if (r->blocks_dearest > 0) {
        r->blocks_dearest--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS32))
            return;
        r->blocks_dearest = BLOCKS_DEAREST;
    }
    cpu_reserve_bins(r, n / SETS);
    for (size_t i = 0; i < n; i += SETS)
#pragma GCC unroll 8
        for (size_t set = 0; set < SETS; set++)
            r->exponent_bins[set][bin_of(x, i + set, type)] += r->scratch[i + set];
}

/* A block with a NaN or an infinity in it: counts them and sums the rest. */
INLINE_TARGET void special32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, enum element_type type, bool sum)
{
    const size_t size = element_formats[type].size;
    const vec magnitude = v_set1(~SIGN32), infinity = v_set1(INFINITY32);
    struct extremes32 e = extremes32_none();
    struct specials s = {0};
    struct bit_extremes bits;

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);
        vmask is_nan = v_gt_s(v_and(v, magnitude), infinity);

        s.nan += v_count(is_nan);
        s.positive_infinity += v_count(v_eq(v, infinity));
        s.negative_infinity += v_count(v_eq(v, v_set1(INFINITY32 | SIGN32)));
        e.max_s = v_max_s(e.max_s, v_select(is_nan, v_set1(SIGN32), v));
        e.max_u = v_max_u(e.max_u, v_select(is_nan, v_set1(0), v));
        e.min_u = v_min_u(e.min_u, v_select(is_nan, v_set1(UINT32_MAX), v));
        if (sum) {
            vec finite = v_select(v_gt_s(infinity, v_and(v, magnitude)), v, v_set1(0));
            d_store(r->scratch + i, v_low(finite));
            d_store(r->scratch + i + W_LANES, v_high(finite));
        }
    }
    if (sum)
        sum_scratch32(r, x, n, type);
    bits = extremes32_bits(&e);
    take_specials(r, &s, &bits, x, n, index);
}

/* The work of a pass over a block beside finding its extremes. */
enum pass32 {
    PASS_EXTREMES,
    PASS_ADD,     /* adds the elements up, for the case that nothing is rounded */
    PASS_EXTRACT, /* extracts two parts of each, and adds them up */
};

struct block32 {
    struct extremes32 extremes;
    vecd sum[4];      /* PASS_ADD: the sums; PASS_EXTRACT: of the upper parts, and the lower */
    vec least;        /* PASS_ADD: twice the least non-zero magnitude, less one */
    wvec rests;       /* PASS_EXTRACT: all bits of what is left of the elements */
    vecd constant[2]; /* PASS_EXTRACT: the extraction constants */
};

/* Takes the values of a vector into two sums, which `half` chooses. */
INLINE_TARGET void take_values32(struct block32 *b, vec a, enum pass32 pass, int half)
{
    if (pass == PASS_ADD) {
        b->sum[2 * half] = d_add(b->sum[2 * half], v_low(a));
        b->sum[2 * half + 1] = d_add(b->sum[2 * half + 1], v_high(a));
    } else if (pass == PASS_EXTRACT) {
        b->rests =
            w_or(b->rests, extract_twice(v_low(a), b->constant, &b->sum[half], &b->sum[2 + half]));
        b->rests =
            w_or(b->rests, extract_twice(v_high(a), b->constant, &b->sum[half], &b->sum[2 + half]));
    }
}

INLINE_TARGET void take32(struct block32 *b, vec a, enum element_type type, enum pass32 pass,
                          int half)
{
    b->extremes.max_s = v_max_s(b->extremes.max_s, a);
    b->extremes.max_u = v_max_u(b->extremes.max_u, a);
    b->extremes.min_u = v_min_u(b->extremes.min_u, a);
    /* Twice the bits drops the sign; less one, zero becomes the greatest of all. */
    if (pass == PASS_ADD && !always_fits(type))
        b->least = v_min_u(b->least, v_add(v_add(a, a), v_set1(UINT32_MAX)));
    take_values32(b, a, pass, half);
}

/*
 * Elements of 16 bits: the extremes are found before they are widened, twice as many at a time.
 * Sums need no conversion: the sign, the exponent and the mantissa of an element, put in the places
 * that they have in a binary64, are its value times a power of two. doc/tuning.md has rates.
 */

/* How far they move to the right from the upper end, which bits they are then, and what values are
   to be multiplied by. */
#define NARROW_SHIFT(type) ((type) == ELEMENT_F16 ? 6 : 3)
#define NARROW_BITS(type) ((type) == ELEMENT_F16 ? 0x81fffc00 : 0x8fffe000)
#define NARROW_SCALE(type) ((type) == ELEMENT_F16 ? 0x1p1008 : 0x1p896)

/* The results of take32, in lanes of 16 bits. */
struct narrow {
    vec max_s, max_u, min_u, least;
};

/* Adds the elements in the upper halves of the lanes, scaled, to two sums. */
INLINE_TARGET void add_narrow(vecd sum[2], vec a, enum element_type type)
{
    const wvec two =
        v_wide(v_and(v_shift_right_s(a, NARROW_SHIFT(type)), v_set1(NARROW_BITS(type))));

    sum[0] = d_add(sum[0], w_value(w_keep_upper(two)));
    sum[1] = d_add(sum[1], w_value(w_raise_lower(two)));
}

/* Takes 2 V_LANES elements. */
INLINE_TARGET void take_narrow(struct block32 *b, struct narrow *found, vec a,
                               enum element_type type, enum pass32 pass)
{
    found->max_s = h_max_s(found->max_s, a);
    found->max_u = h_max_u(found->max_u, a);
    found->min_u = h_min_u(found->min_u, a);
    if (pass == PASS_ADD) {
        if (!always_fits(type))
            found->least = h_min_u(found->least, h_add(h_add(a, a), v_set1(UINT32_MAX)));
        add_narrow(b->sum, h_raise_lower(a), type);
        add_narrow(b->sum + 2, a, type);
    } else if (pass == PASS_EXTRACT) { /* of bf16 */
        take_values32(b, h_raise_lower(a), pass, 0);
        take_values32(b, h_keep_upper(a), pass, 1);
    }
}

/* Two vectors of binary32 that have the elements of one of 16 bits. */
INLINE_TARGET void widen_narrow(vec to[2], vec a, enum element_type type)
{
    /* Set, since not all compilers see that no f32 comes here. */
    unsigned char held[V_BYTES + V_BYTES / 2] = {0};

    v_store(held, a);
    to[0] = load32(held, type);
    to[1] = load32(held + V_BYTES / 2, type);
}

/* Takes what was found in all lanes of 16 bits. */
INLINE_TARGET void end_narrow(struct block32 *b, const struct narrow *found, enum element_type type,
                              enum pass32 pass)
{
    const vec ones = v_set1(UINT16_MAX);
    vec two[2];

    widen_narrow(two, found->max_s, type);
    b->extremes.max_s = v_max_s(two[0], two[1]);
    widen_narrow(two, found->max_u, type);
    b->extremes.max_u = v_max_u(two[0], two[1]);
    widen_narrow(two, found->min_u, type);
    b->extremes.min_u = v_min_u(two[0], two[1]);
    if (pass != PASS_ADD)
        return;
    for (int i = 0; i < 4; i++)
        b->sum[i] = d_mul(b->sum[i], d_set1(NARROW_SCALE(type)));
    /* In binary32, twice a magnitude of bf16, less one, ends with ones. */
    if (!always_fits(type))
        b->least = v_min_u(v_add(h_raise_lower(found->least), ones),
                           v_add(h_keep_upper(found->least), ones));
}

/* Takes what fills vectors of a block's first n elements; returns how many that are. A sum takes no
   more of them than it does of as many elements of 32 bits. */
INLINE_TARGET size_t pass_narrow(struct block32 *b, const unsigned char *x, uintptr_t origin,
                                 size_t n, enum element_type type, enum pass32 pass)
{
    const size_t step = 2 * V_LANES, quarter = n / (STREAMS * step) * step, whole = n - n % step;
    struct narrow found = {v_set1(SIGN32 | SIGN32 >> 16), v_set1(0), v_set1(UINT32_MAX),
                           v_set1(UINT32_MAX)};

    for (size_t i = 0; i < quarter; i += step) {
        prefetch(origin, quarter * 2, i * 2, step * 2, (size_t)2 << CPU_BLOCK32_LOG2);
#pragma GCC unroll 4
        for (size_t stream = 0; stream < STREAMS; stream++)
            take_narrow(b, &found, v_load_f32(x + (stream * quarter + i) * 2), type, pass);
    }
    for (size_t i = STREAMS * quarter; i < whole; i += step)
        take_narrow(b, &found, v_load_f32(x + i * 2), type, pass);
    if (whole > 0)
        end_narrow(b, &found, type, pass);
    return whole;
}

/* Takes streams of a block's first n elements, of any type; returns how many that are. */
INLINE_TARGET size_t pass_streams32(struct block32 *b, const unsigned char *x, uintptr_t origin,
                                    size_t n, enum element_type type, enum pass32 pass)
{
    const size_t size = element_formats[type].size;
    const size_t quarter = n / (STREAMS * V_LANES) * V_LANES;

    for (size_t i = 0; i < quarter; i += V_LANES) {
        vec v0 = load32(x + i * size, type);
        vec v1 = load32(x + (quarter + i) * size, type);
        vec v2 = load32(x + (2 * quarter + i) * size, type);
        vec v3 = load32(x + (3 * quarter + i) * size, type);

        prefetch(origin, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        take32(b, v0, type, pass, 0);
        take32(b, v1, type, pass, 1);
        take32(b, v2, type, pass, 0);
        take32(b, v3, type, pass, 1);
    }
    return STREAMS * quarter;
}

/* `bound` is for PASS_EXTRACT; r->origin for prefetches. */
INLINE_TARGET struct block32 pass32(const struct cpu_reducer *r, const unsigned char *x, size_t n,
                                    enum element_type type, enum pass32 pass, int bound)
{
    const size_t size = element_formats[type].size;
    const int bit = bound - PART_BITS32;
    struct block32 b = {
        .extremes = extremes32_none(),
        .sum = {d_set1(0), d_set1(0), d_set1(0), d_set1(0)},
        .least = v_set1(UINT32_MAX),
        .rests = w_set1(0),
        .constant = {d_set1(extraction_constant(bit)),
                     d_set1(extraction_constant(bit - 1 - PART_BITS32))},
    };
    const uintptr_t origin = (uintptr_t)x + r->origin;
    size_t taken;

    taken = size == 2 ? pass_narrow(&b, x, origin, n, type, pass)
                      : pass_streams32(&b, x, origin, n, type, pass);
    for (size_t i = taken; i < n; i += V_LANES)
        take32(&b, load32(x + i * size, type), type, pass, 0);
    return b;
}

/* Adds a block's sums to *to, if none was rounded. `least` is twice the bits of the least magnitude
   that is not zero, and not looked at where a block always fits; `magnitude`, the greatest, is not
   zero. */
INLINE_TARGET bool add_block32(struct exact *to, const vecd sums[4], uint32_t least,
                               uint64_t magnitude, enum element_type type)
{
    enum { SUMS = 4 * W_LANES }; /* binary64 sums side by side */
    const int significant = element_formats[type].significant_bits;
    const int count_log2_of_a_sum = CPU_BLOCK32_LOG2 - __builtin_ctz(SUMS);
    int emin = always_fits(type) ? 1 : (int)(least >> 24);
    int emax = (int)(magnitude >> 23);

    emin += emin == 0;
    emax += emax == 0;
    if (always_fits(type) || exact_group_fits(emin, emax, significant, CPU_BLOCK32_LOG2)) {
        exact_add(to, d_h_add(d_add(d_add(sums[0], sums[1]), d_add(sums[2], sums[3]))));
        return true;
    }
    if (exact_group_fits(emin, emax, significant, count_log2_of_a_sum)) {
        double sum[SUMS];

        for (int i = 0; i < 4; i++)
            d_store(sum + i * W_LANES, sums[i]);
        for (int j = 0; j < SUMS; j++)
            exact_add(to, sum[j]);
        return true;
    }
    return false;
}

/* Takes the sum of a block that has one, if the pass has found it. */
INLINE_TARGET bool take_sum32(struct cpu_reducer *r, const struct block32 *b, enum pass32 pass,
                              uint64_t magnitude, enum element_type type)
{
    switch (pass) {
    case PASS_EXTREMES:
        break;
    case PASS_ADD:
        if (add_block32(&r->partial.sum, b->sum, always_fits(type) ? 0 : v_h_min_u(b->least) + 1,
                        magnitude, type)) {
            r->extract_run /= 2;
            return true;
        }
        r->blocks_to_extract = r->extract_run;
        r->extract_run =
            r->extract_run < BLOCKS_EXTRACTED ? 2 * r->extract_run + 1 : BLOCKS_EXTRACTED;
        break;
    case PASS_EXTRACT:
        r->blocks_to_extract--;
        return add_parts_of_block(
            r, bound_exponent(exact_bits(element_value(ELEMENT_F32, magnitude))), b->rests,
            d_add(b->sum[0], b->sum[1]), d_add(b->sum[2], b->sum[3]));
    }
    return false;
}

/* A block of n elements, a multiple of V_LANES. */
INLINE_TARGET void block32(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           enum element_type type, bool sum)
{
    const size_t size = element_formats[type].size;
    const enum pass32 pass = !sum || r->blocks_dearest > 0 ? PASS_EXTREMES
                             : r->blocks_to_extract > 0    ? PASS_EXTRACT
                                                           : PASS_ADD;
    const struct block32 b = pass == PASS_ADD ? pass32(r, x, n, type, PASS_ADD, 0)
                             : pass == PASS_EXTRACT
                                 ? pass32(r, x, n, type, PASS_EXTRACT, r->extraction_bound)
                                 : pass32(r, x, n, type, PASS_EXTREMES, 0);
    const struct bit_extremes bits = extremes32_bits(&b.extremes);
    const uint64_t magnitude = bits_magnitude(&bits);

    if (magnitude >= INFINITY32) {
        special32(r, x, n, index, type, sum);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    if (!sum || magnitude == 0 || take_sum32(r, &b, pass, magnitude, type))
        return;
    expect_bound(r, bound_exponent(exact_bits(element_value(ELEMENT_F32, magnitude))));
    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);

        d_store(r->scratch + i, v_low(v));
        d_store(r->scratch + i + W_LANES, v_high(v));
    }
    sum_scratch32(r, x, n, type);
}

#endif
