/*
 * Kernels for the squares of elements of slices. A part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_SQUARES_H
#define GPUREDUCE_CPU_KERNEL_SQUARES_H

#include "cpu/kernel_slices.h"

/* The squares of a vector of elements of up to 32 bits; 0 of what is no number. */
INLINE_TARGET void put_squares32(double *high, const unsigned char *x, enum element_type type)
{
    const vec bits = load32(x, type), magnitude = v_and(bits, v_set1(~SIGN32));
    const vec number = v_select(v_ge_s(magnitude, v_set1(INFINITY32)), v_set1(0), bits);

    d_store(high, d_mul(v_low(number), v_low(number)));
    d_store(high + W_LANES, d_mul(v_high(number), v_high(number)));
}

/* Magnitudes of binary64 numbers whose squares have two parts that are normal, or 0: in between. */
#define SQUARE_LEAST 0x1p-400
#define SQUARE_GREATEST 0x1p+400

/* Those of a vector of binary64, as exact_two_product. Returns bits that are not 0 where a number is
   beyond these. */
INLINE_TARGET wvec put_squares64(double *high, double *low, const unsigned char *x)
{
    const wvec zero = w_set1(0), magnitude = w_and(w_load(x), w_set1(~SIGN64));
    const wvec not_small =
        w_select(w_gt_s(w_set1(exact_bits(SQUARE_LEAST)), magnitude), zero, magnitude);
    const wvec number =
        w_select(w_gt_s(not_small, w_set1(exact_bits(SQUARE_GREATEST))), zero, not_small);
    vecd lost;

    d_store(high, d_two_product(w_value(number), w_value(number), &lost));
    d_store(low, lost);
    return w_select(w_gt_s(w_set1(INFINITY64), magnitude), w_xor(number, magnitude), zero);
}

/* Magnitudes below this become binary64 numbers by an addition. */
#define WIDE_SQUARE_BITS 51

/* The squares of a vector, as put_squares64. */
INLINE_TARGET wvec put_squares_wide(double *high, double *low, const unsigned char *x,
                                    bool is_signed)
{
    const uint64_t limit = (uint64_t)1 << WIDE_SQUARE_BITS;
    const wvec bits = w_load(x), shifted = is_signed ? w_add(bits, w_set1(limit)) : bits;
    const wvec most = w_set1(is_signed ? 2 * limit - 1 : limit - 1);
    /* Compared as unsigned. */
    const wmask beyond = w_gt_s(w_xor(shifted, w_set1(SIGN64)), w_xor(most, w_set1(SIGN64)));
    const wvec number = w_select(beyond, w_set1(is_signed ? limit : 0), shifted);
    double value[W_LANES];

    d_store(value, d_sub(wide_value(number), d_set1(is_signed ? (double)limit : 0)));
    (void)put_squares64(high, low, (const unsigned char *)value);
    return w_select(beyond, w_set1(1), w_set1(0));
}

/* The squares of a vector from element number i on. Returns bits that are not 0 where one has none. */
INLINE_TARGET wvec put_squares(double *high, double *low, size_t i, const unsigned char *x,
                               enum element_type type)
{
    x += i * element_formats[type].size;
    if (type == ELEMENT_F64)
        return put_squares64(high + i, low + i, x);
    if (element_is_integer(type))
        return put_squares_wide(high + i, low + i, x, element_formats[type].kind == ELEMENT_SIGNED);
    put_squares32(high + i, x, type);
    return w_set1(0);
}

/* cpu_squares_kernel of elements of a type. */
INLINE_TARGET bool squares_kernel(double *high, double *low, const void *data, size_t n,
                                  enum element_type type)
{
    const size_t size = element_formats[type].size;
    const size_t step = size == sizeof(double) ? (size_t)W_LANES : (size_t)V_LANES;
    const size_t whole = n - n % step;
    const unsigned char *x = data;
    unsigned char last[V_BYTES] = {0};
    double last_high[2 * W_LANES], last_low[2 * W_LANES];
    wvec beyond = w_set1(0);

    for (size_t i = 0; i < whole; i += step)
        beyond = w_or(beyond, put_squares(high, low, i, x, type));
    if (whole == n)
        return !w_any(beyond);
    memcpy(last, x + whole * size, (n - whole) * size);
    beyond = w_or(beyond, put_squares(last_high, last_low, 0, last, type));
    memcpy(high + whole, last_high, (n - whole) * sizeof *high);
    if (size == sizeof(double))
        memcpy(low + whole, last_low, (n - whole) * sizeof *low);
    return !w_any(beyond);
}

#endif
