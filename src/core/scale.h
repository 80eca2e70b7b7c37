/*
 * Scale and offset: the numbers that stored ones stand for. Sums of stored numbers are scaled when
 * all of them have been added, so that results are exact and rounded once.
 *
 * A factor less than 0 reverses the order of numbers: it swaps minimum and maximum, with their
 * indices. Numbers keep the order of what is stored, where -0 comes before +0; a scaled number that
 * is exactly 0 is +0. Infinities stay infinite and get the sign of the factor, NaNs stay NaNs.
 *
 * Pure functions; the scale has to be valid (scale_refusal).
 */
#ifndef GPUREDUCE_SCALE_H
#define GPUREDUCE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"
#include "core/partial.h"
#include "core/term.h"

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

/* Why a scale cannot be used, a phrase that follows the array's name; NULL if it can be: the factor
   is finite and not 0, and the offset is finite. An array whose scale cannot be used is
   unreadable. */
const char *scale_refusal(const struct scale *s);

/* Whether the numbers that stand for integers are integers whose results have all digits (struct
   integer): there is no scale, or its factor is 1 and its offset is an integer of at most 2^64, with
   which the sum of as many elements as there can be has at most 128 bits. */
bool scale_keeps_integers(const struct scale *s);

/* Adds the sum of `count` scaled numbers, or takes it away. `sum` is that of the stored ones. */
void scale_add(struct exact_wide *to, const struct scale *s, const struct exact *sum,
               uint64_t count, bool subtract);

/* Adds the scaled number that stands for a stored one, or takes it away. */
void scale_add_number(struct exact_wide *to, const struct scale *s, struct term stored,
                      bool subtract);

/* The scaled number that stands for an infinity, which has the sign of x, or NaN for a NaN. */
double scale_infinity(const struct scale *s, double x);

/* The place of a threshold among the stored numbers of a type, by their order keys (order.h):
   elements are split there into those below it and the others (PARTIAL_SPLIT). */
struct partial_split {
    uint64_t first;      /* the least key of the numbers that are not below the threshold */
    uint64_t last_equal; /* the last key of those equal to it; first - 1 if none is */
    bool all_below;      /* all numbers of the type are below it; then the keys mean nothing */
};

/* Finds the place of -offset / factor, whose scaled number is 0, among the numbers of a type. */
struct partial_split scale_split(const struct scale *s, enum element_type type);

/* Changes partial_want bits of numbers of a type to those of the stored ones (scale_wants). Returns
   the threshold, which is put into *split, if they have PARTIAL_SPLIT then; otherwise NULL. */
const struct partial_split *scale_find_split(const struct scale *s, enum element_type type,
                                             unsigned *wants, struct partial_split *split);

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

/* Adds the element at `bytes`, in this machine's byte order, to the fields of p that PARTIAL_SPLIT
   defines, and to no others. */
void partial_split_take(struct partial *p, const struct partial_split *s, enum element_type type,
                        const void *bytes);

/* Sets the fields of p that PARTIAL_SPLIT defines to those of `sides`. */
void partial_split_put(struct partial *p, const struct partial *sides);

#endif
