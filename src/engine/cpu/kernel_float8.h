/*
 * Kernels: floats of one byte. A part of kernel_template.h.
 *
 * Both types are multiples of their least number, so that sums are sums of integers. That of an
 * element is the product of two numbers that are looked up: one for the lower half of its byte, one
 * for the upper half. An instruction looks the halves of all bytes of a vector up, and another one
 * multiplies them and adds neighbours up. What the upper half stands for, a power of two with a
 * sign, has to fit a byte for that: exponents go by classes, each with a weight of its own, and an
 * upper half counts as 0 in all but its class.
 *
 *   e4m3: the byte is s eee e mmm. The lower half l, e mmm, gives T(l) = 8 + l below 8, else 2 l;
 *   the upper half 2^(2 eee - 1), which is in class 0 up to eee = 3, and in class 1, of weight 2^7,
 *   from 4 on. Where eee is 0, the element is l itself: subnormal, or of the same spacing.
 *
 *   e5m2: the byte is s eee ee mm. T(l) is (4 + mm) 2^ee, and the upper half 2^(4 eee - 1); a class
 *   has two of eee. Where eee is 0, the element is mm, or (4 + mm) 2^(ee - 1).
 *
 * With that, two products are below 2^12 in magnitude, and those of four vectors below 2^15. Sums
 * of these go to lanes of 32 bits: a group has 2^10 of four vectors at most, and less than 2^25.
 *
 * A set that looks nothing up (SIMD_LOOKUP) counts how often each byte occurs.
 */
#ifndef GPUREDUCE_CPU_KERNEL_FLOAT8_H
#define GPUREDUCE_CPU_KERNEL_FLOAT8_H

#include "engine/cpu/kernel_integer.h"

#if SIMD_LOOKUP

#    define SIGN8 UINT64_C(0x80)
#    define CLASSES_MAX 4

_Static_assert(GROUP_BYTES / V_BYTES <= 4 << 10, "sums of products fit");

struct float8_class {
    int weight_log2;
    signed char upper[16]; /* what the upper half stands for; 0 in other classes */
};

struct float8_layout {
    int unit_exponent;           /* all numbers are multiples of 2^this */
    uint8_t special, nan;        /* magnitudes from here on are not finite, and no numbers */
    unsigned char lower[16];     /* T(l) */
    unsigned char subnormal[16]; /* the same, where the exponent's upper bits are 0 */
    signed char sign[16];        /* 1 and -1, where they are */
    int classes;
    struct float8_class class[CLASSES_MAX];
};

