/*
 * XXH64, the checksum of a zstd frame's content (with seed 0, its lowest 32 bits), piece by piece.
 * From the specification of the algorithm: "xxHash fast digest algorithm", by Y. Collet. It is
 * serial: a core does about 10 GB/s. Pure arithmetic.
 */
#ifndef GPUREDUCE_ZSTD_XXH64_H
#define GPUREDUCE_ZSTD_XXH64_H

#include <stddef.h>
#include <stdint.h>

#include "zstd/xxh64_arithmetic.h"

struct xxh64 {
    uint64_t lanes[XXH64_LANES];
    uint64_t size; /* bytes so far */
    unsigned char rest[XXH64_STRIPE];
};

void xxh64_begin(struct xxh64 *x);

/* Adds `size` bytes. */
void xxh64_add(struct xxh64 *x, const void *bytes, size_t size);

/* The checksum of all that was added. */
uint64_t xxh64_end(const struct xxh64 *x);

#endif
