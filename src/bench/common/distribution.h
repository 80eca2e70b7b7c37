/*
 * Test data by the gigabyte: distributions of floats, the same bytes for a seed on every machine.
 *
 * Element i of a stream depends on the distribution, the type, the seed, i and, where a
 * distribution needs to know, the length of the whole; on nothing else. So any part of a stream can
 * be made by any thread. Pure functions; nothing of the C library's mathematics is used, for its
 * results differ between versions.
 */
#ifndef GPUREDUCE_BENCH_DISTRIBUTION_H
#define GPUREDUCE_BENCH_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

enum distribution {
    DISTRIBUTION_UNIFORM,  /* [0, 1) */
    DISTRIBUTION_NORMAL,   /* mean 0, standard deviation 1 */
    DISTRIBUTION_WIDE,     /* random signs, exponents evenly over 2^60, or all that the type has */
    DISTRIBUTION_FULL,     /* any finite bits, subnormals included */
    DISTRIBUTION_INTEGERS, /* -1000 .. 1000 */
    DISTRIBUTION_SPARSE,   /* 19 of 20 are zeros of both signs, the rest normal */
    DISTRIBUTION_CANCEL,   /* of wide size; the sum of all is tiny against the elements, not 0 */
    DISTRIBUTIONS
};

const char *distribution_name(enum distribution d);

/* Finds a distribution by its name. */
bool distribution_parse(const char *name, enum distribution *d);

/* Writes elements [first, first + count) of a stream of `length` elements to `out`, little-endian
   elements of `type`, aligned to their size. first is a multiple of DISTRIBUTION_BLOCK, and first +
   count is at most length, which only DISTRIBUTION_CANCEL looks at. Any thread may call it. A block
   is made as a whole: to ask for less costs as much. */
#define DISTRIBUTION_BLOCK 4096
void distribution_fill(void *out, enum distribution d, enum element_type type, uint64_t seed,
                       uint64_t length, uint64_t first, size_t count);

/* The same by `threads` threads (0: one a core). Returns false when memory or threads are short,
   which has been said. */
bool distribution_fill_parallel(void *out, enum distribution d, enum element_type type,
                                uint64_t seed, uint64_t length, uint64_t first, size_t count,
                                unsigned threads);

#endif
