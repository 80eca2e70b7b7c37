/*
 * Reductions along an axis: an exact result for each slice of an array, on the CPU. Workers take
 * chunks of the input, or, of what can be read at any offset, ranges of columns; what they find of
 * slices that lie in the chunks of several is merged, and results go out in order as they are done.
 *
 * Memory: pieces of output, which wait for their turn where they are written in order; and where
 * the input can only be read in order, what is known of each column so far: 25 to 41 bytes, 17 or
 * 34 more for squares, or 2 KiB where there are no kernels for what is asked for
 * (cpu_slices_are_fast).
 *
 * It belongs to one thread.
 */
#ifndef GPUREDUCE_RUN_AXIS_H
#define GPUREDUCE_RUN_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/axis_layout.h"
#include "engine/engine.h"
#include "run/axis_results.h"
#include "run/session_options.h"

/* The outcome of a reduction along an axis, beside its results. */
struct axis_outcome {
    struct axis_layout layout;
    uint64_t bytes; /* of the array */
    double seconds;
};

/* The destination of the results, which the caller of axis_reduce implements. If `render` stores
   them and there are no bytes, the functions after it are NULL. */
struct axis_sink {
    /* The input is open, and nothing has been reduced. False if its results are not to be had. The
       sink itself knows why a function of it fails. */
    bool (*begin)(void *context, const struct axis_plan *plan);
    /* Turns the results of a batch into bytes of output, after those of *bytes. Any thread. False
       where that cannot be. */
    bool (*render)(void *context, const struct axis_batch *batch, struct buffer *bytes);
    /* Room after *bytes for so many results, where output is nothing but the numbers that the one
       operation of the plan has, as they are; else NULL, and `render` is called. Any thread. */
    double *(*numbers)(void *context, const struct axis_plan *plan, struct buffer *bytes,
                       size_t count);
    /* Asked after `begin`: whether results can be placed. */
    bool (*has_places)(void *context);
    /* Writes bytes, the results from `first` on, where they belong, whatever has been written. Any
       thread. False where that cannot be: then `write` is called with them. */
    bool (*place)(void *context, uint64_t first, const void *bytes, size_t size);
    /* Writes bytes, the results from `first` on, in order, one thread at a time; none, with a size
       of 0, of what has been placed. False on failure. */
    bool (*write)(void *context, uint64_t first, const void *bytes, size_t size);
    void *context;
};

/* Makes the GPUs ready that the options demand, if they do, for `count` inputs: sets *gpu to them,
   or to NULL. False, with the reason in *error, where they cannot be used. axis_close_gpu takes NULL,
   too. */
bool axis_open_gpu(const struct session_options *options, char *const *paths, int count,
                   struct engine_state **gpu, struct error *error);
void axis_close_gpu(struct engine_state *gpu);

/* How inputs are to be opened for axis_reduce, and for how many workers. */
struct source_options axis_source_options(const struct session_options *options);
unsigned axis_workers(const struct session_options *options);

/* Reduces an input that is one array, or was opened as one, along the axis that is asked for. The
   options are those of a session; of their wants only those of the operations matter. `gpu` is what
   axis_open_gpu has set. False on failure: source_why tells, unless it was the sink that failed. */
bool axis_reduce(const struct session_options *options, const struct axis_request *request,
                 const struct operation *const *asked, size_t asked_count, struct engine_state *gpu,
                 struct source *source, const struct axis_sink *sink, struct axis_outcome *outcome);

#endif
