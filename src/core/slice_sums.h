/*
 * The results of slices: from sums that kernels have found exactly, in a few numbers, to results that
 * are rounded once. Compiles as C and as CUDA. Pure functions.
 *
 * A quotient or a root is found in two steps, the second of which takes what the first has left.
 * The rest that the second leaves bounds its error, or the sizes of what was added do; where the bound does
 * not tell how to round, nothing is known of the result, and the caller finds it another way. So no result
 * is wrong, and hardly any is unknown.
 */
#ifndef GPUREDUCE_SLICE_SUMS_H
#define GPUREDUCE_SLICE_SUMS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/exact.h"

#ifdef __CUDACC__
#    define SLICE_UNROLL _Pragma("unroll")
#else
#    define SLICE_UNROLL
#endif

/* The most numbers whose exact sum is the sum of the squares of a slice. */
#define SLICE_SQUARES_MAX 5

/* A sum of two numbers, and whether it is exact. */
struct slice_pair {
    double high, low;
    bool left;
};

/* Adds a number to a pair. */
EXACT_SHARED void slice_pair_put(struct slice_pair *p, double x)
{
    double error, rest;

    p->high = exact_two_sum(p->high, x, &error);
    p->low = exact_two_sum(p->low, error, &rest);
    p->left = p->left || !(rest == 0); /* NaN, too */
}

/* Adds other to a pair. */
EXACT_SHARED void slice_pair_add(struct slice_pair *p, double high, double low)
{
    double low_error;

    p->low = exact_two_sum(p->low, low, &low_error);
    slice_pair_put(p, high);
    p->left = p->left || !(low_error == 0);
}

/* Sets *bits to an integer of 64 bits, with a sign or without. False if the sum does not fit. */
EXACT_SHARED bool slice_pair_integer(const struct slice_pair *sum, bool with_sign, uint64_t *bits)
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
EXACT_SHARED bool slice_terms_add(double *term, int count, double x)
{
    SLICE_UNROLL
    for (int i = 0; i < count; i++)
        if (x != 0)
            term[i] = exact_two_sum(term[i], x, &x);
    return x == 0; /* not NaN */
}

/* A number that is exactly the sum of its terms, unless something was left. */
#define SLICE_TERMS 6
struct slice_terms {
    double term[SLICE_TERMS];
    bool left;
};

/* Products of numbers within these are exact with their error. */
#define SLICE_LEAST 0x1p-400
#define SLICE_GREATEST 0x1p400

/* Returns the rounded a b and sets *error to what rounding lost. */
EXACT_SHARED double slice_product(double a, double b, double *error)
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
EXACT_SHARED void slice_terms_add_product(struct slice_terms *t, double sign, double a, double b)
{
    double error;
    const double product = slice_product(a, b, &error);

    if (!(fabs(product) < 0x1p900) || (product != 0 && fabs(product) < 0x1p-850) ||
        !slice_terms_add(t->term, SLICE_TERMS, sign * product) ||
        !slice_terms_add(t->term, SLICE_TERMS, sign * error))
        t->left = true;
}

/* Makes the first term most of the number. */
EXACT_SHARED void slice_terms_settle(struct slice_terms *t)
{
    SLICE_UNROLL
    for (int time = 0; time < 2; time++) {
        SLICE_UNROLL
        for (int i = SLICE_TERMS - 1; i > 0; i--)
            t->term[i - 1] = exact_two_sum(t->term[i - 1], t->term[i], &t->term[i]);
    }
}

/* The magnitudes of the terms from number `first` on. */
EXACT_SHARED double slice_terms_bound(const struct slice_terms *t, int first)
{
    double bound = 0;

    SLICE_UNROLL
    for (int i = SLICE_TERMS - 1; i >= 0; i--)
        if (i >= first)
            bound += fabs(t->term[i]);
    return bound;
}

/* Sets *result to x + more, rounded once, of which `more` is off by `bound` at most. False if that
   could round to another number. */
EXACT_SHARED bool slice_round(double x, double more, double bound, double *result)
{
    double rest;

    *result = exact_two_sum(x, more, &rest);
    if (bound == 0)
        return true;
    bound = bound * 1.001 + fabs(rest) * 0x1p-50;
    return *result + (rest + bound) == *result && *result + (rest - bound) == *result;
}

