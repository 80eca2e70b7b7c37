/*
 * Kernels: floats of one byte. A part of kernel_template.h.
 *
 * kernel_products8.h says how elements are added up. Beside that a pass finds the extremes of the
 * bits, which tell of NaNs and infinities. If there are any, another kind of pass leaves them out
 * and counts them, until there are none again. Only one extreme is found if all elements have one
 * sign.
 *
 * A set that looks nothing up (SIMD_LOOKUP) counts how often each byte occurs.
 */
#ifndef GPUREDUCE_CPU_KERNEL_FLOAT8_H
#define GPUREDUCE_CPU_KERNEL_FLOAT8_H

#include "cpu/kernel_integer.h"

#if SIMD_LOOKUP

#    include "cpu/kernel_products8.h"

#    define SIGN8 UINT64_C(0x80)

struct float8_layout {
    int unit_exponent;    /* all numbers are multiples of 2^this */
    uint8_t special, nan; /* magnitudes from here on are not finite, and no numbers */
};

static const struct float8_layout float8_layouts[] = {
    [ELEMENT_F8E4M3] = {-9, 0x7f, 0x7f},
    [ELEMENT_F8E5M2] = {-16, 0x7c, 0x7d},
};

/* The findings of the vectors of a part, or of a group. */
struct float8_found {
    vec max_s, max_u, min_u; /* of the bits of numbers; infinities are among them */
    vec sum[CLASSES_MAX];
    size_t numbers, finite, negative_infinite; /* counts, where specials are looked for */
};

/* The findings of a pass over a part beside the sum. */
enum pass8 {
    PASS_MIXED,    /* the extremes, if there are both signs: these need no least unsigned bits */
    PASS_NUMBERS,  /* the extremes */
    PASS_SPECIALS, /* the extremes of numbers, and how many elements are not finite */
};

/* How a pass goes over a part. */
struct float8_pass {
    struct float8_tables tables;
    enum element_type type;
    enum pass8 kind;
    bool sum;
};

INLINE_TARGET struct float8_found float8_nothing(void)
{
    return (struct float8_found){
        .max_s = b_set1(SIGN8),
        .max_u = b_set1(0),
        .min_u = b_set1(UINT8_MAX),
        .sum = {v_set1(0), v_set1(0), v_set1(0), v_set1(0)},
    };
}

/* Takes the vector at p but for its sum; returns it with zeros for what may not be multiplied. */
INLINE_TARGET vec look_at_float8(struct float8_found *f, const unsigned char *p,
                                 const struct float8_pass *pass)
{
    const struct float8_layout *layout = &float8_layouts[pass->type];
    const vec x = v_load_f32(p), magnitude = v_and(x, b_set1(SIGN8 - 1));
    bmask number, finite;

    if (pass->kind != PASS_SPECIALS) {
        f->max_s = b_max_s(f->max_s, x);
        f->max_u = b_max_u(f->max_u, x);
        if (pass->kind == PASS_NUMBERS)
            f->min_u = b_min_u(f->min_u, x);
        return x;
    }
    number = finite = b_below(magnitude, b_set1(layout->nan));
    f->numbers += b_count(number);
    if (layout->special < layout->nan) {
        finite = b_below(magnitude, b_set1(layout->special));
        f->finite += b_count(finite);
        f->negative_infinite += b_count(b_eq(x, b_set1(layout->special | SIGN8)));
    }
    f->max_s = b_max_s_where(number, f->max_s, x);
    f->max_u = b_max_u_where(number, f->max_u, x);
    f->min_u = b_min_u_where(number, f->min_u, x);
    return b_keep(finite, x);
}

/* Takes the vector at p. */
INLINE_TARGET void take_float8(struct float8_found *f, struct float8_together *together,
                               const unsigned char *p, const struct float8_pass *pass)
{
    const vec x = look_at_float8(f, p, pass);

    if (pass->sum)
        multiply_float8(together, x, &pass->tables, float8_products[pass->type].classes);
}

/* One pass over a part of n bytes, a multiple of V_BYTES and at most GROUP_PART. */
INLINE_TARGET struct float8_found pass_float8(const unsigned char *x, size_t n,
                                              const struct float8_pass *pass)
{
    const int classes = float8_products[pass->type].classes;
    const size_t quarter = n / (STREAMS * V_BYTES) * V_BYTES;
    struct float8_found f = float8_nothing();

    for (size_t i = 0; i < quarter; i += V_BYTES) {
        struct float8_together together = begin_together8();

        prefetch((uintptr_t)x, quarter, i, V_BYTES, GROUP_PART);
        take_float8(&f, &together, x + i, pass);
        take_float8(&f, &together, x + quarter + i, pass);
        take_float8(&f, &together, x + 2 * quarter + i, pass);
        take_float8(&f, &together, x + 3 * quarter + i, pass);
        end_together8(f.sum, &together, classes);
    }
    for (size_t i = STREAMS * quarter; i < n; i += V_BYTES) {
        struct float8_together together = begin_together8();

        take_float8(&f, &together, x + i, pass);
        end_together8(f.sum, &together, classes);
    }
    if (pass->kind == PASS_SPECIALS &&
        float8_layouts[pass->type].special == float8_layouts[pass->type].nan)
        f.finite = f.numbers;
    return f;
}

