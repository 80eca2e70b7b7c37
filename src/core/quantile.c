#include "config.h"

#include "core/quantile.h"

#include <math.h>
#include <string.h>

#include "core/order.h"
#include "core/term.h"

/* p / divisor, bit by bit, where the quotient has 64 bits: p.high < divisor < 2^63. */
static uint64_t divide(struct product p, uint64_t divisor, uint64_t *remainder)
{
    uint64_t rest = p.high, quotient = 0;

    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | (p.low >> bit & 1);
        quotient <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
    }
    *remainder = rest;
    return quotient;
}

/* Reads a plain decimal up to `most`, with a point or without, as numerator / denominator. */
static bool parse_decimal(const char *text, size_t length, uint64_t most, unsigned decimals_max,
                          struct quantile *x)
{
    bool point = false;
    unsigned decimals = 0;
    size_t digits = 0;

    *x = (struct quantile){0, 1};
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || decimals == decimals_max)
            return false;
        x->numerator = 10 * x->numerator + (uint64_t)(text[i] - '0');
        if (point) {
            decimals++;
            x->denominator *= 10;
        }
        if (x->numerator > most * x->denominator)
            return false;
        digits++;
    }
    return digits > 0;
}

bool quantile_parse(const char *name, size_t length, struct quantile *q)
{
    static const char median[] = "median";

    if (length == sizeof median - 1 && memcmp(name, median, length) == 0) {
        *q = (struct quantile){5, 10};
        return true;
    }
    if (length < 2 || (name[0] != 'q' && name[0] != 'p'))
        return false;
    if (name[0] == 'q')
        return parse_decimal(name + 1, length - 1, 1, QUANTILE_DECIMALS_MAX, q);
    if (!parse_decimal(name + 1, length - 1, 100, QUANTILE_DECIMALS_MAX - 2, q))
        return false;
    q->denominator *= 100;
    return true;
}

struct quantile_place quantile_place(const struct quantile *q, uint64_t n)
{
    struct quantile_place place;

    if (q->numerator == q->denominator)
        return (struct quantile_place){n - 1, 0};
    place.rank = divide(product_of(q->numerator, n - 1), q->denominator, &place.fraction);
    return place;
}

struct quantile quantile_reversed(const struct quantile *q)
{
    return (struct quantile){q->denominator - q->numerator, q->denominator};
}

double quantile_between(enum element_type type, const struct scale *scale, uint64_t low,
                        uint64_t high, uint64_t fraction, uint64_t denominator)
{
    double a = order_value(type, low), b = fraction == 0 ? a : order_value(type, high);
    struct exact_wide scaled;
    struct exact sum;

    if (fraction == 0)
        high = low;
    if (low == high && !scale->given)
        return a;
    if (isinf(a) || isinf(b))
        return scale_infinity(scale, a + b); /* a NaN for -inf and inf */
    exact_clear(&sum);
    term_add(&sum, term_of_order(type, low), denominator - fraction, false);
    term_add(&sum, term_of_order(type, high), fraction, false);
    if (!scale->given)
        return exact_divide(&sum, denominator);
    exact_wide_clear(&scaled);
    scale_add(&scaled, scale, &sum, denominator, false);
    return exact_wide_divide(&scaled, denominator);
}
