/*
 * Floats as bits, and products of 128 bits. Functions that are EXACT_SHARED, here and elsewhere, compile
 * as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_BITS_H
#define GPUREDUCE_BITS_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define EXACT_SHARED __host__ __device__ static inline
#else
#    define EXACT_SHARED static inline
#endif

/* The bits of a binary64 number. */
EXACT_SHARED uint64_t exact_bits(double x)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

/* The binary64 number that has these bits. */
EXACT_SHARED double exact_from_bits(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/* The bits of a binary32 number, and the number that has bits. */
static inline uint32_t exact_bits32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float exact_from_bits32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

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
