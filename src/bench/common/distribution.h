/*
 * Test data by the gigabyte: distributions of floats. A seed gives the same bytes on every machine.
 *
 * Element i of a stream depends only on the distribution, the type, the seed, i and, for
 * DISTRIBUTION_CANCEL, the length of the stream. So any thread can make any part of a stream. Pure
 * functions. They do not use the mathematical functions of the C library, whose results differ
 * between versions.
 */
#ifndef GPUREDUCE_BENCH_DISTRIBUTION_H
#define GPUREDUCE_BENCH_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/distribution_element.h"
#include "core/element.h"

/* The name of a distribution, as in --dist. */
const char *distribution_name(enum distribution d);

/* Finds a distribution by its name. Returns false for any other name. */
bool distribution_parse(const char *name, enum distribution *d);

/* Whether there is such a distribution of elements of the type: DISTRIBUTION_CANCEL needs negative
   ones, and what comes from DISTRIBUTION_WEIGHTS on, floats of 16 bits or more. */
bool distribution_has(enum distribution d, enum element_type type);

/* Writes elements [first, first + count) of a stream of `length` elements to `out`: little-endian
   elements of `type`, aligned to their size. `first` must be a multiple of DISTRIBUTION_BLOCK, and
   first + count at most `length`, which only DISTRIBUTION_CANCEL uses. There must be such a
   distribution of the type. Any thread may call it. A part of a block costs as much time as a
   block. */
#define DISTRIBUTION_BLOCK 4096
void distribution_fill(void *out, enum distribution d, enum element_type type, uint64_t seed,
                       uint64_t length, uint64_t first, size_t count);

/* Fills as distribution_fill does, with `threads` threads (0: one per core). Returns false, after
   an error message, if they cannot be started. */
bool distribution_fill_parallel(void *out, enum distribution d, enum element_type type,
                                uint64_t seed, uint64_t length, uint64_t first, size_t count,
                                unsigned threads);

#endif
