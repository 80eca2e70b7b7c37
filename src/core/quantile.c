#include "config.h"

#include "core/quantile.h"

#include <math.h>
#include <string.h>

#include "core/exact.h"
#include "core/order.h"
#include "core/slice_sums.h"
#include "core/term.h"

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

struct quantile quantile_stored(const struct quantile *q, const struct scale *scale)
{
    if (scale->factor >= 0)
        return *q;
    return (struct quantile){q->denominator - q->numerator, q->denominator};
}

double quantile_between(enum element_type type, const struct scale *scale, uint64_t low,
                        uint64_t high, uint64_t fraction, uint64_t denominator)
{
    double a = order_value(type, low), b = fraction == 0 ? a : order_value(type, high);
    struct exact_wide scaled;
    struct exact sum;
    double found;

    if (fraction == 0)
        high = low;
    if (low == high && !scale->given)
        return a;
    if (isinf(a) && isinf(b) && a != b)
        return exact_from_bits(EXACT_NAN);
    if (isinf(a) || isinf(b))
        return scale_infinity(scale, a + b);
    /* Large integers were rounded. */
    if (!scale->given && denominator < UINT64_C(1) << 53 &&
        (!element_is_integer(type) || (fabs(a) < 0x1p53 && fabs(b) < 0x1p53)) &&
        slice_between_soon(a, b, fraction, denominator, &found))
        return found;
    exact_clear(&sum);
    term_add(&sum, term_of_order(type, low), denominator - fraction, false);
    term_add(&sum, term_of_order(type, high), fraction, false);
    if (!scale->given)
        return exact_divide(&sum, denominator);
    exact_wide_clear(&scaled);
    scale_add(&scaled, scale, &sum, denominator, false);
    return exact_wide_divide(&scaled, denominator);
}

bool quantile_select(enum element_type type, const struct scale *scale, const struct quantile *q,
                     unsigned count, const struct quantile_keys *k, double *to)
{
    struct order_statistic wanted[ORDER_STATISTICS_MAX] = {{0}};
    struct quantile_place places[ORDER_STATISTICS_MAX / 2];
    uint64_t found[ORDER_STATISTICS_MAX];

    for (unsigned i = 0; i < 2 * count; i++) {
        struct quantile_place *const place = &places[i / 2];

        *place = quantile_place(&q[i / 2], k->all);
        wanted[i].owner = i;
        wanted[i].rank = place->rank + (i % 2 > 0 && place->fraction > 0) - k->before;
        if (wanted[i].rank >= k->kept) /* or less than those before */
            return false;
    }
    order_select(k->keys, k->scratch, k->kept, wanted, 2 * count);
    for (unsigned i = 0; i < 2 * count; i++)
        found[wanted[i].owner] = wanted[i].key;
    for (unsigned i = 0; i < count; i++)
        to[i] = quantile_between(type, scale, found[2 * (size_t)i], found[2 * (size_t)i + 1],
                                 places[i].fraction, q[i].denominator);
    return true;
}
