#include "config.h"

#include "cpu/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/term.h"
#include "cpu/convert.h"
#include "cpu/kernel.h"
#include "sys/align.h"
#include "sys/inline.h"
#include "sys/processor.h"

/* Bytes of each side that are compared as memory at a time, and looked at element by element if
   they differ. Both, and a copy of each in another byte order, stay in the level-2 cache. */
#define PIECE_BYTES ((size_t)64 << 10)

/* Bytes of elements that are converted at a time: both copies stay in the level-1 cache. */
#define CONVERTED_BYTES ((size_t)8 << 10)

/* Elements whose products are worked out before they are summed. */
#define PRODUCTS ((size_t)2048)

/* The number of the sums of equal pieces. */
#define EQUAL 2

struct cpu_compare {
    const struct cpu_kernels *kernels;
    bool ahead;                     /* see cpu_compare_same */
    struct cpu_compare_setup setup; /* what is missing is not NULL */
    bool bytes_tell; /* both sides have one meaning, so that equal bytes are equal elements */
    bool converts;   /* the stored elements of a side have another type */
    const unsigned char *stored; /* of a cast: the elements of side A of this piece, before it */
    bool all_cast;               /* and all of them have a number in the type */
    struct missing converted[2]; /* missing values of each side, if it does */
    /* Whether f32 of one side are what elements of the other side, number `narrow`, are converted to;
       NULL where they are of other types, or not in this machine's byte order. */
    bool (*same_widened)(const void *narrow, const void *wide);
    int narrow;
    struct difference difference; /* of what is compared element by element; without sums */
    struct difference_bounds bounds;

    /* The sums: of squares of both sides, and of equal pieces, which neither has; and of products, which
       are elements of another type. Those that no type holds go to `products`. */
    unsigned wants; /* what `sums` find */
    struct cpu_reducer sums[3], product;
    struct exact_wide products;

    unsigned char *copy[2]; /* of each side, PIECE_BYTES */
    unsigned char *swapped; /* PIECE_BYTES, of elements to convert */
    union {
        double floats[PRODUCTS];
        int64_t integers[PRODUCTS];
    } scratch;
    double errors[PRODUCTS]; /* what floats[] have lost by rounding */
};

/*
 * Pairs that differ.
 */

/* Counts a pair that is neither the same nor tolerated. */
static ALWAYS_INLINE void count_different(struct cpu_compare *c, uint64_t index)
{
    c->difference.different++;
    if (index < c->difference.first)
        c->difference.first = index;
}

/* Finds the bounds again, if a peak is another pair. */
static void find_bounds(struct cpu_compare *c)
{
    const struct difference *d = &c->difference;
    const struct difference_bounds *old = &c->bounds;
    bool changed = !old->any;

    for (int k = 0; k < PEAKS; k++)
        changed = changed || d->peaks[k].index != old->at[k];
    if (changed)
        c->bounds = difference_bounds(d, &c->setup.terms);
}

/* Takes a pair into the peaks, by exact comparison. */
static __attribute__((noinline)) void raise(struct cpu_compare *c, uint64_t a, uint64_t b,
                                            uint64_t index)
{
    difference_raise(&c->difference, &c->setup.terms, a, b, index);
    find_bounds(c);
}

/* Whether a pair is within what is tolerated, where its differences, rounded, tell; otherwise asks
   for an exact comparison. `relative` is three roundings off. */
static bool tolerated(const struct cpu_compare *c, double absolute, double relative, uint64_t ulps,
                      uint64_t a, uint64_t b)
{
    const struct difference_tolerance *t = &c->setup.terms.tolerance;
    const bool absolute_beyond = !t->by_absolute || absolute > t->absolute;
    const bool relative_beyond = !t->by_relative || relative > t->relative * (1 + 0x1p-50);

    if (isfinite(absolute) &&
        ((t->by_ulps && ulps <= t->ulps) || (t->by_absolute && absolute < t->absolute) ||
         (t->by_relative && relative < t->relative * (1 - 0x1p-50))))
        return true;
    if (isfinite(absolute) && (!t->by_ulps || ulps > t->ulps) && absolute_beyond && relative_beyond)
        return false;
    return difference_tolerated(&c->setup.terms, a, b);
}

static bool tolerates(const struct cpu_compare *c)
{
    const struct difference_tolerance *t = &c->setup.terms.tolerance;

    return t->by_ulps || t->by_absolute || t->by_relative;
}

/* Whether |x - y|, which rounds to what the peak's rounds to, is no more than that. The elements are no
   integers of 64 bits. Numbers whose difference is beyond the greatest are both far above the least. */
static bool is_no_more(const struct cpu_compare *c, double x, double y, uint64_t index)
{
    const double scale = isinf(c->bounds.absolute) ? DIFFERENCE_SMALLER : 1;
    double low;
    const double high = exact_two_sum(scale * x, scale * -y, &low);

    return isfinite(high) && index > c->bounds.at[PEAK_ABSOLUTE] &&
           (fabs(high) < c->bounds.absolute_high ||
            (fabs(high) == c->bounds.absolute_high &&
             (high < 0 ? -low : low) <= c->bounds.absolute_low));
}

