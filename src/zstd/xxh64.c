#include "config.h"

#include "zstd/xxh64.h"

#include <string.h>

#include "zstd/entropy.h"
#include "zstd/frames.h"

void xxh64_begin(struct xxh64 *x)
{
    *x = (struct xxh64){.size = 0};
    for (unsigned i = 0; i < XXH64_LANES; i++)
        x->lanes[i] = xxh64_lane(i);
}

/* Bytes ahead of the hash that are fetched from memory. The processor does not fetch across pages
   by itself, and hashing waits for it: 3.6 GB/s without, 4.6 with 2048, 6.7 with 4096. */
#define AHEAD 4096

/* Adds whole stripes. */
static const unsigned char *add_stripes(struct xxh64 *x, const unsigned char *b, size_t stripes)
{
    uint64_t a0 = x->lanes[0], a1 = x->lanes[1], a2 = x->lanes[2], a3 = x->lanes[3];

    for (; stripes > 0; stripes--, b += XXH64_STRIPE) {
        __builtin_prefetch(b + AHEAD);
        a0 = xxh64_mix(a0, xxh64_weigh(zstd_load64(b)));
        a1 = xxh64_mix(a1, xxh64_weigh(zstd_load64(b + 8)));
        a2 = xxh64_mix(a2, xxh64_weigh(zstd_load64(b + 16)));
        a3 = xxh64_mix(a3, xxh64_weigh(zstd_load64(b + 24)));
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
        hash = xxh64_add8(hash, zstd_load64(b));
    for (; size >= 4; size -= 4, b += 4)
        hash = xxh64_add4(hash, zstd_load32(b));
    for (; size > 0; size--, b++)
        hash = xxh64_add1(hash, *b);
    return hash;
}

uint64_t xxh64_end(const struct xxh64 *x)
{
    const uint64_t hash = xxh64_join(x->lanes, x->size);

    return xxh64_finish(add_rest(hash, x->rest, x->size % XXH64_STRIPE));
}
