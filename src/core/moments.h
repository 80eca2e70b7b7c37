/*
 * Moments, norms and counts: what the sums of squares and of magnitudes, the least magnitude and a
 * few counts tell of a file. They are parts of a partial result, and merge with the rest of it;
 * here is how one element is taken, and what results they finish to.
 *
 * Pure functions over a partial, which belongs to one thread at a time.
 */
#ifndef GPUREDUCE_MOMENTS_H
#define GPUREDUCE_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

/* The bits of PARTIAL_ALL that only this module's results need. */
#define MOMENTS_WANTS (PARTIAL_SQUARES | PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE)

/* Roots, which take as long as all else. */
enum moments_root { MOMENTS_L2 = 1, MOMENTS_RMS = 2, MOMENTS_STD = 4 };

/* How results are finished. */
struct moments_terms {
    unsigned unwanted;          /* moments_root bits: what need not be set */
    bool skip_nan;              /* as partial_finish takes it */
    uint64_t ddof;              /* number subtracted from the count that a variance is divided by */
    enum element_type type;     /* of absmax, absmin and range, where they are floats */
    struct partial_types types; /* as partial_finish_types takes it */
};

/* Takes the element of the type that stands at `bytes`, in the machine's byte order, into all that
   is for this module. partial_take_element has to take it, too. */
void moments_take_element(struct partial *p, enum element_type type, const void *bytes);

/* Adds an element of a float type, with value x, as often as `times` says: once, or up to 2^32
   times if the type has one byte. */
void moments_take(struct partial *p, double x, enum element_type type, uint64_t times);

/* Adds an element of an integer type, given as magnitude and sign, as often as `times` says. */
void moments_take_integer(struct partial *p, uint64_t magnitude, bool negative, uint64_t times);

/* Sets the members of the result that are this module's, each rounded once. Counts are always those
   of elements that are no NaN. Numbers that have no value are NaN. */
void moments_finish(const struct partial *p, const struct moments_terms *terms,
                    struct result *result);

#endif
