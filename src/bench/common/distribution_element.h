/*
 * Elements of the types that have no loops in distribution.c: floats of one byte, and integers, one
 * at a time. Pure.
 */
#ifndef GPUREDUCE_BENCH_DISTRIBUTION_ELEMENT_H
#define GPUREDUCE_BENCH_DISTRIBUTION_ELEMENT_H

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
    DISTRIBUTIONS
};

/* The bits of an element of a distribution, made of 64 random bits, as many more for choices, and
   the normal number of the former. DISTRIBUTION_CANCEL is none of single elements. */
uint64_t distribution_element(enum distribution d, enum element_type type, uint64_t word,
                              uint64_t choice, double normal);

#endif