static const struct float8_layout float8_layouts[] = {
    [ELEMENT_F8E4M3] = {-9,
                        0x7f,
                        0x7f,
                        {8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                        {1, 0, 0, 0, 0, 0, 0, 0, -1},
                        2,
                        {{0, {0, 2, 8, 32, 0, 0, 0, 0, 0, -2, -8, -32}},
                         {7, {0, 0, 0, 0, 1, 4, 16, 64, 0, 0, 0, 0, -1, -4, -16, -64}}}},
    [ELEMENT_F8E5M2] = {-16,
                        0x7c,
                        0x7d,
                        {4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28},
                        {1, 0, 0, 0, 0, 0, 0, 0, -1},
                        4,
                        {{0, {0, 8, 0, 0, 0, 0, 0, 0, 0, -8}},
                         {7, {0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16}},
                         {15, {0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16}},
                         {23, {0, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16}}}},
};

/* The tables of a layout, as vectors. */
struct float8_tables {
    vec lower, subnormal, sign, upper[CLASSES_MAX];
};

INLINE_TARGET struct float8_tables float8_tables(enum element_type type)
{
    const struct float8_layout *layout = &float8_layouts[type];
    struct float8_tables t;

    t.lower = b_table(layout->lower);
    t.subnormal = b_table(layout->subnormal);
    t.sign = b_table(layout->sign);
    for (int i = 0; i < CLASSES_MAX; i++)
        t.upper[i] = b_table(layout->class[i].upper);
    return t;
}

struct float8_group {
    vec max_s, max_u, min_u;
    vec sum[CLASSES_MAX];
    wvec nan, infinite, negative_infinite; /* how many, where they are looked for */
};

/* A vector of one byte in all lanes. */
INLINE_TARGET vec b_set1(uint64_t byte)
{
    return v_set1((uint32_t)byte * UINT32_C(0x01010101));
}

/* What a mask leaves of x. */
INLINE_TARGET vec b_without(vec mask, vec x)
{
    return v_xor(v_and(mask, x), x);
}

/* Counts what is not finite; returns the vector with zeros in its place, and sets *nan to a mask
   of the NaNs. */
INLINE_TARGET vec take_float8_specials(struct float8_group *g, vec x,
                                       const struct float8_layout *layout, vec *nan)
{
    const vec one = b_set1(1), magnitude = v_and(x, b_set1(SIGN8 - 1));
    const vec special = b_at_least(magnitude, b_set1(layout->special));
    const vec negative = b_min_u(b_without(magnitude, x), one);
    vec infinite;

    *nan = b_at_least(magnitude, b_set1(layout->nan));
    infinite = v_xor(special, *nan);
    g->nan = w_add(g->nan, b_sum(v_and(*nan, one)));
    g->infinite = w_add(g->infinite, b_sum(v_and(infinite, one)));
    g->negative_infinite = w_add(g->negative_infinite, b_sum(v_and(infinite, negative)));
    return b_without(special, x);
}

/* Takes a vector into the extremes. */
INLINE_TARGET void take_float8_extremes(struct float8_group *g, vec x)
{
    g->max_s = b_max_s(g->max_s, x);
    g->max_u = b_max_u(g->max_u, x);
    g->min_u = b_min_u(g->min_u, x);
}

/* The same for one that holds NaNs: they become what changes no extreme. */
INLINE_TARGET void take_float8_numbers(struct float8_group *g, vec x, vec nan)
{
    const vec number = b_without(nan, x);

    g->max_s = b_max_s(g->max_s, b_max_u(number, v_and(nan, b_set1(SIGN8))));
    g->max_u = b_max_u(g->max_u, number);
    g->min_u = b_min_u(g->min_u, b_max_u(x, nan));
}

/* Adds the products of a vector to the sums of 16 bits in `sum`. */
INLINE_TARGET void multiply_float8(vec sum[CLASSES_MAX], vec x, const struct float8_tables *t,
                                   int classes)
{
    const vec low = b_low(x), high = b_high(x), lower = b_lookup(t->lower, low);

    sum[0] = h_add(sum[0], b_multiply(b_lookup(t->subnormal, low), b_lookup(t->sign, high)));
#    pragma GCC unroll 4
    for (int i = 0; i < classes; i++)
        sum[i] = h_add(sum[i], b_multiply(lower, b_lookup(t->upper[i], high)));
}

/* How a pass goes over a group. */
struct float8_pass {
    struct float8_tables tables;
    const struct float8_layout *layout;
    bool sum, specials; /* whether to sum, and whether there is anything but finite numbers */
};

/* The products of up to four vectors, in lanes of 16 bits. */
struct float8_products {
    vec sum[CLASSES_MAX];
};

INLINE_TARGET struct float8_products float8_products_none(void)
{
    return (struct float8_products){{v_set1(0), v_set1(0), v_set1(0), v_set1(0)}};
}

INLINE_TARGET void take_float8(struct float8_group *g, struct float8_products *products,
                               const unsigned char *p, const struct float8_pass *pass)
{
    const vec x = v_load_f32(p);
    vec finite = x, nan;

    if (pass->specials) {
        finite = take_float8_specials(g, x, pass->layout, &nan);
        take_float8_numbers(g, x, nan);
    } else {
        take_float8_extremes(g, x);
    }
    if (pass->sum)
        multiply_float8(products->sum, finite, &pass->tables, pass->layout->classes);
}

INLINE_TARGET void take_float8_products(struct float8_group *g,
                                        const struct float8_products *products,
                                        const struct float8_pass *pass)
{
    for (int i = 0; pass->sum && i < pass->layout->classes; i++)
        g->sum[i] = v_add(g->sum[i], h_pairs(products->sum[i]));
}

/* One pass over a group of n bytes, a multiple of V_BYTES. */
INLINE_TARGET struct float8_group pass_float8(const unsigned char *x, size_t n,
                                              enum element_type type, bool sum, bool specials)
{
    const struct float8_pass pass = {float8_tables(type), &float8_layouts[type], sum, specials};
    struct float8_group g = {
        .max_s = v_set1(UINT32_C(0x80808080)),
        .max_u = v_set1(0),
        .min_u = v_set1(UINT32_MAX),
        .sum = {v_set1(0), v_set1(0), v_set1(0), v_set1(0)},
        .nan = w_set1(0),
        .infinite = w_set1(0),
        .negative_infinite = w_set1(0),
    };

    for (size_t part = 0; part < n; part += GROUP_PART) {
        const unsigned char *p = x + part;
        const size_t size = n - part < GROUP_PART ? n - part : GROUP_PART;
        const size_t quarter = size / (STREAMS * V_BYTES) * V_BYTES;

        for (size_t i = 0; i < quarter; i += V_BYTES) {
            struct float8_products products = float8_products_none();

            prefetch(p, quarter, i, V_BYTES, GROUP_PART);
            take_float8(&g, &products, p + i, &pass);
            take_float8(&g, &products, p + quarter + i, &pass);
            take_float8(&g, &products, p + 2 * quarter + i, &pass);
            take_float8(&g, &products, p + 3 * quarter + i, &pass);
            take_float8_products(&g, &products, &pass);
        }
        for (size_t i = STREAMS * quarter; i < size; i += V_BYTES) {
            struct float8_products products = float8_products_none();

            take_float8(&g, &products, p + i, &pass);
            take_float8_products(&g, &products, &pass);
        }
    }
    return g;
}

INLINE_TARGET struct bit_extremes float8_bits(const struct float8_group *g)
{
    uint8_t max_s[V_BYTES], max_u[V_BYTES], min_u[V_BYTES];
    int greatest = INT8_MIN;
    struct bit_extremes bits = {.max_u = 0, .min_u = UINT8_MAX, .sign = SIGN8};

    v_store(max_s, g->max_s);
    v_store(max_u, g->max_u);
    v_store(min_u, g->min_u);
    for (size_t i = 0; i < V_BYTES; i++) {
        greatest = (int8_t)max_s[i] > greatest ? (int8_t)max_s[i] : greatest;
        bits.max_u = max_u[i] > bits.max_u ? max_u[i] : bits.max_u;
        bits.min_u = min_u[i] < bits.min_u ? min_u[i] : bits.min_u;
    }
    bits.max_s = (uint8_t)greatest;
    return bits;
}

INLINE_TARGET int64_t float8_key(enum element_type type, uint64_t bits)
{
    const uint8_t byte = (uint8_t)bits;

    return element_key(type, &byte);
}

/* The sum of a group's products, in units of the least number. */
INLINE_TARGET void add_float8(struct cpu_reducer *r, const struct float8_group *g,
                              const struct float8_layout *layout)
{
    int64_t total = 0;

    for (int i = 0; i < layout->classes; i++)
        total += v_h_add_s(g->sum[i]) * ((int64_t)1 << layout->class[i].weight_log2);
    exact_add_integer(&r->partial.sum, total < 0 ? -(uint64_t)total : (uint64_t)total,
                      EXACT_ONE_BIT - (unsigned)-layout->unit_exponent, total < 0);
}

/* A group of n elements, a multiple of those of a vector. */
INLINE_TARGET void float8_group(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                uint64_t index, enum element_type type, bool sum)
{
    const struct float8_layout *layout = &float8_layouts[type];
    struct float8_group g = pass_float8(x, n, type, sum, false);
    struct bit_extremes bits = float8_bits(&g);
    uint64_t nan = 0;

    if (bits_magnitude(&bits) >= layout->special) {
        g = pass_float8(x, n, type, sum, true);
        bits = float8_bits(&g);
        nan = w_h_add(g.nan);
        r->partial.nan += nan;
        r->partial.negative_infinity += w_h_add(g.negative_infinite);
        r->partial.positive_infinity += w_h_add(g.infinite) - w_h_add(g.negative_infinite);
        if (nan && index < r->partial.first_nan)
            cpu_take_first_nan(r, x, n, index);
    }
    if (nan < n)
        cpu_take_block(r, float8_key(type, bits_min(&bits)), float8_key(type, bits_max(&bits)), x,
                       n, index);
    if (sum)
        add_float8(r, &g, layout);
}

#else

INLINE_TARGET void float8_group(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                uint64_t index, enum element_type type, bool sum)
{
    (void)type;
    (void)sum;
    cpu_take_bytes(r, x, n, index);
}

#endif
#endif
