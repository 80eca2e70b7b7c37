/*
 * What recognisers of foreign formats ask of the first bytes.
 */
#ifndef GPUREDUCE_FOREIGN_BYTES_H
#define GPUREDUCE_FOREIGN_BYTES_H

#include <string.h>

#include "source/foreign_input.h"

/* The number of `size` bytes at p, at most 8, the least significant first. */
static inline uint64_t load_little(const unsigned char *p, unsigned size)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < size; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

/* The same, the most significant first. */
static inline uint64_t load_big(const unsigned char *p, unsigned size)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < size; i++)
        x = x << 8 | p[i];
    return x;
}

/* Whether the input has these bytes at an offset. */
static inline bool begins(const struct foreign_input *in, size_t offset, const char *text,
                          size_t length)
{
    return in->size >= offset && in->size - offset >= length &&
           memcmp(in->bytes + offset, text, length) == 0;
}

/* The same for a constant string with its zeros, but for the one at its end. */
#define BEGINS(in, offset, text) begins(in, offset, text, sizeof(text) - 1)

/* Whether a part of so many bytes from `offset` on can be in the input. */
static inline bool fits(const struct foreign_input *in, uint64_t offset, uint64_t bytes)
{
    return offset <= in->total && bytes <= in->total - offset;
}

/* Whether the input's length is known, and is this. */
static inline bool is_all(const struct foreign_input *in, uint64_t bytes)
{
    return in->total != UINT64_MAX && in->total == bytes;
}

#endif
