/*
 * The results of slices, from what kernels know of each. Compiles as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_CUDA_SLICE_FINISH_H
#define GPUREDUCE_CUDA_SLICE_FINISH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/element_round.h"
#include "core/quantile_place.h"
#include "core/slice_sums.h"

enum cuda_slice_op {
    /* By sums and extremes: */
    CUDA_SLICE_SUM,
    CUDA_SLICE_MEAN,
    CUDA_SLICE_MIN,
    CUDA_SLICE_MAX,
    CUDA_SLICE_VAR,
    CUDA_SLICE_STD,
    CUDA_SLICE_SUMSQ,
    CUDA_SLICE_L2,
    CUDA_SLICE_RMS,
    CUDA_SLICE_L1,
    /* By a look at each element (slice_look.cuh): */
    CUDA_SLICE_ARGMIN,
    CUDA_SLICE_ARGMAX,
    CUDA_SLICE_ABSMIN,
    CUDA_SLICE_ABSMAX,
    CUDA_SLICE_RANGE,
    CUDA_SLICE_COUNT,
    CUDA_SLICE_MISSING,
    CUDA_SLICE_NAN,
    CUDA_SLICE_INF,
    CUDA_SLICE_ZEROS,
    CUDA_SLICE_NEGATIVES,
    CUDA_SLICE_SUBNORMALS,
    /* By the order of elements (slice_select.cuh): */
    CUDA_SLICE_QUANTILE
};

/* Whether it is found by sums and extremes; whether sums of squares are among them; whether that of no elements
   is 0. */
EXACT_SHARED bool cuda_slice_adds(enum cuda_slice_op op)
{
    return op <= CUDA_SLICE_L1;
}
EXACT_SHARED bool cuda_slice_squares(enum cuda_slice_op op)
{
    return op >= CUDA_SLICE_VAR && op <= CUDA_SLICE_RMS;
}
EXACT_SHARED bool cuda_slice_begins_at_zero(enum cuda_slice_op op)
{
    return op == CUDA_SLICE_SUM || op == CUDA_SLICE_L1 || op == CUDA_SLICE_SUMSQ ||
           op == CUDA_SLICE_L2;
}

/* The result that is wanted of each slice. */
struct cuda_slice_wish {
    enum cuda_slice_op op;
    char letter;    /* the type of results, of 64 bits: f, or, of integers, i or u */
    bool skip_nan;  /* NaNs are left out */
    bool wide;      /* elements are of u64 */
    bool zero;      /* the result of floats all of which are missing is 0, not NaN */
    bool spoiled;   /* that of floats some of which are missing is NaN */
    bool has_none;  /* `none` is that of integers */
    uint64_t none;  /* bits */
    uint64_t count; /* elements of a slice */
    uint64_t ddof;  /* is subtracted from the count that a variance is divided by */
    /* The count and its inverse, and of VAR and STD the count times the count without ddof, which is above 0, and
       the inverse of that: cuda_slice_wish_count sets them. 0 where there is no such number, and where there are
       2^26 elements or more. */
    double numbers, inverse, divisor, divisor_inverse;
    struct element_format format; /* of the elements, for CUDA_SLICE_RANGE of floats */
    struct quantile quantile;     /* for CUDA_SLICE_QUANTILE */
};

/* Sets the numbers of a wish, by its operation, count and ddof. */
static inline void cuda_slice_wish_count(struct cuda_slice_wish *wish)
{
    if (wish->count >> 26 != 0) /* the square of others is below 2^53 */
        return;
    wish->numbers = (double)wish->count;
    wish->inverse = 1 / wish->numbers;
    if ((wish->op == CUDA_SLICE_VAR || wish->op == CUDA_SLICE_STD) && wish->count > wish->ddof) {
        wish->divisor = wish->numbers * (wish->numbers - (double)wish->ddof);
        wish->divisor_inverse = 1 / wish->divisor;
    }
}

/* The bits of a result of type f that is not known: a NaN that no result is. */
#define CUDA_SLICE_UNKNOWN (~UINT64_C(0))

