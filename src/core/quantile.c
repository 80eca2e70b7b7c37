#include "config.h"

#include "core/quantile.h"

#include <math.h>
#include <string.h>

#include "core/exact.h"
#include "core/order.h"
#include "core/term.h"

/* p / divisor, where the quotient has 64 bits: p.high < divisor < 2^63. */
static uint64_t divide(struct product p, uint64_t divisor, uint64_t *remainder)
{
    uint64_t rest = p.high, quotient = 0;

    if (rest == 0) {
        *remainder = p.low % divisor;
        return p.low / divisor;
    }
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

struct quantile quantile_stored(const struct quantile *q, const struct scale *scale)
{
    if (scale->factor >= 0)
        return *q;
    return (struct quantile){q->denominator - q->numerator, q->denominator};
}

/* Whether a number is far from the largest and the smallest. */
static bool is_moderate(double x)
{
    return (fabs(x) > 0x1p-900 && fabs(x) < 0x1p900) || x == 0;
}

/* Finds (a (divisor - fraction) + b fraction) / divisor, rounded once, of finite values. False where that
   is not certain. */
static bool divide_weighted(double a, double b, uint64_t fraction, uint64_t divisor, double *found)
{
    const double of = (double)divisor;
    double x_lost, y_lost, error, slack, more_slack, last_slack, less, quotient, back, rest, bound;
    const double x = exact_two_product(a, (double)(divisor - fraction), &x_lost);
    const double y = exact_two_product(b, (double)fraction, &y_lost);
    const double total = exact_two_sum(x, y, &error);
    double lost = exact_two_sum(x_lost, y_lost, &slack);

    lost = exact_two_sum(lost, error, &more_slack);
    quotient = total / of;
    back = exact_two_product(quotient, of, &less);
    rest = exact_two_sum((total - back) - less, lost, &last_slack) / of;
    bound = (fabs(slack) + fabs(more_slack) + fabs(last_slack)) * 2 / of;
    /* A power of two divides exactly. To add a bound much smaller than the rest would change nothing. */
    if (bound != 0 || (divisor & (divisor - 1)) != 0)
        bound += fabs(rest) * 0x1p-50;
    *found = quotient + rest;
    return is_moderate(a) && is_moderate(b) && is_moderate(quotient) &&
           quotient + (rest - bound) == *found && quotient + (rest + bound) == *found;
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
    if (isinf(a) || isinf(b))
        return scale_infinity(scale, a + b); /* a NaN for -inf and inf */
    /* Large integers were rounded. */
    if (!scale->given && denominator < UINT64_C(1) << 53 &&
        (!element_is_integer(type) || (fabs(a) < 0x1p53 && fabs(b) < 0x1p53)) &&
        divide_weighted(a, b, fraction, denominator, &found))
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
