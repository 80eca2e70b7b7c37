/*
 * Products of 128 bits, for the CPU and for CUDA. Pure functions.
 */
#ifndef GPUREDUCE_PRODUCT_H
#define GPUREDUCE_PRODUCT_H

#include <stdint.h>

#include "core/bits.h"

/* A product of two numbers of 64 bits. Not all compilers for 32-bit machines have integers of 128. */
struct product {
    uint64_t high, low;
};

EXACT_SHARED struct product product_of(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    const uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32);
    const uint64_t middle = a0 * b1 + (cross & UINT32_MAX);
    struct product p;

    p.high = a1 * b1 + (cross >> 32) + (middle >> 32);
    p.low = middle << 32 | (low & UINT32_MAX);
    return p;
}

#endif
