#include "config.h"

#include "core/difference.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "core/number.h"
#include "core/quotient.h"
#include "core/scaled_difference.h"
#include "core/term.h"

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

/* An element. */
struct value {
    double x;      /* rounded, where it is an integer of 64 bits */
    struct term n; /* in full, where it is finite */
};

static struct value load(enum element_type type, uint64_t bits)
{
    const uint64_t key = order_key(type, bits);
    struct value v = {.x = order_value(type, key)};

    v.n = element_is_integer(type) ? term_of_integer(order_integer(type, key)) : term_of(v.x);
    return v;
}

/*
 * Differences that are compared exactly.
 */

/* |a - b|. By class, then by `high`, then by what follows. */
struct gap {
    enum {
        GAP_FINITE,
        GAP_HUGE,
        GAP_INFINITE
    } class;          /* huge: above the greatest binary64; then it
                         is the half that follows */
    double high, low; /* of floats: high + low, high the nearest */
    uint64_t integer; /* of integers */
};

static struct gap gap_of(enum element_type type, const struct value *a, const struct value *b)
{
    struct gap gap = {.class = GAP_FINITE};

    if (element_is_integer(type)) {
        if (a->n.negative != b->n.negative)
            gap.integer = a->n.magnitude + b->n.magnitude; /* two's complement: below 2^64 */
        else
            gap.integer = a->n.magnitude > b->n.magnitude ? a->n.magnitude - b->n.magnitude
                                                          : b->n.magnitude - a->n.magnitude;
        return gap;
    }
    if (isinf(a->x) || isinf(b->x)) {
        gap.class = GAP_INFINITE;
        return gap;
    }
    gap.high = exact_two_sum(a->x, -b->x, &gap.low);
    if (isinf(gap.high)) { /* both are so large that their halves are exact */
        gap.class = GAP_HUGE;
        gap.high = exact_two_sum(a->x / 2, -b->x / 2, &gap.low);
    }
    if (gap.high < 0) {
        gap.high = -gap.high;
        gap.low = -gap.low;
    }
    return gap;
}

/* Below 0, 0 or above 0 as `a` is less than b, the same, or more. The nearest binary64 of the
   greater is no less than that of the other. */
static int compare_gaps(const struct gap *a, const struct gap *b)
{
    if (a->class != b->class)
        return a->class > b->class ? 1 : -1;
    if (a->integer != b->integer)
        return a->integer > b->integer ? 1 : -1;
    if (a->high != b->high)
        return a->high > b->high ? 1 : -1;
    return (a->low > b->low) - (a->low < b->low);
}

/* A relative difference is 1 - q, where q is the quotient of the number that is less in magnitude
   and the other one: small 2^exponent / large, or, if their signs are not the same, its negative.
 */
struct ratio {
    bool infinite;
    bool opposite;
    uint64_t small, large;
    int exponent;
};

/* Compares the magnitudes of finite elements. */
static int compare_magnitudes(enum element_type type, const struct value *a, const struct value *b)
{
    if (element_is_integer(type))
        return (a->n.magnitude > b->n.magnitude) - (a->n.magnitude < b->n.magnitude);
    return (fabs(a->x) > fabs(b->x)) - (fabs(a->x) < fabs(b->x));
}

static struct ratio ratio_of(enum element_type type, const struct value *a, const struct value *b)
{
    const struct value *small = a, *large = b;

    if (!element_is_integer(type) && (isinf(a->x) || isinf(b->x)))
        return (struct ratio){.infinite = true};
    if (compare_magnitudes(type, a, b) > 0) {
        small = b;
        large = a;
    }
    return (struct ratio){.opposite =
                              small->n.magnitude != 0 && small->n.negative != large->n.negative,
                          .small = small->n.magnitude,
                          .large = large->n.magnitude,
                          .exponent = small->n.exponent - large->n.exponent};
}

/* x y 2^exponent. */
struct scaled {
    struct product p; /* its highest bit is set, unless it is zero */
    int exponent;
};

static struct scaled multiply(uint64_t x, uint64_t y, int exponent)
{
    struct scaled s = {product_of(x, y), exponent};
    int shift;