/* Whether an exact_two_product by x is exact, where the factors are small enough. */
static bool is_exact(double product, double x)
{
    return fabs(product) < 0x1p1000 && (fabs(product) > 0x1p-900 || x == 0);
}

/* Whether a relative difference is no more than the peak's, of which it is a few roundings off at
   most: 1 - small / large. Products of `narrow` elements are exact; those of others if both are less
   than `limit`, and not too small: the pair is multiplied by a power of two. */
static ALWAYS_INLINE bool is_no_steeper(const struct cpu_compare *c, double x, double y,
                                        uint64_t index, bool narrow, double limit)
{
    const double larger = fabs(x) < fabs(y) ? y : x;
    const double scale = narrow || (fabs(larger) < 0x1p1000 && fabs(larger) > 0x1p-800) ? 1
                         : fabs(larger) < 1                                             ? 0x1p200
                                                                                        : 0x1p-64;
    const double smaller = fabs(x) < fabs(y) ? x : y;
    const double small = scale * smaller, large = scale * larger;
    double here_low = 0, there_low = 0;
    const double here =
        narrow ? small * c->bounds.large : exact_two_product(small, c->bounds.large, &here_low);
    const double there =
        narrow ? c->bounds.small * large : exact_two_product(c->bounds.small, large, &there_low);
    const bool exact = narrow ? isfinite(here) && isfinite(there)
                              : fabs(large) < limit && fabs(c->bounds.large) < limit &&
                                    small / scale == smaller && is_exact(here, smaller) &&
                                    is_exact(there, c->bounds.small);
    const bool less = here < there || (here == there && here_low < there_low);
    const bool more = here > there || (here == there && here_low > there_low);

    /* large may be of either sign: small / large >= small' / large', times both. */
    return exact && index > c->bounds.at[PEAK_RELATIVE] &&
           ((large < 0) == (c->bounds.large < 0) ? !less : !more);
}

/* Takes pairs with different bits among n elements. */
static ALWAYS_INLINE void scan_type(struct cpu_compare *c, const unsigned char *a,
                                    const unsigned char *b, size_t n, uint64_t index,
                                    enum element_type type)
{
    const size_t size = element_formats[type].size;
    const bool integer = element_is_integer(type), some = tolerates(c);
    const bool is_long = integer && size == 8; /* then x and y may be rounded */
    const bool narrow = element_formats[type].significant_bits <= 26;
    const double limit = is_long ? 0x1p53 : 0x1p1000; /* of what products are exact */

    for (size_t i = 0; i < n; i++) {
        const uint64_t p = element_bits(size, a + i * size), q = element_bits(size, b + i * size);
        double x, y, x_size, y_size, larger, gap;
        uint64_t ulps;

        if (p == q)
            continue;
        x = element_value(type, p);
        y = element_value(type, q);
        gap = is_long ? (double)difference_ulps(type, p, q) : fabs(x - y);
        if (!(gap > 0)) { /* a NaN, or zeros, or truth values */
            difference_take(&c->difference, &c->setup.terms, p, q, index + i);
            continue;
        }
        x_size = fabs(x);
        y_size = fabs(y);
        larger = x_size > y_size ? x_size : y_size;
        ulps = integer && !is_long ? (uint64_t)gap : difference_ulps(type, p, q);
        if (!some || !tolerated(c, gap, gap / larger, ulps, p, q))
            count_different(c, index + i);
        if (c->bounds.any &&
            (integer || gap < c->bounds.absolute ||
             (gap == c->bounds.absolute && is_no_more(c, x, y, index + i))) &&
            (gap < c->bounds.relative * larger ||
             is_no_steeper(c, x, y, index + i, narrow, limit)) &&
            (ulps < c->bounds.ulps ||
             (ulps == c->bounds.ulps && index + i > c->bounds.at[PEAK_ULPS])))
            continue;
        raise(c, p, q, index + i);
    }
}

/* The integers of up to 32 bits. */
#define SHORT_INTEGERS(ROW) ROW(I8) ROW(I16) ROW(I32) ROW(U8) ROW(U16) ROW(U32) ROW(BOOL)

