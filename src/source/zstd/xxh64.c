#include "config.h"

#include "source/zstd/xxh64.h"

#include <string.h>

#include "source/zstd/entropy.h"
#include "source/zstd/frames.h"

/* The specification's primes. */
#define PRIME1 UINT64_C(0x9e3779b185ebca87)
#define PRIME2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME3 UINT64_C(0x165667b19e3779f9)
#define PRIME4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME5 UINT64_C(0x27d4eb2f165667c5)

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * PRIME2, 31) * PRIME1;
}

void xxh64_begin(struct xxh64 *x)
{
    *x = (struct xxh64){.lanes = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1}};
}

/* Adds whole stripes. */
static const unsigned char *add_stripes(struct xxh64 *x, const unsigned char *b, size_t stripes)
{
    uint64_t a0 = x->lanes[0], a1 = x->lanes[1], a2 = x->lanes[2], a3 = x->lanes[3];

    for (; stripes > 0; stripes--, b += XXH64_STRIPE) {
        a0 = mix(a0, zstd_load64(b));
        a1 = mix(a1, zstd_load64(b + 8));
        a2 = mix(a2, zstd_load64(b + 16));
        a3 = mix(a3, zstd_load64(b + 24));
    }
    x->lanes[0] = a0;
    x->lanes[1] = a1;
    x->lanes[2] = a2;
    x->lanes[3] = a3;
    return b;
}

void xxh64_add(struct xxh64 *x, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    const size_t had = x->size % XXH64_STRIPE;

    x->size += size;
    if (had > 0) {
        size_t part = size < XXH64_STRIPE - had ? size : XXH64_STRIPE - had;

        memcpy(x->rest + had, b, part);
        b += part;
        size -= part;
        if (had + part < XXH64_STRIPE)
            return;
        add_stripes(x, x->rest, 1);
    }
    b = add_stripes(x, b, size / XXH64_STRIPE);
    memcpy(x->rest, b, size % XXH64_STRIPE);
}

/* The bytes that fill no stripe. */
static uint64_t add_rest(uint64_t hash, const unsigned char *b, size_t size)
{
    for (; size >= 8; size -= 8, b += 8)
        hash = rotate(hash ^ mix(0, zstd_load64(b)), 27) * PRIME1 + PRIME4;
    for (; size >= 4; size -= 4, b += 4)
        hash = rotate(hash ^ zstd_load32(b) * PRIME1, 23) * PRIME2 + PRIME3;
    for (; size > 0; size--, b++)
        hash = rotate(hash ^ *b * PRIME5, 11) * PRIME1;
    return hash;
}

uint64_t xxh64_end(const struct xxh64 *x)
{
    static const unsigned turns[4] = {1, 7, 12, 18};
    uint64_t hash = 0;

    if (x->size < XXH64_STRIPE) {
        hash = PRIME5;
    } else {
        for (unsigned i = 0; i < 4; i++)
            hash += rotate(x->lanes[i], turns[i]);
        for (unsigned i = 0; i < 4; i++)
            hash = (hash ^ mix(0, x->lanes[i])) * PRIME1 + PRIME4;
    }
    hash = add_rest(hash + x->size, x->rest, x->size % XXH64_STRIPE);
    hash = (hash ^ hash >> 33) * PRIME2;
    hash = (hash ^ hash >> 29) * PRIME3;
    return hash ^ hash >> 32;
}
