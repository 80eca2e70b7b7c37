#include "config.h"

#include "core/cast.h"

#include <math.h>

#include "core/difference.h"
#include "core/digits.h"
#include "core/exact.h"
#include "core/number.h"
#include "core/order.h"
#include "core/term.h"

/* magnitude 2^-shift, rounded to an integer. */
static uint64_t shift_nearest(uint64_t magnitude, int shift)
{
    uint64_t whole, rest, half;

    if (shift <= 0)
        return magnitude << -shift;
    if (shift > 64)
        return 0;
    whole = shift == 64 ? 0 : magnitude >> shift;
    rest = shift == 64 ? magnitude : magnitude & ((UINT64_C(1) << shift) - 1);
    half = UINT64_C(1) << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* The bits of the greatest number of a float type, which follow those of all others. */
static uint64_t greatest_bits(enum element_type type)
{
    const uint64_t greatest = order_bits(type, order_greatest(type));

    return element_formats[type].kind == ELEMENT_FINITE ? greatest : greatest - 1;
}

/* The bits of a float next to a finite number. */
static uint64_t cast_to_float(enum element_type to, struct term x)
{
    const struct element_format *f = &element_formats[to];
    const uint64_t sign = x.negative ? order_sign(to) : 0;
    uint64_t bits;
    int exponent;

    if (x.magnitude == 0)
        return sign;
    exponent = 63 - __builtin_clzll(x.magnitude) + x.exponent;
    exponent = exponent < f->exponent_min ? f->exponent_min : exponent;
    if (exponent > f->exponent_max)
        return sign | (greatest_bits(to) + 1);
    bits = shift_nearest(x.magnitude, exponent - (f->significant_bits - 1) - x.exponent);
    /* The hidden bit, if there is one, and one more if rounding carries, count the exponent on. */
    bits += (uint64_t)(exponent - f->exponent_min) << (f->significant_bits - 1);
    return sign | (bits > greatest_bits(to) ? greatest_bits(to) + 1 : bits);
}

/* The bits of the integer next to a finite number. False if it is beyond the range. */
static bool cast_to_integer(enum element_type to, struct term x, uint64_t *cast)
{
    const struct element_format *f = &element_formats[to];
    const uint64_t mask = UINT64_MAX >> (64 - 8 * f->size);
    const uint64_t most = f->kind == ELEMENT_SIGNED ? (mask >> 1) + x.negative
                          : x.negative              ? 0
                                                    : mask;
    uint64_t magnitude = most;
    bool fits = x.exponent <= 0 || x.magnitude == 0;

    if (fits) {
        magnitude = shift_nearest(x.magnitude, x.magnitude == 0 ? 0 : -x.exponent);
        fits = magnitude <= most;
    } else if (x.exponent < 64 && x.magnitude <= UINT64_MAX >> x.exponent) {
        magnitude = x.magnitude << x.exponent;
        fits = magnitude <= most;
    }
    magnitude = fits ? magnitude : most;
    *cast = (x.negative ? -magnitude : magnitude) & mask;
    return fits;
}

/* Casts an element to a type of the same scale. */
static bool cast_stored(enum element_type to, enum element_type from, uint64_t bits, uint64_t *cast)
{
    const uint64_t key = order_key(from, bits);
    const double x = order_value(from, key);
    const bool integer = element_is_integer(to);

    if (element_formats[to].kind == ELEMENT_TRUTH) {
        *cast = x != 0;
    } else if (isnan(x)) {
        *cast = integer ? 0 : order_sign(to) - 1; /* a NaN of every type */
        return !integer;
    } else if (isinf(x) && !integer) {
        *cast = (greatest_bits(to) + 1) | (x < 0 ? order_sign(to) : 0);
    } else if (isinf(x)) { /* more than all integers */
        return cast_to_integer(to, (struct term){1, 64, x < 0}, cast);
    } else if (integer) {
        return cast_to_integer(to, term_of_order(from, key), cast);
    } else {
        *cast = cast_to_float(to, term_of_order(from, key));
    }
    return true;
}

/* Compares two numbers of two types. */
static int compare(enum element_type a_type, uint64_t a, enum element_type b_type, uint64_t b)
{
    return number_compare_keys(a_type, order_to_element_key(a_type, order_key(a_type, a)), b_type,
                               order_to_element_key(b_type, order_key(b_type, b)));
}

/* cast_is_rounded of two types of one scale. */
static bool is_rounded(enum element_type to, enum element_type from, uint64_t bits,
                       uint64_t nearest, uint64_t other)
{
    const double x = order_value(from, order_key(from, bits));
    const double near = order_value(to, order_key(to, nearest));
    const double far = order_value(to, order_key(to, other));
    int order;

    if (isnan(x) || isnan(far) || isinf(x) || x == 0 || element_formats[to].kind == ELEMENT_TRUTH)
        return false;
    if (isnan(near)) /* beyond the greatest of a type without infinities */
        return other == (greatest_bits(to) | (x < 0 ? order_sign(to) : 0));
    order = compare(from, bits, to, nearest);
    /* An integer beyond the range is the greatest that there is by any rounding but to infinity. */
    if (element_is_integer(to) && other == nearest)
        return order != 0;
    return order != 0 && compare(from, bits, to, other) == -order &&
           difference_ulps(to, nearest, other) == 1;
}

/*
 * Scales.
 */

/* Digits below those of a sum of scaled numbers, the quotient of which by a number of 64 bits then
   has at least 96 bits. */
#define BELOW 5
#define DIGITS (BELOW + EXACT_WIDE_DIGITS)

/* The stored number that a finite element is cast to before it is rounded to its type, as the nearest
   binary64. *side: that is below (1), equal to (0) or above (-1) the exact one. */
static double find_quotient(const struct cast *how, uint64_t key, int *side)
{
    const struct scale *to = &how->scales[1];
    const struct term divisor = term_of(to->given ? to->factor : 1);
    uint32_t digit[DIGITS] = {0};
    struct exact_wide sum;
    struct exact stored;
    struct term t;
    double nearest;
    bool negative, sticky;

    exact_clear(&stored);
    term_add(&stored, term_of_order(how->from, key), 1, false);
    exact_wide_clear(&sum);
    scale_add(&sum, &how->scales[0], &stored, 1, false);
    exact_wide_add(&sum, -to->offset);
    negative = exact_wide_magnitude(&sum, digit + BELOW) != divisor.negative;
    sticky = digits_divide(digit, DIGITS, divisor.magnitude) != 0;
    nearest = digits_round(digit, DIGITS, EXACT_WIDE_LSB_EXPONENT - 32 * BELOW - divisor.exponent,
                           sticky, negative);
    if (isinf(nearest)) {
        *side = negative ? 1 : -1;
        return nearest;
    }
    t = term_of(nearest);
    exact_wide_add_product(&sum, t.magnitude, divisor.magnitude,
                           (unsigned)(t.exponent + divisor.exponent - EXACT_WIDE_LSB_EXPONENT),
                           t.negative == divisor.negative);
    negative = exact_wide_magnitude(&sum, digit) != divisor.negative;
    *side = digits_length(digit, EXACT_WIDE_DIGITS) == 0 ? 0 : negative ? -1 : 1;
    return nearest;
}

/* The bits of a binary64 that types of up to 32 bits round as the number of which this is the
   nearest: that one of the two next to it whose last bit is set, unless it is one of them. */
static uint64_t odd_bits(double nearest, int side)
{
    const uint64_t bits = exact_bits(nearest);

    if (side == 0 || bits & 1)
        return bits;
    if (nearest == 0)
        return 1 | (side < 0 ? order_sign(ELEMENT_F64) : 0);
    return (nearest > 0) == (side > 0) ? bits + 1 : bits - 1;
}

/* Casts an element, if arithmetic in binary64 tells to which one. It is not when the number lies
   close to the middle between two. */
static bool cast_fast(const struct cast *how, uint64_t key, uint64_t *cast)
{
    const struct scale *from = &how->scales[0], *to = &how->scales[1];
    const double x = order_value(how->from, key), factor = from->given ? from->factor : 1;
    double losses[3], sum, loss, slack, quotient, size;
    uint64_t high;

    if (element_is_integer(how->from) && element_size(how->from) == 8)
        return false;
    sum = exact_two_product(x, factor, &losses[0]);
    if (!(fabs(x) < 0x1p900 && fabs(factor) < 0x1p900 && fabs(sum) < 0x1p900 &&
          fabs(from->offset) < 0x1p900 && fabs(to->offset) < 0x1p900 &&
          (fabs(sum) > 0x1p-900 || x == 0)))
        return false;
    sum = exact_two_sum(sum, from->offset, &losses[1]);
    sum = exact_two_sum(sum, -to->offset, &losses[2]);
    loss = losses[0] + losses[1] + losses[2];
    slack = 0x1p-50 * (fabs(losses[0]) + fabs(losses[1]) + fabs(losses[2]));
    if (how->to == ELEMENT_F64) {
        *cast = exact_bits(sum + (loss - slack));
        high = exact_bits(sum + (loss + slack));
        return !to->given && *cast == high;
    }
    quotient = (sum + loss) / (to->given ? to->factor : 1);
    size = fabs(quotient) * 0x1p-48;
    if (!(fabs(quotient) < 0x1p900 && fabs(quotient) > 0x1p-900 && slack <= fabs(sum) * 0x1p-52))
        return false;
    return cast_stored(how->to, ELEMENT_F64, exact_bits(quotient - size), cast) &&
           cast_stored(how->to, ELEMENT_F64, exact_bits(quotient + size), &high) && *cast == high;
}

/* The stored number of an element that is not finite, of the other scale. */
static uint64_t infinity_bits(const struct cast *how, double x)
{
    return exact_bits(scale_infinity(&how->scales[1], scale_infinity(&how->scales[0], x)));
}

bool cast_bits(const struct cast *how, uint64_t bits, uint64_t *cast)
{
    const uint64_t key = order_key(how->from, bits);
    const double x = order_value(how->from, key);
    double nearest;
    int side;

    if (!how->rescales)
        return cast_stored(how->to, how->from, bits, cast);
    if (!isfinite(x))
        return cast_stored(how->to, ELEMENT_F64, infinity_bits(how, x), cast);
    if (cast_fast(how, key, cast))
        return true;
    nearest = find_quotient(how, key, &side);
    if (how->to != ELEMENT_F64)
        return cast_stored(how->to, ELEMENT_F64, odd_bits(nearest, side), cast);
    *cast = exact_bits(nearest);
    return true;
}

bool cast_is_rounded(const struct cast *how, uint64_t bits, uint64_t nearest, uint64_t other)
{
    const uint64_t key = order_key(how->from, bits);
    const double x = order_value(how->from, key);
    double rounded;
    int side;

    if (!how->rescales)
        return is_rounded(how->to, how->from, bits, nearest, other);
    if (!isfinite(x))
        return is_rounded(how->to, ELEMENT_F64, infinity_bits(how, x), nearest, other);
    if (!isnan(order_value(how->to, order_key(how->to, nearest))) &&
        difference_ulps(how->to, nearest, other) > 1)
        return false;
    rounded = find_quotient(how, key, &side);
    if (how->to != ELEMENT_F64)
        return is_rounded(how->to, ELEMENT_F64, odd_bits(rounded, side), nearest, other);
    return side != 0 && !isnan(exact_from_bits(other)) &&
           difference_ulps(ELEMENT_F64, nearest, other) == 1 &&
           (exact_from_bits(other) > rounded) == (side > 0);
}
