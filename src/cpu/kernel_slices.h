/*
 * Kernels for slices (slices.h): what those of rows and of columns share. A part of
 * kernel_template.h.
 *
 * A sum is kept as two numbers, high + low. An element is added by two additions whose errors are
 * computed (exact_two_sum): the error of the first goes to `low`, and that of the second has to be
 * zero; else the element cannot be added here. Any order of additions gives the same exact value,
 * so that lanes, blocks and threads may share the work.
 *
 * Elements of up to 32 bits are added up plainly before that, where their exponents lie so close
 * together that nothing is rounded, as in kernel_block32.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_SLICES_H
#define GPUREDUCE_CPU_KERNEL_SLICES_H

#include "cpu/kernel_block32.h"

/* Elements that are loaded together: those of a vector. Their values are those of two vectors,
   where they have up to 32 bits. */
#define STEP(type) ((type) == ELEMENT_F64 ? (size_t)W_LANES : (size_t)V_LANES)
#define HALVES(type) ((type) == ELEMENT_F64 ? 1 : 2)

/* exact_two_sum of lanes. */
INLINE_TARGET vecd d_two_sum(vecd a, vecd b, vecd *error)
{
    vecd sum = d_add(a, b);
    vecd b_seen = d_sub(sum, a);
    vecd a_seen = d_sub(sum, b_seen);

    *error = d_add(d_sub(a, a_seen), d_sub(b, b_seen));
    return sum;
}

/* exact_two_product of lanes. */
INLINE_TARGET vecd d_upper_half(vecd x)
{
    return w_value(w_and(w_add(d_bits(x), w_set1(1u << 26)), w_set1(~((UINT64_C(1) << 27) - 1))));
}
INLINE_TARGET vecd d_two_product(vecd a, vecd b, vecd *error)
{
    const vecd product = d_mul(a, b), a_high = d_upper_half(a), b_high = d_upper_half(b);
    const vecd a_low = d_sub(a, a_high), b_low = d_sub(b, b_high);

    *error = d_add(d_add(d_add(d_sub(d_mul(a_high, b_high), product), d_mul(a_high, b_low)),
                         d_mul(a_low, b_high)),
                   d_mul(a_low, b_low));
    return product;
}

/* The bits of doubles and integers in memory. */
INLINE_TARGET vecd load_sum(const double *p)
{
    return w_value(w_load(p));
}

/* Sums, a lane each; the bits of `left` are not zero where something could not be added. */
struct sums {
    vecd high, low;
    wvec left;
};

INLINE_TARGET struct sums sums_none(void)
{
    return (struct sums){d_set1(0), d_set1(0), w_set1(0)};
}

/* Adds a value to each lane. An infinity or a NaN is left. */
INLINE_TARGET void sums_add(struct sums *s, vecd x)
{
    vecd error, rest;

    s->high = d_two_sum(s->high, x, &error);
    s->low = d_two_sum(s->low, error, &rest);
    s->left = w_or(s->left, w_and(d_bits(rest), w_set1(~SIGN64)));
}

/* The value of integers from 0 on, below 2^52. */
INLINE_TARGET vecd wide_value(wvec x)
{
    return d_sub(w_value(w_or(x, w_set1(exact_bits(0x1p52)))), d_set1(0x1p52));
}

/* The bits of a step of elements of up to 32 bits, as binary32. */
INLINE_TARGET vec step_bits(const unsigned char *p, enum element_type type)
{
    return type == ELEMENT_F64 ? v_set1(0) : load32(p, type);
}

/* The values of a step. */
INLINE_TARGET void step_values(vecd value[2], const unsigned char *p, enum element_type type)
{
    if (type == ELEMENT_F64) {
        value[0] = w_value(w_load(p));
    } else {
        const vec bits = load32(p, type);

        value[0] = v_low(bits);
        value[1] = v_high(bits);
    }
}