#define SCAN(CONSTANT, ...)                               \
    case ELEMENT_##CONSTANT:                              \
        scan_type(c, a, b, n, index, ELEMENT_##CONSTANT); \
        break;

static void scan(struct cpu_compare *c, const unsigned char *a, const unsigned char *b, size_t n,
                 uint64_t index)
{
    switch (c->setup.terms.type) {
        ELEMENT_FLOAT_TABLE(SCAN)
        ELEMENT_FLOAT8_TABLE(SCAN)
        ELEMENT_INTEGER_TABLE(SCAN)
    }
}

/*
 * Scaled numbers.
 */

/* A number that an element stands for, in binary64. */
struct approximation {
    double x;
    double slack; /* it is less than this from the exact number; NaN where that is unknown */
};

static struct approximation approximate(enum element_type type, const struct scale *scale,
                                        uint64_t bits)
{
    const double stored = element_value(type, bits);
    const double product = scale->given ? scale->factor * stored : stored;
    const double size = fabs(product) + fabs(scale->offset);

    /* Three roundings, two of the product, unless that is too small, or anything too large. */
    return (struct approximation){product + scale->offset,
                                  size < 0x1p900 && fabs(scale->factor) < 0x1p1000 &&
                                          (fabs(product) > 0x1p-900 || stored == 0)
                                      ? 0x1p-50 * size
                                      : (double)NAN};
}

/* Adds a number that has an approximation, or takes it away: a product, what it has lost by rounding,
   and the offset. This is exact if elements are binary64 numbers, or have no scale. */
static void add_number(struct exact *sum, enum element_type type, const struct scale *scale,
                       uint64_t bits, bool subtract)
{
    const double sign = subtract ? -1 : 1, stored = sign * element_value(type, bits);
    double lost;

    if (!scale->given) {
        term_add(sum, term_of_order(type, order_key(type, bits)), 1, subtract);
        return;
    }
    exact_add(sum, exact_two_product(scale->factor, stored, &lost));
    exact_add(sum, lost);
    exact_add(sum, sign * scale->offset);
}

/* Adds |a - b|, or takes it away. False if that is not known exactly. If a and b are as close as their
   approximations are off, it may be the negative of that. */
static bool add_gap(struct exact *sum, const struct difference_terms *terms, uint64_t a, uint64_t b,
                    bool subtract)
{
    const struct approximation x = approximate(terms->type, &terms->scales[0], a);
    const struct approximation y = approximate(terms->other, &terms->scales[1], b);

    if (isnan(x.slack + y.slack) ||
        (terms->scales[0].given && element_formats[terms->type].significant_bits > 53) ||
        (terms->scales[1].given && element_formats[terms->other].significant_bits > 53))
        return false;
    subtract = subtract != (x.x < y.x);
    add_number(sum, terms->type, &terms->scales[0], a, subtract);
    add_number(sum, terms->other, &terms->scales[1], b, !subtract);
    return true;
}

/* Whether the pair, which differs more than its approximations are off, has no greater |a - b| than
   the peak, or one that is as great, but later. False if that is not known, and so if the peak is
   such that add_gap adds it where it should take it away. */
static bool is_no_wider(const struct cpu_compare *c, uint64_t a, uint64_t b, uint64_t index)
{
    const struct difference_peak *peak = &c->difference.peaks[PEAK_ABSOLUTE];
    struct exact sum;
    double more;

    exact_clear(&sum);
    if (!add_gap(&sum, &c->setup.terms, a, b, false) ||
        !add_gap(&sum, &c->setup.terms, peak->a, peak->b, true))
        return false;
    more = exact_round(&sum);
    return more < 0 || (more == 0 && index > peak->index);
}

/* Whether both numbers of a pair are known to be the same. */
static bool is_equal(const struct difference_terms *terms, uint64_t a, uint64_t b)
{
    struct exact sum;

    exact_clear(&sum);
    return add_gap(&sum, terms, a, b, false) && exact_round(&sum) == 0;
}

/* Whether the pair is the one that a peak has already. */
static bool is_peak(const struct difference_peak *peak, uint64_t a, uint64_t b, uint64_t index)
{
    return peak->a == a && peak->b == b && peak->index < index;
}

/* Takes a pair that differs by `gap`, or up to `slack` more or less; `larger` is the magnitude of the
   larger one, just as exactly. */
static void take_scaled(struct cpu_compare *c, uint64_t p, uint64_t q, uint64_t index, double gap,
                        double larger, double slack)
{
    const struct difference_terms *terms = &c->setup.terms;
    const struct difference_tolerance *t = &terms->tolerance;
    const struct difference *d = &c->difference;
    const struct difference_bounds *bounds = &c->bounds;
    const bool has_ulps = difference_has_ulps(terms);
    const uint64_t ulps = has_ulps ? difference_ulps(terms->type, p, q) : 0;
    const double most = gap + slack, least = gap - slack, relative = t->relative;
    const bool within = (t->by_ulps && ulps <= t->ulps) || (t->by_absolute && most < t->absolute) ||
                        (t->by_relative && most < relative * (1 - 0x1p-50) * (larger - slack));
    const bool beyond = (!t->by_ulps || ulps > t->ulps) &&
                        (!t->by_absolute || least > t->absolute) &&
                        (!t->by_relative || least > relative * (1 + 0x1p-50) * (larger + slack));

    if (beyond || (!within && !difference_tolerated(terms, p, q)))
        count_different(c, index);
    if (bounds->any &&
        (most < bounds->absolute || is_peak(&d->peaks[PEAK_ABSOLUTE], p, q, index) ||
         (has_ulps && element_is_integer(terms->type) && ulps <= bounds->ulps &&
          index > bounds->at[PEAK_ABSOLUTE]) ||
         is_no_wider(c, p, q, index)) &&
        (most < bounds->relative * (larger - slack) ||
         is_peak(&d->peaks[PEAK_RELATIVE], p, q, index)) &&
        (!has_ulps || ulps < bounds->ulps ||
         (ulps == bounds->ulps && index > bounds->at[PEAK_ULPS])))
        return;
    raise(c, p, q, index);
}

/* Takes a pair of which the approximations do not tell that it differs. */
static void take_exactly(struct cpu_compare *c, uint64_t p, uint64_t q, uint64_t index)
{
    if (is_equal(&c->setup.terms, p, q)) {
        c->difference.rewritten += difference_is_rewritten(&c->setup.terms, p, q);
        return;
    }
    difference_take(&c->difference, &c->setup.terms, p, q, index);
    find_bounds(c);
}

/* Takes pairs among n elements that have scales. Those of which one is missing are left alone; of
   casts they have become zero. */
static void scan_scaled(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                        size_t n, uint64_t index)
{
    const struct difference_terms *terms = &c->setup.terms;
    const enum element_type type = terms->type, other = terms->other;
    const size_t size = element_size(type), other_size = element_size(other);
    const bool one_scale = difference_has_ulps(terms);

    for (size_t i = 0; i < n; i++) {
        const uint64_t p = order_load(type, a + i * size);
        const uint64_t q = order_load(other, b + i * other_size);
        struct approximation x, y;
        double gap, slack;

        if ((one_scale && p == q) ||
            (!terms->cast && (missing_has(c->setup.missing[0], order_key(type, p)) ||
                              missing_has(c->setup.missing[1], order_key(other, q)))))
            continue;
        x = approximate(type, &terms->scales[0], p);
        y = approximate(other, &terms->scales[1], q);
        gap = fabs(x.x - y.x);
        slack = x.slack + y.slack;
        if (gap > slack) {
            take_scaled(c, p, q, index + i, gap, fabs(x.x) > fabs(y.x) ? fabs(x.x) : fabs(y.x),
                        slack);
            continue;
        }
        /* A NaN, or an infinity, or they are close to each other. */
        take_exactly(c, p, q, index + i);
    }
}

/*
 * Sums.
 */

/* The type of which products of elements are, or the sums that they are split into. Those of
   integers of 64 bits are of none. */
static enum element_type product_type(enum element_type type)
{
    if (!element_is_integer(type))
        return ELEMENT_F64;
    return type == ELEMENT_U32 ? ELEMENT_U64 : ELEMENT_I64;
}

static bool has_products(enum element_type type)
{
    return element_size(type) < 8 || !element_is_integer(type);
}

/* Products of floats of up to 25 bits have 50, and exponents from -298 to 256: they are binary64.
 */
#define CHECK_PRODUCTS(CONSTANT, name, size, kind, significant_bits, exponent_min, exponent_max,  \
                       ...)                                                                       \
    _Static_assert(                                                                               \
        size == 8 || (2 * significant_bits <= 53 && exponent_min >= -126 && exponent_max <= 127), \
        "products are not exact");