    if (s.p.high == 0) {
        s = (struct scaled){{.high = s.p.low}, exponent - 64};
        if (s.p.high == 0)
            return s;
    }
    shift = __builtin_clzll(s.p.high);
    if (shift > 0) {
        s.p.high = s.p.high << shift | s.p.low >> (64 - shift);
        s.p.low <<= shift;
    }
    s.exponent -= shift;
    return s;
}

/* Compares small 2^exponent / large of two ratios. */
static int compare_quotients(const struct ratio *a, const struct ratio *b)
{
    const struct scaled left = multiply(a->small, b->large, a->exponent);
    const struct scaled right = multiply(b->small, a->large, b->exponent);

    if (left.p.high == 0 || right.p.high == 0)
        return (left.p.high != 0) - (right.p.high != 0);
    if (left.exponent != right.exponent)
        return left.exponent > right.exponent ? 1 : -1;
    if (left.p.high != right.p.high)
        return left.p.high > right.p.high ? 1 : -1;
    return (left.p.low > right.p.low) - (left.p.low < right.p.low);
}

/* Compares the relative differences that two ratios stand for. */
static int compare_ratios(const struct ratio *a, const struct ratio *b)
{
    if (a->infinite || b->infinite)
        return (int)a->infinite - (int)b->infinite;
    if (a->opposite != b->opposite)
        return a->opposite ? 1 : -1;
    return a->opposite ? compare_quotients(a, b) : compare_quotients(b, a);
}

/*
 * Peaks.
 */

enum peak_kind { PEAK_ABSOLUTE, PEAK_RELATIVE, PEAK_ULPS };

static void find_scaled(struct scaled_pair *pair, const struct difference_terms *terms,
                        const struct difference_peak *p)
{
    const enum element_type types[2] = {terms->type, terms->other};

    scaled_pair_find(pair, types, terms->scales, p->a, p->b);
}

/* Compares a kind of difference, not in ulps, of two pairs of scaled numbers. */
static int compare_scaled(const struct difference_terms *terms, enum peak_kind kind,
                          const struct difference_peak *p, const struct difference_peak *q)
{
    struct scaled_pair x, y;

    find_scaled(&x, terms, p);
    find_scaled(&y, terms, q);
    return scaled_pair_compare(&x, &y, kind == PEAK_RELATIVE);
}

