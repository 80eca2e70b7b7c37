/*
 * Partial results: the exact state of a reduction of some elements. Merging is exact, associative
 * and commutative, so the partial results of threads, GPUs and processes can be merged in any order
 * and give the same bits.
 *
 * A partial result is plain data without pointers, and belongs to one thread at a time. GPU kernels
 * use the same layout. No function here can fail.
 */
#ifndef GPUREDUCE_PARTIAL_H
#define GPUREDUCE_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest.h"
#include "core/element.h"
#include "core/exact.h"

/* The index of an element that does not exist. */
#define PARTIAL_NO_INDEX UINT64_MAX

/* Bits for what a reduction computes besides counts of elements, NaNs and infinities. */
enum partial_want {
    PARTIAL_SUM = 1,          /* the exact sum */
    PARTIAL_EXTREMES = 2,     /* the smallest and the largest value */
    PARTIAL_WHERE_MIN = 4,    /* the index of the first smallest one; needs PARTIAL_EXTREMES */
    PARTIAL_SQUARES = 8,      /* the exact sum of the squares */
    PARTIAL_ABSOLUTE = 16,    /* the exact sum of the magnitudes */
    PARTIAL_SMALL = 32,       /* the least magnitude, and the counts of zeros and of subnormals */
    PARTIAL_NEGATIVE = 64,    /* the count of elements below zero */
    PARTIAL_MISSING = 128,    /* missing elements are left out, and counted */
    PARTIAL_SPLIT = 256,      /* sums and counts on both sides of a threshold (scale.h), in place of
                              PARTIAL_ABSOLUTE, PARTIAL_SMALL and PARTIAL_NEGATIVE */
    PARTIAL_DIGEST = 512,     /* the digest of all elements */
    PARTIAL_WHERE_MAX = 1024, /* the index of the first greatest one, likewise */
    PARTIAL_WHERE = PARTIAL_WHERE_MIN | PARTIAL_WHERE_MAX, /* but for slices, one gives both */
    PARTIAL_ALL = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE | PARTIAL_SQUARES |
                  PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE
};

/* A partial result. Fields that were not requested (partial_want) have the values that
   partial_clear sets. */
struct partial {
    struct exact sum;              /* sum of the finite elements */
    int64_t min_key, max_key;      /* extremes of the elements that are not NaN, as keys: those of
                                 element_key, which for floats are those of exact_key */
    uint64_t min_index, max_index; /* indices of their first occurrences */
    uint64_t count;                /* all elements */
    uint64_t missing;              /* elements that stand for no data (missing.h), of which nothing
                                 else here knows */
    uint64_t nan;                  /* NaNs */
    uint64_t positive_infinity;    /* elements that are +inf */
    uint64_t negative_infinity;    /* elements that are -inf */
    uint64_t first_nan;            /* index of the first NaN; PARTIAL_NO_INDEX if there is none */

    /* The rest is finished by moments.h. */
    struct exact absolute;     /* sum of the magnitudes of the finite elements */
    struct exact_wide squares; /* sum of the squares of the finite elements */
    int64_t least_magnitude;   /* least magnitude of the elements that are not NaN, as a key: of
                                  floats by exact_key, of integers by element_key of ELEMENT_U64 */
    uint64_t zeros;            /* elements that are zero, of either sign */
    uint64_t negative;         /* elements less than zero; -0 is not */
    uint64_t subnormal;        /* subnormal elements */

    /* With PARTIAL_SPLIT `absolute` is the sum of the finite elements that are not below the
       threshold, `least_magnitude` the least element_key of the numbers that are not below it,
       `zeros` counts the numbers equal to it and `negative` those below it; `subnormal` is 0. */
    int64_t below_key; /* greatest element_key of the numbers below the threshold; INT64_MIN if
                          there is none */

    /* The sum of a digest, over all elements, missing ones and NaNs, too, at their places in C order.
       It means nothing after partial_append, which would have to move places. */
    struct digest digest;
};

/* The most quantiles that a result has. */
#define RESULT_QUANTILES_MAX 32

/* The results of a reduction, rounded. Without elements, numbers that have no value are NaN and
   indices PARTIAL_NO_INDEX. */
