#include "config.h"

#include "run/total.h"

#include <stdio.h>
#include <string.h>

#include "core/spread.h"

void total_clear(struct total *t)
{
    memset(t, 0, sizeof *t);
    partial_clear(&t->reduction.partial);
    t->reduction.type = ELEMENT_F64;
}

void total_add(struct total *t, const struct reduction *reduction)
{
    struct reduction *sum = &t->reduction;

    t->inputs++;
    if (reduction->error[0]) {
        t->failed++;
        return;
    }
    if (t->inputs - t->failed == 1)
        sum->type = reduction->type;
    if (sum->type != reduction->type) {
        sum->type = ELEMENT_F64;
        t->mixed = true;
    }
    partial_append(&sum->partial, &reduction->partial);
    sum->elements += reduction->elements;
    sum->bytes += reduction->bytes;
    sum->input_bytes += reduction->input_bytes;
    sum->seconds += reduction->seconds;
}

void total_finish(struct total *t, enum nan_policy nan, uint64_t ddof)
{
    struct reduction *sum = &t->reduction;

    partial_finish(&sum->partial, nan == NAN_SKIP, &sum->result);
    spread_finish(
        &sum->partial,
        &(struct spread_terms){.skip_nan = nan == NAN_SKIP, .ddof = ddof, .type = sum->type},
        &sum->result);
    if (t->failed > 0)
        snprintf(sum->error, sizeof sum->error, "%u of %u files failed", t->failed, t->inputs);
}
