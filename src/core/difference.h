/*
 * Differences of two arrays of one type: the number of pairs that differ, the first of them, the
 * greatest differences (absolute, relative and in ulps), and the sums from which the mean squared
 * difference and the cosine follow. A struct difference is plain data, belongs to one thread at a
 * time, and merges exactly, in any order.
 *
 * A pair is equal if both elements have the same value; -0 equals +0, a NaN any NaN, and a nonzero
 * truth value any other. A pair with one NaN counts as different, or is ignored if NaNs are
 * skipped. A pair with one element that is missing counts as different, too, and one of two as
 * equal; neither takes part in anything else. Other pairs have three differences:
 *
 *     absolute    |a - b|
 *     relative    |a - b| / max(|a|, |b|), from 0 to 2; infinite if |a - b| is
 *     in ulps     the number of steps from a to b through the numbers of the type, of which zero is
 *                 one, and an infinity is one step beyond the greatest; of integers |a - b|
 *
 * Where the elements of a side have a scale (scale.h), all this is of the numbers that they stand
 * for, except differences in ulps: these are of the stored numbers, and only of sides of one scale.
 *
 * Elements of two types are compared in a third that has all numbers of both, so that a difference
 * in ulps is one of that (difference_common_type). For some pairs there is none, as for i64 and f32:
 * these are compared exactly as well, and have no differences in ulps.
 *
 * The greatest differences are found by exact comparison; of equal ones the first counts.
 */
#ifndef GPUREDUCE_DIFFERENCE_H
#define GPUREDUCE_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"
#include "core/order.h"
#include "core/scale.h"

/* The index of a pair that does not exist. */
#define DIFFERENCE_NO_INDEX UINT64_MAX

/* A tolerance. Pairs whose difference is within any of the given limits do not count as
   different; no pair with an infinity or a NaN is within a limit. */
struct difference_tolerance {
    bool by_ulps, by_absolute, by_relative; /* the limits that are given */
    uint64_t ulps;                          /* limit in ulps */
    double absolute, relative;              /* limits, finite and not negative */
};

/* Tolerances, some of them of the arrays whose names match a pattern (source/format/container.h). */
#define DIFFERENCE_PATTERN_MAX 256
#define DIFFERENCE_TOLERANCES_MAX 16
struct difference_tolerances {
    struct difference_tolerance all; /* of arrays that none of the following is of */
    struct {
        char pattern[DIFFERENCE_PATTERN_MAX];
        struct difference_tolerance limits;
    } some[DIFFERENCE_TOLERANCES_MAX]; /* the last one that matches counts */
    unsigned count;
};

/* Adds LIST or PATTERN=LIST, `length` characters: limits of all arrays, or of those that match. A list
   has ulp:N, abs:X and rel:X, with commas in between. The greatest of a kind counts, since being
   within one limit is enough. False, and *t is undefined, on failure. *full: the pattern is too long,
   or one too many; if not, `bad` is the text that is no limit, which may be cut. */
#define DIFFERENCE_LIMIT_MAX 101
bool difference_add_tolerances(struct difference_tolerances *t, const char *text, size_t length,
                               char bad[DIFFERENCE_LIMIT_MAX], bool *full);

/* The request of a comparison. */
struct difference_terms {
    enum element_type type, other;         /* of the elements of sides A and B */
    bool cast;                             /* elements of side A have been cast (cast.h) */
    bool skip_nan;                         /* ignore pairs with a NaN */
    struct difference_tolerance tolerance; /* not in ulps unless difference_has_ulps */
    struct scale scales[2];                /* of sides A and B */
};

/* Finds the type that has all numbers of two types. Returns false where none has, and sets
   nothing. */
bool difference_common_type(enum element_type a, enum element_type b, enum element_type *common);

/* Whether bits of elements do not tell how they compare: they stand for other numbers than
   themselves, or are of two types. */
static inline bool difference_is_scaled(const struct difference_terms *terms)
{
    return terms->scales[0].given || terms->scales[1].given || terms->type != terms->other;
}

/* Whether elements have a difference in ulps. */
static inline bool difference_has_ulps(const struct difference_terms *terms)
{
    return terms->type == terms->other && scale_same(&terms->scales[0], &terms->scales[1]);
}

/* Whether a pair of equal values has different bits. Those of two types are not compared. */
static inline bool difference_is_rewritten(const struct difference_terms *terms, uint64_t a,
                                           uint64_t b)
{
    return terms->type == terms->other && a != b;
}

/* The pair with the greatest difference of a kind. */
enum peak_kind { PEAK_ABSOLUTE, PEAK_RELATIVE, PEAK_ULPS, PEAKS };
struct difference_peak {
    uint64_t index; /* DIFFERENCE_NO_INDEX: there is none */
    uint64_t a, b;  /* bits of its elements, in the form of order_load */
};

/* The difference of the pairs that were compared so far. Indices are DIFFERENCE_NO_INDEX if
   there is no such pair. */
