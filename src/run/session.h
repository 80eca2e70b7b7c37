/*
 * A session reduces the inputs of one command, one after the other, with the same options. It keeps
 * what is costly to make from one input to the next: threads, engines, and a GPU that is ready.
 *
 * A session belongs to one thread.
 */
#ifndef GPUREDUCE_RUN_SESSION_H
#define GPUREDUCE_RUN_SESSION_H

#include <stdbool.h>

#include "run/reduction.h"
#include "run/session_options.h"
#include "run/total.h"

struct session;

/* Several inputs. `prepare` is called before each is opened, to set what may be changed of the
   session's options to how it is read; NULL where that is the same for all. */
struct session_inputs {
    char *const *paths;
    int count;
    int first; /* the place of the first among all that the session has reduced */
    void (*prepare)(void *context, int number);
    void *context;
};

/* Begins a session; the options must outlive it. Between two inputs `input`, `nan` and `ddof` of
   them may be changed. `paths` are the inputs that will be reduced ("-" is standard input), so that
   auto knows how much work is to come. With DEVICE_GPU the GPUs are made ready here. NULL on
   failure, with the reason in *error. */
struct session *session_open(const struct session_options *options, char *const *paths, int count,
                             struct error *error);

/* Reduces the input called `path`. False on failure: there is no result then, and reduction->error
   says why. The results of a container are in reduction->arrays, until the next call; there may be
   arrays without a result among them. */
bool session_reduce(struct session *session, const char *path, struct reduction *reduction);

/* Finds the quantiles and the histogram of inputs as one, which have been reduced, and come to the
   total, which is finished but for these. They are read again, once as a rule. A quantile that
   cannot be computed is left out, or, if that is not allowed, is an error of the total. The
   histogram lives until the session's next input. */
void session_quantiles(struct session *session, const struct pass_request *request,
                       const struct session_inputs *inputs, struct total *total);

/* Ends a session. Returns false when a GPU is still being made ready, by a thread that must not be
   waited for: the process should then leave by _exit. */
bool session_close(struct session *session);

#endif
