/*
 * The reducer of a context: threads and engines, which are kept from one call to the next, and the
 * functions of the caller that are told of warnings and of progress.
 *
 * Small views are reduced on the calling thread, without any other: a call on 1000 elements takes
 * about a microsecond. All else is reduced by a session (run/session.h).
 */
#ifndef GPUREDUCE_LIB_REDUCER_H
#define GPUREDUCE_LIB_REDUCER_H

#include "lib/objects.h"

/* Bytes of a view that the calling thread reduces alone: others take as long to wake. */
#define REDUCER_ALONE_BYTES ((uint64_t)1 << 20)

struct engine_worker;
struct reducer;

/* Makes the reducer of a context. NULL without memory. */
struct reducer *reducer_new(gpr_context *context);

/* Joins all threads and frees the reducer. */
void reducer_close(struct reducer *r);

/* Has a worker of the CPU's engine reduce the first `elements` elements of a view, on this thread.
   They are those of an array from number `start` on. *left_out: how many of them the mask leaves
   out. False on failure, of which there is none without tallies. */
bool reducer_take_view(struct engine_worker *worker, const struct view *v, uint64_t elements,
                       uint64_t start, uint64_t *left_out);

/* Reduces all arrays of `count` inputs, at least one, as one array. */
gpr_status reducer_total(gpr_input *const *inputs, size_t count, const gpr_request *request,
                         gpr_result **result);

/* Finds the files that an input stands for whose path and other fields are set; those that are read
   from a descriptor or a function, or in parts, stand for themselves. */
gpr_status reducer_find_files(gpr_input *input);

/* Opens the source of an input whose path, or descriptor, and other fields are set. */
gpr_status reducer_open(gpr_input *input);

/* Reduces array number `array`, which exists. */
gpr_status reducer_reduce(gpr_input *input, size_t array, const gpr_request *request,
                          gpr_result **result);

/* Reduces all arrays of an input without parts, and tells the caller's function of each: it is number
   `first` and so on of the caller's input. */
struct reducer_each {
    const gpr_request *request;
    gpr_result_function *function;
    void *user;
    size_t first;
};
gpr_status reducer_each(gpr_input *input, const struct reducer_each *each);

/* The threads of a call: as many as were set, or one for each core. The cores are counted once: it takes
   several files of the system, and longer than a small array. */
unsigned reducer_threads(gpr_context *context);

/* Sets how a job of its own reduces an input for a request: by the threads and the GPU of the
   context, which is told of progress. False, with an error of the context. */
bool reducer_prepare(const gpr_input *input, const gpr_request *request,
                     struct session_options *options);

/* Passes the warnings of a call on, or of such a job that has ended. No other thread is at work. */
void reducer_tell_warnings(gpr_context *context);

#endif
