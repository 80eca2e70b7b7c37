#include "config.h"

#include "core/partial.h"

#include <math.h>

void partial_clear(struct partial *p)
{
    memset(p, 0, sizeof *p);
    p->min_key = INT64_MAX;
    p->max_key = INT64_MIN;
    p->min_index = PARTIAL_NO_INDEX;
    p->max_index = PARTIAL_NO_INDEX;
    p->first_nan = PARTIAL_NO_INDEX;
    p->least_magnitude = INT64_MAX;
    p->below_key = INT64_MIN;
}

void partial_merge(struct partial *p, const struct partial *other)
{
    exact_merge(&p->sum, &other->sum);
    partial_take_min(p, other->min_key, other->min_index);
    partial_take_max(p, other->max_key, other->max_index);
    p->count += other->count;
    p->missing += other->missing;
    p->nan += other->nan;
    p->positive_infinity += other->positive_infinity;
    p->negative_infinity += other->negative_infinity;
    if (other->first_nan < p->first_nan)
        p->first_nan = other->first_nan;
    /* Many inputs are small, and few ask for these. */
    if (other->absolute.pending > 0)
        exact_merge(&p->absolute, &other->absolute);
    exact_wide_merge(&p->squares, &other->squares);
    if (other->least_magnitude < p->least_magnitude)
        p->least_magnitude = other->least_magnitude;
    if (other->below_key > p->below_key)
        p->below_key = other->below_key;
    p->zeros += other->zeros;
    p->negative += other->negative;
    p->subnormal += other->subnormal;
    p->digest = digest_plus(p->digest, other->digest);
}

void partial_take_out(struct partial *p, const struct partial *other)
{
    exact_subtract(&p->sum, &other->sum);
    exact_subtract(&p->absolute, &other->absolute);
    exact_wide_subtract(&p->squares, &other->squares);
    p->nan -= other->nan;
    p->positive_infinity -= other->positive_infinity;
    p->negative_infinity -= other->negative_infinity;
    p->zeros -= other->zeros;
    p->negative -= other->negative;
    p->subnormal -= other->subnormal;
}

void partial_append(struct partial *p, const struct partial *other, uint64_t before)
{
    struct partial behind = *other;

    behind.min_index = partial_index_behind(before, other->min_index);
    behind.max_index = partial_index_behind(before, other->max_index);
    behind.first_nan = partial_index_behind(before, other->first_nan);
    partial_merge(p, &behind);
}

void partial_repeat(struct partial *p, uint64_t times)
{
    uint64_t *const counts[] = {
        &p->count, &p->missing,  &p->nan,      &p->positive_infinity, &p->negative_infinity,
        &p->zeros, &p->negative, &p->subnormal};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] *= times;
    exact_multiply(&p->sum, times);
    if (p->absolute.pending > 0)
        exact_multiply(&p->absolute, times);
    if (p->squares.pending > 0)
        exact_wide_multiply(&p->squares, times);
}

struct partial_places partial_take_places(struct partial *p)
{
    const struct partial_places places = {p->min_key, p->max_key, p->min_index, p->max_index,
                                          p->first_nan};

    p->min_key = INT64_MAX;
    p->max_key = INT64_MIN;
    p->min_index = p->max_index = p->first_nan = PARTIAL_NO_INDEX;
    return places;
}

void partial_put_places(struct partial *p, const struct partial_places *before,
                        uint64_t (*place)(const void *places, uint64_t index), const void *places)
{
    uint64_t *const indices[] = {&p->min_index, &p->max_index, &p->first_nan};

    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        if (*indices[i] != PARTIAL_NO_INDEX)
            *indices[i] = place(places, *indices[i]);
    partial_take_min(p, before->min_key, before->min_index);
    partial_take_max(p, before->max_key, before->max_index);
    if (before->first_nan < p->first_nan)
        p->first_nan = before->first_nan;
}

void partial_take(struct partial *p, double x, uint64_t index)
{
    p->count++;
    if (isnan(x)) {
        p->nan++;
        if (index < p->first_nan)
            p->first_nan = index;
        return;
    }
    if (isfinite(x))
        exact_add(&p->sum, x);
    else if (x > 0)
        p->positive_infinity++;
    else
        p->negative_infinity++;
    partial_take_min(p, exact_key(x), index);
    partial_take_max(p, exact_key(x), index);
}

void partial_take_element(struct partial *p, enum element_type type, const void *bytes,
                          uint64_t index)
{
    struct integer x;

    if (!element_is_integer(type)) {
        partial_take(p, element_load(type, bytes), index);
        return;
    }
    x = element_load_integer(type, bytes);
    p->count++;
    exact_add_integer(&p->sum, x.low, EXACT_ONE_BIT, x.negative);
    partial_take_min(p, element_key(type, bytes), index);
    partial_take_max(p, element_key(type, bytes), index);
}

double partial_infinite_sum(uint64_t positive, uint64_t negative)
{
    if (positive > 0 && negative > 0)
        return NAN;
    return positive > 0 ? INFINITY : -INFINITY;
}

void partial_finish_counts(const struct partial *p, int skip_nan, struct result *result)
{
    result->missing = p->missing;
    result->nan = p->nan;
    result->infinity = partial_infinities(p);
    result->first_nan = p->first_nan;
    result->count = skip_nan ? partial_numbers(p) : p->count - p->missing;
}

void partial_finish(const struct partial *p, int skip_nan, struct result *result)
{
    const uint64_t numbers = partial_numbers(p);

    partial_finish_counts(p, skip_nan, result);
    result->argmin = p->min_index;
    result->argmax = p->max_index;
    result->min = numbers ? exact_key_value(p->min_key) : NAN;
    result->max = numbers ? exact_key_value(p->max_key) : NAN;
    result->sum_integer = result->min_integer = result->max_integer = (struct integer){0};

    if (p->nan && !skip_nan) {
        result->sum = result->mean = result->min = result->max = NAN;
        result->argmin = result->argmax = p->first_nan;
        return;
    }
    if (result->infinity > 0) {
        result->sum = result->mean =
            partial_infinite_sum(p->positive_infinity, p->negative_infinity);
    } else {
        result->sum = exact_round(&p->sum);
        result->mean = numbers ? exact_divide(&p->sum, numbers) : NAN;
    }
}

void partial_finish_type(const struct partial *p, enum element_type type, int skip_nan,
                         struct result *result)
{
    const bool propagates = p->nan > 0 && !skip_nan;

    partial_finish(p, skip_nan, result);
    if (!element_is_integer(type))
        return;
    result->sum_integer = exact_integer(&p->sum);
    if (partial_numbers(p) == 0 || propagates)
        return;
    result->min = element_key_value(type, p->min_key);
    result->min_integer = element_key_integer(type, p->min_key);
    result->max = element_key_value(type, p->max_key);
    result->max_integer = element_key_integer(type, p->max_key);
}

bool result_same_number(double x, double y)
{
    return (isnan(x) && isnan(y)) || exact_bits(x) == exact_bits(y);
}
