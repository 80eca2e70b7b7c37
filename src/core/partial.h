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

#include "core/exact.h"

#define PARTIAL_NO_INDEX UINT64_MAX

/* What a reduction has to find. The counts are always kept. */
enum partial_want {
    PARTIAL_SUM = 1,      /* the exact sum */
    PARTIAL_EXTREMES = 2, /* the smallest and the largest value */
    PARTIAL_WHERE = 4,    /* the indices of their first occurrences; goes with PARTIAL_EXTREMES */
    PARTIAL_ALL = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE
};

struct partial {
    struct exact sum; /* of the finite elements */
    /* Extremes of the elements that are not NaN, as exact_key integers, and the least index at
       which each occurs, where PARTIAL_WHERE was asked for. */
    int64_t min_key;
    int64_t max_key;
    uint64_t min_index;
    uint64_t max_index;
    uint64_t count; /* of all elements */
    uint64_t nan;
    uint64_t positive_infinity;
    uint64_t negative_infinity;
    uint64_t first_nan; /* index; PARTIAL_NO_INDEX when there is none */
};

/* The most quantiles that a result has. */
#define RESULT_QUANTILES_MAX 32

/* What a finished reduction says. Numbers that have no value, for want of elements, are NaN;
   indices that have none are PARTIAL_NO_INDEX. */
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
    double quantiles[RESULT_QUANTILES_MAX]; /* what a survey found (survey.h), not a partial */
};

/* Makes *p the partial result of no elements: the neutral element of partial_merge. */
void partial_clear(struct partial *p);

/* Merges `other` into p: exact, in any order. */
void partial_merge(struct partial *p, const struct partial *other);

/* Merges `other` into p as if its elements came behind those of p: its indices go on from p's
   count. Exact; the order matters for the indices alone. */
void partial_append(struct partial *p, const struct partial *other);

/* Takes `key`, the exact_key of a value first seen at `index`, if it is less than the least so far,
   or the same and earlier. */
EXACT_SHARED void partial_take_min(struct partial *p, int64_t key, uint64_t index)
{
    if (key < p->min_key || (key == p->min_key && index < p->min_index)) {
        p->min_key = key;
        p->min_index = index;
    }
}

/* Likewise for the greatest value. */
EXACT_SHARED void partial_take_max(struct partial *p, int64_t key, uint64_t index)
{
    if (key > p->max_key || (key == p->max_key && index < p->max_index)) {
        p->max_key = key;
        p->max_index = index;
    }
}

/* Takes one element, value x at `index`, into everything. */
void partial_take(struct partial *p, double x, uint64_t index);

/* The result: with skip_nan, of the elements that are no NaN; otherwise NaN propagates: to the sum
   and the mean, to min and max, and argmin and argmax are the index of the first NaN. */
void partial_finish(const struct partial *p, int skip_nan, struct result *result);

/* Whether two numbers have the same bits, or are both NaN. */
bool result_same_number(double x, double y);

/* What differs first, in words, between two results: the counts, and what `wants` asked for
   (partial_want bits). Numbers are the same if all their bits are, or if both are NaN. NULL when
   nothing differs. */
const char *result_difference(const struct result *a, const struct result *b, unsigned wants);

#endif
