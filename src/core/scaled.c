#include "config.h"

#include "core/scaled.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "core/number.h"

void scaled_clear(struct scaled *s)
{
    memset(s, 0, sizeof *s);
    s->min_index = s->max_index = s->first_nan = PARTIAL_NO_INDEX;
    s->integers = true;
}

/*
 * Numbers.
 */

/* The scaled number, where it is infinite, and otherwise 0. */
static double infinity_of(const struct scaled_number *x)
{
    const double stored = element_key_value(x->type, x->key);

    return isinf(stored) ? scale_infinity(&x->scale, stored) : 0;
}

/* Adds a finite number, or takes it away. */
static void add_number(struct exact_wide *to, const struct scaled_number *x, bool subtract)
{
    scale_add_number(to, &x->scale, term_of_key(x->type, x->key), subtract);
}

/* Whether it is a -0, which is a number of its own only without a scale. */
static bool is_negative_zero(const struct scaled_number *x)
{
    const double stored = element_key_value(x->type, x->key);

    return !x->scale.given && stored == 0 && signbit(stored);
}

static int sign_of(const struct scaled_number *x)
{
    struct exact_wide value;

    exact_wide_clear(&value);
    add_number(&value, x, false);
    return exact_wide_sign(&value);
}

/* Compares two numbers, or their magnitudes, exactly: below 0, 0 or above 0. */
static int compare(const struct scaled_number *a, const struct scaled_number *b, bool magnitudes)
{
    double a_infinity = infinity_of(a), b_infinity = infinity_of(b);
    struct exact_wide difference;
    int sign;

    if (!a->scale.given && !b->scale.given && !magnitudes)
        return number_compare_keys(a->type, a->key, b->type, b->key);
    if (a_infinity != 0 || b_infinity != 0) {
        if (magnitudes) {
            a_infinity = fabs(a_infinity);
            b_infinity = fabs(b_infinity);
        }
        return (a_infinity > b_infinity) - (a_infinity < b_infinity);
    }
    exact_wide_clear(&difference);
    add_number(&difference, a, magnitudes && sign_of(a) < 0);
    add_number(&difference, b, !(magnitudes && sign_of(b) < 0));
    sign = exact_wide_sign(&difference);
    return sign != 0 || magnitudes ? sign : is_negative_zero(b) - is_negative_zero(a);
}

/* Takes a number in the place of another one, if it is less by the comparison, or greater. Returns
   whether it has. */
static bool take_if(struct scaled_number *kept, const struct scaled_number *x, int order,
                    bool magnitudes)
{
    /* Without a scale magnitudes are kept as such, and none is less than 0. */
    magnitudes = magnitudes && (x->scale.given || kept->scale.given);
    if (!x->known || (kept->known && compare(x, kept, magnitudes) != order))
        return false;
    *kept = *x;
    return true;
}

/*
 * Sums.
 */

void scaled_squares_add(int64_t squares[SCALED_SQUARES_DIGITS], uint32_t *digit, int count,
                        int lsb_exponent, const uint64_t factors[3], bool negative)
{
    const unsigned bit = (unsigned)(lsb_exponent - SCALED_SQUARES_LSB_EXPONENT);
    int low = 0;

    count = digits_length(digit, count);
    while (low < count && digit[low] == 0)
        low++;
    count += SCALED_FACTOR_DIGITS;
    for (int i = 0; i < 3; i++)
        digits_multiply(digit + low, count - low, factors[i]);
    for (int i = low; i < count; i++) {
        const struct exact_parts parts =
            exact_split_integer(digit[i], bit + 32 * (unsigned)i, negative);

        /* A digit takes two places, and one of 0 may lie beyond the last. */
        for (unsigned j = 0; j < 2 && digit[i] != 0; j++)
            squares[parts.position + j] += parts.part[j];
    }
}