/* The bounds that decide whether elements of up to 32 bits add up plainly: the greatest magnitude,
   and the least that is not zero, less one; of zero the latter is the greatest number. */
struct bounds {
    vec greatest, least;
};

INLINE_TARGET struct bounds bounds_none(void)
{
    return (struct bounds){v_set1(0), v_set1(UINT32_MAX)};
}

INLINE_TARGET void bounds_take(struct bounds *b, vec bits)
{
    const vec magnitude = v_and(bits, v_set1(~SIGN32));

    b->greatest = v_max_u(b->greatest, magnitude);
    b->least = v_min_u(b->least, v_add(magnitude, v_set1(UINT32_MAX)));
}

/* How many exponents may lie between them so that 2^count_log2 elements add up. */
INLINE_TARGET int bounds_exponents(enum element_type type, int count_log2)
{
    return 53 - element_formats[type].significant_bits - count_log2;
}

/* Whether so many elements within the bounds of all lanes add up, and are finite. */
INLINE_TARGET bool bounds_fit(const struct bounds *b, enum element_type type, int count_log2)
{
    const uint32_t greatest = v_h_max_u(b->greatest), least = v_h_min_u(b->least) + 1;
    const int emin = (int)(least >> 23), emax = (int)(greatest >> 23);

    if (greatest >= INFINITY32)
        return false;
    return greatest == 0 || exact_group_fits(emin + (emin == 0), emax + (emax == 0),
                                             element_formats[type].significant_bits, count_log2);
}

/* Whether the same holds in every lane by itself. The exponents of two numbers differ by no more
   than n if the numbers' bits differ by less than n 2^23. */
INLINE_TARGET bool bounds_fit_in_lanes(const struct bounds *b, enum element_type type,
                                       int count_log2)
{
    const uint32_t most = (uint32_t)bounds_exponents(type, count_log2) << 23;
    /* greatest - (least - 1) - 1, below 2^31; of zeros alone it is 0. */
    const vec apart = v_add(b->greatest, v_xor(b->least, v_set1(UINT32_MAX)));

    return !v_some(v_ge_s(apart, v_set1(most))) && !v_some(v_ge_s(b->greatest, v_set1(INFINITY32)));
}

/* Whether some of these keys of extremes are those of infinities, or of NaNs, which lie beyond. */
INLINE_TARGET bool v_keys_special(vec least, vec greatest)
{
    const uint32_t infinity =
        INFINITY32; /* its key; that of the negative one has all bits inverted */

    return v_some(v_ge_s(greatest, v_set1(infinity))) || v_some(v_ge_s(v_set1(~infinity), least));
}

INLINE_TARGET bool w_keys_special(wvec least, wvec greatest)
{
    return w_some(w_gt_s(greatest, w_set1(INFINITY64 - 1))) ||
           w_some(w_gt_s(w_set1(~INFINITY64 + 1), least));
}

/* Rows of columns that are asked for while those before them are taken: the first, and how many. */
struct next_rows {
    uintptr_t x;
    size_t count;
};

/* The rows that follow the first `done` of `rows` rows at x, at most `most`. After the last row the first
   ones of the columns follow that begin `width` bytes ahead. */
INLINE_TARGET struct next_rows next_rows(const unsigned char *x, size_t stride, size_t done,
                                         size_t rows, size_t most, size_t width)
{
    const size_t left = done < rows ? rows - done : rows;

    return (struct next_rows){(uintptr_t)x + (done < rows ? done * stride : width),
                              left < most ? left : most};
}

/* Asks for the line of each row that begins `at` bytes ahead, if one does. */
INLINE_TARGET void prefetch_next(const struct next_rows *next, size_t stride, size_t at)
{
    for (size_t k = 0; k < next->count && at % CACHE_LINE == 0; k++)
        __builtin_prefetch((const void *)(next->x + k * stride + at));
}

/* The least n with count <= 2^n. */
static inline int count_log2_of(size_t count)
{
    return count <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)count - 1);
}

#endif