/* Compares a kind of difference of two pairs. */
static int compare_pairs(const struct difference_terms *terms, enum peak_kind kind,
                         const struct difference_peak *p, const struct difference_peak *q)
{
    const enum element_type type = terms->type;
    const struct value p_a = load(type, p->a), p_b = load(type, p->b);
    const struct value q_a = load(type, q->a), q_b = load(type, q->b);

    if (difference_is_scaled(terms) && kind != PEAK_ULPS)
        return compare_scaled(terms, kind, p, q);
    switch (kind) {
    case PEAK_ABSOLUTE: {
        const struct gap x = gap_of(type, &p_a, &p_b), y = gap_of(type, &q_a, &q_b);

        return compare_gaps(&x, &y);
    }
    case PEAK_RELATIVE: {
        const struct ratio x = ratio_of(type, &p_a, &p_b), y = ratio_of(type, &q_a, &q_b);

        return compare_ratios(&x, &y);
    }
    case PEAK_ULPS: {
        const uint64_t x = difference_ulps(type, p->a, p->b), y = difference_ulps(type, q->a, q->b);

        return (x > y) - (x < y);
    }
    }
    return 0; /* not reached */
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

/*
 * Rounded differences.
 */

/* |a - b|, an infinity where it is beyond the greatest binary64. */
static double round_absolute(enum element_type type, const struct value *a, const struct value *b)
{
    const struct gap gap = gap_of(type, a, b);

    if (gap.class != GAP_FINITE)
        return INFINITY;
    return element_is_integer(type) ? (double)gap.integer : gap.high;
}

/* Sets a - b, which are finite. */
static void subtract(struct exact *gap, const struct value *a, const struct value *b)
{
    exact_clear(gap);
    term_add(gap, a->n, 1, false);
    term_add(gap, b->n, 1, true);
}

/* Digits below those of |a - b|, the quotient of which by a number of 64 bits then has at least 96
   bits. */
#define BELOW 5

/* |a - b| / max(|a|, |b|). */
static double round_relative(enum element_type type, const struct value *a, const struct value *b)
{
    const struct value *large = compare_magnitudes(type, a, b) > 0 ? a : b;
    uint32_t digit[BELOW + EXACT_DIGITS] = {0};
    struct exact gap;
    bool sticky;

    if (!element_is_integer(type) && (isinf(a->x) || isinf(b->x)))
        return INFINITY;
    subtract(&gap, a, b);
    (void)exact_magnitude(&gap, digit + BELOW);
    sticky = digits_divide(digit, BELOW + EXACT_DIGITS, large->n.magnitude) != 0;
    return digits_round(digit, BELOW + EXACT_DIGITS,
                        EXACT_LSB_EXPONENT - 32 * BELOW - large->n.exponent, sticky, false);
}

/* The bounds of scaled numbers. */
static struct difference_bounds scaled_bounds(const struct difference *d,
                                              const struct difference_terms *terms)
{
    struct difference_bounds bounds = {.any = true};
    struct scaled_pair pair;

    bounds.absolute_at = d->absolute.index;
    bounds.relative_at = d->relative.index;
    bounds.ulps_at = d->ulps.index;
    find_scaled(&pair, terms, &d->absolute);
    bounds.absolute = (1 - 0x1p-50) * scaled_pair_round(&pair, false);
    find_scaled(&pair, terms, &d->relative);
    bounds.relative = (1 - 0x1p-50) * scaled_pair_round(&pair, true);
    if (difference_has_ulps(terms))
        bounds.ulps = difference_ulps(terms->type, d->ulps.a, d->ulps.b);
    return bounds;
}

struct difference_bounds difference_bounds(const struct difference *d,
                                           const struct difference_terms *terms)
{
    struct difference_bounds bounds = {.any = d->absolute.index != DIFFERENCE_NO_INDEX};
    const enum element_type type = terms->type;
    struct value a, b;
    struct gap gap;

    if (!bounds.any)
        return bounds;
    if (difference_is_scaled(terms))
        return scaled_bounds(d, terms);
    bounds.absolute_at = d->absolute.index;
    bounds.relative_at = d->relative.index;
    bounds.ulps_at = d->ulps.index;
    a = load(type, d->absolute.a);
    b = load(type, d->absolute.b);
    gap = gap_of(type, &a, &b);
    bounds.absolute = round_absolute(type, &a, &b);
    bounds.absolute_low = gap.class == GAP_FINITE ? gap.low : 0;
    a = load(type, d->relative.a);
    b = load(type, d->relative.b);
    /* The quotient is three roundings off, and so is this: by 2^-53 each. */
    bounds.relative = (1 - 0x1p-50) * round_relative(type, &a, &b);
    bounds.small = compare_magnitudes(type, &a, &b) > 0 ? b.x : a.x;
    bounds.large = compare_magnitudes(type, &a, &b) > 0 ? a.x : b.x;
    bounds.ulps = difference_ulps(type, d->ulps.a, d->ulps.b);
    return bounds;
}

/*
 * Tolerances.
 */

/* Whether |a - b| is at most t max(|a|, |b|), exactly. */
static bool within_relative(enum element_type type, const struct value *a, const struct value *b,
                            double t)
{
    const struct value *large = compare_magnitudes(type, a, b) > 0 ? a : b;
    const struct term factor = term_of(t);
    const int exponent = factor.exponent + large->n.exponent;
    uint32_t digit[EXACT_WIDE_DIGITS];
    struct exact_wide excess; /* |a - b| less the product */
    struct exact gap;

    if (t >= 2)
        return true;
    exact_wide_clear(&excess);
    subtract(&gap, a, b);
    if (exact_magnitude(&gap, digit))
        subtract(&gap, b, a);
    exact_wide_add_exact(&excess, &gap);
    exact_wide_add_product(&excess, factor.magnitude, large->n.magnitude,
                           (unsigned)(exponent - EXACT_WIDE_LSB_EXPONENT), true);
    return exact_wide_magnitude(&excess, digit) || quotient_length(digit, EXACT_WIDE_DIGITS) == 0;
}

static bool within_absolute(enum element_type type, const struct gap *gap, double t)
{
    if (element_is_integer(type))
        return t >= 0x1p64 || gap->integer <= (uint64_t)t;
    /* t is one of the two nearest binary64 numbers. */
    return gap->class == GAP_FINITE && (gap->high < t || (gap->high == t && gap->low <= 0));
}

static bool scaled_tolerated(const struct difference_terms *terms, uint64_t a, uint64_t b)
{
    const struct difference_tolerance *t = &terms->tolerance;
    struct scaled_pair pair;

    find_scaled(&pair, terms, &(struct difference_peak){0, a, b});
    if (pair.infinite)
        return false;
    return (t->by_ulps && difference_ulps(terms->type, a, b) <= t->ulps) ||
           (t->by_absolute && scaled_pair_within(&pair, t->absolute, false)) ||
           (t->by_relative && scaled_pair_within(&pair, t->relative, true));
}

bool difference_tolerated(const struct difference_terms *terms, uint64_t a_bits, uint64_t b_bits)
{
    const struct difference_tolerance *t = &terms->tolerance;
    const enum element_type type = terms->type;
    struct value a, b;
    struct gap gap;

    if (!t->by_ulps && !t->by_absolute && !t->by_relative)
        return false;
    if (difference_is_scaled(terms))
        return scaled_tolerated(terms, a_bits, b_bits);
    a = load(type, a_bits);
    b = load(type, b_bits);
    gap = gap_of(type, &a, &b);
    if (gap.class == GAP_INFINITE)
        return false;
    if (t->by_ulps && difference_ulps(type, a_bits, b_bits) <= t->ulps)
        return true;
    if (t->by_absolute && within_absolute(type, &gap, t->absolute))
        return true;
    return t->by_relative && within_relative(type, &a, &b, t->relative);
}

/*
 * Taking and merging.
 */

const char *const difference_value_names[DIFFERENCE_VALUES] = {
    "different", "max_abs", "max_rel", "max_ulp", "rmsd",
    "cosine",    "nan",     "missing", "nearest", "other_rounding"};

void difference_clear(struct difference *d)
{
    const struct difference_peak none = {.index = DIFFERENCE_NO_INDEX};

    memset(d, 0, sizeof *d);
    d->first = d->first_nan = d->first_nan_one = DIFFERENCE_NO_INDEX;
    d->absolute = d->relative = d->ulps = none;
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
    raise(&d->absolute, terms, PEAK_ABSOLUTE, &other->absolute);
    raise(&d->relative, terms, PEAK_RELATIVE, &other->relative);
    raise(&d->ulps, terms, PEAK_ULPS, &other->ulps);
    if (difference_is_scaled(terms)) {
        exact_merge(&d->sum_a, &other->sum_a);
        exact_merge(&d->sum_b, &other->sum_b);
    }
    exact_wide_merge(&d->squares_a, &other->squares_a);
    exact_wide_merge(&d->squares_b, &other->squares_b);
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

    raise(&d->absolute, terms, PEAK_ABSOLUTE, &pair);
    raise(&d->relative, terms, PEAK_RELATIVE, &pair);
    if (difference_has_ulps(terms))
        raise(&d->ulps, terms, PEAK_ULPS, &pair);
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

        find_scaled(&pair, terms, &(struct difference_peak){0, a, b});
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

/* Digits as in moments.c: two below, so that the root of what a division leaves ends below all bits
   that decide its rounding. */
#define ROOT_BELOW 2

/* The root of the mean of (a - b)^2 over `count` pairs: a a + b b - 2 a b, which is not negative.
 */
static double root_mean_square(const struct difference *d, uint64_t count)
{
    uint32_t digit[ROOT_BELOW + EXACT_WIDE_DIGITS] = {0};
    struct exact_wide sum = d->squares_a;
    bool sticky;

    exact_wide_merge(&sum, &d->squares_b);
    exact_wide_subtract_twice(&sum, &d->products);
    (void)exact_wide_magnitude(&sum, digit + ROOT_BELOW);
    sticky = digits_divide(digit, ROOT_BELOW + EXACT_WIDE_DIGITS, count) != 0;
    return digits_square_root(digit, ROOT_BELOW + EXACT_WIDE_DIGITS,
                              EXACT_WIDE_LSB_EXPONENT - 32 * ROOT_BELOW, sticky);
}

static double cosine(const struct difference *d)
{
    uint32_t xy[EXACT_WIDE_DIGITS], xx[EXACT_WIDE_DIGITS], yy[EXACT_WIDE_DIGITS];
    const bool negative = exact_wide_magnitude(&d->products, xy);

    (void)exact_wide_magnitude(&d->squares_a, xx);
    (void)exact_wide_magnitude(&d->squares_b, yy);
    if (quotient_length(xx, EXACT_WIDE_DIGITS) == 0 || quotient_length(yy, EXACT_WIDE_DIGITS) == 0)
        return NAN;
    return cosine_round(xy, negative, xx, yy, EXACT_WIDE_DIGITS);
}

/* The peaks of scaled numbers, of which there are some. */
static void finish_scaled_peaks(const struct difference *d, const struct difference_terms *terms,
                                struct difference_result *result)
{
    struct scaled_pair pair;

    find_scaled(&pair, terms, &d->absolute);
    result->max_absolute = scaled_pair_round(&pair, false);
    if (result->max_absolute_integer.known)
        result->max_absolute_integer = scaled_pair_integer(&pair);
    find_scaled(&pair, terms, &d->relative);
    result->max_relative = scaled_pair_round(&pair, true);
    if (result->max_ulps.known)
        result->max_ulps.low = difference_ulps(terms->type, d->ulps.a, d->ulps.b);
}

/* The peaks. Without any peak, all differences are zero. */
static void finish_peaks(const struct difference *d, const struct difference_terms *terms,
                         struct difference_result *result)
{
    const enum element_type type = terms->type;
    const bool integer = element_is_integer(type) && element_is_integer(terms->other) &&
                         scale_keeps_integers(&terms->scales[0]) &&
                         scale_keeps_integers(&terms->scales[1]);
    struct value a, b;

    result->max_absolute = result->max_relative = 0;
    result->max_ulps = (struct integer){.known = difference_has_ulps(terms)};
    result->max_absolute_integer = (struct integer){.known = integer};
    if (d->absolute.index == DIFFERENCE_NO_INDEX)
        return;
    if (difference_is_scaled(terms)) {
        finish_scaled_peaks(d, terms, result);
        return;
    }
    a = load(type, d->absolute.a);
    b = load(type, d->absolute.b);
    result->max_absolute = round_absolute(type, &a, &b);
    if (integer)
        result->max_absolute_integer.low = gap_of(type, &a, &b).integer;
    a = load(type, d->relative.a);
    b = load(type, d->relative.b);
    result->max_relative = round_relative(type, &a, &b);
    result->max_ulps.low = difference_ulps(type, d->ulps.a, d->ulps.b);
}

void difference_finish(const struct difference *d, const struct difference_terms *terms,
                       uint64_t elements, struct difference_result *result)
{
    const uint64_t count = elements - d->nan_one - d->nan_both - d->missing_one - d->missing_both;

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
        .absolute_at = d->absolute.index,
        .relative_at = d->relative.index,
        .ulps_at = d->ulps.index,
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
    if (isinf(result->max_relative)) {
        result->root_mean_square = INFINITY;
    } else if (difference_is_scaled(terms)) {
        const struct scaled_sums sums = {.sums = {&d->sum_a, &d->sum_b},
                                         .squares = {&d->squares_a, &d->squares_b},
                                         .products = &d->products,
                                         .n = count - d->infinities};

        scaled_sums_finish(&sums, terms->scales, count, &result->root_mean_square, &result->cosine);
    } else {
        result->root_mean_square = root_mean_square(d, count);
        result->cosine = cosine(d);
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
