/*
 * The destination of the results of a reduction along an axis, which the caller of axis_reduce
 * (axis.h) implements.
 */
#ifndef GPUREDUCE_RUN_AXIS_SINK_H
#define GPUREDUCE_RUN_AXIS_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "run/axis_order.h"
#include "run/axis_results.h"

struct axis_sink {
    /* The input is open, and nothing has been reduced. False if its results are not to be had. The
       sink itself knows why a function of it fails. */
    bool (*begin)(void *context, const struct axis_plan *plan, const char *name);
    /* Turns the results of a batch into bytes of output, behind those of *bytes. Any thread. False
       where that cannot be. */
    bool (*render)(void *context, const struct axis_batch *batch, struct buffer *bytes);
    /* Room behind *bytes for so many results, where output is nothing but the numbers that the one
       operation of the plan has, as they are; else NULL, and `render` is called. Any thread. */
    double *(*numbers)(void *context, const struct axis_plan *plan, struct buffer *bytes,
                       size_t count);
    /* Asked after `begin`: whether results can be placed. */
    bool (*has_places)(void *context);
    /* Writes bytes, the results from `first` on, where they belong, whatever has been written. Any
       thread. False where that cannot be: with why in *error (errno), for `write` to tell, or with
       0 there, where it may be once all results before these are written. */
    bool (*place)(void *context, uint64_t first, const void *bytes, size_t size, int *error);
    /* Writes bytes, the results from `first` on, in order, one thread at a time; none, with a size
       of 0, of what has been placed. `error`, but for 0, is why they could not be placed: then this
       fails. False on failure. */
    bool (*write)(void *context, uint64_t first, const void *bytes, size_t size, int error);
    void *context;
};

#endif