struct difference {
    uint64_t different;      /* pairs that count as different */
    uint64_t first;          /* index of the first of them */
    uint64_t rewritten;      /* pairs of equal values with different bits */
    uint64_t nan_one;        /* pairs with one NaN */
    uint64_t nan_both;       /* pairs of two NaNs */
    uint64_t missing_one;    /* pairs with one element that is missing */
    uint64_t missing_both;   /* pairs of two */
    uint64_t unrounded;      /* of casts: pairs of numbers where b is not what a is cast to */
    uint64_t other_rounding; /* those of them where another rounding than to nearest gives b */
    uint64_t first_nan;      /* index of the first pair with a NaN */
    uint64_t first_nan_one;  /* index of the first pair with one NaN */
    bool infinite;           /* an element is an infinity */
    uint64_t infinities;     /* infinities of side A */
    struct difference_peak peaks[PEAKS];
    /* Sums of a a and b b, and of a b, over pairs of finite elements. */
    struct exact_wide squares[2], products;
    struct exact sums[2]; /* sums of them, if they are scaled; all of these are of stored numbers */
};

/* The results of a comparison. A number without a value is NaN, an index without one
   DIFFERENCE_NO_INDEX. */
struct difference_result {
    uint64_t different, first, rewritten, nan_one, nan_both, missing_one, missing_both;
    uint64_t nearest, other_rounding; /* of casts; nearest: pairs where b is what a is cast to */
    double max_absolute, max_relative;
    struct integer max_absolute_integer; /* max_absolute in full, if elements are integers */
    bool has_ulps;                       /* elements have a difference in ulps */
    struct integer max_ulps;             /* not known where max_absolute is NaN */
    uint64_t absolute_at, relative_at, ulps_at;
    double root_mean_square; /* of a - b */
    double cosine;           /* of the angle between the arrays as vectors */
};

/* The results by which rows are selected and sorted, and their names, which are those of columns. */
enum difference_value {
    DIFFERENCE_DIFFERENT,
    DIFFERENCE_MAX_ABS,
    DIFFERENCE_MAX_REL,
    DIFFERENCE_MAX_ULP,
    DIFFERENCE_RMSD,
    DIFFERENCE_COSINE,
    DIFFERENCE_NAN,
    DIFFERENCE_MISSING,
    DIFFERENCE_NEAREST, /* this one and the next are of casts alone */
    DIFFERENCE_OTHER_ROUNDING,
    DIFFERENCE_VALUES
};
extern const char *const difference_value_names[DIFFERENCE_VALUES];

/* Makes *d the difference of no elements. */
void difference_clear(struct difference *d);

/* Merges `other`, which is of the same terms, into d. */
void difference_merge(struct difference *d, const struct difference_terms *terms,
                      const struct difference *other);

/* Takes a pair of elements of different bits into all but the sums. */
void difference_take(struct difference *d, const struct difference_terms *terms, uint64_t a,
                     uint64_t b, uint64_t index);

/* Takes a pair with a NaN, or with two. */
void difference_take_nan(struct difference *d, const struct difference_terms *terms, bool both,
                         uint64_t index);

/* Takes a pair of elements, one or both of which are missing. */
void difference_take_missing(struct difference *d, bool both, uint64_t index);

/* Takes a pair of elements, which are not the same, and no NaNs, into the peaks alone. */
void difference_raise(struct difference *d, const struct difference_terms *terms, uint64_t a,
                      uint64_t b, uint64_t index);

/* Whether a pair with two different values, no NaNs, is within what is tolerated. */
bool difference_tolerated(const struct difference_terms *terms, uint64_t a, uint64_t b);

/* The peaks in binary64, so that most pairs need no exact comparison. If there are scales, `absolute`
   is just below the peak, and `absolute_high`, `absolute_low`, `small` and `large` are not set. */
#define DIFFERENCE_SMALLER 0x1p-64
struct difference_bounds {
    bool any; /* there are peaks; nothing else is set where not */
    /* |a - b|. It is also absolute_high + absolute_low, if not of integers of 64 bits, the nearest number
       and what rounding has lost; above the greatest binary64 these are multiplied by
       DIFFERENCE_SMALLER. */
    double absolute, absolute_high, absolute_low;
    /* A pair whose |a - b| / max(|a|, |b|), with up to three roundings, is below this is below the
       peak, and so is one whose |a - b| is below the product of this and max(|a|, |b|); and the
       peak's number that is less in magnitude, and the other one, both perhaps divided by one power of
       two. */
    double relative, small, large;
    uint64_t ulps;
    uint64_t at[PEAKS]; /* indices of the peaks */
};
struct difference_bounds difference_bounds(const struct difference *d,
                                           const struct difference_terms *terms);

/* The distance of two elements, no NaNs, in ulps. */
static inline uint64_t difference_ulps(enum element_type type, uint64_t a, uint64_t b)
{
    const uint64_t sign = order_sign(type);
    uint64_t one, other, less;

    if (element_is_integer(type)) {
        one = order_key(type, a);
        other = order_key(type, b);
        less = -(uint64_t)(one < other);
    } else {
        /* The magnitude, or its negative. There are no branches: signs come at random. */
        const uint64_t a_negative = -(uint64_t)(a >= sign), b_negative = -(uint64_t)(b >= sign);

        one = ((a & (sign - 1)) ^ a_negative) - a_negative;
        other = ((b & (sign - 1)) ^ b_negative) - b_negative;
        less = -(uint64_t)((int64_t)one < (int64_t)other);
    }
    return ((one - other) ^ less) - less;
}

/* The results, each rounded once to binary64. `elements` pairs have been taken in all. */
void difference_finish(const struct difference *d, const struct difference_terms *terms,
                       uint64_t elements, struct difference_result *result);

#endif
