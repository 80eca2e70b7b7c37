#include "config.h"

#include "core/cast.h"

#include <math.h>

#include "core/difference.h"
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

bool cast_bits(enum element_type to, enum element_type from, uint64_t bits, uint64_t *cast)
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
    return element_key_compare(a_type, order_to_element_key(a_type, order_key(a_type, a)), b_type,
                               order_to_element_key(b_type, order_key(b_type, b)));
}

bool cast_is_rounded(enum element_type to, enum element_type from, uint64_t bits, uint64_t nearest,
                     uint64_t other)
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
