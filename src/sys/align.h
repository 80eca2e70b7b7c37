/*
 * Units of memory, and rounding up to them.
 */
#ifndef GPUREDUCE_ALIGN_H
#define GPUREDUCE_ALIGN_H

#include <stddef.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* The least multiple of `unit` that is not below x. That must not exceed SIZE_MAX. */
static inline size_t align_up(size_t x, size_t unit)
{
    return (x + unit - 1) / unit * unit;
}

#endif