/* Sets *result to t / (divisor + low), rounded once; `t`, which is settled, changes. */
EXACT_SHARED bool slice_divide(struct slice_terms *t, double divisor, double low, double *result)
{
    const double quotient = t->term[0] / divisor;
    double more;

    slice_terms_add_product(t, -1, quotient, divisor);
    slice_terms_add_product(t, -1, quotient, low);
    slice_terms_settle(t);
    more = t->term[0] / divisor;
    slice_terms_add_product(t, -1, more, divisor);
    slice_terms_add_product(t, -1, more, low);
    return slice_round(quotient, more, slice_terms_bound(t, 0) / divisor, result) && !t->left;
}

/* Sets *result to the root of t / (divisor + low), rounded once; `t`, which is settled, changes. */
EXACT_SHARED bool slice_root(struct slice_terms *t, double divisor, double low, double *result)
{
    const double root = sqrt(t->term[0] / divisor);
    double error, more, bound;
    const double square = slice_product(root, root, &error);

    if (!(root > SLICE_LEAST) || !(root < SLICE_GREATEST))
        return false;
    slice_terms_add_product(t, -1, square, divisor);
    slice_terms_add_product(t, -1, square, low);
    slice_terms_add_product(t, -1, error, divisor);
    slice_terms_add_product(t, -1, error, low);
    slice_terms_settle(t);
    more = t->term[0] / (2 * root * divisor);
    bound =
        slice_terms_bound(t, 1) / (2 * root * divisor) + fabs(more) * 0x1p-48 + more * more / root;
    return slice_round(root, more, bound, result) && !t->left;
}

/* Sets *mean to the sum of n numbers divided by n, rounded once. */
EXACT_SHARED bool slice_mean(const struct slice_pair *sum, uint64_t n, double *mean)
{
    struct slice_terms t = {{0, 0, 0, 0, 0, 0}, n >> 53 != 0};
    const double count = (double)n;

    t.term[0] = exact_two_sum(sum->high, sum->low, &t.term[1]);
    *mean = (t.term[0] + 0.0) / count;
    return (t.term[1] == 0 && !t.left) || slice_divide(&t, count, 0, mean);
}

/* As slice_round, of a variance times the square of the factor, or with `root` of its root times the
   factor's magnitude. */
EXACT_SHARED bool slice_round_scaled(double x, double more, double bound, double factor, bool root,
                                     double *result)
{
    const int times = factor == 1 ? 0 : root ? 1 : 2;

    factor = fabs(factor);
    if (factor < SLICE_LEAST || factor > SLICE_GREATEST)
        return false;
    for (int i = 0; i < times; i++) {
        double error;
        const double product = slice_product(x, factor, &error);

        if (!(product > 0x1p-700) || !(product < 0x1p900))
            return false;
        bound = bound * factor * 1.001 + (fabs(error) + fabs(more * factor)) * 0x1p-50;
        x = exact_two_sum(product, error + more * factor, &more);
    }
    return slice_round(x, more, bound, result);
}

/* About the root of 1 / x, within a few last places, of numbers that are not very small. A device's begins with
   some 20 bits; the next term of its series leaves their third power. */
EXACT_SHARED double slice_inverse_root(double x)
{
#ifdef __CUDA_ARCH__
    double y, rest;

    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    rest = fma(-x, y * y, 1.0);
    return fma(fma(rest, 0.375, 0.5), rest * y, y);
#else
    return 1 / sqrt(x);
#endif
}

/* The most that slice_whole_root is off by: y is within 2^-50 of the inverse root, so that x is within 2^-48.9 of the
   root, and `left` less than 2^-47.8 of what it is left of. Adding that up loses 2^-99.7 of it; the correction, a
   half of it times y, lacks less than 2^-98 of x by that of y, and as much by its own square. */
#define SLICE_OFF_ROOT 0x1p-96

/* Finds the root of above / divisor, rounded once, of exact numbers that are neither very large nor, but for 0, very
   small. False where that is not certain. */
EXACT_SHARED bool slice_whole_root(double above, double divisor, double *result)
{
    double error, off;
    const double y = slice_inverse_root(above * divisor), x = above * y;
    const double x_square = slice_product(x, x, &error);
    const double product = slice_product(x_square, divisor, &off);
    const double more = 0.5 * y * ((above - product) - off - error * divisor);
    const double root = x + more, rest = more - (root - x);
    const double bound = x * SLICE_OFF_ROOT + fabs(rest) * 0x1p-50;

    *result = above == 0 ? 0 : root;
    return (above == 0) | ((root + (rest + bound) == root) & (root + (rest - bound) == root));
}

