/*
 * Numbers in files, as bytes of either order. Pure functions.
 */
#ifndef GPUREDUCE_BYTES_H
#define GPUREDUCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The place of the lowest `size` bytes of a number. */
static inline const void *bytes_lowest(const uint64_t *x, size_t size)
{
    const uint16_t one = 1;
    const bool big = *(const unsigned char *)&one == 0;

    return (const unsigned char *)x + (big ? sizeof *x - size : 0);
}

#endif
