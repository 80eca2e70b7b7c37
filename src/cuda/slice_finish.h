/*
 * The results of slices: from sums that kernels have found exactly, in a few numbers, to results that
 * are rounded once. Compiles as C and as CUDA. Pure functions.
 *
 * A quotient or a root is found in two steps, the second of which takes what the first has left.
 * The rest that the second leaves bounds its error; where the bound does not tell how to round, nothing is
 * known of the result, and the caller finds it another way. So no result is wrong, and hardly any is
 * unknown.
 */
#ifndef GPUREDUCE_CUDA_SLICE_FINISH_H
#define GPUREDUCE_CUDA_SLICE_FINISH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/exact.h"
#include "engine/engine.h"

#ifdef __CUDACC__
#    define CUDA_UNROLL _Pragma("unroll")
#else
#    define CUDA_UNROLL
#endif

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

/* Those of the NaN that results are. */
#define CUDA_SLICE_NAN UINT64_C(0x7ff8000000000000)

/* A sum of two numbers, and whether it is exact. */
struct cuda_pair {
    double high, low;
    bool left;
};

/* Adds other to a pair. */
EXACT_SHARED void cuda_pair_add(struct cuda_pair *p, double high, double low)
{
    double error, low_error, rest;

    p->high = exact_two_sum(p->high, high, &error);
    p->low = exact_two_sum(p->low, low, &low_error);
    p->low = exact_two_sum(p->low, error, &rest);
    p->left = p->left || !(rest == 0) || !(low_error == 0); /* NaN, too */
}

/* Sets *bits to an integer of 64 bits, with a sign or without. False if the sum does not fit. */
EXACT_SHARED bool cuda_pair_integer(const struct cuda_pair *sum, bool with_sign, uint64_t *bits)
{
    const double end = with_sign ? 0x1p63 : 0x1p64, begin = with_sign ? -0x1p63 : 0;
    double low;
    const double high = exact_two_sum(sum->high, sum->low, &low);

    if (high < begin || high > end || (high == begin && low < 0) || (high == end && low >= 0))
        return false;
    *bits = high < 0 ? (uint64_t)(int64_t)high : high < 0x1p64 ? (uint64_t)high : 0; /* 2^64 */
    *bits += (uint64_t)(int64_t)low;
    return true;
}

/* Adds x to a number that is the sum of `count` ones: each takes what was rounded off at the one
   before it. False if the last one leaves something. */
EXACT_SHARED bool cuda_terms_add(double *term, int count, double x)
{
    CUDA_UNROLL
    for (int i = 0; i < count; i++)
        if (x != 0)
            term[i] = exact_two_sum(term[i], x, &x);
    return x == 0; /* not NaN */
}

/* A number that is exactly the sum of its terms, unless something was left. */
#define CUDA_SLICE_TERMS 6
struct cuda_terms {
    double term[CUDA_SLICE_TERMS];
    bool left;
};

/* Products of numbers within these are exact with their error. */
#define CUDA_SLICE_LEAST 0x1p-400
#define CUDA_SLICE_GREATEST 0x1p400

/* Returns the rounded a b and sets *error to what rounding lost. */
EXACT_SHARED double cuda_slice_product(double a, double b, double *error)
{
#ifdef __CUDA_ARCH__
    const double product = __dmul_rn(a, b);

    *error = __fma_rn(a, b, -product);
    return product;
#else
    return exact_two_product(a, b, error);
#endif
}

/* Adds sign a b, of which b may be up to 2^64. */
EXACT_SHARED void cuda_terms_add_product(struct cuda_terms *t, double sign, double a, double b)
{
    double error;
    const double product = cuda_slice_product(a, b, &error);

    if (!(fabs(product) < 0x1p900) || (product != 0 && fabs(product) < 0x1p-850) ||
        !cuda_terms_add(t->term, CUDA_SLICE_TERMS, sign * product) ||
        !cuda_terms_add(t->term, CUDA_SLICE_TERMS, sign * error))
        t->left = true;
}

