#include "config.h"

#include "core/scale.h"

#include <math.h>

#include "core/order.h"
#include "sys/search.h"

const char *scale_refusal(const struct scale *s)
{
    if (!s->given)
        return NULL;
    if (!isfinite(s->factor) || s->factor == 0)
        return "the scale factor is not a finite number other than 0";
    return isfinite(s->offset) ? NULL : "the offset is not finite";
}

bool scale_keeps_integers(const struct scale *s)
{
    return !s->given ||
           (s->factor == 1 && s->offset == floor(s->offset) && fabs(s->offset) <= 0x1p64);
}

/* The number of the bit of a wide accumulator that weighs 2^exponent. */
static unsigned wide_bit(int exponent)
{
    return (unsigned)(exponent - EXACT_WIDE_LSB_EXPONENT);
}

void scale_add(struct exact_wide *to, const struct scale *s, const struct exact *sum,
               uint64_t count, bool subtract)
{
    const struct term factor = term_of(s->given ? s->factor : 1), offset = term_of(s->offset);
    uint32_t digit[EXACT_DIGITS];
    const bool negative = exact_magnitude(sum, digit) != (factor.negative != subtract);

    for (int i = 0; i < EXACT_DIGITS; i++)
        if (digit[i] != 0)
            exact_wide_add_product(to, factor.magnitude, digit[i],
                                   wide_bit(factor.exponent + EXACT_LSB_EXPONENT + 32 * i),
                                   negative);
    exact_wide_add_product(to, offset.magnitude, count, wide_bit(offset.exponent),
                           offset.negative != subtract);
}

void scale_add_number(struct exact_wide *to, const struct scale *s, struct term stored,
                      bool subtract)
{
    struct exact sum;

    exact_clear(&sum);
    term_add(&sum, stored, 1, false);
    scale_add(to, s, &sum, 1, subtract);
}

double scale_infinity(const struct scale *s, double x)
{
    return s->given && s->factor < 0 ? -x : x;
}

/* Whether a stored number stands for one that is less than 0, 0 or more: -1, 0 or 1. */
static int sign_of_scaled(const struct scale *s, enum element_type type, uint64_t key)
{
    const double x = order_value(type, key), product = (s->given ? s->factor : 1) * x;
    const double rounded = product + s->offset;
    struct exact_wide value;

    /* Three roundings, one of them of integers of 64 bits, do not change the sign of a number that is
       neither much less than the product, nor too small or too large. */
    if (isinf(x) ||
        (fabs(rounded) > 0x1p-50 * fabs(product) && fabs(rounded) > 0x1p-900 && isfinite(rounded)))
        return rounded > 0 ? 1 : -1;
    exact_wide_clear(&value);
    scale_add_number(&value, s, term_of_order(type, key), false);
    return exact_wide_sign(&value);
}

struct partial_split scale_split(const struct scale *s, enum element_type type)
{
    /* The sign of the scaled number for those below the threshold. */
    const int below = s->given && s->factor < 0 ? 1 : -1;
    uint64_t low = order_least(type), high = order_greatest(type), last = high;
    struct partial_split split = {.all_below = sign_of_scaled(s, type, high) == below};

    if (split.all_below)
        return split;
    SEARCH(low, high, sign_of_scaled(s, type, middle) == below);
    split.first = low;
    /* -0 and +0 are two keys of one number. */
    while (low <= last && sign_of_scaled(s, type, low) == 0)
        low++;
    split.last_equal = low - 1;
    return split;
}

const struct partial_split *scale_find_split(const struct scale *s, enum element_type type,
                                             unsigned *wants, struct partial_split *split)
{
    *wants = scale_wants(s, *wants);
    if (!(*wants & PARTIAL_SPLIT))
        return NULL;
    *split = scale_split(s, type);
    return split;
}

void partial_split_take(struct partial *p, const struct partial_split *s, enum element_type type,
                        const void *bytes)
{
    const uint64_t key = order_key(type, order_load(type, bytes));
    int64_t element;

    if (element_is_nan(type, bytes))
        return;
    element = element_key(type, bytes);
    if (partial_split_is_below(s, key)) {
        p->negative++;
        p->below_key = element > p->below_key ? element : p->below_key;
        return;
    }
    p->zeros += partial_split_is_equal(s, key);
    p->least_magnitude = element < p->least_magnitude ? element : p->least_magnitude;
    if (element_is_integer(type)) {
        const struct integer x = element_load_integer(type, bytes);

        exact_add_integer(&p->absolute, x.low, EXACT_ONE_BIT, x.negative);
    } else if (isfinite(element_load(type, bytes))) {
        exact_add(&p->absolute, element_load(type, bytes));
    }
}

void partial_split_put(struct partial *p, const struct partial *sides)
{
    p->absolute = sides->absolute;
    p->least_magnitude = sides->least_magnitude;
    p->below_key = sides->below_key;
    p->zeros = sides->zeros;
    p->negative = sides->negative;
    p->subnormal = 0;
}