/* Whether a pass that looked for no specials met one: as the greatest positive bits, or as the
   greatest of all. */
INLINE_TARGET bool met_specials8(const struct float8_found *f, enum element_type type)
{
    const vec special = b_set1(float8_layouts[type].special | SIGN8);

    return b_count(b_below(v_xor(f->max_s, b_set1(SIGN8)), special)) < V_BYTES ||
           b_count(b_below(f->max_u, special)) < V_BYTES;
}

/* Whether a part without NaNs has one sign: the greatest positive bits, or the greatest of all,
   tell of elements without and with one. */
INLINE_TARGET bool has_one_sign8(const struct float8_found *f)
{
    const vec sign = b_set1(SIGN8);

    return b_count(b_below(f->max_s, sign)) == 0 || b_count(b_below(f->max_u, sign)) == V_BYTES;
}

/* Adds what a part came to. */
INLINE_TARGET void add_found8(struct float8_found *to, const struct float8_found *from,
                              enum element_type type)
{
    to->max_s = b_max_s(to->max_s, from->max_s);
    to->max_u = b_max_u(to->max_u, from->max_u);
    to->min_u = b_min_u(to->min_u, from->min_u);
    for (int i = 0; i < float8_products[type].classes; i++)
        to->sum[i] = v_add(to->sum[i], from->sum[i]);
    to->numbers += from->numbers;
    to->finite += from->finite;
    to->negative_infinite += from->negative_infinite;
}

/* The passes over a group of n bytes. */
INLINE_TARGET struct float8_found passes_float8(struct cpu_reducer *r, const unsigned char *x,
                                                size_t n, enum element_type type, bool sum)
{
    const struct float8_tables tables = float8_tables(type);
    const struct float8_pass mixed = {tables, type, PASS_MIXED, sum};
    const struct float8_pass numbers = {tables, type, PASS_NUMBERS, sum};
    const struct float8_pass specials = {tables, type, PASS_SPECIALS, sum};
    struct float8_found group = float8_nothing(), f;

    for (size_t part = 0; part < n; part += GROUP_PART) {
        const size_t size = n - part < GROUP_PART ? n - part : GROUP_PART;

        if (!r->specials_near && !r->one_sign) {
            f = pass_float8(x + part, size, &mixed);
            r->specials_near = met_specials8(&f, type);
            r->one_sign = has_one_sign8(&f);
        }
        if (!r->specials_near && r->one_sign) {
            f = pass_float8(x + part, size, &numbers);
            r->specials_near = met_specials8(&f, type);
            r->one_sign = has_one_sign8(&f);
        }
        f.numbers = f.finite = size;
        if (r->specials_near) {
            f = pass_float8(x + part, size, &specials);
            r->specials_near = f.finite < size;
        }
        add_found8(&group, &f, type);
    }
    return group;
}

INLINE_TARGET struct bit_extremes float8_bits(const struct float8_found *f)
{
    uint8_t max_s[V_BYTES], max_u[V_BYTES], min_u[V_BYTES];
    int greatest = INT8_MIN;
    struct bit_extremes bits = {.max_u = 0, .min_u = UINT8_MAX, .sign = SIGN8};

    v_store(max_s, f->max_s);
    v_store(max_u, f->max_u);
    v_store(min_u, f->min_u);
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

/* Adds the sum of a group's products, which are in units of the least number. */
INLINE_TARGET void add_float8(struct cpu_reducer *r, const struct float8_found *f,
                              enum element_type type)
{
    const struct float8_products *products = &float8_products[type];
    int64_t total = 0;

    for (int i = 0; i < products->classes; i++)
        total += v_h_add_s(f->sum[i]) * ((int64_t)1 << products->weight_log2[i]);
    exact_add_integer(&r->partial.sum, total < 0 ? -(uint64_t)total : (uint64_t)total,
                      EXACT_ONE_BIT - (unsigned)-float8_layouts[type].unit_exponent, total < 0);
}

/* A group of n elements, a multiple of those of a vector. */
INLINE_TARGET void float8_group(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                uint64_t index, enum element_type type, bool sum)
{
    const struct float8_found f = passes_float8(r, x, n, type, sum);
    const struct bit_extremes bits = float8_bits(&f);

    r->partial.nan += n - f.numbers;
    r->partial.negative_infinity += f.negative_infinite;
    r->partial.positive_infinity += f.numbers - f.finite - f.negative_infinite;
    if (f.numbers < n && index < r->partial.first_nan)
        cpu_take_first_nan(r, x, n, index);
    if (f.numbers > 0)
        cpu_take_block(r, float8_key(type, bits_min(&bits)), float8_key(type, bits_max(&bits)), x,
                       n, index);
    if (sum)
        add_float8(r, &f, type);
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