/* Finds the dividend of the variance of fewer than 2^26 numbers of up to 32 bits, integers or binary32: n squares
   - sum^2, if that and the products are exact. False if not. */
EXACT_SHARED bool slice_spread_above(double sum, double squares, double count, double *above)
{
    double n_low, s_low;
    const double n_square = slice_product(count, squares, &n_low);
    const double s_square = slice_product(sum, sum, &s_low);

    *above = n_square - s_square; /* s_square is not above n_square */
    return (n_low == 0) & (s_low == 0) & ((n_square - *above) - s_square == 0);
}

/* The most that slice_spread_soon is off by. The numerator is n_square - s_square, which is above 0, so that
   s_square is not above n_square; six numbers that are not above 2^-52 n_square; and low^2, which is left
   out: adding them up loses 2^-101.8 n_square. A quotient or root that is within 2^-50 of the true one leaves
   2^-49 of the numerator, of which rounding loses 2^-100.3. The inverses, which are within 2^-50 of theirs,
   and the square of the correction put that off by 2^-99.5 of the result. */
#define SLICE_OFF_SQUARES 0x1p-101
#define SLICE_OFF_LEFT 0x1p-100
#define SLICE_OFF_RESULT 0x1p-99

/* Finds the variance of n numbers, or its root, as slice_spread does, in few operations. False, too,
   if the numbers are very large or small, or most of the sums of squares cancel. */
EXACT_SHARED bool slice_spread_soon(double high, double low,
                                    const double squares[SLICE_SQUARES_MAX], double bound,
                                    double count, double divisor, double factor, bool root,
                                    double *result)
{
    double rest, n_low, s_low, low_sum, more, error, off;
    const double square = exact_two_sum(squares[0], squares[1], &rest);
    const double n_square = slice_product(count, square, &n_low);
    const double s_square = slice_product(high, high, &s_low);
    const double all = exact_two_sum(n_square, -s_square, &low_sum);
    const double above =
        exact_two_sum(all, low_sum + (n_low - s_low) + (count * rest - 2 * high * low), &more);
    const double inverse = 1 / divisor, quotient = above * inverse;

    if (!(n_square < 0x1p900) || !(all > 0x1p-700) || !(divisor < 0x1p53) ||
        (s_square != 0 && s_square < 0x1p-850))
        return false;
    SLICE_UNROLL
    for (int k = 2; k < SLICE_SQUARES_MAX; k++)
        bound += fabs(squares[k]);
    bound = count * bound + n_square * SLICE_OFF_SQUARES + above * SLICE_OFF_LEFT;
    if (root) {
        const double one_over = slice_inverse_root(quotient), x = quotient * one_over;
        const double x_square = slice_product(x, x, &error);
        const double product = slice_product(x_square, divisor, &off);
        const double left = (above - product) - off - error * divisor + more;
        const double each = 0.5 * one_over * inverse;

        return slice_round_scaled(x, left * each, bound * each + x * SLICE_OFF_RESULT, factor, root,
                                  result);
    }
    const double product = slice_product(quotient, divisor, &off);
    const double left = (above - product) - off + more;

    return slice_round_scaled(quotient, left * inverse,
                              bound * inverse + quotient * SLICE_OFF_RESULT, factor, root, result);
}

/* Sets *result to the variance of n numbers times the square of the factor, which is finite and not 0,
   or with `root` to the root of that, rounded once: of numbers that have this scale. The sum of their
   squares is off by `bound` at most. False where nothing is known of the result. */
EXACT_SHARED bool slice_spread(const struct slice_pair *sum,
                               const double squares[SLICE_SQUARES_MAX], double bound, uint64_t n,
                               uint64_t ddof, double factor, bool root, double *result)
{
    struct slice_terms t = {{0, 0, 0, 0, 0, 0}, n >> 53 != 0};
    const double count = (double)n, rest = (double)(n - ddof);
    double low, divisor_low;
    const double high = exact_two_sum(sum->high, sum->low, &low);
    const double divisor = slice_product(count, rest, &divisor_low);

    *result = exact_from_bits(EXACT_NAN);
    if (n <= ddof)
        return true;
    if (n >> 53 == 0 && divisor_low == 0 &&
        slice_spread_soon(high, low, squares, bound, count, divisor, factor, root, result))
        return true;
    if (bound != 0)
        return false;
    /* (n squares - sum^2) / (n (n - ddof)). */
    SLICE_UNROLL
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        if (squares[k] != 0)
            slice_terms_add_product(&t, 1, count, squares[k]);
    slice_terms_add_product(&t, -1, high, high);
    if (low != 0) {
        slice_terms_add_product(&t, -1, 2 * high, low);
        slice_terms_add_product(&t, -1, low, low);
    }
    if (t.left || fabs(high) > SLICE_GREATEST)
        return false;
    slice_terms_settle(&t);
    if (slice_terms_bound(&t, 0) == 0) {
        *result = 0;
        return true;
    }
    if (factor != 1)
        return false;
    return root ? slice_root(&t, divisor, divisor_low, result)
                : slice_divide(&t, divisor, divisor_low, result);
}

