/*
 * The seeds of the random numbers that data are made of.
 */
#ifndef GPUREDUCE_BENCH_RANDOM_H
#define GPUREDUCE_BENCH_RANDOM_H

#include <stdint.h>

/* 2^64 divided by the golden ratio, rounded to an odd number. Its multiples are spread evenly. */
#define RANDOM_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* A bijection that spreads every bit of x over all bits: the finalizer of splitmix64 (G. L. Steele,
   D. Lea and C. H. Flood, 2014). */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
