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
 * The first number is looked up for the lower half of the byte, the second for the upper half:
 *
 * e4m3: the byte is s eee e mmm. The lower half l, e mmm, gives T(l) = 8 + l below 8, else 2 l; the
 * upper half 2^(2 eee - 1), which is in class 0 up to eee = 3, and in class 1, of weight 2^7, from
 * 4 on. If eee is 0, the element is l itself: subnormal, or of the same spacing.
 *
 * e5m2: the byte is s eee ee mm. T(l) is (4 + mm) 2^ee, and the upper half 2^(4 eee - 1); a class
 * has two of eee. If eee is 0, the element is mm, or (4 + mm) 2^(ee - 1).
 *
 * Elements that are not finite have to be 0 beforehand. Two products are below 2^12 in magnitude,
 * and those of four vectors below 2^15. Sums of these go to lanes of 32 bits: a group has 2^10 of
 * four vectors at most, and less than 2^25.
 */
#ifndef GPUREDUCE_CPU_KERNEL_PRODUCTS8_H
#define GPUREDUCE_CPU_KERNEL_PRODUCTS8_H

#include "cpu/kernel_integer.h"

/* A type has CLASSES_MAX classes, or two: no loops, which compilers leave loops in some places. */

#define CLASSES_MAX 4

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

/* The sums of the elements of up to STREAMS vectors, by class, in 16 bits. */
struct float8_together {
    vec sum[CLASSES_MAX];
};

INLINE_TARGET struct float8_together begin_together8(void)
{
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
