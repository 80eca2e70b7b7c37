#include "config.h"

#include "core/missing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"

bool missing_text_is_valid(const char *text)
{
    double x;

    return number_parse(text, ELEMENT_F64, &x);
}

/* The value of a digit, or -1. */
static int digit_of(char c, bool hexadecimal)
{
    return c >= '0' && c <= '9'                  ? c - '0'
           : hexadecimal && c >= 'a' && c <= 'f' ? c - 'a' + 10
           : hexadecimal && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
}

/* Reads a decimal, or the text after 0x of a hexadecimal number, with a point, an exponent or neither,
   if it is an integer below 2^64. Binary64, to which strtod would round it, has fewer bits. */
static bool parse_integer(const char *text, bool hexadecimal, struct integer *x)
{
    const unsigned base = hexadecimal ? 16 : 10, power = hexadecimal ? 2 : 10; /* of the exponent */
    const long step = hexadecimal ? 4 : 1; /* base is power^step */
    uint64_t value = 0;
    long zeros = 0, exponent = 0; /* zeros that follow the digits so far; the exponent */
    bool point = false;
    int digit;

    for (; (digit = digit_of(*text, hexadecimal)) >= 0 || (*text == '.' && !point); text++) {
        point = point || *text == '.';
        exponent -= point && *text != '.' ? step : 0;
        zeros += digit == 0;
        if (digit <= 0)
            continue;
        for (; zeros >= 0; zeros--) {
            if (value > UINT64_MAX / base)
                return false;
            value *= base;
        }
        zeros = 0;
        value += (uint64_t)digit;
        if (value < (uint64_t)digit)
            return false;
    }
    if (*text)
        exponent += strtol(text + 1, NULL, 10);
    for (exponent += zeros * step; value > 0 && exponent > 0; exponent--) {
        if (value > UINT64_MAX / power)
            return false;
        value *= power;
    }
    for (; exponent < 0 && value > 0 && value % power == 0; exponent++)
        value /= power;
    *x = (struct integer){.known = true, .low = value};
    return value == 0 || exponent == 0;
}

/* The bits of an integer of the type. False if it has no such number. */
static bool integer_bits(enum element_type type, const char *text, uint64_t *bits)
{
    const struct element_format *format = &element_formats[type];
    const uint64_t most = UINT64_MAX >> (64 - format->significant_bits);
    const bool negative = *text == '-', hexadecimal = strpbrk(text, "xX");
    struct integer x = {.known = false};
    double value;

    if (!number_parse(text, ELEMENT_F64, &value) || !isfinite(value) ||
        !parse_integer(text + negative + (hexadecimal ? 2 : 0), hexadecimal, &x))
        return false;
    x.negative = negative && x.low > 0;
    if (format->kind == ELEMENT_SIGNED ? x.low > most / 2 + x.negative : x.low > most || x.negative)
        return false;
    *bits = (x.negative ? -x.low : x.low) & UINT64_MAX >> (64 - 8 * format->size);
    return true;
}

bool missing_key(enum element_type type, const char *text, uint64_t *key)
{
    uint64_t bits;
    double x;

    if (element_is_integer(type)) {
        if (!integer_bits(type, text, &bits))
            return false;
        *key = order_key(type, bits);
        return true;
    }
    if (!number_parse(text, type, &x) || isnan(x) || (isinf(x) && !strstr(text, "inf")) ||
        (isinf(x) && element_formats[type].kind == ELEMENT_FINITE))
        return false;
    *key = order_first(type, x, false);
    return true;
}

bool missing_add_range(struct missing *m, uint64_t first, uint64_t last)
{
    struct missing_range *r = m->ranges;
    unsigned from = 0, to;

    /* Ranges from number `from` to before number `to` touch the new one, and become one with it. */
    while (from < m->count && r[from].last < first && first - r[from].last > 1)
        from++;
    for (to = from; to < m->count && (r[to].first <= last || r[to].first - last == 1); to++) {
        first = r[to].first < first ? r[to].first : first;
        last = r[to].last > last ? r[to].last : last;
    }
    if (from == to && m->count == MISSING_RANGES_MAX)
        return false;
    memmove(r + from + 1, r + to, (m->count - to) * sizeof *r);
    m->count = m->count - (to - from) + 1;
    r[from] = (struct missing_range){first, last};
    return true;
}

bool missing_same(const struct missing *a, const struct missing *b)
{
    return a->differ == b->differ && a->count == b->count &&
           memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges) == 0;
}

void missing_join(struct missing *m, const struct missing *other, bool one_type)
{
    if (!missing_same(m, other) || (!one_type && m->count > 0))
        *m = (struct missing){.differ = true};
}

/* Adds all NaNs of a float type. */
static bool add_nans(struct missing *m, enum element_type type)
{
    const uint64_t sign = order_sign(type);

    return missing_add_range(m, 0, order_least(type) - 1) &&
           missing_add_range(m, order_greatest(type) + 1, sign | (sign - 1));
}

struct missing_range missing_numbers(const struct missing_range *range, enum element_type type)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type);

    return (struct missing_range){range->first < least ? least : range->first,
                                  range->last > greatest ? greatest : range->last};
}

struct missing_range missing_equal(enum element_type type, uint64_t key)
{
    const uint64_t zero = order_sign(type); /* of floats: the key of +0, after that of -0 */

    if (!element_is_integer(type) && (key == zero || key + 1 == zero))
        return (struct missing_range){zero - 1, zero};
    return (struct missing_range){key, key};
}

bool missing_add_bits(struct missing *m, enum element_type type, uint64_t bits)
{
    const uint64_t key = order_key(type, bits);
    const struct missing_range equal = missing_equal(type, key);

    if (m->count == 0)
        m->value = bits;
    return key < order_least(type) || key > order_greatest(type)
               ? add_nans(m, type)
               : missing_add_range(m, equal.first, equal.last);
}

bool missing_add(struct missing *m, enum element_type type, const char *text)
{
    uint64_t key;

    if (!element_is_integer(type) && strcmp(text, "nan") == 0)
        return missing_add_bits(m, type, order_bits(type, order_greatest(type) + 1));
    return missing_key(type, text, &key) && missing_add_bits(m, type, order_bits(type, key));
}

const char *missing_add_values(struct missing *m, enum element_type type,
                               const struct missing_values *values)
{
    const char *lacking = NULL;

    for (unsigned i = 0; i < values->count; i++)
        if (!missing_add(m, type, values->texts[i]) && !lacking)
            lacking = values->texts[i];
    return lacking;
}

uint64_t missing_bits(const struct missing *m, enum element_type type)
{
    if (missing_has(m, order_key(type, m->value)))
        return m->value;
    return order_bits(type, m->ranges[0].first);
}

bool missing_some(const struct missing *m, enum element_type type, const void *from, size_t count)
{
    const size_t size = element_size(type);
    const unsigned char *x = from;

    for (size_t i = 0; m->count > 0 && i < count; i++, x += size)
        if (missing_has(m, order_key(type, order_load(type, x))))
            return true;
    return false;
}