/* All that is known of a slice, or a part of it. */
struct cuda_slice_state {
    struct slice_pair sum;
    double squares[SLICE_SQUARES_MAX]; /* whose sum is that of the squares, */
    double bound;                      /* or is off by this at most */
    int64_t min, max;                  /* element_keys; without elements INT64_MAX, INT64_MIN */
    uint64_t missing;
};

EXACT_SHARED void cuda_slice_clear(struct cuda_slice_state *s)
{
    s->sum.high = s->sum.low = 0;
    s->sum.left = false;
    SLICE_UNROLL
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        s->squares[k] = 0;
    s->bound = 0;
    s->min = INT64_MAX;
    s->max = INT64_MIN;
    s->missing = 0;
}

/* Adds what is known of another part. */
EXACT_SHARED void cuda_slice_merge(struct cuda_slice_state *s, const struct cuda_slice_state *other)
{
    slice_pair_add(&s->sum, other->sum.high, other->sum.low);
    s->sum.left = s->sum.left || other->sum.left;
    SLICE_UNROLL
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        if (!slice_terms_add(s->squares, SLICE_SQUARES_MAX, other->squares[k]))
            s->sum.left = true;
    s->bound += other->bound;
    s->min = other->min < s->min ? other->min : s->min;
    s->max = other->max > s->max ? other->max : s->max;
    s->missing += other->missing;
}

/* The bits of the extreme that has an element_key. */
EXACT_SHARED uint64_t cuda_slice_extreme(const struct cuda_slice_wish *w, int64_t key)
{
    return w->letter == 'f' ? exact_bits(exact_key_value(key))
           : w->wide        ? (uint64_t)key ^ UINT64_C(1) << 63
                            : (uint64_t)key;
}

/* Sets *result to the sum of squares, which is off by `bound`. False where that is not certain. */
EXACT_SHARED bool slice_sum_known(const double *squares, double bound, double *result)
{
    double low;
    const double high = exact_two_sum(squares[0], squares[1], &low);

    SLICE_UNROLL
    for (int k = 2; k < SLICE_SQUARES_MAX; k++)
        bound += fabs(squares[k]);
    return high > 0x1p-700 && high < 0x1p900 && slice_round(high, low, bound, result);
}

/* Sets *result to that of the squares of n numbers, whose sums are these, that of the squares but for
   `bound`. False if it is not known. */
EXACT_SHARED bool cuda_slice_of_squares(const struct cuda_slice_wish *w,
                                        const struct slice_pair *sum, const double *squares,
                                        double bound, uint64_t n, double *result)
{
    const struct slice_pair none = {0, 0, false};
    const bool spread = w->op == CUDA_SLICE_VAR || w->op == CUDA_SLICE_STD;
    const bool root = w->op != CUDA_SLICE_VAR && w->op != CUDA_SLICE_SUMSQ;

    if (spread && n == 1 && w->ddof == 0) {
        *result = 0; /* also where the square is not known */
        return true;
    }
    if (w->op == CUDA_SLICE_SUMSQ && slice_sum_known(squares, bound, result))
        return true;
    /* Without a sum that of n numbers, or of one, is a variance, too. */
    return slice_spread(spread ? sum : &none, squares, bound,
                        spread || w->op == CUDA_SLICE_RMS ? n : 1, spread ? w->ddof : 0, 1, root,
                        result);
}

/* Sets *bits to the result of a slice. False if it is not known, or an integer that does not fit;
   *bits is then CUDA_SLICE_UNKNOWN. */