/* Whether a number is far from the largest and the smallest. */
EXACT_SHARED bool slice_is_moderate(double x)
{
    return (fabs(x) > 0x1p-900 && fabs(x) < 0x1p900) || x == 0;
}

/* Sets *result to (a (divisor - fraction) + b fraction) / divisor, rounded once, of finite numbers, where
   divisor < 2^53. False where that is not certain. */
EXACT_SHARED bool slice_between_soon(double a, double b, uint64_t fraction, uint64_t divisor,
                                     double *result)
{
    const double of = (double)divisor;
    double x_lost, y_lost, error, slack, more_slack, last_slack, less, more_less;
    const double x = slice_product(a, (double)(divisor - fraction), &x_lost);
    const double y = slice_product(b, (double)fraction, &y_lost);
    const double total = exact_two_sum(x, y, &error);
    const double quotient = total / of, back = slice_product(quotient, of, &less);
    double lost = exact_two_sum(x_lost, y_lost, &slack), left, rest, bound;

    lost = exact_two_sum(lost, error, &more_slack);
    left = exact_two_sum((total - back) - less, lost, &last_slack);
    rest = left / of;
    *result = quotient + rest;
    if (!slice_is_moderate(a) || !slice_is_moderate(b) || !slice_is_moderate(quotient))
        return false;
    lost = fabs(slack) + fabs(more_slack) + fabs(last_slack);
    bound = lost * 2 / of + fabs(rest) * 0x1p-50;
    if (quotient + (rest - bound) == *result && quotient + (rest + bound) == *result)
        return true;
    /* It lies in the middle between two numbers, unless something was lost. */
    return lost == 0 && slice_product(rest, of, &more_less) == left && more_less == 0;
}

/* A number as the sum of two of few bits: a, or an integer of 64 bits. */
struct slice_halves {
    double high, low;
};

EXACT_SHARED struct slice_halves slice_halves_of(uint64_t x)
{
    struct slice_halves halves = {(double)(uint32_t)(x >> 32) * 0x1p32, (double)(uint32_t)x};

    return halves;
}

/* An integer with a sign as such a sum: its first number has the sign. */
EXACT_SHARED struct slice_halves slice_halves_of_signed(int64_t x)
{
    struct slice_halves halves = {(double)(int32_t)(x >> 32) * 0x1p32, (double)(uint32_t)x};

    return halves;
}

/* As slice_between_soon, of any numbers, where divisor < 2^63. */
EXACT_SHARED bool slice_between(struct slice_halves a, struct slice_halves b, uint64_t fraction,
                                uint64_t divisor, double *result)
{
    const struct slice_halves weight[2] = {slice_halves_of(divisor - fraction),
                                           slice_halves_of(fraction)};
    const double of = (double)divisor;
    struct slice_terms t = {{0, 0, 0, 0, 0, 0}, false};

    if (a.low == 0 && b.low == 0 && divisor >> 53 == 0 &&
        slice_between_soon(a.high, b.high, fraction, divisor, result))
        return true;
    SLICE_UNROLL
    for (int i = 0; i < 2; i++) {
        slice_terms_add_product(&t, 1, i == 0 ? a.high : b.high, weight[i].high);
        slice_terms_add_product(&t, 1, i == 0 ? a.high : b.high, weight[i].low);
        slice_terms_add_product(&t, 1, i == 0 ? a.low : b.low, weight[i].high);
        slice_terms_add_product(&t, 1, i == 0 ? a.low : b.low, weight[i].low);
    }
    slice_terms_settle(&t);
    return slice_divide(&t, of, (double)(int64_t)(divisor - (uint64_t)of), result);
}

#endif
