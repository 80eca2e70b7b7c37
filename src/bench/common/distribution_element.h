/*
 * Elements of the types that have no loops in distribution.c: floats of one byte, and integers, one
 * at a time. Pure.
 */
#ifndef GPUREDUCE_BENCH_DISTRIBUTION_ELEMENT_H
#define GPUREDUCE_BENCH_DISTRIBUTION_ELEMENT_H

#include <stdint.h>
#include <string.h>

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

/* One of so many elements of DISTRIBUTION_SPARSE is not a zero. */
#define DISTRIBUTION_SPARSENESS 20

/* The bits of a binary32. */
static inline uint32_t distribution_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The bits of an element of a distribution, made of 64 random bits, as many more for choices, and
   the normal number of the former. For distributions up to DISTRIBUTION_SPARSE; DISTRIBUTION_CANCEL
   is made of DISTRIBUTION_WIDE. */
uint64_t distribution_element(enum distribution d, enum element_type type, uint64_t word,
                              uint64_t choice, double normal);

#endif