struct result {
    double sum;
    double mean;
    double min;
    double max;
    uint64_t argmin;
    uint64_t argmax;
    uint64_t count;     /* elements that took part: none that is missing, and without NaNs if these
                           are skipped */
    uint64_t missing;   /* elements that are missing */
    uint64_t nan;       /* NaNs, skipped or not */
    uint64_t infinity;  /* infinities of both signs */
    uint64_t first_nan; /* index of the first NaN */
    double quantiles[RESULT_QUANTILES_MAX]; /* set by a pass plan (pass_plan.h) */

    /* Results of integer types with all digits; the numbers above are these, rounded. */
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

    /* Set by reduction_round. */
    struct digest_value digest;
};

/* The type of which the least magnitude of elements of a type is a key. */
static inline enum element_type partial_least_type(enum element_type type)
{
    return element_is_integer(type) ? ELEMENT_U64 : type;
}

/* Makes *p the partial result of no elements. */
void partial_clear(struct partial *p);

/* The number of elements that are numbers: neither missing nor NaN. */
static inline uint64_t partial_numbers(const struct partial *p)
{
    return p->count - p->missing - p->nan;
}

static inline uint64_t partial_infinities(const struct partial *p)
{
    return p->positive_infinity + p->negative_infinity;
}

/* Adds the elements of `other` to p. Partial results may be merged in any order. */
void partial_merge(struct partial *p, const struct partial *other);

/* The index of an element, if there is one, among others as well: `before` of them come first. */
static inline uint64_t partial_index_behind(uint64_t before, uint64_t index)
{
    return index == PARTIAL_NO_INDEX ? index : before + index;
}

/* Adds the elements of `other` to p after those of p, which are `before` elements of an array, and which
   is added to their indices. Only indices depend on the order. */
void partial_append(struct partial *p, const struct partial *other, uint64_t before);

/* Makes p the partial result of its elements repeated `times` times, at least once. Indices
   remain. */
void partial_repeat(struct partial *p, uint64_t times);

/* Takes the sums and the counts of `other`, whose elements are among those of p, out of p, but not
   the number of elements. The extremes remain. */
void partial_take_out(struct partial *p, const struct partial *other);

/* Updates the minimum with a value, given by its key, at `index`. If keys are equal, the lesser
   index is kept. */
EXACT_SHARED void partial_take_min(struct partial *p, int64_t key, uint64_t index)
{
    if (key < p->min_key || (key == p->min_key && index < p->min_index)) {
        p->min_key = key;
        p->min_index = index;
    }
}

/* Updates the maximum with a value, given by its key, at `index`. If keys are equal, the lesser
   index is kept. */
EXACT_SHARED void partial_take_max(struct partial *p, int64_t key, uint64_t index)
{
    if (key > p->max_key || (key == p->max_key && index < p->max_index)) {
        p->max_key = key;
        p->max_index = index;
    }
}

/* The extremes and the indices of a partial result. */
struct partial_places {
    int64_t min_key, max_key;
    uint64_t min_index, max_index, first_nan;
};

/* Returns the extremes and indices of p and clears them, so that elements that are added next
   can have indices of another numbering. */
struct partial_places partial_take_places(struct partial *p);

/* Replaces p's indices by place(places, index), and merges the extremes and indices that
   partial_take_places returned. */
void partial_put_places(struct partial *p, const struct partial_places *before,
                        uint64_t (*place)(const void *places, uint64_t index), const void *places);

/* Adds one float, x at `index`, to all fields that moments_take does not change. */
void partial_take(struct partial *p, double x, uint64_t index);

/* Adds one element of any type, whose bytes are at `bytes` in this machine's byte order, at
   `index`. */
void partial_take_element(struct partial *p, enum element_type type, const void *bytes,
                          uint64_t index);

/* The sum, and mean, of elements of which so many are +inf and -inf, at least one in all: an
   infinity or NaN. */
double partial_infinite_sum(uint64_t positive, uint64_t negative);

/* Sets the counts of results: missing, nan, infinity, first_nan and count, which has NaNs unless
   skip_nan. */
void partial_finish_counts(const struct partial *p, int skip_nan, struct result *result);

/* Computes the results of floats. With skip_nan NaNs are ignored; if not, a NaN makes the sum,
   mean, minimum and maximum NaN, and argmin and argmax the index of the first NaN. */
void partial_finish(const struct partial *p, int skip_nan, struct result *result);

/* Computes the results of elements of any type, in the way of partial_finish. */
void partial_finish_type(const struct partial *p, enum element_type type, int skip_nan,
                         struct result *result);

/* Whether two numbers have the same bits, or are both NaN. */
bool result_same_number(double x, double y);

#endif