EXACT_SHARED bool cuda_slice_result(const struct cuda_slice_wish *w,
                                    const struct cuda_slice_state *s, uint64_t *bits)
{
    const uint64_t n = w->count - s->missing;
    double result = s->sum.high + s->sum.low;
    bool known = !s->sum.left && result - result == 0;

    *bits = EXACT_NAN;
    if (w->spoiled && s->missing > 0)
        return true;
    *bits = CUDA_SLICE_UNKNOWN;
    if (n == 0 && known) {
        if (w->letter != 'f' && !w->has_none)
            return false;
        *bits = w->letter != 'f' ? w->none : w->zero ? 0 : EXACT_NAN;
        return true;
    }
    if (!known)
        return false;
    if (w->op == CUDA_SLICE_MIN || w->op == CUDA_SLICE_MAX) {
        *bits = cuda_slice_extreme(w, w->op == CUDA_SLICE_MIN ? s->min : s->max);
        return true;
    }
    if (w->letter != 'f')
        return slice_pair_integer(&s->sum, w->letter == 'i', bits);
    if (w->op == CUDA_SLICE_MEAN)
        known = slice_mean(&s->sum, n, &result);
    else if (cuda_slice_squares(w->op))
        known = cuda_slice_of_squares(w, &s->sum, s->squares, s->bound, n, &result);
    if (known)
        *bits = exact_bits(result);
    return known;
}

/* A slice of floats as it was seen: any of them may be missing or no number. */
struct cuda_slice_seen {
    int64_t min, max;                          /* exact_keys of all that are not NaN */
    uint64_t missing, nan, positive, negative; /* how many are missing, NaN, or infinite */
};

/* Sets *bits to the result of a slice if it does not take the sum of the finite elements. */
EXACT_SHARED bool cuda_slice_seen_result(const struct cuda_slice_wish *w,
                                         const struct cuda_slice_seen *s, uint64_t *bits)
{
    const uint64_t present = w->count - s->missing;
    const bool of_sum = w->op == CUDA_SLICE_SUM || w->op == CUDA_SLICE_MEAN;

    *bits = present == 0 && w->zero && !w->spoiled ? 0 : EXACT_NAN;
    if (present == 0 || (s->nan > 0 && !w->skip_nan) || (w->spoiled && s->missing > 0) ||
        (present == s->nan && !cuda_slice_begins_at_zero(w->op)))
        return true;
    if (w->op == CUDA_SLICE_MIN || w->op == CUDA_SLICE_MAX) {
        *bits = cuda_slice_extreme(w, w->op == CUDA_SLICE_MIN ? s->min : s->max);
        return true;
    }
    if (s->positive + s->negative == 0)
        return false;
    if (of_sum && (s->positive == 0 || s->negative == 0))
        *bits = exact_bits(s->positive > 0 ? INFINITY : -INFINITY);
    else if (!of_sum && w->op != CUDA_SLICE_VAR && w->op != CUDA_SLICE_STD)
        *bits = exact_bits(INFINITY);
    return true;
}

/* All that a warp knows of such a slice. */
struct cuda_slice_whole {
    struct slice_terms sum; /* of the finite ones */
    double squares[SLICE_SQUARES_MAX];
    struct cuda_slice_seen seen;
};

/* The bits of the result of a slice, which may be CUDA_SLICE_UNKNOWN; the sum changes. */
EXACT_SHARED uint64_t cuda_slice_whole_result(const struct cuda_slice_wish *w,
                                              struct cuda_slice_whole *s)
{
    const uint64_t n = w->count - s->seen.missing - s->seen.nan;
    struct slice_pair pair = {0, 0, false};
    double result = 0;
    bool known = !s->sum.left;
    uint64_t bits;

    if (cuda_slice_seen_result(w, &s->seen, &bits))
        return bits;
    slice_terms_settle(&s->sum);
    pair.high = s->sum.term[0];
    pair.low = s->sum.term[1];
    if (w->op == CUDA_SLICE_MEAN)
        known = known &&
                (slice_terms_bound(&s->sum, 2) == 0 ? slice_mean(&pair, n, &result)
                                                    : slice_divide(&s->sum, (double)n, 0, &result));
    else if (cuda_slice_squares(w->op))
        known = known && slice_terms_bound(&s->sum, 2) == 0 &&
                cuda_slice_of_squares(w, &pair, s->squares, 0, n, &result);
    else
        known = slice_round(pair.high, pair.low, slice_terms_bound(&s->sum, 2), &result) && known &&
                result - result == 0;
    return known ? exact_bits(result) : CUDA_SLICE_UNKNOWN;
}

#endif
