#include "config.h"

#include "run/total.h"

#include <string.h>

#include "core/number.h"
#include "run/arrays.h"

void total_clear(struct total *t)
{
    memset(t, 0, sizeof *t);
    partial_clear(&t->reduction.partial);
    t->reduction.type = ELEMENT_F64;
    t->types = partial_types_of(ELEMENT_F64);
    t->repeatable = true;
}

/* Whether there are any: elements that are no NaN, and somebody who asked for extremes. */
static bool has_extremes(const struct partial *p)
{
    return p->min_key != INT64_MAX || p->max_key != INT64_MIN;
}

/* Compares the extremes of partials of two types, whose keys cannot be compared with each other:
   keeps the one that is less, or greater, or else the first, and leaves nothing of the other. */
static void merge_extremes(struct total *t, struct partial *other, enum element_type type)
{
    struct partial *p = &t->reduction.partial;
    const bool first = !has_extremes(p);
    struct partial *loses_min, *loses_max;

    if (!has_extremes(other))
        return;
    loses_min = first || number_compare_keys(type, other->min_key, t->types.min, p->min_key) < 0
                    ? p
                    : other;
    loses_max = first || number_compare_keys(type, other->max_key, t->types.max, p->max_key) > 0
                    ? p
                    : other;
    t->types.min = loses_min == p ? type : t->types.min;
    t->types.max = loses_max == p ? type : t->types.max;
    loses_min->min_key = INT64_MAX;
    loses_max->max_key = INT64_MIN;
    loses_min->min_index = loses_max->max_index = PARTIAL_NO_INDEX;
}

/* Whether a least magnitude was looked for and found: no float has this key, which is a NaN's. */
static bool is_found(enum element_type type, int64_t key)
{
    return element_is_integer(type) || key != INT64_MAX;
}

/* Takes the least magnitude into the total. */
static void merge_least(struct total *t, struct partial *other, enum element_type type)
{
    struct partial *p = &t->reduction.partial;

    if (t->types.least == type || partial_numbers(other) == 0)
        return;
    if (partial_numbers(p) == 0 || !is_found(t->types.least, p->least_magnitude) ||
        (is_found(type, other->least_magnitude) &&
         number_compare_keys(type, other->least_magnitude, t->types.least, p->least_magnitude) <
             0)) {
        t->types.least = type;
        p->least_magnitude = INT64_MAX;
    } else {
        other->least_magnitude = INT64_MAX;
    }
}

static void merge_partial(struct total *t, const struct reduction *reduction)
{
    const struct partial_types types = partial_types_of(reduction->type);
    struct partial partial = reduction->partial;

    if (t->is_scaled) {
        scaled_append(&t->scaled, &partial, &types, &reduction->scale);
        return;
    }
    t->types.integers = t->types.integers && types.integers;
    if (t->types.min != reduction->type || t->types.max != reduction->type)
        merge_extremes(t, &partial, reduction->type);
    merge_least(t, &partial, types.least);
    partial_append(&t->reduction.partial, &partial, t->reduction.partial.count);
}

static void add_one(struct total *t, const struct reduction *reduction)
{
    struct reduction *sum = &t->reduction;

    t->inputs++;
    if (reduction->error.kind != ERROR_NONE) {
        t->failed++;
        t->unreadable = t->unreadable || reduction->type_name;
        return;
    }
    if (t->inputs - t->failed == 1) { /* the first */
        sum->type = reduction->type;
        sum->missing = reduction->missing;
        sum->scale = reduction->scale;
        t->types = partial_types_of(reduction->type);
    }
    if (sum->type != reduction->type || !scale_same(&sum->scale, &reduction->scale)) {
        if (!t->is_scaled && (sum->scale.given || reduction->scale.given)) {
            t->is_scaled = true;
            scaled_clear(&t->scaled);
            scaled_append(&t->scaled, &sum->partial, &t->types, &sum->scale); /* those so far */
        }
        sum->type = ELEMENT_F64;
        sum->scale = (struct scale){.given = false};
        t->mixed = true;
    }
    missing_join(&sum->missing, &reduction->missing, !t->mixed);
    t->repeatable = t->repeatable && reduction->repeatable;
    merge_partial(t, reduction);
    sum->elements += reduction->elements;
    sum->bytes += reduction->bytes;
    sum->input_bytes += reduction->input_bytes;
    sum->seconds += reduction->seconds;
}

void total_add(struct total *t, const struct reduction *reduction)
{
    const uint64_t read_before = t->reduction.input_bytes;
    struct reduction one;

    if (!reduction->arrays || reduction->error.kind != ERROR_NONE) {
        add_one(t, reduction);
        return;
    }
    memset(&one, 0, sizeof one);
    t->arrays = true;
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        arrays_get(reduction->arrays, k, &one);
        add_one(t, &one);
    }
    if (reduction->compressed) /* as a whole: none of its arrays has a share of these bytes */
        t->reduction.input_bytes = read_before + reduction->input_bytes;
    t->reduction.seconds += reduction->seconds;
}

void total_finish(struct total *t, enum nan_policy nan, uint64_t ddof)
{
    struct reduction *sum = &t->reduction;

    if (t->is_scaled)
        scaled_finish(&t->scaled,
                      &(struct moments_terms){.skip_nan = nan == NAN_SKIP, .ddof = ddof},
                      &sum->result);
    else
        reduction_round(&sum->result, &sum->partial, sum->type, &t->types, &sum->scale,
                        nan == NAN_SKIP, ddof);
    if (t->failed > 0)
        (void)error_set(&sum->error, ERROR_OTHERS, "%u of %u %s failed", t->failed, t->inputs,
                        t->arrays ? "files and arrays" : "files");
}
