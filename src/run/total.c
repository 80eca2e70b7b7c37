#include "config.h"

#include "run/total.h"

#include <string.h>

#include "run/arrays.h"

void total_clear(struct total *t)
{
    memset(t, 0, sizeof *t);
    partial_clear(&t->reduction.partial);
    t->reduction.type = ELEMENT_F64;
    scaled_clear(&t->scaled);
    t->repeatable = true;
}

/* Moves the partial result of the last inputs to the sums of all. */
static void append_partial(struct total *t)
{
    scaled_append(&t->scaled, &t->reduction.partial, t->type, &t->scale);
    partial_clear(&t->reduction.partial);
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
        sum->missing = reduction->missing;
        t->type = sum->type = reduction->type;
        t->scale = sum->scale = reduction->scale;
    }
    if (t->type != reduction->type || !scale_same(&t->scale, &reduction->scale)) {
        append_partial(t);
        t->type = reduction->type;
        t->scale = reduction->scale;
        sum->type = ELEMENT_F64;
        sum->scale = (struct scale){.given = false};
        t->mixed = true;
    }
    missing_join(&sum->missing, &reduction->missing, !t->mixed);
    t->repeatable = t->repeatable && reduction->repeatable;
    partial_append(&sum->partial, &reduction->partial, sum->partial.count);
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

    if (t->mixed) {
        append_partial(t);
        scaled_finish(&t->scaled,
                      &(struct moments_terms){.skip_nan = nan == NAN_SKIP, .ddof = ddof},
                      &sum->result);
    } else {
        reduction_round(&sum->result, &sum->partial, sum->type, &sum->scale, nan == NAN_SKIP, ddof);
    }
    if (t->failed > 0)
        (void)error_set(&sum->error, ERROR_OTHERS, "%u of %u %s failed", t->failed, t->inputs,
                        t->arrays ? "files and arrays" : "files");
}