/* Makes the first term most of the number. */
EXACT_SHARED void cuda_terms_settle(struct cuda_terms *t)
{
    CUDA_UNROLL
    for (int time = 0; time < 2; time++) {
        CUDA_UNROLL
        for (int i = CUDA_SLICE_TERMS - 1; i > 0; i--)
            t->term[i - 1] = exact_two_sum(t->term[i - 1], t->term[i], &t->term[i]);
    }
}

/* The magnitudes of the terms from number `first` on. */
EXACT_SHARED double cuda_terms_bound(const struct cuda_terms *t, int first)
{
    double bound = 0;

    CUDA_UNROLL
    for (int i = CUDA_SLICE_TERMS - 1; i >= 0; i--)
        if (i >= first)
            bound += fabs(t->term[i]);
    return bound;
}

/* Sets *result to x + more, rounded once, of which `more` is off by `bound` at most. False if that
   could round to another number. */
EXACT_SHARED bool cuda_slice_round(double x, double more, double bound, double *result)
{
    double rest;

    *result = exact_two_sum(x, more, &rest);
    if (bound == 0)
        return true;
    bound = bound * 1.001 + fabs(rest) * 0x1p-50;
    return *result + (rest + bound) == *result && *result + (rest - bound) == *result;
}

/* Sets *result to t / (divisor + low), rounded once; `t`, which is settled, changes. */
EXACT_SHARED bool cuda_slice_divide(struct cuda_terms *t, double divisor, double low,
                                    double *result)
{
    const double quotient = t->term[0] / divisor;
    double more;

    cuda_terms_add_product(t, -1, quotient, divisor);
    cuda_terms_add_product(t, -1, quotient, low);
    cuda_terms_settle(t);
    more = t->term[0] / divisor;
    cuda_terms_add_product(t, -1, more, divisor);
    cuda_terms_add_product(t, -1, more, low);
    return cuda_slice_round(quotient, more, cuda_terms_bound(t, 0) / divisor, result) && !t->left;
}

/* Sets *result to the root of t / (divisor + low), rounded once; `t`, which is settled, changes. */
EXACT_SHARED bool cuda_slice_root(struct cuda_terms *t, double divisor, double low, double *result)
{
    const double root = sqrt(t->term[0] / divisor);
    double error, more, bound;
    const double square = cuda_slice_product(root, root, &error);

    if (!(root > CUDA_SLICE_LEAST) || !(root < CUDA_SLICE_GREATEST))
        return false;
    cuda_terms_add_product(t, -1, square, divisor);
    cuda_terms_add_product(t, -1, square, low);
    cuda_terms_add_product(t, -1, error, divisor);
    cuda_terms_add_product(t, -1, error, low);
    cuda_terms_settle(t);
    more = t->term[0] / (2 * root * divisor);
    bound =
        cuda_terms_bound(t, 1) / (2 * root * divisor) + fabs(more) * 0x1p-48 + more * more / root;
    return cuda_slice_round(root, more, bound, result) && !t->left;
}

/* Sets *mean to the sum of n numbers divided by n, rounded once. */
EXACT_SHARED bool cuda_slice_mean(const struct cuda_pair *sum, uint64_t n, double *mean)
{
    struct cuda_terms t = {{0, 0, 0, 0, 0, 0}, n >> 53 != 0};
    const double count = (double)n;

    t.term[0] = exact_two_sum(sum->high, sum->low, &t.term[1]);
    *mean = (t.term[0] + 0.0) / count;
    return (t.term[1] == 0 && !t.left) || cuda_slice_divide(&t, count, 0, mean);
}

/* Finds the variance of n numbers, or its root, as cuda_slice_spread does, in few operations. False, too,
   if the numbers are very large or small, or most of the sums of squares cancel. */
