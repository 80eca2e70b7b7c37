/*
 * Scale and offset: the numbers that stored ones stand for. Pure.
 */
#ifndef GPUREDUCE_SCALE_H
#define GPUREDUCE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/partial.h"

/* The scale of an array: a stored number x stands for factor x + offset, exactly. All zeros: there
   is none, and x stands for itself. */
struct scale {
    bool given; /* if not, the other fields are 0 */
    double factor, offset;
};

/* Whether two arrays have the same scale. */
static inline bool scale_same(const struct scale *a, const struct scale *b)
{
    return a->given == b->given && a->factor == b->factor && a->offset == b->offset;
}

/* The partial_want bits of stored numbers that come to those of what they stand for. */
static inline unsigned scale_wants(const struct scale *s, unsigned wants)
{
    const unsigned split = PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE;

    if (!s->given)
        return wants;
    /* Squares of sums, and sums of what is below the threshold, take the whole sum. */
    if (wants & (PARTIAL_SQUARES | PARTIAL_ABSOLUTE))
        wants |= PARTIAL_SUM;
    return wants & split ? (wants & ~split) | PARTIAL_SPLIT : wants;
}

/* The place of a threshold among the stored numbers of a type, by their order keys (order.h):
   elements are split there into those below it and the others (PARTIAL_SPLIT). */
struct partial_split {
    uint64_t first;      /* the least key of the numbers that are not below the threshold */
    uint64_t last_equal; /* the last key of those equal to it; first - 1 if none is */
    bool all_below;      /* all numbers of the type are below it; then the keys mean nothing */
};

/* Whether the number with this key is below the threshold. Not of NaNs. */
static inline bool partial_split_is_below(const struct partial_split *s, uint64_t key)
{
    return s->all_below || key < s->first;
}

/* Whether the number with this key is equal to the threshold. Not of NaNs. */
static inline bool partial_split_is_equal(const struct partial_split *s, uint64_t key)
{
    /* Modulo 2^64, so that it is true of no key if last_equal is first - 1, even if first is 0. */
    return !s->all_below && key - s->first < s->last_equal + 1 - s->first;
}

#endif
