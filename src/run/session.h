/*
 * Sessions. A session reduces the inputs of one command, one after the other, with the same
 * options, and keeps threads, engines and an initialised GPU from one input to the next. It belongs
 * to one thread.
 */
#ifndef GPUREDUCE_RUN_SESSION_H
#define GPUREDUCE_RUN_SESSION_H

#include <stdbool.h>

#include "run/reduction.h"
#include "run/session_options.h"
#include "run/total.h"

struct session;
struct team;

/* Inputs that are read again. */
struct session_inputs {
    char *const *paths; /* "-" is standard input */
    int count;          /* inputs */
    int first;          /* number of the first among all that the session has reduced */
    /* Sets the options of the session for input number `number` before it is opened. NULL: all
       inputs have the same options. */
    void (*prepare)(void *context, int number);
    void *context; /* the first argument of `prepare` */
};

/* Begins a session. `options` must outlive it; between two inputs the caller may change all of them
   but devices, threads, sizes of chunks, tuning and those of the process. `paths` are the `count`
   inputs that will be reduced ("-" is standard input); DEVICE_AUTO estimates the work from them.
   With DEVICE_GPU the GPUs are initialised here. NULL on failure, with the reason in *error. */
struct session *session_open(const struct session_options *options, char *const *paths, int count,
                             struct error *error);

/* Expects `count` inputs from now on, which session_quantiles may read again: of a session whose
   inputs are not known beforehand. False without memory. */
bool session_expect(struct session *session, int count);

/* Reduces the input `path`. The results of a container are in reduction->arrays, and valid until
   the next call; some of its arrays may have failed. False on failure: there is no result, and
   the reason is in reduction->error. */
bool session_reduce(struct session *session, const char *path, struct reduction *reduction);

/* Reduces an input in that way whose source is connected (source_connect), and is closed then. It
   must not be repeatable: a file is opened anew for each pass. NULL: the path is opened. */
bool session_reduce_connected(struct session *session, const char *path, struct source *source,
                              struct reduction *reduction);

/* Reduces an array of an open container, the input `path` (source_open_array). */
bool session_reduce_array(struct session *session, const char *path, const struct source *container,
                          const struct container_array *array, struct reduction *reduction);

/* Adds quantiles and the histogram over all `inputs` to the total, which has all other results.
   The inputs, which have been reduced, are read again, once as a rule. A quantile that cannot be
   computed is left out, or, if the request does not allow that, is an error of the total. The
   histogram is valid until the session's next input. */
void session_quantiles(struct session *session, const struct pass_request *request,
                       const struct session_inputs *inputs, struct total *total);

/* The team of the session's workers, while none of its inputs is being reduced. */
struct team *session_team(struct session *session);

/* Ends a session and frees it. False if a thread is still initialising a GPU: the process should
   then end by _exit, without waiting for that thread. */
bool session_close(struct session *session);

#endif
