/*
 * Kernels: sums of floats of one byte, as products of numbers that are looked up. A part of
 * kernel_template.h.
 *
 * Both types are multiples of their least number, so that sums are sums of integers. An element is
 * the product of two numbers: the first says what its mantissa stands for, and has no sign; the
 * second is a power of two with a sign. An instruction looks them up for all bytes of a vector, and
 * another one multiplies them and adds neighbours up. The power of two has to fit a byte for that:
 * exponents go by classes, each with a weight of its own, and the second number is 0 in all but its
 * class.
 *
 * With tables of 64 bytes and more (SIMD_LOOKUP 2), the first number is looked up for all bits but
 * the sign, and is 0 for what is not finite; the second one for the upper six bits, which are all
 * of the sign and the exponent. So two classes do for e4m3, and three for e5m2. With e the exponent
 * and m the mantissa, the element is (8 + m) 2^(e - 1), or (4 + m) 2^(e - 1); where e is 0, it is
 * m.
 *
 *   e4m3: class 0 up to e = 7; class 1, of weight 2^7, from 8 on: 2^(e - 8). Of e = 15, the first
 *   number takes a factor 2.
 *
 *   e5m2: ten of e - 1 a class, of weights 1, 2^10 and 2^20. Of the last three of each, the first
 *   number takes a factor 2, 4 or 8.
 *
 * Four products are below 2^14 in magnitude, so that 2^17 vectors fit lanes of 32 bits.
 *
 * With tables of 16 bytes (SIMD_LOOKUP 1), the first number is for the lower half of the byte, the
 * second for the upper half:
 *
 *   e4m3: the byte is s eee e mmm. The lower half l, e mmm, gives T(l) = 8 + l below 8, else 2 l;
 *   the upper half 2^(2 eee - 1), which is in class 0 up to eee = 3, and in class 1, of weight 2^7,
 *   from 4 on. Where eee is 0, the element is l itself: subnormal, or of the same spacing.
 *
 *   e5m2: the byte is s eee ee mm. T(l) is (4 + mm) 2^ee, and the upper half 2^(4 eee - 1); a class
 *   has two of eee. Where eee is 0, the element is mm, or (4 + mm) 2^(ee - 1).
 *
 * What is not finite has to be 0 beforehand. Two products are below 2^12 in magnitude, and those of
 * four vectors below 2^15. Sums of these go to lanes of 32 bits: a group has 2^10 of four vectors
 * at most, and less than 2^25.
 */
#ifndef GPUREDUCE_CPU_KERNEL_PRODUCTS8_H
#define GPUREDUCE_CPU_KERNEL_PRODUCTS8_H

#include "engine/cpu/kernel_integer.h"

/* A type has CLASSES_MAX classes, or two: no loops, which compilers leave loops in some places. */

#if SIMD_LOOKUP > 1

#    define CLASSES_MAX 3

/* A sum of products waits four or five cycles for the one before it: streams take turns to add to
   so many sums. */
#    define CHAINS8 2

#    define MAGNITUDES8 128
#    define EXPONENTS8 64

_Static_assert(GROUP_BYTES / V_BYTES <= 1 << 17, "sums of products fit");

/* Whether what is not finite counts as 0. */
#    define PRODUCTS_OF_SPECIALS 0

struct float8_products {
    int classes, weight_log2[CLASSES_MAX];
    uint8_t first[MAGNITUDES8];
    int8_t second[CLASSES_MAX][EXPONENTS8]; /* by the upper six bits */
};

/* Tables, entry by entry. */
#    define ENTRIES4(F, i) F(i), F((i) + 1), F((i) + 2), F((i) + 3)
#    define ENTRIES16(F, i) \
        ENTRIES4(F, i), ENTRIES4(F, (i) + 4), ENTRIES4(F, (i) + 8), ENTRIES4(F, (i) + 12)
#    define ENTRIES64(F, i) \
        ENTRIES16(F, i), ENTRIES16(F, (i) + 16), ENTRIES16(F, (i) + 32), ENTRIES16(F, (i) + 48)