ELEMENT_FLOAT_TABLE(CHECK_PRODUCTS)
ELEMENT_FLOAT8_TABLE(CHECK_PRODUCTS)
#undef CHECK_PRODUCTS

/* Multiplies elements of a type, which is a constant. */
static ALWAYS_INLINE void multiply(struct cpu_compare *c, const unsigned char *a,
                                   const unsigned char *b, size_t n, enum element_type type)
{
    const size_t size = element_formats[type].size;

    for (size_t i = 0; i < n; i++) {
        const double x = element_value(type, element_bits(size, a + i * size));
        const double y = element_value(type, element_bits(size, b + i * size));

        if (element_is_integer(type)) /* those of u32 are a uint64_t's */
            c->scratch.integers[i] = (int64_t)((uint64_t)(int64_t)x * (uint64_t)(int64_t)y);
        else
            c->scratch.floats[i] = x * y;
    }
}

/* Adds the products of integers of 64 bits. */
static void add_long(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                     size_t n)
{
    const enum element_type type = c->setup.terms.type;

    for (size_t i = 0; i < n; i++) {
        const struct integer x = element_load_integer(type, a + 8 * i);
        const struct integer y = element_load_integer(type, b + 8 * i);

        exact_wide_add_product(&c->products, x.low, y.low, (unsigned)-EXACT_WIDE_LSB_EXPONENT,
                               x.negative != y.negative);
    }
}

/* Multiplies f64, each product as the nearest number and what that has lost. Returns whether that is
   exact. NaNs and infinities are not. */
static bool multiply_doubles(double *product, double *error, const unsigned char *a,
                             const unsigned char *b, size_t n)
{
    unsigned inexact = 0;

    for (size_t i = 0; i < n; i++) {
        const double x = exact_from_bits(element_bits(8, a + 8 * i));
        const double y = exact_from_bits(element_bits(8, b + 8 * i));
        const double xy = exact_two_product(x, y, &error[i]);

        product[i] = xy;
        inexact |= (unsigned)!(fabs(x) < 0x1p500) | (unsigned)!(fabs(y) < 0x1p500) |
                   ((unsigned)!(fabs(xy) > 0x1p-900) & (unsigned)(x != 0) & (unsigned)(y != 0));
    }
    return !inexact;
}

/* Adds the products of f64. */
static void add_doubles(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                        size_t n)
{
    double *x = c->scratch.floats, *y = c->errors;

    if (multiply_doubles(x, y, a, b, n)) {
        c->product.kernel(&c->product, x, n, 0);
        c->product.kernel(&c->product, y, n, 0);
        return;
    }
    memcpy(x, a, n * sizeof *x);
    memcpy(y, b, n * sizeof *y);
    exact_wide_add_products(&c->products, x, y, n);
}

