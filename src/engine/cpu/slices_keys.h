/*
 * Keys of slices' extremes: exact_key's, or, of columns of up to 32 bits, the v_order's of binary32
 * (simd.h), which are its bits, or, of a negative one, all but the sign inverted. Pure functions.
 */
#ifndef GPUREDUCE_CPU_SLICES_KEYS_H
#define GPUREDUCE_CPU_SLICES_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/exact.h"

/* Makes keys of `size` bytes the one that any other is less than, or more. */
static inline void slices_clear_keys(void *keys, size_t count, size_t size, bool min)
{
    int32_t *narrow = keys;
    int64_t *wide = keys;

    if (size == sizeof *narrow)
        for (size_t i = 0; i < count; i++)
            narrow[i] = min ? INT32_MAX : INT32_MIN;
    else
        for (size_t i = 0; i < count; i++)
            wide[i] = min ? INT64_MAX : INT64_MIN;
}

/* The key of a v_order of binary32, as an exact_key. */
static inline int64_t slices_wide_key(int32_t order)
{
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    const uint32_t bits = (uint32_t)order ^ ((uint32_t)(order >> 31) >> 1);
    float x;

    memcpy(&x, &bits, sizeof x);
    return exact_key((double)x);
}

/* The v_order of the bits of a binary32. */
static inline int32_t slices_order(int32_t bits)
{
    /* cppcheck-suppress shiftTooManyBitsSigned ; as above */
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

/* The v_order of an exact_key, where the value is a binary32. */
static inline int32_t slices_narrow_key(int64_t key)
{
    const float x = (float)exact_key_value(key);
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return slices_order(bits);
}

/* Key number i, of `size` bytes each, as an exact_key. */
static inline int64_t slices_key(const void *keys, size_t i, size_t size)
{
    return size == sizeof(int32_t) ? slices_wide_key(((const int32_t *)keys)[i])
                                   : ((const int64_t *)keys)[i];
}

#endif
