#include "config.h"

#include "core/difference.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "core/number.h"
#include "core/scaled.h"
#include "core/term.h"

/*
 * Differences of scaled numbers (scale.h): of a pair of elements, which may have different types and
 * scales, and of all pairs of two arrays together. All are exact.
 */

/* A pair a, b, as digits of multiples of 2^EXACT_WIDE_LSB_EXPONENT. */
struct scaled_pair {
    bool infinite;                       /* |a - b| is, and nothing else is set */
    uint32_t gap[EXACT_WIDE_DIGITS];     /* |a - b| */
    uint32_t largest[EXACT_WIDE_DIGITS]; /* max(|a|, |b|); 0 if both are the same infinity */
};

/* Finds the pair of two elements, no NaNs, by their bits (order_load). */
static void scaled_pair_find(struct scaled_pair *pair, const enum element_type types[2],
                             const struct scale scales[2], uint64_t a, uint64_t b)
{
    const uint64_t keys[2] = {order_key(types[0], a), order_key(types[1], b)};
    const double a_value = order_value(types[0], keys[0]), b_value = order_value(types[1], keys[1]);
    uint32_t other[EXACT_WIDE_DIGITS] = {0};
    struct exact_wide gap;

    memset(pair, 0, sizeof *pair);
    if (isinf(a_value) || isinf(b_value)) {
        pair->infinite = scale_infinity(&scales[0], a_value) != scale_infinity(&scales[1], b_value);
        return;
    }
    exact_wide_clear(&gap);
    for (int i = 0; i < 2; i++) {
        const struct term x = term_of_order(types[i], keys[i]);
        struct exact_wide number;

        exact_wide_clear(&number);
        scale_add_number(&number, &scales[i], x, false);
        (void)exact_wide_magnitude(&number, i == 0 ? pair->largest : other);
        scale_add_number(&gap, &scales[i], x, i == 1);
    }
    (void)exact_wide_magnitude(&gap, pair->gap);
    if (digits_compare(other, pair->largest, EXACT_WIDE_DIGITS) > 0)
        memcpy(pair->largest, other, sizeof other);
}

/* Whether a = b. */
static bool scaled_pair_is_equal(const struct scaled_pair *pair)
{
    return !pair->infinite && digits_length(pair->gap, EXACT_WIDE_DIGITS) == 0;
}

/* Compares |a - b|, or with `relative` |a - b| / max(|a|, |b|), of two pairs, neither of which is
   equal: below 0, 0 or above 0. */
static int scaled_pair_compare(const struct scaled_pair *p, const struct scaled_pair *q,
                               bool relative)
{
    uint32_t left[2 * EXACT_WIDE_DIGITS], right[2 * EXACT_WIDE_DIGITS];

    if (p->infinite || q->infinite)
        return (int)p->infinite - (int)q->infinite;
    if (!relative)
        return digits_compare(p->gap, q->gap, EXACT_WIDE_DIGITS);
    digits_product(left, p->gap, q->largest, EXACT_WIDE_DIGITS);
    digits_product(right, q->gap, p->largest, EXACT_WIDE_DIGITS);
    return digits_compare(left, right, 2 * EXACT_WIDE_DIGITS);
}

/* Whether it is at most `limit`, which is finite and not negative. */
static bool scaled_pair_within(const struct scaled_pair *pair, double limit, bool relative)
{
    const struct term t = term_of(limit);
    uint32_t left[2 * EXACT_WIDE_DIGITS] = {0}, right[2 * EXACT_WIDE_DIGITS] = {0};
    struct exact_wide number;

    if (pair->infinite)
        return false;
    if (!relative) {
        exact_wide_clear(&number);
        exact_wide_add(&number, limit);
        (void)exact_wide_magnitude(&number, right);
        return digits_compare(pair->gap, right, EXACT_WIDE_DIGITS) <= 0;
    }
    if (limit >= 2)
        return true;
    /* The limit is an integer of 53 bits over 2^-t.exponent. */
    digits_shift(left, pair->gap, EXACT_WIDE_DIGITS, (unsigned)-t.exponent);
    memcpy(right, pair->largest, sizeof pair->largest);
    digits_multiply(right, 2 * EXACT_WIDE_DIGITS, t.magnitude);
    return digits_compare(left, right, 2 * EXACT_WIDE_DIGITS) <= 0;
}