#    define ENTRIES128(F) ENTRIES64(F, 0), ENTRIES64(F, 64)

#    define SIGNED8(i, magnitude) ((i) < 32 ? (magnitude) : -(magnitude))

/* e4m3: the upper six bits are s eeee m. */
#    define E4M3_FIRST(i) ((i) == 127 ? 0 : (i) < 8 ? (i) : (8 + (i) % 8) << ((i) / 8 == 15))
#    define E4M3_E(i) ((i) / 2 % 16)
#    define E4M3_LOW(i) \
        SIGNED8(i, E4M3_E(i) > 7 ? 0 : E4M3_E(i) == 0 ? 1 : 1 << (E4M3_E(i) + 6) % 7)
#    define E4M3_HIGH(i) \
        SIGNED8(i, E4M3_E(i) < 8 ? 0 : 1 << (E4M3_E(i) < 15 ? E4M3_E(i) % 8 % 7 : 6))

/* e5m2: they are s eeeee. What the first number does not take of an exponent is 0 to 6. */
#    define E5M2_TAKES(place) ((place) % 10 > 6 ? (place) % 10 - 6 : 0)
#    define E5M2_PLACE(e) ((e) == 0 ? 0 : (e)-1)
#    define E5M2_FIRST(i) \
        ((i) >= 124 ? 0 : (i) < 4 ? (i) : (4 + (i) % 4) << E5M2_TAKES(E5M2_PLACE((i) / 4)))
#    define E5M2_SECOND(i, class)                       \
        SIGNED8(i, E5M2_PLACE((i) % 32) / 10 != (class) \
                       ? 0                              \
                       : 1 << (E5M2_PLACE((i) % 32) % 10 - E5M2_TAKES(E5M2_PLACE((i) % 32))))
#    define E5M2_SECOND0(i) E5M2_SECOND(i, 0)
#    define E5M2_SECOND1(i) E5M2_SECOND(i, 1)
#    define E5M2_SECOND2(i) E5M2_SECOND(i, 2)

static const struct float8_products float8_products[] = {
    [ELEMENT_F8E4M3] = {2,
                        {0, 7},
                        {ENTRIES128(E4M3_FIRST)},
                        {{ENTRIES64(E4M3_LOW, 0)}, {ENTRIES64(E4M3_HIGH, 0)}}},
    [ELEMENT_F8E5M2] = {3,
                        {0, 10, 20},
                        {ENTRIES128(E5M2_FIRST)},
                        {{ENTRIES64(E5M2_SECOND0, 0)},
                         {ENTRIES64(E5M2_SECOND1, 0)},
                         {ENTRIES64(E5M2_SECOND2, 0)}}},
};

/* The tables of a type, as vectors. */
struct float8_tables {
    vec first[2], second[CLASSES_MAX];
};

INLINE_TARGET struct float8_tables float8_tables(enum element_type type)
{
    const struct float8_products *products = &float8_products[type];
    struct float8_tables t;

    t.first[0] = v_load_f32(products->first);
    t.first[1] = v_load_f32(products->first + V_BYTES);
    for (int i = 0; i < CLASSES_MAX; i++)
        t.second[i] = v_load_f32(products->second[i]);
    return t;
}

/* What the elements of up to STREAMS vectors come to, by class. */
struct float8_together {
    vec sum[CLASSES_MAX];
};

INLINE_TARGET struct float8_together begin_together8(const vec sum[CLASSES_MAX])
{
    return (struct float8_together){{sum[0], sum[1], sum[2]}};
}

INLINE_TARGET void multiply_float8(struct float8_together *to, vec x, const struct float8_tables *t,
                                   int classes)
{
    const vec first = b_lookup128(t->first[0], t->first[1], x), upper = b_upper6(x);

    to->sum[0] = b_dot(to->sum[0], first, b_lookup64(t->second[0], upper));
    to->sum[1] = b_dot(to->sum[1], first, b_lookup64(t->second[1], upper));
    if (classes == CLASSES_MAX)
        to->sum[2] = b_dot(to->sum[2], first, b_lookup64(t->second[2], upper));
}

