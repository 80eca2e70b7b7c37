/*
 * Where the results of a reduction along an axis go: who calls axis_reduce (axis.h) implements it.
 */
#ifndef GPUREDUCE_RUN_AXIS_SINK_H
#define GPUREDUCE_RUN_AXIS_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "run/axis_order.h"
#include "run/axis_results.h"

struct axis_sink {
    /* The input is open, and nothing has been reduced. False, having printed why, if its results
       are not to be had. */
    bool (*begin)(void *context, const struct axis_plan *plan, const char *name);
    /* Turns the results of a batch into bytes of output, behind those of *bytes. Any thread. False,
       having printed why, where that cannot be. */
    bool (*render)(void *context, const struct axis_batch *batch, struct axis_bytes *bytes);
    /* Writes bytes, in order; one thread at a time. False on failure, which may be told later. */
    bool (*write)(void *context, const void *bytes, size_t size);
    void *context;
};

#endif