#define MULTIPLY(CONSTANT, ...)                   \
    case ELEMENT_##CONSTANT:                      \
        multiply(c, a, b, n, ELEMENT_##CONSTANT); \
        break;

/* Adds the products of finite elements of two types. */
static void add_mixed(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                      size_t n)
{
    const enum element_type type = c->setup.terms.type, other = c->setup.terms.other;
    const size_t size = element_size(type), other_size = element_size(other);

    for (size_t i = 0; i < n; i++) {
        const uint64_t p = order_key(type, order_load(type, a + i * size));
        const uint64_t q = order_key(other, order_load(other, b + i * other_size));
        const struct term x = term_of_order(type, p), y = term_of_order(other, q);

        if (isfinite(order_value(type, p)) && isfinite(order_value(other, q)))
            exact_wide_add_product(&c->products, x.magnitude, y.magnitude,
                                   (unsigned)(x.exponent + y.exponent - EXACT_WIDE_LSB_EXPONENT),
                                   x.negative != y.negative);
    }
}

/* Adds up to PRODUCTS products. */
static void add_products(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                         size_t n)
{
    if (c->setup.terms.type != c->setup.terms.other) {
        add_mixed(c, a, b, n);
        return;
    }
    switch (c->setup.terms.type) {
    case ELEMENT_F64:
        add_doubles(c, a, b, n);
        return;
    case ELEMENT_I64:
    case ELEMENT_U64:
        add_long(c, a, b, n);
        return;
        MULTIPLY(F32)
        MULTIPLY(F16)
        MULTIPLY(BF16)
        ELEMENT_FLOAT8_TABLE(MULTIPLY)
        SHORT_INTEGERS(MULTIPLY)
    }
    c->product.kernel(&c->product, &c->scratch, n, 0);
}

/* Makes the reducers ready. False without memory. */
static bool begin_sums(struct cpu_compare *c)
{
    const enum element_type type = c->setup.terms.type;
    const enum element_type types[] = {type, c->setup.terms.other, [EQUAL] = type};
    bool good = cpu_reducer_restart(&c->product, c->kernels, product_type(type));

    exact_wide_clear(&c->products);
    for (int i = 0; i <= EQUAL && good; i++)
        good = cpu_reducer_restart(&c->sums[i], c->kernels, types[i]);
    return good;
}

/* Makes both elements of each pair zero of which one is a NaN: the other is no part of the sums. */
static void drop_pairs(struct cpu_compare *c, size_t n)
{
    const enum element_type type = c->setup.terms.type, other = c->setup.terms.other;
    const size_t size = element_size(type), other_size = element_size(other);

    for (size_t i = 0; i < n; i++) {
        unsigned char *a = c->copy[0] + i * size, *b = c->copy[1] + i * other_size;

        if (element_is_nan(type, a) != element_is_nan(other, b)) {
            memset(a, 0, size);
            memset(b, 0, other_size);
        }
    }
}

/* Takes a pair of a cast whose element of side A, `from`, may have no number in the type: it differs,
   whatever is in its place. One that is out of range is left to be compared with the number next to
   it, and the pair of a NaN becomes zero. */
static void take_uncast(struct cpu_compare *c, const unsigned char *from, unsigned char *a,
                        unsigned char *b, uint64_t index)
{
    const enum element_type type = c->setup.terms.type, stored = c->setup.stored[0];
    const size_t size = element_size(type);
    uint64_t bits;

    if (cast_bits(&c->setup.cast, order_load(stored, from), &bits))
        return;
    if (element_is_nan(stored, from)) {
        difference_take_nan(&c->difference, &c->setup.terms, false, index);
        memset(a, 0, size);
        memset(b, 0, size);
        return;
    }
    if (order_load(type, b) == bits) {
        c->difference.unrounded++;
        c->difference.other_rounding +=
            cast_is_rounded(&c->setup.cast, order_load(stored, from), bits, bits);
    } else if (!difference_tolerated(&c->setup.terms, bits, order_load(type, b))) {
        return; /* it is counted with the pairs in range */
    }
    count_different(c, index);
}

/* Counts the casts among n elements that were not rounded to nearest. */
static void count_roundings(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                            size_t n)
{
    const enum element_type type = c->setup.terms.type, stored = c->setup.stored[0];
    const size_t size = element_size(type), stored_size = element_size(stored);

    for (size_t i = 0; i < n; i++) {
        const uint64_t p = order_load(type, a + i * size), q = order_load(type, b + i * size);
        const double x = element_value(type, p), y = element_value(type, q);

        if (p == q ||
            (element_is_integer(type) ? order_key(type, p) == order_key(type, q) : x == y))
            continue;
        c->difference.unrounded += !isnan(x) && !isnan(y);
        c->difference.other_rounding +=
            cast_is_rounded(&c->setup.cast, order_load(stored, c->stored + i * stored_size), p, q);
    }
}

/* Counts what is missing among n elements of a piece, which are copied, in this machine's byte order,
   and makes both elements of each such pair zero, which leaves them out of all else. */
static void drop_missing(struct cpu_compare *c, size_t n, uint64_t index)
{
    const enum element_type type = c->setup.terms.type, other = c->setup.terms.other;
    const enum element_type stored = c->setup.terms.cast ? c->setup.stored[0] : type;
    const size_t size = element_size(type), other_size = element_size(other);
    const unsigned char *from = c->setup.terms.cast ? c->stored : c->copy[0];

    for (size_t i = 0; i < n; i++) {
        unsigned char *a = c->copy[0] + i * size, *b = c->copy[1] + i * other_size;
        const bool of_a =
            missing_has(c->setup.missing[0],
                        order_key(stored, order_load(stored, from + i * element_size(stored))));
        const bool of_b = missing_has(c->setup.missing[1], order_key(other, order_load(other, b)));

        if (!of_a && !of_b) {
            if (!c->all_cast)
                take_uncast(c, from + i * element_size(stored), a, b, index + i);
            continue;
        }
        difference_take_missing(&c->difference, of_a && of_b, index + i);
        memset(a, 0, size);
        memset(b, 0, other_size);
    }
}

/* Copies n elements of a piece, to be changed. */
static void copy_piece(struct cpu_compare *c, const unsigned char **a, const unsigned char **b,
                       size_t n)
{
    memmove(c->copy[0], *a, n * element_size(c->setup.terms.type));
    memmove(c->copy[1], *b, n * element_size(c->setup.terms.other));
    *a = c->copy[0];
    *b = c->copy[1];
}

/* Compares n elements of a piece that differs, in this machine's byte order. */
static void take_different(struct cpu_compare *c, const unsigned char *a, const unsigned char *b,
                           size_t n, uint64_t index)
{
    const enum element_type type = c->setup.terms.type, other = c->setup.terms.other;
    const size_t size = element_size(type), other_size = element_size(other);
    const uint64_t nans = c->difference.nan_one;
    const bool scaled = difference_is_scaled(&c->setup.terms), cast = c->setup.terms.cast;

    /* Before what is missing becomes zero, which may stand for another number. */
    if (scaled && !cast)
        scan_scaled(c, a, b, n, index);
    if (!c->all_cast ||
        missing_some(c->setup.missing[0], cast ? c->setup.stored[0] : type, cast ? c->stored : a,
                     n) ||
        missing_some(c->setup.missing[1], other, b, n)) {
        copy_piece(c, &a, &b, n);
        drop_missing(c, n, index);
    }
    if (!scaled)
        scan(c, a, b, n, index);
    else if (cast)
        scan_scaled(c, a, b, n, index);
    if (c->setup.verdict_only)
        return;
    if (cast)
        count_roundings(c, a, b, n);
    if (c->difference.nan_one > nans) {
        copy_piece(c, &a, &b, n);
        drop_pairs(c, n);
    }
    c->sums[0].kernel(&c->sums[0], a, n, index);
    c->sums[1].kernel(&c->sums[1], b, n, index);
    for (size_t i = 0; i < n; i += PRODUCTS)
        add_products(c, a + i * size, b + i * other_size, n - i < PRODUCTS ? n - i : PRODUCTS);
}

/*
 * Pieces.
 */

/* Bytes of each side that are compared at a time, and how far ahead of them others are asked for:
   into the level-1 cache as many of both sides together as kernels ask for that read two streams,
   and before that into the level-2 cache. doc/tuning.md has rates. */
#define BLOCK_BYTES ((size_t)512)
#define AHEAD_BYTES ((size_t)6 << 10)
#define FAR_AHEAD_BYTES ((size_t)10 << 10)

/* Asks for the lines that are needed `size` bytes soon, and for those after. It does no harm beyond
   the end. */
static ALWAYS_INLINE void ask_ahead(const unsigned char *p, size_t size)
{
    for (size_t i = 0; i < size; i += CACHE_LINE) {
        __builtin_prefetch((const void *)((uintptr_t)p + i + AHEAD_BYTES), 0, 3);
        __builtin_prefetch((const void *)((uintptr_t)p + i + FAR_AHEAD_BYTES), 0, 2);
    }
}

bool cpu_compare_same(const void *a, const void *b, size_t size, bool ahead)
{
    const unsigned char *p = a, *q = b;

    for (; ahead && size >= BLOCK_BYTES; size -= BLOCK_BYTES) {
        ask_ahead(p, BLOCK_BYTES);
        ask_ahead(q, BLOCK_BYTES);
        if (memcmp(p, q, BLOCK_BYTES) != 0)
            return false;
        p += BLOCK_BYTES;
        q += BLOCK_BYTES;
    }
    return memcmp(p, q, size) == 0;
}

/* Whether n elements, a multiple of CPU_SAME, of both sides are the same, without a copy of them. */
static bool same_widened(const struct cpu_compare *c, const unsigned char *a,
                         const unsigned char *b, size_t n)
{
    const unsigned char *narrow = c->narrow == 0 ? a : b, *wide = c->narrow == 0 ? b : a;

    for (size_t i = 0; i < n; i += CPU_SAME) {
        const unsigned char *p = narrow + i * sizeof(uint16_t), *q = wide + i * sizeof(float);

        if (c->ahead) {
            ask_ahead(p, CPU_SAME * sizeof(uint16_t));
            ask_ahead(q, CPU_SAME * sizeof(float));
        }
        if (!c->same_widened(p, q))
            return false;
    }
    return true;
}

/* Whether to ask early on this processor. Intel's own prefetching ends with each page of 4 KiB, so
   that memcmp would wait at the beginning of the next one. On others it costs more than it brings.
 */
static bool gains_ahead(void)
{
#if defined __x86_64__
    return processor_is_intel();
#else
    return false;
#endif
}

/* Opens the reducers of elements. They must be closed. */
static bool open_sums(struct cpu_compare *c, unsigned wants)
{
    c->wants = wants;
    for (int i = 0; i <= EQUAL; i++) {
        cpu_reducer_close(&c->sums[i]);
        if (!cpu_reducer_open(&c->sums[i], c->kernels, ELEMENT_F32, wants))
            return false;
    }
    return true;
}

struct cpu_compare *cpu_compare_open(const char *kernels)
{
    struct cpu_compare *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->kernels = cpu_kernels_choose(kernels);
    c->ahead = gains_ahead();
    c->copy[0] = aligned_alloc(64, PIECE_BYTES);
    c->copy[1] = aligned_alloc(64, PIECE_BYTES);
    c->swapped = aligned_alloc(64, PIECE_BYTES);
    if (!c->copy[0] || !c->copy[1] || !c->swapped || !open_sums(c, PARTIAL_SQUARES) ||
        !cpu_reducer_open(&c->product, c->kernels, ELEMENT_F64, PARTIAL_SUM)) {
        cpu_compare_close(c);
        return NULL;
    }
    return c;
}

void cpu_compare_close(struct cpu_compare *c)
{
    free(c->copy[0]);
    free(c->copy[1]);
    free(c->swapped);
    for (int i = 0; i <= EQUAL; i++)
        cpu_reducer_close(&c->sums[i]);
    cpu_reducer_close(&c->product);
    free(c);
}

void cpu_compare_set_types(struct cpu_compare_setup *setup, enum element_type a,
                           enum element_type b, bool cast)
{
    setup->stored[0] = setup->terms.type = a;
    setup->stored[1] = setup->terms.other = b;
    setup->terms.cast = cast;
    setup->cast = (struct cast){.to = b, .from = a};
    if (cast) {
        memcpy(setup->cast.scales, setup->terms.scales, sizeof setup->cast.scales);
        setup->cast.rescales = !scale_same(&setup->terms.scales[0], &setup->terms.scales[1]);
        setup->terms.type = b;
        setup->terms.scales[0] = setup->terms.scales[1];
    } else if (difference_common_type(a, b, &setup->terms.type))
        setup->terms.other = setup->terms.type;
}

/* The key of the number that one of another type is converted to. */
static uint64_t convert_key(const struct cpu_compare *c, enum element_type to,
                            enum element_type from, uint64_t key)
{
    unsigned char element[8], converted[8];

    element_store(element_size(from), element, order_bits(from, key));
    cpu_convert(c->kernels, converted, to, element, from, 1);
    return order_key(to, order_load(to, converted));
}

/* Sets the missing values of a side that is converted. Numbers keep their order. False where there is
   no room for them. */
static bool convert_missing(struct cpu_compare *c, int side, enum element_type to,
                            const struct missing *missing)
{
    const enum element_type from = c->setup.stored[side];
    struct missing *converted = &c->converted[side];

    *converted = (struct missing){.count = 0};
    if (missing_has_nans(missing, from) && !missing_add(converted, to, "nan"))
        return false;
    for (unsigned i = 0; i < missing->count; i++) {
        const struct missing_range range = missing_numbers(&missing->ranges[i], from);

        if (range.first <= range.last &&
            !missing_add_range(converted, convert_key(c, to, from, range.first),
                               convert_key(c, to, from, range.last)))
            return false;
    }
    return true;
}

/* Chooses the kernel for a side of f32 and another of floats of 16 bits. */
static void find_same_widened(struct cpu_compare *c)
{
    const struct cpu_compare_setup *setup = &c->setup;
    enum element_type narrow;

    c->narrow = setup->stored[0] == ELEMENT_F32;
    narrow = setup->stored[c->narrow];
    c->same_widened = setup->stored[1 - c->narrow] == ELEMENT_F32 && element_is_float(narrow) &&
                              !setup->terms.cast && !setup->swap[0] && !setup->swap[1]
                          ? c->kernels->same_widened[narrow]
                          : NULL;
}

/* Whether the elements of a side are cast, if only to another scale. */
static bool is_cast(const struct cpu_compare_setup *setup, int side)
{
    return side == 0 && (setup->stored[0] != setup->terms.type || setup->cast.rescales) &&
           setup->terms.cast;
}

bool cpu_compare_begin(struct cpu_compare *c, const struct cpu_compare_setup *setup)
{
    static const struct missing none = {.count = 0};
    const enum element_type types[2] = {setup->terms.type, setup->terms.other};
    const struct missing **missing;
    unsigned wants;

    c->setup = *setup;
    c->converts = false;
    c->all_cast = true;
    for (int side = 0; side < 2; side++) {
        missing = &c->setup.missing[side];
        *missing = *missing ? *missing : &none;
        if (types[side] == setup->stored[side] && !is_cast(setup, side))
            continue;
        c->converts = true;
        if (setup->terms.cast) /* missing elements are looked for before they are cast */
            continue;
        if (!convert_missing(c, side, types[side], *missing))
            return false;
        *missing = &c->converted[side];
    }
    c->bytes_tell = missing_same(c->setup.missing[0], c->setup.missing[1]) &&
                    difference_has_ulps(&setup->terms) &&
                    (!setup->terms.cast || c->setup.missing[0]->count == 0);
    find_same_widened(c);
    c->bounds.any = false;
    difference_clear(&c->difference);
    wants = PARTIAL_SQUARES | (difference_is_scaled(&setup->terms) ? PARTIAL_SUM : 0);
    return (wants == c->wants || open_sums(c, wants)) && begin_sums(c);
}

/* Converts n elements of a side into its copy, in this machine's byte order, and in the type that it
   is compared in. Returns them: those at `from`, where there is nothing to do. */
static const unsigned char *bring(struct cpu_compare *c, int side, const unsigned char *from,
                                  size_t n)
{
    const enum element_type stored = c->setup.stored[side];
    const enum element_type type = side == 0 ? c->setup.terms.type : c->setup.terms.other;
    const bool cast = is_cast(&c->setup, side), converts = stored != type || cast;
    unsigned char *copy = c->copy[side];

    if (c->setup.swap[side]) {
        unsigned char *to = converts ? c->swapped : copy;

        element_swap(to, from, n, element_size(stored));
        from = to;
    }
    c->stored = side == 0 ? from : c->stored;
    if (cast)
        c->all_cast = cpu_cast(c->kernels, copy, from, &c->setup.cast, n);
    else if (converts)
        cpu_convert(c->kernels, copy, type, from, stored, n);
    return converts ? copy : from;
}

/* Elements that are compared at a time. */
static size_t piece_elements(const struct cpu_compare *c)
{
    const size_t size = element_size(c->setup.terms.type);
    const size_t other = element_size(c->setup.terms.other);

    return (c->converts ? CONVERTED_BYTES : PIECE_BYTES) / (size > other ? size : other);
}

size_t cpu_compare_take(struct cpu_compare *c, const void *a, const void *b, size_t count,
                        uint64_t index, bool look)
{
    const size_t size = element_size(c->setup.stored[0]), most = piece_elements(c);
    const size_t other_size = element_size(c->setup.stored[1]);
    const bool same_order = c->setup.swap[0] == c->setup.swap[1] && !c->converts;
    const size_t widened = c->same_widened ? CPU_SAME : SIZE_MAX;
    size_t passed = 0;

    for (size_t i = 0; i < count; i += most) {
        const size_t n = count - i < most ? count - i : most;
        const unsigned char *p = (const unsigned char *)a + i * size;
        const unsigned char *q = (const unsigned char *)b + i * other_size;
        const bool widens = n % widened == 0, brought = !same_order && !widens;

        if (brought) {
            p = bring(c, 0, p, n);
            q = bring(c, 1, q, n);
        }
        if (c->bytes_tell && c->all_cast &&
            (widens ? same_widened(c, p, q, n)
                    : cpu_compare_same(p, q, n * element_size(c->setup.terms.type), c->ahead))) {
            if (look)
                cpu_compare_look(c, (const unsigned char *)a + i * size, n, index + i);
            else
                passed += n;
            continue;
        }
        look = !c->setup.verdict_only;
        if (!brought) {
            p = bring(c, 0, p, n);
            q = bring(c, 1, q, n);
        }
        take_different(c, p, q, n, index + i);
    }
    return passed;
}

void cpu_compare_look(struct cpu_compare *c, const void *a, size_t count, uint64_t index)
{
    const size_t size = element_size(c->setup.terms.type), most = piece_elements(c);

    for (size_t i = 0; i < count; i += most) {
        const size_t n = count - i < most ? count - i : most;
        const unsigned char *p =
            bring(c, 0, (const unsigned char *)a + i * element_size(c->setup.stored[0]), n);

        if (missing_some(c->setup.missing[0], c->setup.terms.type, p, n)) {
            memmove(c->copy[0], p, n * size);
            memcpy(c->copy[1], c->copy[0], n * size);
            drop_missing(c, n, index + i);
            p = c->copy[0];
        }
        c->sums[EQUAL].kernel(&c->sums[EQUAL], p, n, index + i);
    }
}

bool cpu_compare_differs(const struct cpu_compare *c)
{
    return c->difference.different > 0;
}

void cpu_compare_finish(const struct cpu_compare *c, struct difference *difference)
{
    const struct partial *equal = &c->sums[EQUAL].partial, *a = &c->sums[0].partial;

    *difference = c->difference;
    for (int i = 0; i <= EQUAL; i++) {
        const struct partial *p = &c->sums[i].partial;

        difference->infinite = difference->infinite || partial_infinities(p) > 0;
        if (p->first_nan < difference->first_nan)
            difference->first_nan = p->first_nan;
    }
    /* Pairs with one NaN have been dropped from both sides. */
    difference->nan_both = equal->nan + a->nan;
    difference->infinities = partial_infinities(equal) + partial_infinities(a);
    for (int side = 0; side < 2; side++) {
        difference->sums[side] = c->sums[side].partial.sum;
        difference->squares[side] = c->sums[side].partial.squares;
        exact_merge(&difference->sums[side], &equal->sum);
        exact_wide_merge(&difference->squares[side], &equal->squares);
    }
    difference->products = c->products;
    exact_wide_merge(&difference->products, &equal->squares);
    if (c->setup.terms.type == c->setup.terms.other && has_products(c->setup.terms.type))
        exact_wide_add_exact(&difference->products, &c->product.partial.sum);
}