/* It, rounded once to binary64. The pair is not equal. */
static double scaled_pair_round(const struct scaled_pair *pair, bool relative)
{
    if (pair->infinite)
        return INFINITY;
    return relative
               ? digits_round_quotient(pair->gap, pair->largest, EXACT_WIDE_DIGITS, false)
               : digits_round(pair->gap, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, false, false);
}

/* It, as an integer. The pair is not equal. */
static struct integer scaled_pair_integer(const struct scaled_pair *pair)
{
    struct exact_wide gap;

    if (pair->infinite)
        return (struct integer){.known = false};
    exact_wide_set(&gap, pair->gap);
    return exact_wide_integer(&gap);
}

/*
 * Sums.
 */

/* Digits as in moments.c: two below, so that the root of what a division leaves ends below all
   bits that decide its rounding. */
#define ROOT_BELOW 2

/* Adds a number in digits, to which SCALED_FACTOR_DIGITS have been added, times two factors and a
   count. */
static void add_term(int64_t *to, uint32_t *digit, int count, int lsb_exponent, struct term x,
                     struct term y, uint64_t n, bool negative)
{
    if (x.magnitude == 0 || y.magnitude == 0)
        return;
    scaled_squares_add(to, digit, count, x.exponent + y.exponent + lsb_exponent,
                       (uint64_t[]){x.magnitude, y.magnitude, n},
                       (x.negative != y.negative) != negative);
}

/* Adds the sum of (f u + o) (g v + p) over n pairs of stored numbers u, v, all of which are finite, where
   i and j are their sides: f g UV + f p U + g o V + n o p. */
