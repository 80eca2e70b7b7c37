/*
 * The results of slices, from what kernels know of each. Compiles as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_CUDA_SLICE_FINISH_H
#define GPUREDUCE_CUDA_SLICE_FINISH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/slice_sums.h"

enum cuda_slice_op {
    CUDA_SLICE_SUM,
    CUDA_SLICE_MEAN,
    CUDA_SLICE_MIN,
    CUDA_SLICE_MAX,
    CUDA_SLICE_VAR,
    CUDA_SLICE_STD
};

/* The result that is wanted of each slice. */
struct cuda_slice_wish {
    enum cuda_slice_op op;
    char letter;    /* the type of results, of 64 bits: f, or, of integers, i or u */
    bool skip_nan;  /* NaNs are left out */
    bool wide;      /* elements are of u64 */
    bool has_none;  /* `none` is the result of integers all of which are missing */
    uint64_t none;  /* bits */
    uint64_t count; /* elements of a slice */
    uint64_t ddof;  /* is subtracted from the count that a variance is divided by */
};

/* The bits of a result of type f that is not known: a NaN that no result is. */
#define CUDA_SLICE_UNKNOWN (~UINT64_C(0))

/* All that is known of a slice, or a part of it. */
struct cuda_slice_state {
    struct slice_pair sum;
    double squares[SLICE_SQUARES_MAX]; /* whose sum is that of the squares */
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

/* Sets *bits to the result of a slice. False if it is not known, or an integer that does not fit;
   *bits is then CUDA_SLICE_UNKNOWN. */
EXACT_SHARED bool cuda_slice_result(const struct cuda_slice_wish *w,
                                    const struct cuda_slice_state *s, uint64_t *bits)
{
    const uint64_t n = w->count - s->missing;
    double result = s->sum.high + s->sum.low;
    bool known = !s->sum.left && result - result == 0;

    *bits = CUDA_SLICE_UNKNOWN;
    if (n == 0 && known) {
        if (w->letter != 'f' && !w->has_none)
            return false;
        *bits = w->letter == 'f' ? EXACT_NAN : w->none;
        return true;
    }
    if (!known)
        return false;
    switch (w->op) {
    case CUDA_SLICE_SUM:
        if (w->letter != 'f')
            return slice_pair_integer(&s->sum, w->letter == 'i', bits);
        break;
    case CUDA_SLICE_MEAN:
        known = slice_mean(&s->sum, n, &result);
        break;
    case CUDA_SLICE_MIN:
    case CUDA_SLICE_MAX:
        *bits = cuda_slice_extreme(w, w->op == CUDA_SLICE_MIN ? s->min : s->max);
        return true;
    case CUDA_SLICE_VAR:
    case CUDA_SLICE_STD:
        known = slice_spread(&s->sum, s->squares, n, w->ddof, 1, w->op == CUDA_SLICE_STD, &result);
        break;
    }
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

    *bits = EXACT_NAN;
    if (present == 0 || (s->nan > 0 && !w->skip_nan) ||
        (present == s->nan && w->op != CUDA_SLICE_SUM))
        return true;
    if (w->op == CUDA_SLICE_MIN || w->op == CUDA_SLICE_MAX) {
        *bits = cuda_slice_extreme(w, w->op == CUDA_SLICE_MIN ? s->min : s->max);
        return true;
    }
    if (s->positive + s->negative == 0)
        return false;
    if (of_sum && (s->positive == 0 || s->negative == 0))
        *bits = exact_bits(s->positive > 0 ? INFINITY : -INFINITY);
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
    switch (w->op) {
    case CUDA_SLICE_SUM:
        known = slice_round(pair.high, pair.low, slice_terms_bound(&s->sum, 2), &result) && known &&
                result - result == 0;
        break;
    case CUDA_SLICE_MEAN:
        known = known &&
                (slice_terms_bound(&s->sum, 2) == 0 ? slice_mean(&pair, n, &result)
                                                    : slice_divide(&s->sum, (double)n, 0, &result));
        break;
    case CUDA_SLICE_VAR:
    case CUDA_SLICE_STD:
        known = known && slice_terms_bound(&s->sum, 2) == 0 &&
                slice_spread(&pair, s->squares, n, w->ddof, 1, w->op == CUDA_SLICE_STD, &result);
        break;
    case CUDA_SLICE_MIN:
    case CUDA_SLICE_MAX:
        break;
    }
    return known ? exact_bits(result) : CUDA_SLICE_UNKNOWN;
}

#endif