EXACT_SHARED bool cuda_slice_spread_soon(double high, double low,
                                         const double squares[ENGINE_SLICE_SQUARES], double count,
                                         double divisor, bool root, double *result)
{
    double rest, n_low, s_low, low_sum, more, error, bound = 0;
    const double square = exact_two_sum(squares[0], squares[1], &rest);
    const double n_square = cuda_slice_product(count, square, &n_low);
    const double s_square = cuda_slice_product(high, high, &s_low);
    const double all = exact_two_sum(n_square, -s_square, &low_sum);
    double above, quotient, off;

    if (!(n_square < 0x1p900) || !(all > 0x1p-700) || !(divisor < 0x1p53) ||
        (s_square != 0 && s_square < 0x1p-850))
        return false;
    CUDA_UNROLL
    for (int k = 2; k < ENGINE_SLICE_SQUARES; k++)
        bound += fabs(squares[k]);
    /* Each of these sums of what is small is off by a few last places of what is added. */
    bound =
        count * bound + low * low +
        (fabs(low_sum) + fabs(n_low) + fabs(s_low) + count * fabs(rest) + 2 * fabs(high * low)) *
            0x1p-50;
    above = exact_two_sum(all, low_sum + (n_low - s_low) + (count * rest - 2 * high * low), &more);
    quotient = above / divisor;
    if (root) {
        const double x = sqrt(quotient), x_square = cuda_slice_product(x, x, &error);
        const double product = cuda_slice_product(x_square, divisor, &off);
        const double left = (above - product) - off - error * divisor + more,
                     twice = 2 * x * divisor;

        bound += (fabs(above - product) + fabs(off) + fabs(error * divisor) + fabs(more)) * 0x1p-50;
        rest = left / twice;
        return cuda_slice_round(x, rest, bound / twice + fabs(rest) * 0x1p-48 + rest * rest / x,
                                result);
    }
    const double product = cuda_slice_product(quotient, divisor, &off);
    const double left = (above - product) - off + more;

    bound += (fabs(above - product) + fabs(off) + fabs(more)) * 0x1p-50;
    rest = left / divisor;
    return cuda_slice_round(quotient, rest, bound / divisor + fabs(rest) * 0x1p-48, result);
}

/* Sets *result to the variance of n numbers, or its root, rounded once. */
EXACT_SHARED bool cuda_slice_spread(const struct cuda_pair *sum,
                                    const double squares[ENGINE_SLICE_SQUARES], uint64_t n,
                                    uint64_t ddof, bool root, double *result)
{
    struct cuda_terms t = {{0, 0, 0, 0, 0, 0}, n >> 53 != 0};
    const double count = (double)n, rest = (double)(n - ddof);
    double low, divisor_low;
    const double high = exact_two_sum(sum->high, sum->low, &low);
    const double divisor = cuda_slice_product(count, rest, &divisor_low);

    *result = exact_from_bits(CUDA_SLICE_NAN);
    if (n <= ddof)
        return true;
    if (n >> 53 == 0 && divisor_low == 0 &&
        cuda_slice_spread_soon(high, low, squares, count, divisor, root, result))
        return true;
    /* (n squares - sum^2) / (n (n - ddof)). */
    CUDA_UNROLL
    for (int k = 0; k < ENGINE_SLICE_SQUARES; k++)
        if (squares[k] != 0)
            cuda_terms_add_product(&t, 1, count, squares[k]);
    cuda_terms_add_product(&t, -1, high, high);
    if (low != 0) {
        cuda_terms_add_product(&t, -1, 2 * high, low);
        cuda_terms_add_product(&t, -1, low, low);
    }
    if (t.left || fabs(high) > CUDA_SLICE_GREATEST)
        return false;
    cuda_terms_settle(&t);
    if (cuda_terms_bound(&t, 0) == 0) {
        *result = 0;
        return true;
    }
    return root ? cuda_slice_root(&t, divisor, divisor_low, result)
                : cuda_slice_divide(&t, divisor, divisor_low, result);
}

