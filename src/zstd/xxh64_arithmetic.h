/*
 * The arithmetic of XXH64 (xxh64.h), which CPU and GPU share: pure functions, in C11 and CUDA C++.
 *
 * Content is cut into stripes of 32 bytes. Each of a stripe's four words goes to a lane of its own;
 * the lanes are independent of each other, but within a lane every word waits for the one before.
 */
#ifndef GPUREDUCE_ZSTD_XXH64_ARITHMETIC_H
#define GPUREDUCE_ZSTD_XXH64_ARITHMETIC_H

#include <stdint.h>

#ifdef __CUDACC__
#    define XXH64_ARITHMETIC static __host__ __device__ inline
#else
#    define XXH64_ARITHMETIC static inline
#endif

#define XXH64_LANES 4
#define XXH64_STRIPE 32

/* The specification's primes. */
#define XXH64_PRIME1 UINT64_C(0x9e3779b185ebca87)
#define XXH64_PRIME2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define XXH64_PRIME3 UINT64_C(0x165667b19e3779f9)
#define XXH64_PRIME4 UINT64_C(0x85ebca77c2b2ae63)
#define XXH64_PRIME5 UINT64_C(0x27d4eb2f165667c5)

XXH64_ARITHMETIC uint64_t xxh64_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* A lane before its first word. */
XXH64_ARITHMETIC uint64_t xxh64_lane(unsigned lane)
{
    return lane == 0   ? XXH64_PRIME1 + XXH64_PRIME2
           : lane == 1 ? XXH64_PRIME2
           : lane == 2 ? 0
                       : 0 - XXH64_PRIME1;
}

/* The part of a word's contribution that does not depend on the lane: it can be computed ahead. */
XXH64_ARITHMETIC uint64_t xxh64_weigh(uint64_t word)
{
    return word * XXH64_PRIME2;
}

/* A lane after a weighed word. */
XXH64_ARITHMETIC uint64_t xxh64_mix(uint64_t lane, uint64_t weighed)
{
    return xxh64_rotate(lane + weighed, 31) * XXH64_PRIME1;
}

/* The hash of all stripes, and of how many bytes there are in all; `lanes` are not looked at where
   these make no stripe. */
XXH64_ARITHMETIC uint64_t xxh64_join(const uint64_t *lanes, uint64_t size)
{
    uint64_t hash;

    if (size < XXH64_STRIPE)
        return XXH64_PRIME5 + size;
    hash = xxh64_rotate(lanes[0], 1) + xxh64_rotate(lanes[1], 7) + xxh64_rotate(lanes[2], 12) +
           xxh64_rotate(lanes[3], 18);
    for (unsigned i = 0; i < XXH64_LANES; i++)
        hash = (hash ^ xxh64_mix(0, xxh64_weigh(lanes[i]))) * XXH64_PRIME1 + XXH64_PRIME4;
    return hash + size;
}

/* Adds what fills no stripe: words of 8 bytes, then of 4, then single bytes. */
XXH64_ARITHMETIC uint64_t xxh64_add8(uint64_t hash, uint64_t word)
{
    return xxh64_rotate(hash ^ xxh64_mix(0, xxh64_weigh(word)), 27) * XXH64_PRIME1 + XXH64_PRIME4;
}

XXH64_ARITHMETIC uint64_t xxh64_add4(uint64_t hash, uint32_t word)
{
    return xxh64_rotate(hash ^ word * XXH64_PRIME1, 23) * XXH64_PRIME2 + XXH64_PRIME3;
}

XXH64_ARITHMETIC uint64_t xxh64_add1(uint64_t hash, uint8_t byte)
{
    return xxh64_rotate(hash ^ byte * XXH64_PRIME5, 11) * XXH64_PRIME1;
}

/* Finishes a hash: mixes its bits. */
XXH64_ARITHMETIC uint64_t xxh64_finish(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * XXH64_PRIME2;
    hash = (hash ^ hash >> 29) * XXH64_PRIME3;
    return hash ^ hash >> 32;
}

#endif
