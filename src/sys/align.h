/*
 * Sizes in binary units, of the caches, and rounding up to whole units. Pure functions.
 */
#ifndef GPUREDUCE_ALIGN_H
#define GPUREDUCE_ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes. More than 4 GiB does not fit a size_t of 32 bits: multiply uint64_t instead. */
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Bytes of a line of the caches, and how far apart memory lies of which different threads write to
   different parts all the time: so that no two of them have a part in one line, nor in the line
   beside it, which processors fetch as well. */
#define CACHE_LINE 64
#define CACHE_APART 128

/* The least multiple of `unit`, which is above 0, that is not less than x. x + unit - 1 must not
   overflow. */
static inline size_t align_up(size_t x, size_t unit)
{
    return (x + unit - 1) / unit * unit;
}

/* x / unit, rounded up: how many units hold x. Does not overflow. */
static inline uint64_t align_units(uint64_t x, uint64_t unit)
{
    return x / unit + (x % unit != 0);
}

#endif
