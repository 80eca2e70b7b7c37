/*
 * A partial result: all that is known of the elements reduced so far. Merging two is exact,
 * associative and commutative, so threads, GPUs and processes merge in any order to the same bits.
 *
 * A partial is plain data without pointers; it belongs to one thread at a time. The layout is
 * shared with the kernels, which keep one on the device.
 */
#ifndef GPUREDUCE_PARTIAL_H
#define GPUREDUCE_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"

#define PARTIAL_NO_INDEX UINT64_MAX

/* Bits: the results that a reduction has to find. Counts are always found. */
enum partial_want {
    PARTIAL_SUM = 1,       /* the exact sum */
    PARTIAL_EXTREMES = 2,  /* the smallest and the largest value */
    PARTIAL_WHERE = 4,     /* the indices of their first occurrences; goes with PARTIAL_EXTREMES */
    PARTIAL_SQUARES = 8,   /* the exact sum of the squares */
    PARTIAL_ABSOLUTE = 16, /* the exact sum of the magnitudes */
    PARTIAL_SMALL = 32,    /* the least magnitude, and the counts of zeros and of subnormals */
    PARTIAL_NEGATIVE = 64, /* the count of elements below zero */
    PARTIAL_ALL = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE | PARTIAL_SQUARES |
                  PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE
};

struct partial {
    struct exact sum; /* of the finite elements */
    /* Extremes of the elements that are not NaN, as their keys: exact_key integers of floats, and
       element_key's of any type. And the least index at which each occurs, where PARTIAL_WHERE was
       asked for. */
    int64_t min_key;
    int64_t max_key;
    uint64_t min_index;
    uint64_t max_index;
    uint64_t count; /* of all elements */
    uint64_t nan;
    uint64_t positive_infinity;
    uint64_t negative_infinity;
    uint64_t first_nan; /* index; PARTIAL_NO_INDEX when there is none */

    /* For moments.h. Members that were not asked for stay as partial_clear sets them. */
    struct exact absolute;     /* of the magnitudes of the finite elements */
    struct exact_wide squares; /* of the finite elements */
    /* The least magnitude of the elements that are not NaN, as a key: for floats as above, for
       integers that of the magnitude as an ELEMENT_U64. */
    int64_t least_magnitude;
    uint64_t zeros, negative, subnormal; /* counts of elements; -0 is a zero, and not negative */
};

/* The most quantiles that a result has. */
#define RESULT_QUANTILES_MAX 32

/* The results of a reduction. A number without a value, for want of elements, is NaN; an index
   without one is PARTIAL_NO_INDEX. */
struct result {
    double sum;
    double mean;
    double min;
    double max;
    uint64_t argmin;
    uint64_t argmax;
    uint64_t count; /* elements that took part */
    uint64_t nan;
    uint64_t infinity;
    uint64_t first_nan;
    double quantiles[RESULT_QUANTILES_MAX]; /* set by a pass plan, not by a partial */

    /* The sum and the extremes in full, for integer types. */
    struct integer sum_integer;
    struct integer min_integer;
    struct integer max_integer;
    struct integer absmax_integer;
    struct integer absmin_integer;
    struct integer range_integer;

    /* Set by moments_finish. */
    double sumsq;
    double var;
    double std;
    double rms;
    double l1;
    double l2;
    double absmax;
    double absmin;
    double range;
    uint64_t zeros;
    uint64_t negatives;
    uint64_t subnormals;
};

/* The types of the elements of a partial result, which say what its keys and its sum mean. */
struct partial_types {
    enum element_type min, max; /* types of the elements that are the extremes */
    enum element_type least;    /* of the least magnitude; for integers of any type ELEMENT_U64 */
    bool integers;              /* all of them were integers */
};

/* The types if all elements have one type. */
struct partial_types partial_types_of(enum element_type type);

/* Makes *p the partial result of no elements: the neutral element of partial_merge. */
void partial_clear(struct partial *p);

/* Merges `other` into p: exact, in any order. */
void partial_merge(struct partial *p, const struct partial *other);

/* Merges `other` into p as if its elements came behind those of p: its indices go on from p's
   count. Exact; the order matters for the indices alone. */
void partial_append(struct partial *p, const struct partial *other);

/* Makes of p what it would be had each of its elements, whose indices stay, come so many times: at
   least once. */
void partial_repeat(struct partial *p, uint64_t times);

/* Takes `key`, the key of a value first seen at `index`, if it is less than the least so far,
   or the same and earlier. */
EXACT_SHARED void partial_take_min(struct partial *p, int64_t key, uint64_t index)
{
    if (key < p->min_key || (key == p->min_key && index < p->min_index)) {
        p->min_key = key;
        p->min_index = index;
    }
}

/* Takes a candidate for the maximum: its key and its index. If keys are equal, the lesser index is
   kept. */
EXACT_SHARED void partial_take_max(struct partial *p, int64_t key, uint64_t index)
{
    if (key > p->max_key || (key == p->max_key && index < p->max_index)) {
        p->max_key = key;
        p->max_index = index;
    }
}

/* The extremes of a partial, and what it says of where. */
struct partial_places {
    int64_t min_key, max_key;
    uint64_t min_index, max_index, first_nan;
};

/* Takes these out of a partial, as if it had no elements, so that what comes next is numbered by
   itself. */
struct partial_places partial_take_places(struct partial *p);

/* Ends that: with p's own indices replaced by what `place` says of them, it takes the others back.
 */
void partial_put_places(struct partial *p, const struct partial_places *before,
                        uint64_t (*place)(const void *places, uint64_t index), const void *places);

/* Takes one float, value x at `index`, into everything but what moments_take is for. */
void partial_take(struct partial *p, double x, uint64_t index);

/* Takes the element of any type that stands at `bytes`, in the machine's byte order. */
void partial_take_element(struct partial *p, enum element_type type, const void *bytes,
                          uint64_t index);

/* The sum, and the mean, of so many infinities and any numbers; there is an infinity. */
double partial_infinite_sum(uint64_t positive, uint64_t negative);

/* The result: with skip_nan, of the elements that are no NaN; otherwise NaN propagates: to the sum
   and the mean, to min and max, and argmin and argmax are the index of the first NaN. */
void partial_finish(const struct partial *p, int skip_nan, struct result *result);

/* Finishes a partial result over elements of any types; partial_finish is for floats. */
void partial_finish_types(const struct partial *p, const struct partial_types *types, int skip_nan,
                          struct result *result);

/* Whether two numbers have the same bits, or are both NaN. */
bool result_same_number(double x, double y);

#endif
