/*
 * Floats as bits. The first two functions, as others that are EXACT_SHARED, compile as C and as CUDA.
 * Pure functions.
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

#endif
