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

#include "core/element.h"

enum distribution {
    DISTRIBUTION_UNIFORM,  /* [0, 1), or all integers */
    DISTRIBUTION_NORMAL,   /* mean 0, standard deviation 1; of integers 1/32 of those there are */
    DISTRIBUTION_WIDE,     /* random signs; 60 exponents, or all of f16, equally likely; of integers
                              the lengths in bits */
    DISTRIBUTION_FULL,     /* random bits that are finite, subnormals included */
    DISTRIBUTION_INTEGERS, /* -1000 .. 1000, or as many as the type has room for */
    DISTRIBUTION_SPARSE,   /* 19 of 20 are zeros of both signs, the rest normal */
    DISTRIBUTION_CANCEL,   /* as DISTRIBUTION_WIDE, but the sum of all is tiny and not 0 */

    /* Distributions that compress as data do: */
    DISTRIBUTION_WEIGHTS, /* normal, deviation 0.02, of the precision of bf16 */
    DISTRIBUTION_FIELD,   /* a smooth field: 280 and some 15, in rows of 2048 */
    DISTRIBUTION_STEPS,   /* as DISTRIBUTION_FIELD, in steps of 0.01 */
    DISTRIBUTION_SERIES,  /* a slow wave around 20, and noise, to one decimal */
    DISTRIBUTION_IMAGE,   /* pixels of three colours, from 0 to 255, over 255 */
    DISTRIBUTIONS
};

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