INLINE_TARGET void end_together8(vec sum[CLASSES_MAX], const struct float8_together *from,
                                 int classes)
{
    sum[0] = from->sum[0];
    sum[1] = from->sum[1];
    if (classes == CLASSES_MAX)
        sum[2] = from->sum[2];
}

#else

#    define CLASSES_MAX 4
#    define CHAINS8 1 /* sums begin anew with each step, and are short */
#    define PRODUCTS_OF_SPECIALS 1

_Static_assert(GROUP_BYTES / V_BYTES <= 4 << 10, "sums of products fit");

struct float8_products {
    int classes, weight_log2[CLASSES_MAX];
    signed char upper[CLASSES_MAX][16]; /* what the upper half stands for; 0 in other classes */
    unsigned char lower[16];            /* T(l) */
    unsigned char subnormal[16];        /* the same, where the exponent's upper bits are 0 */
    signed char sign[16];               /* 1 and -1, where they are */
};

static const struct float8_products float8_products[] = {
    [ELEMENT_F8E4M3] = {2,
                        {0, 7},
                        {{0, 2, 8, 32, 0, 0, 0, 0, 0, -2, -8, -32},
                         {0, 0, 0, 0, 1, 4, 16, 64, 0, 0, 0, 0, -1, -4, -16, -64}},
                        {8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                        {1, 0, 0, 0, 0, 0, 0, 0, -1}},
    [ELEMENT_F8E5M2] = {4,
                        {0, 7, 15, 23},
                        {{0, 8, 0, 0, 0, 0, 0, 0, 0, -8},
                         {0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16},
                         {0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16},
                         {0, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, -1, -16}},
                        {4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28},
                        {1, 0, 0, 0, 0, 0, 0, 0, -1}},
};

/* The tables of a type, as vectors. */
struct float8_tables {
    vec lower, subnormal, sign, upper[CLASSES_MAX];
};

INLINE_TARGET struct float8_tables float8_tables(enum element_type type)
{
    const struct float8_products *products = &float8_products[type];
    struct float8_tables t;

    t.lower = b_table(products->lower);
    t.subnormal = b_table(products->subnormal);
    t.sign = b_table(products->sign);
    for (int i = 0; i < CLASSES_MAX; i++)
        t.upper[i] = b_table(products->upper[i]);
    return t;
}

/* What the elements of up to STREAMS vectors come to, by class: sums of 16 bits. */
struct float8_together {
    vec sum[CLASSES_MAX];
};

INLINE_TARGET struct float8_together begin_together8(const vec sum[CLASSES_MAX])
{
    (void)sum;
    return (struct float8_together){{v_set1(0), v_set1(0), v_set1(0), v_set1(0)}};
}

/* The elements have to be finite. */
INLINE_TARGET void multiply_float8(struct float8_together *to, vec x, const struct float8_tables *t,
                                   int classes)
{
    const vec low = b_low(x), high = b_high(x), lower = b_lookup(t->lower, low);

    to->sum[0] =
        h_add(to->sum[0], b_multiply(b_lookup(t->subnormal, low), b_lookup(t->sign, high)));
    to->sum[0] = h_add(to->sum[0], b_multiply(lower, b_lookup(t->upper[0], high)));
    to->sum[1] = h_add(to->sum[1], b_multiply(lower, b_lookup(t->upper[1], high)));
    if (classes < CLASSES_MAX)
        return;
    to->sum[2] = h_add(to->sum[2], b_multiply(lower, b_lookup(t->upper[2], high)));
    to->sum[3] = h_add(to->sum[3], b_multiply(lower, b_lookup(t->upper[3], high)));
}

INLINE_TARGET void end_together8(vec sum[CLASSES_MAX], const struct float8_together *from,
                                 int classes)
{
    sum[0] = v_add(sum[0], h_pairs(from->sum[0]));
    sum[1] = v_add(sum[1], h_pairs(from->sum[1]));
    if (classes < CLASSES_MAX)
        return;
    sum[2] = v_add(sum[2], h_pairs(from->sum[2]));
    sum[3] = v_add(sum[3], h_pairs(from->sum[3]));
}

#endif
#endif
