/*
 * Numbers in files, as bytes of either order. Pure functions.
 */
#ifndef GPUREDUCE_BYTES_H
#define GPUREDUCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The unsigned number of `size` bytes at p, at most 8; the first of them is the least significant,
   unless it is `big`. */
static inline uint64_t bytes_number(const void *p, size_t size, bool big)
{
    const unsigned char *bytes = p;
    uint64_t x = 0;

    for (size_t i = 0; i < size; i++)
        x = x << 8 | bytes[big ? i : size - 1 - i];
    return x;
}

/* Copies `count` values of `size` bytes, which lie `stride` bytes from one to the next, one after the
   other. */
static inline void bytes_gather(void *to, const void *from, size_t count, size_t size,
                                int64_t stride)
{
    unsigned char *out = to;
    const unsigned char *in = from;

#define BYTES_GATHER(bytes)            \
    for (size_t i = 0; i < count; i++) \
    memcpy(out + i * (bytes), in + (int64_t)i * stride, bytes)

    switch (size) { /* with a size that is known, compilers call nothing */
    case 1:
        BYTES_GATHER(1);
        break;
    case 2:
        BYTES_GATHER(2);
        break;
    case 4:
        BYTES_GATHER(4);
        break;
    case 8:
        BYTES_GATHER(8);
        break;
    default:
        BYTES_GATHER(size);
        break;
    }
#undef BYTES_GATHER
}

/* Repeats the first `size` bytes at `to`, at least 1, until there are `all`. Each step copies all that
   is there. */
static inline void bytes_repeat(void *to, size_t size, size_t all)
{
    unsigned char *bytes = to;

    for (size_t some; size < all; size += some) {
        some = size < all - size ? size : all - size;
        memcpy(bytes + size, bytes, some);
    }
}

#endif