/* Adds the sum of (f x + o)^2 of n finite elements: f^2 Q + 2 f o S + n o^2. */
static void append_squares(struct scaled *s, const struct partial *p, const struct scale *scale,
                           uint64_t n)
{
    const struct term f = term_of(scale->given ? scale->factor : 1), o = term_of(scale->offset);
    uint32_t squares[EXACT_WIDE_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                         sum[EXACT_DIGITS + SCALED_FACTOR_DIGITS] = {0},
                                         one[1 + SCALED_FACTOR_DIGITS] = {1};
    const bool negative = exact_magnitude(&p->sum, sum);

    /* Nobody asked for them. Those of elements that are all 0 need nothing here, and are asked for. */
    if (p->squares.pending == 0 && digits_length(sum, EXACT_DIGITS) > 0)
        return;
    (void)exact_wide_magnitude(&p->squares, squares);
    scaled_squares_add(s->squares, squares, EXACT_WIDE_DIGITS,
                       2 * f.exponent + EXACT_WIDE_LSB_EXPONENT,
                       (uint64_t[]){f.magnitude, f.magnitude, 1}, false);
    if (scale->offset != 0) {
        scaled_squares_add(
            s->squares, sum, EXACT_DIGITS, f.exponent + o.exponent + 1 + EXACT_LSB_EXPONENT,
            (uint64_t[]){f.magnitude, o.magnitude, 1}, (f.negative != o.negative) != negative);
        scaled_squares_add(s->squares, one, 1, 2 * o.exponent,
                           (uint64_t[]){o.magnitude, o.magnitude, n}, false);
    }
    exact_carry_digits(s->squares, SCALED_SQUARES_DIGITS);
}

/* Adds the magnitudes of n finite elements, `above` of which are not below the threshold. There the
   scaled numbers have the sign of the factor, or are 0, and below it the other one. */
static void append_absolute(struct scaled *s, const struct partial *p, const struct scale *scale,
                            uint64_t n, uint64_t above)
{
    const bool negative = scale->factor < 0;

    if (!scale->given) {
        exact_wide_add_exact(&s->absolute, &p->absolute);
        return;
    }
    scale_add(&s->absolute, scale, &p->absolute, above, negative);
    scale_add(&s->absolute, scale, &p->absolute, above, negative);
    scale_add(&s->absolute, scale, &p->sum, n, !negative);
}

/* Takes the extremes of an array, of which there are some. */
static void append_extremes(struct scaled *s, const struct partial *p, enum element_type type,
                            const struct scale *scale)
{
    const bool reverse = scale->factor < 0;
    const struct scaled_number low = {true, type, p->min_key, *scale},
                               high = {true, type, p->max_key, *scale};

    if (take_if(&s->min, reverse ? &high : &low, -1, false))
        s->min_index = partial_index_behind(s->count, reverse ? p->max_index : p->min_index);
    if (take_if(&s->max, reverse ? &low : &high, 1, false))
        s->max_index = partial_index_behind(s->count, reverse ? p->min_index : p->max_index);
}

/* Takes the least magnitude of an array, of which there are so many numbers that are not below the
   threshold. */
static void append_least(struct scaled *s, const struct partial *p, enum element_type type,
                         const struct scale *scale, uint64_t above)
{
    const enum element_type of = scale->given ? type : partial_least_type(type);
    /* The key of a float is none if it was not looked for. */
    const bool known = above > 0 && !isnan(element_key_value(of, p->least_magnitude));
    const struct scaled_number first = {known, of, p->least_magnitude, *scale},
                               below = {scale->given && p->negative > 0, type, p->below_key,
                                        *scale};

    (void)take_if(&s->least, &first, -1, true);
    (void)take_if(&s->least, &below, -1, true);
}

void scaled_append(struct scaled *s, const struct partial *p, enum element_type type,
                   const struct scale *scale)
{
    const bool reverse = scale->factor < 0;
    const uint64_t numbers = partial_numbers(p),
                   finite = numbers - p->positive_infinity - p->negative_infinity,
                   above = scale->given ? numbers - p->negative : numbers;

    scale_add(&s->sum, scale, &p->sum, finite, false);
    append_absolute(s, p, scale, finite, above);
    append_squares(s, p, scale, finite);
    if (p->min_key != INT64_MAX || p->max_key != INT64_MIN)
        append_extremes(s, p, type, scale);
    append_least(s, p, type, scale, above);
    if (s->first_nan == PARTIAL_NO_INDEX)
        s->first_nan = partial_index_behind(s->count, p->first_nan);
    s->count += p->count;
    s->missing += p->missing;
    s->nan += p->nan;
    s->positive_infinity += reverse ? p->negative_infinity : p->positive_infinity;
    s->negative_infinity += reverse ? p->positive_infinity : p->negative_infinity;
    s->zeros += p->zeros;
    s->negative += reverse ? above - p->zeros : p->negative;
    if (scale->given)
        s->subnormal = PARTIAL_NO_INDEX;
    else if (s->subnormal != PARTIAL_NO_INDEX)
        s->subnormal += p->subnormal;
    s->integers = s->integers && element_is_integer(type) && scale_keeps_integers(scale);
}

/*
 * Results.
 */

double scaled_value(const struct scaled_number *x, bool magnitude, struct integer *integer)
{
    const double infinity = infinity_of(x);
    struct exact_wide value;
    double rounded;

    if (infinity != 0)
        return magnitude ? fabs(infinity) : infinity;
    exact_wide_clear(&value);
    add_number(&value, x, magnitude && sign_of(x) < 0);
    if (element_is_integer(x->type) && scale_keeps_integers(&x->scale))
        *integer = exact_wide_integer(&value);
    rounded = exact_wide_divide(&value, 1);
    return is_negative_zero(x) && !magnitude ? -0.0 : rounded;
}

static void finish_extremes(const struct scaled *s, struct result *result)
{
    const struct scaled_number *min = &s->min, *max = &s->max;
    const bool low = compare(max, min, true) < 0;
    struct exact_wide range;

    result->min = scaled_value(min, false, &result->min_integer);
    result->max = scaled_value(max, false, &result->max_integer);
    result->absmax = scaled_value(low ? min : max, true, &result->absmax_integer);
    if (infinity_of(min) != 0 || infinity_of(max) != 0) {
        result->range = infinity_of(max) - infinity_of(min);
        return;
    }
    exact_wide_clear(&range);
    add_number(&range, max, false);
    add_number(&range, min, true);
    result->range = exact_wide_divide(&range, 1);
    if (result->min_integer.known && result->max_integer.known)
        result->range_integer = exact_wide_integer(&range);
}

static void finish_squares(const struct scaled *s, uint64_t n, const struct moments_terms *terms,
                           struct result *result)
{
    enum { SIZE = MOMENTS_BELOW + SCALED_SQUARES_DIGITS + MOMENTS_ABOVE };
    uint32_t squares[SIZE] = {0}, sum[EXACT_WIDE_DIGITS];

    _Static_assert(SIZE <= MOMENTS_SQUARES_MAX, "moments_finish_squares has room");
    for (int i = 0; i < SCALED_SQUARES_DIGITS; i++)
        squares[MOMENTS_BELOW + i] = (uint32_t)s->squares[i];
    (void)exact_wide_magnitude(&s->sum, sum);
    moments_finish_squares(squares, SIZE, SCALED_SQUARES_LSB_EXPONENT, sum, EXACT_WIDE_DIGITS, n,
                           terms, result);
}

void scaled_finish(const struct scaled *s, const struct moments_terms *terms, struct result *result)
{
    const uint64_t n = s->count - s->missing - s->nan;
    const bool propagates = s->nan > 0 && !terms->skip_nan;

    result->missing = s->missing;
    result->nan = s->nan;
    result->infinity = s->positive_infinity + s->negative_infinity;
    result->first_nan = s->first_nan;
    result->count = terms->skip_nan ? n : s->count - s->missing;
    result->argmin = propagates ? s->first_nan : s->min_index;
    result->argmax = propagates ? s->first_nan : s->max_index;
    result->zeros = s->zeros;
    result->negatives = s->negative;
    result->subnormals = s->subnormal;
    result->sum = result->mean = result->min = result->max = NAN;
    result->sumsq = result->l1 = result->l2 = result->rms = result->var = result->std = NAN;
    result->absmax = result->absmin = result->range = NAN;
    result->sum_integer = result->min_integer = result->max_integer = (struct integer){0};
    result->absmax_integer = result->absmin_integer = result->range_integer = (struct integer){0};
    if (propagates)
        return;
    if (s->min.known)
        finish_extremes(s, result);
    if (s->least.known)
        result->absmin = scaled_value(&s->least, true, &result->absmin_integer);
    if (result->infinity > 0) {
        result->sum = result->mean =
            partial_infinite_sum(s->positive_infinity, s->negative_infinity);
        result->sumsq = result->l1 = result->l2 = result->rms = INFINITY;
        return;
    }
    result->sum = exact_wide_divide(&s->sum, 1);
    if (s->integers)
        result->sum_integer = exact_wide_integer(&s->sum);
    if (n > 0)
        result->mean = exact_wide_divide(&s->sum, n);
    result->l1 = exact_wide_divide(&s->absolute, 1);
    finish_squares(s, n, terms, result);
}

void scaled_round(const struct partial *p, const struct scale *scale,
                  const struct moments_terms *terms, struct result *result)
{
    struct scaled scaled;

    scaled_clear(&scaled);
    scaled_append(&scaled, p, terms->type, scale);
    scaled_finish(&scaled, terms, result);
}

/* Sets an extreme, the magnitude of one, or the distance of two. False if one is unknown or infinite.
   */
static bool exact_extreme(const struct scaled *s, enum scaled_value value, struct exact_wide *exact)
{
    const struct scaled_number *x = &s->max;
    const bool magnitude = value == SCALED_ABSMAX || value == SCALED_ABSMIN;

    if (value == SCALED_MIN || (value == SCALED_ABSMAX && compare(&s->min, &s->max, true) > 0))
        x = &s->min;
    else if (value == SCALED_ABSMIN)
        x = &s->least;
    if (!x->known || infinity_of(x) != 0 || (value == SCALED_RANGE && infinity_of(&s->min) != 0))
        return false;
    add_number(exact, x, magnitude && sign_of(x) < 0);
    if (value == SCALED_RANGE)
        add_number(exact, &s->min, true);
    return true;
}

bool scaled_exact(const struct scaled *s, enum scaled_value value,
                  uint32_t digit[SCALED_SQUARES_DIGITS], int *lsb_exponent, bool *negative)
{
    const bool finite = s->positive_infinity == 0 && s->negative_infinity == 0;
    const struct exact_wide *wide = NULL;
    struct exact_wide extreme;

    _Static_assert(EXACT_WIDE_DIGITS <= SCALED_SQUARES_DIGITS, "room for the other values");
    memset(digit, 0, SCALED_SQUARES_DIGITS * sizeof *digit);
    *lsb_exponent = EXACT_WIDE_LSB_EXPONENT;
    switch (value) {
    case SCALED_SUM:
        wide = finite ? &s->sum : NULL;
        break;
    case SCALED_L1:
        wide = finite ? &s->absolute : NULL;
        break;
    case SCALED_SUMSQ:
        for (int i = 0; i < SCALED_SQUARES_DIGITS; i++)
            digit[i] = (uint32_t)s->squares[i];
        *lsb_exponent = SCALED_SQUARES_LSB_EXPONENT;
        *negative = false;
        return finite;
    case SCALED_MIN:
    case SCALED_MAX:
    case SCALED_ABSMAX:
    case SCALED_ABSMIN:
    case SCALED_RANGE:
        exact_wide_clear(&extreme);
        wide = exact_extreme(s, value, &extreme) ? &extreme : NULL;
        break;
    }
    if (wide)
        *negative = exact_wide_magnitude(wide, digit);
    return wide;
}