static void sum_products(int64_t sum[SCALED_SQUARES_DIGITS], const struct difference *d,
                         const struct scale scales[2], uint64_t n, int i, int j)
{
    const struct term f = term_of(scales[i].given ? scales[i].factor : 1),
                      g = term_of(scales[j].given ? scales[j].factor : 1);
    const struct term o = term_of(scales[i].offset), p = term_of(scales[j].offset);
    uint32_t products[EXACT_WIDE_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          u[EXACT_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          v[EXACT_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                          one[1 + SCALED_FACTOR_DIGITS] = {1};
    bool negative = exact_wide_magnitude(i == j ? &d->squares[i] : &d->products, products);

    memset(sum, 0, SCALED_SQUARES_DIGITS * sizeof *sum);
    add_term(sum, products, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, f, g, 1, negative);
    negative = exact_magnitude(&d->sums[i], u);
    add_term(sum, u, EXACT_DIGITS, EXACT_LSB_EXPONENT, f, p, 1, negative);
    negative = exact_magnitude(&d->sums[j], v);
    add_term(sum, v, EXACT_DIGITS, EXACT_LSB_EXPONENT, g, o, 1, negative);
    add_term(sum, one, 1, 0, o, p, n, false);
}

/* Sets the root of the mean of (a - b)^2 over `count` pairs, and the cosine of the angle between the
   arrays as vectors, NaN if one is zero, both rounded once. */
static void scaled_sums_finish(const struct difference *d, const struct scale scales[2],
                               uint64_t count, double *root_mean_square, double *cosine)
{
    const uint64_t n = count - d->infinities;
    enum { SIZE = ROOT_BELOW + SCALED_SQUARES_DIGITS };
    uint32_t xx[SCALED_SQUARES_DIGITS], yy[SCALED_SQUARES_DIGITS], xy[SCALED_SQUARES_DIGITS];
    uint32_t squares[SIZE] = {0};
    int64_t x[SCALED_SQUARES_DIGITS], y[SCALED_SQUARES_DIGITS], both[SCALED_SQUARES_DIGITS];
    bool negative, sticky;

    sum_products(x, d, scales, n, 0, 0);
    sum_products(y, d, scales, n, 1, 1);
    sum_products(both, d, scales, n, 0, 1);
    (void)exact_magnitude_of(xx, x, SCALED_SQUARES_DIGITS);
    (void)exact_magnitude_of(yy, y, SCALED_SQUARES_DIGITS);
    negative = exact_magnitude_of(xy, both, SCALED_SQUARES_DIGITS);
    for (int i = 0; i < SCALED_SQUARES_DIGITS; i++)
        x[i] += y[i] - 2 * both[i];
    (void)exact_magnitude_of(squares + ROOT_BELOW, x, SCALED_SQUARES_DIGITS);
    sticky = digits_divide(squares, digits_length(squares, SIZE), count) != 0;
    *root_mean_square =
        digits_square_root(squares, SIZE, SCALED_SQUARES_LSB_EXPONENT - 32 * ROOT_BELOW, sticky);
    *cosine = digits_length(xx, SCALED_SQUARES_DIGITS) == 0 ||
                      digits_length(yy, SCALED_SQUARES_DIGITS) == 0
                  ? (double)NAN
                  : digits_round_cosine(xy, negative, xx, yy, SCALED_SQUARES_DIGITS);
}

/*
 * The difference of two arrays.
 */

bool difference_common_type(enum element_type a, enum element_type b, enum element_type *common)
{
    const struct element_format *x = &element_formats[a], *y = &element_formats[b];
    const bool x_integer = element_is_integer(a), y_integer = element_is_integer(b);
    const size_t integer_size = x_integer && (!y_integer || x->size > y->size) ? x->size : y->size;

    if (a == b) {
        *common = a;
    } else if (!x_integer && !y_integer) {
        *common = a == ELEMENT_F64 || b == ELEMENT_F64 ? ELEMENT_F64 : ELEMENT_F32;
    } else if (x_integer != y_integer) { /* an f32 has all integers of 24 bits, an f64 of 53 */
        if (integer_size == 8)
            return false;
        *common =
            integer_size == 4 || a == ELEMENT_F64 || b == ELEMENT_F64 ? ELEMENT_F64 : ELEMENT_F32;
    } else if (a == ELEMENT_U64 || b == ELEMENT_U64) {
        if (x->kind == ELEMENT_SIGNED || y->kind == ELEMENT_SIGNED)
            return false;
        *common = ELEMENT_U64;
    } else {
        *common = x->size == 8 || y->size == 8 || a == ELEMENT_U32 || b == ELEMENT_U32
                      ? ELEMENT_I64
                      : ELEMENT_I32;
    }
    return true;
}

/*
 * Pairs. Big integers tell everything about them, as of scaled numbers; doubles mostly tell enough.
 */

static void find_pair(struct scaled_pair *pair, const struct difference_terms *terms, uint64_t a,
                      uint64_t b)
{
    const enum element_type types[2] = {terms->type, terms->other};

    scaled_pair_find(pair, types, terms->scales, a, b);
}

/* Two elements of a type that differ, without scales: the one of lesser magnitude, and the other, both
   rounded where they are integers of 64 bits; and |a - b|, which is high + low, with `high` the nearest
   number. Integers have a `low` of 0. */
struct rough_pair {
    double small, large;
    double high, low;
};

static struct rough_pair look_at(enum element_type type, uint64_t a, uint64_t b)
{
    const double x = order_value(type, order_key(type, a));
    const double y = order_value(type, order_key(type, b));
    const bool x_is_small = fabs(x) < fabs(y);
    struct rough_pair r = {.small = x_is_small ? x : y, .large = x_is_small ? y : x};

    r.high = exact_two_sum(x, -y, &r.low);
    r.low = r.high < 0 ? -r.low : r.low;
    r.high = fabs(r.high);
    if (element_is_integer(type)) {
        r.high = (double)difference_ulps(type, a, b);
        r.low = 0;
    }
    return r;
}

/*
 * Peaks.
 */

/* A kind of difference, not in ulps, of a pair without scales, at most three roundings off. It is not
   finite where an element is not, or the difference is beyond the greatest binary64. */
static double approximate(enum element_type type, enum peak_kind kind,
                          const struct difference_peak *p)
{
    const struct rough_pair r = look_at(type, p->a, p->b);

    return kind == PEAK_RELATIVE ? r.high / fabs(r.large) : r.high;
}

/* A factor that is less than 1 by more than two approximations are off. */
#define APPROXIMATELY (1 - 0x1p-50)

/* Compares a kind of difference of two pairs. */
static int compare_pairs(const struct difference_terms *terms, enum peak_kind kind,
                         const struct difference_peak *p, const struct difference_peak *q)
{
    struct scaled_pair x, y;

    if (kind == PEAK_ULPS) {
        const uint64_t p_ulps = difference_ulps(terms->type, p->a, p->b);
        const uint64_t q_ulps = difference_ulps(terms->type, q->a, q->b);

        return (p_ulps > q_ulps) - (p_ulps < q_ulps);
    }
    if (!difference_is_scaled(terms)) {
        const double p_about = approximate(terms->type, kind, p);
        const double q_about = approximate(terms->type, kind, q);

        if (isfinite(p_about + q_about) && p_about < APPROXIMATELY * q_about)
            return -1;
        if (isfinite(p_about + q_about) && q_about < APPROXIMATELY * p_about)
            return 1;
    }
    find_pair(&x, terms, p->a, p->b);
    find_pair(&y, terms, q->a, q->b);
    return scaled_pair_compare(&x, &y, kind == PEAK_RELATIVE);
}

/* Makes the peak a pair that is higher, or as high and earlier. */
static void raise(struct difference_peak *peak, const struct difference_terms *terms,
                  enum peak_kind kind, const struct difference_peak *pair)
{
    int order = 1;

    if (pair->index == DIFFERENCE_NO_INDEX)
        return;
    if (peak->index != DIFFERENCE_NO_INDEX)
        order = compare_pairs(terms, kind, pair, peak);
    if (order > 0 || (order == 0 && pair->index < peak->index))
        *peak = *pair;
}

/* The difference of a peak, not in ulps, rounded. */
static double round_peak(const struct difference_terms *terms, enum peak_kind kind,
                         const struct difference_peak *p)
{
    struct scaled_pair pair;

    find_pair(&pair, terms, p->a, p->b);
    return scaled_pair_round(&pair, kind == PEAK_RELATIVE);
}

struct difference_bounds difference_bounds(const struct difference *d,
                                           const struct difference_terms *terms)
{
    const struct difference_peak *absolute = &d->peaks[PEAK_ABSOLUTE],
                                 *relative = &d->peaks[PEAK_RELATIVE];
    struct difference_bounds bounds = {.any = absolute->index != DIFFERENCE_NO_INDEX};
    struct rough_pair r;
    int exponent = 0;

    for (int k = 0; k < PEAKS; k++)
        bounds.at[k] = d->peaks[k].index;
    if (!bounds.any)
        return bounds;
    if (difference_has_ulps(terms))
        bounds.ulps = difference_ulps(terms->type, d->peaks[PEAK_ULPS].a, d->peaks[PEAK_ULPS].b);
    if (difference_is_scaled(terms)) {
        bounds.absolute = APPROXIMATELY * round_peak(terms, PEAK_ABSOLUTE, absolute);
        bounds.relative = APPROXIMATELY * round_peak(terms, PEAK_RELATIVE, relative);
        return bounds;
    }
    r = look_at(terms->type, absolute->a, absolute->b);
    bounds.absolute = bounds.absolute_high = r.high;
    bounds.absolute_low = r.low;
    if (isinf(r.high))
        bounds.absolute_high =
            exact_two_sum(DIFFERENCE_SMALLER * fabs(r.large), DIFFERENCE_SMALLER * fabs(r.small),
                          &bounds.absolute_low);
    r = look_at(terms->type, relative->a, relative->b);
    /* Divided by a power of two, so that products do not overflow. */
    if (!element_is_integer(terms->type))
        (void)frexp(r.large, &exponent);
    bounds.small = ldexp(r.small, -exponent);
    bounds.large = ldexp(r.large, -exponent);
    if (ldexp(bounds.small, exponent) != r.small) {
        bounds.small = r.small;
        bounds.large = r.large;
    }
    bounds.relative =
        APPROXIMATELY *
        (isfinite(r.high) ? r.high / fabs(r.large) : round_peak(terms, PEAK_RELATIVE, relative));
    return bounds;
}

/*
 * Tolerances.
 */

/* Sees whether the difference of a pair without scales is tolerated. False if doubles do not tell. */
static bool decide(const struct difference_terms *terms, uint64_t a, uint64_t b, bool *tolerated)
{
    const struct difference_tolerance *t = &terms->tolerance;
    const struct rough_pair r = look_at(terms->type, a, b);
    const uint64_t ulps = difference_ulps(terms->type, a, b);
    const bool integer = element_is_integer(terms->type);
    double low, most;

    *tolerated = false;
    if (isinf(r.large))
        return true;
    /* An absolute limit is one of the two nearest numbers. */
    *tolerated = (t->by_ulps && ulps <= t->ulps) ||
                 (t->by_absolute &&
                  (integer ? t->absolute >= 0x1p64 || ulps <= (uint64_t)t->absolute
                           : r.high < t->absolute || (r.high == t->absolute && r.low <= 0)));
    if (*tolerated || !t->by_relative)
        return true;
    most = exact_two_product(t->relative, fabs(r.large), &low);
    *tolerated = r.high < most || (r.high == most && r.low <= low);
    return fabs(r.large) < (integer ? 0x1p52 : 0x1p1000) && t->relative < 0x1p1000 &&
           most < 0x1p1000 && (most > 0x1p-900 || t->relative == 0);
}

bool difference_tolerated(const struct difference_terms *terms, uint64_t a, uint64_t b)
{
    const struct difference_tolerance *t = &terms->tolerance;
    struct scaled_pair pair;
    bool tolerated;

    if (!t->by_ulps && !t->by_absolute && !t->by_relative)
        return false;
    if (!difference_is_scaled(terms) && decide(terms, a, b, &tolerated))
        return tolerated;
    find_pair(&pair, terms, a, b);
    if (pair.infinite)
        return false;
    return (t->by_ulps && difference_ulps(terms->type, a, b) <= t->ulps) ||
           (t->by_absolute && scaled_pair_within(&pair, t->absolute, false)) ||
           (t->by_relative && scaled_pair_within(&pair, t->relative, true));
}

/*
 * Taking and merging.
 */

const char *const difference_value_names[DIFFERENCE_VALUES] = {
    "different", "max_abs", "max_rel", "max_ulp", "rmsd",
    "cosine",    "nan",     "missing", "nearest", "other_rounding"};

void difference_clear(struct difference *d)
{
    memset(d, 0, sizeof *d);
    d->first = d->first_nan = d->first_nan_one = DIFFERENCE_NO_INDEX;
    for (int k = 0; k < PEAKS; k++)
        d->peaks[k].index = DIFFERENCE_NO_INDEX;
}

static void take_first(uint64_t *first, uint64_t index)
{
    if (index < *first)
        *first = index;
}

void difference_merge(struct difference *d, const struct difference_terms *terms,
                      const struct difference *other)
{
    d->different += other->different;
    take_first(&d->first, other->first);
    d->rewritten += other->rewritten;
    d->nan_one += other->nan_one;
    d->nan_both += other->nan_both;
    d->missing_one += other->missing_one;
    d->missing_both += other->missing_both;
    d->unrounded += other->unrounded;
    d->other_rounding += other->other_rounding;
    take_first(&d->first_nan, other->first_nan);
    take_first(&d->first_nan_one, other->first_nan_one);
    d->infinite = d->infinite || other->infinite;
    d->infinities += other->infinities;
    for (int k = 0; k < PEAKS; k++)
        raise(&d->peaks[k], terms, (enum peak_kind)k, &other->peaks[k]);
    for (int side = 0; side < 2; side++) {
        if (difference_is_scaled(terms))
            exact_merge(&d->sums[side], &other->sums[side]);
        exact_wide_merge(&d->squares[side], &other->squares[side]);
    }
    exact_wide_merge(&d->products, &other->products);
}

static void take_different(struct difference *d, uint64_t index)
{
    d->different++;
    take_first(&d->first, index);
}

void difference_raise(struct difference *d, const struct difference_terms *terms, uint64_t a,
                      uint64_t b, uint64_t index)
{
    const struct difference_peak pair = {index, a, b};

    for (int k = 0; k < PEAKS; k++)
        if (k != PEAK_ULPS || difference_has_ulps(terms))
            raise(&d->peaks[k], terms, (enum peak_kind)k, &pair);
}

void difference_take_missing(struct difference *d, bool both, uint64_t index)
{
    if (both) {
        d->missing_both++;
        return;
    }
    d->missing_one++;
    take_different(d, index);
}

void difference_take_nan(struct difference *d, const struct difference_terms *terms, bool both,
                         uint64_t index)
{
    take_first(&d->first_nan, index);
    if (both)
        return;
    d->nan_one++;
    take_first(&d->first_nan_one, index);
    if (!terms->skip_nan)
        take_different(d, index);
}

void difference_take(struct difference *d, const struct difference_terms *terms, uint64_t a,
                     uint64_t b, uint64_t index)
{
    const enum element_type type = terms->type;
    const double x = order_value(type, order_key(type, a));
    const double y = order_value(terms->other, order_key(terms->other, b));

    if (isnan(x) || isnan(y)) {
        difference_take_nan(d, terms, isnan(x) && isnan(y), index);
        d->rewritten += isnan(x) && isnan(y) && difference_is_rewritten(terms, a, b);
        return;
    }
    if (difference_is_scaled(terms)) {
        struct scaled_pair pair;

        find_pair(&pair, terms, a, b);
        if (scaled_pair_is_equal(&pair)) {
            d->rewritten += difference_is_rewritten(terms, a, b);
            return;
        }
    } else if (element_is_integer(type) ? order_key(type, a) == order_key(type, b) : x == y) {
        d->rewritten++;
        return;
    }
    if (!difference_tolerated(terms, a, b))
        take_different(d, index);
    difference_raise(d, terms, a, b, index);
}

/*
 * Results.
 */

/* The peaks. Without any peak, all differences are zero. */
static void finish_peaks(const struct difference *d, const struct difference_terms *terms,
                         struct difference_result *result)
{
    const struct difference_peak *absolute = &d->peaks[PEAK_ABSOLUTE], *ulps = &d->peaks[PEAK_ULPS];
    const bool integer = element_is_integer(terms->type) && element_is_integer(terms->other) &&
                         scale_keeps_integers(&terms->scales[0]) &&
                         scale_keeps_integers(&terms->scales[1]);
    struct scaled_pair pair;

    result->max_absolute = result->max_relative = 0;
    result->max_ulps = (struct integer){.known = difference_has_ulps(terms)};
    result->max_absolute_integer = (struct integer){.known = integer};
    if (absolute->index == DIFFERENCE_NO_INDEX)
        return;
    find_pair(&pair, terms, absolute->a, absolute->b);
    result->max_absolute = scaled_pair_round(&pair, false);
    if (integer)
        result->max_absolute_integer = scaled_pair_integer(&pair);
    result->max_relative = round_peak(terms, PEAK_RELATIVE, &d->peaks[PEAK_RELATIVE]);
    if (result->max_ulps.known)
        result->max_ulps.low = difference_ulps(terms->type, ulps->a, ulps->b);
}

void difference_finish(const struct difference *d, const struct difference_terms *terms,
                       uint64_t elements, struct difference_result *result)
{
    const uint64_t count = elements - d->nan_one - d->nan_both - d->missing_one - d->missing_both;
    /* Equal arrays have no sums. */
    const bool has_sums = d->squares[0].pending > 0 || d->squares[1].pending > 0;

    *result = (struct difference_result){
        .different = d->different,
        .first = d->first,
        .rewritten = d->rewritten,
        .nan_one = d->nan_one,
        .nan_both = d->nan_both,
        .missing_one = d->missing_one,
        .missing_both = d->missing_both,
        .nearest = elements - d->missing_one - d->missing_both - d->nan_one - d->unrounded -
                   (terms->skip_nan ? d->nan_both : 0),
        .other_rounding = d->other_rounding,
        .max_absolute = NAN,
        .max_relative = NAN,
        .has_ulps = difference_has_ulps(terms),
        .absolute_at = d->peaks[PEAK_ABSOLUTE].index,
        .relative_at = d->peaks[PEAK_RELATIVE].index,
        .ulps_at = d->peaks[PEAK_ULPS].index,
        .root_mean_square = NAN,
        .cosine = NAN,
    };
    if (d->nan_one > 0 && !terms->skip_nan) {
        result->absolute_at = result->relative_at = result->ulps_at = d->first_nan_one;
        return;
    }
    if (count == 0)
        return;
    finish_peaks(d, terms, result);
    /* Infinities on both sides are the same, or their difference is infinite. */
    result->root_mean_square = isinf(result->max_relative) ? INFINITY : 0;
    if (result->root_mean_square == 0 && (difference_is_scaled(terms) || has_sums)) {
        scaled_sums_finish(d, terms->scales, count, &result->root_mean_square, &result->cosine);
    }
    if (d->infinite)
        result->cosine = NAN;
}

/* Adds a limit. False if the text is none. */
static bool add_limit(struct difference_tolerance *t, const char *text)
{
    const char *number = strchr(text, ':');
    struct integer ulps;
    double x;

    if (strncmp(text, "ulp:", 4) == 0) {
        if (!number_parse_integer(number + 1, &ulps) || ulps.negative || ulps.high > 0)
            return false;
        t->by_ulps = true;
        t->ulps = ulps.low > t->ulps ? ulps.low : t->ulps;
        return true;
    }
    if (!number || !number_parse(number + 1, ELEMENT_F64, &x) || !isfinite(x) || signbit(x))
        return false;
    if (strncmp(text, "abs:", 4) == 0) {
        t->by_absolute = true;
        t->absolute = x > t->absolute ? x : t->absolute;
        return true;
    }
    t->by_relative = true;
    t->relative = x > t->relative ? x : t->relative;
    return strncmp(text, "rel:", 4) == 0;
}

bool difference_add_tolerances(struct difference_tolerances *t, const char *text, size_t length,
                               char bad[DIFFERENCE_LIMIT_MAX], bool *full)
{
    const char *const end = text + length, *list = end, *comma;
    struct difference_tolerance *limits = &t->all;
    size_t used;

    while (list > text && list[-1] != '=') /* a name may hold some, and a limit none */
        list--;
    length = (size_t)(list - text); /* of the pattern, and = */
    *full =
        length > DIFFERENCE_PATTERN_MAX || (length > 0 && t->count == DIFFERENCE_TOLERANCES_MAX);
    if (*full)
        return false;
    if (length > 0) {
        memcpy(t->some[t->count].pattern, text, length - 1);
        limits = &t->some[t->count++].limits;
    }
    do {
        comma = memchr(list, ',', (size_t)(end - list));
        length = (size_t)((comma ? comma : end) - list);
        used = length < DIFFERENCE_LIMIT_MAX ? length : DIFFERENCE_LIMIT_MAX - 1;
        memcpy(bad, list, used);
        bad[used] = '\0';
        if (used < length || !add_limit(limits, bad))
            return false;
        list += length + 1;
    } while (comma);
    return true;
}
