/*
 * The arithmetic of digests (digest.h), for the CPU and for CUDA: factors of words and of tiles, and
 * sums and products modulo 2^127 - 1. Pure functions.
 */
#ifndef GPUREDUCE_DIGEST_ARITHMETIC_H
#define GPUREDUCE_DIGEST_ARITHMETIC_H

#include <stdint.h>

#include "core/bits.h"

/* A number below 2^127 - 1. */
struct digest {
    uint64_t low, high;
};

/* 2^127 - 1. */
#define DIGEST_MODULUS_HIGH (UINT64_MAX >> 1)
#define DIGEST_MODULUS_LOW UINT64_MAX

/* Number n, from 0, of the sequence that SplitMix64 has of a seed. */
EXACT_SHARED uint64_t digest_split_mix(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A_r, of 62 bits. */
EXACT_SHARED uint64_t digest_word_factor(uint64_t r)
{
    return digest_split_mix(1, r) >> 2;
}

/* B_t. None is 0 before t is 2^60, and there are 2^54 tiles. */
EXACT_SHARED uint64_t digest_tile_factor(uint64_t t)
{
    return digest_split_mix(2, t);
}

/* a + b. */
EXACT_SHARED struct digest digest_plus(struct digest a, struct digest b)
{
    const uint64_t low = a.low + b.low;
    const uint64_t high = a.high + b.high + (low < a.low);
    const uint64_t over = high >> 63; /* 2^127 is 1 */
    struct digest sum;

    sum.low = low + over;
    sum.high = (high & DIGEST_MODULUS_HIGH) + (sum.low < over);
    if (sum.high == DIGEST_MODULUS_HIGH && sum.low == DIGEST_MODULUS_LOW)
        sum.high = sum.low = 0;
    return sum;
}

/* a b. */
EXACT_SHARED struct digest digest_times(struct digest a, uint64_t b)
{
    const struct product low = product_of(a.low, b), high = product_of(a.high, b);
    const uint64_t middle = low.high + high.low, top = high.high + (middle < low.high);
    struct digest over, product;

    over.low = top << 1 | middle >> 63;
    over.high = 0;
    product.low = low.low;
    product.high = middle & DIGEST_MODULUS_HIGH;
    return digest_plus(product, over);
}

#endif