/* All that is known of a slice, or a part of it. */
struct cuda_slice_state {
    struct cuda_pair sum;
    double squares[ENGINE_SLICE_SQUARES]; /* whose sum is that of the squares */
    int64_t min, max;                     /* element_keys; without elements INT64_MAX, INT64_MIN */
    uint64_t missing;
};

EXACT_SHARED void cuda_slice_clear(struct cuda_slice_state *s)
{
    s->sum.high = s->sum.low = 0;
    s->sum.left = false;
    CUDA_UNROLL
    for (int k = 0; k < ENGINE_SLICE_SQUARES; k++)
        s->squares[k] = 0;
    s->min = INT64_MAX;
    s->max = INT64_MIN;
    s->missing = 0;
}

/* Adds what is known of another part. */
EXACT_SHARED void cuda_slice_merge(struct cuda_slice_state *s, const struct cuda_slice_state *other)
{
    cuda_pair_add(&s->sum, other->sum.high, other->sum.low);
    s->sum.left = s->sum.left || other->sum.left;
    CUDA_UNROLL
    for (int k = 0; k < ENGINE_SLICE_SQUARES; k++)
        if (!cuda_terms_add(s->squares, ENGINE_SLICE_SQUARES, other->squares[k]))
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
        *bits = w->letter == 'f' ? CUDA_SLICE_NAN : w->none;
        return true;
    }
    if (!known)
        return false;
    switch (w->op) {
    case CUDA_SLICE_SUM:
        if (w->letter != 'f')
            return cuda_pair_integer(&s->sum, w->letter == 'i', bits);
        break;
    case CUDA_SLICE_MEAN:
        known = cuda_slice_mean(&s->sum, n, &result);
        break;
    case CUDA_SLICE_MIN:
    case CUDA_SLICE_MAX:
        *bits = cuda_slice_extreme(w, w->op == CUDA_SLICE_MIN ? s->min : s->max);
        return true;
    case CUDA_SLICE_VAR:
    case CUDA_SLICE_STD:
        known =
            cuda_slice_spread(&s->sum, s->squares, n, w->ddof, w->op == CUDA_SLICE_STD, &result);
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

    *bits = CUDA_SLICE_NAN;
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
    struct cuda_terms sum; /* of the finite ones */
    double squares[ENGINE_SLICE_SQUARES];
    struct cuda_slice_seen seen;
};

/* The bits of the result of a slice, which may be CUDA_SLICE_UNKNOWN; the sum changes. */
EXACT_SHARED uint64_t cuda_slice_whole_result(const struct cuda_slice_wish *w,
                                              struct cuda_slice_whole *s)
{
    const uint64_t n = w->count - s->seen.missing - s->seen.nan;
    struct cuda_pair pair = {0, 0, false};
    double result = 0;
    bool known = !s->sum.left;
    uint64_t bits;

    if (cuda_slice_seen_result(w, &s->seen, &bits))
        return bits;
    cuda_terms_settle(&s->sum);
    pair.high = s->sum.term[0];
    pair.low = s->sum.term[1];
    switch (w->op) {
    case CUDA_SLICE_SUM:
        known = cuda_slice_round(pair.high, pair.low, cuda_terms_bound(&s->sum, 2), &result) &&
                known && result - result == 0;
        break;
    case CUDA_SLICE_MEAN:
        known = known && (cuda_terms_bound(&s->sum, 2) == 0
                              ? cuda_slice_mean(&pair, n, &result)
                              : cuda_slice_divide(&s->sum, (double)n, 0, &result));
        break;
    case CUDA_SLICE_VAR:
    case CUDA_SLICE_STD:
        known = known && cuda_terms_bound(&s->sum, 2) == 0 &&
                cuda_slice_spread(&pair, s->squares, n, w->ddof, w->op == CUDA_SLICE_STD, &result);
        break;
    case CUDA_SLICE_MIN:
    case CUDA_SLICE_MAX:
        break;
    }
    return known ? exact_bits(result) : CUDA_SLICE_UNKNOWN;
}

#endif
