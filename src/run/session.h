/*
 * A session reduces the inputs of one command, one after the other, with the same options. It keeps
 * what is costly to make from one input to the next: threads, engines, and a GPU that is ready.
 *
 * A session belongs to one thread. Functions that fail have printed why.
 */
#ifndef GPUREDUCE_RUN_SESSION_H
#define GPUREDUCE_RUN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "run/reduction.h"
#include "source/source.h"

enum nan_policy { NAN_PROPAGATE, NAN_SKIP, NAN_ERROR };

enum device_choice { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };

/* Who wants to know how far a run is. Called by the session's thread alone; times are clock_now's.
 */
struct progress_observer {
    /* A run of `total` bytes of input begins, UINT64_MAX when it is not known how many. */
    void (*begin)(void *context, uint64_t total, uint64_t now);
    /* `done` bytes have been read; called some fifty times a second. */
    void (*update)(void *context, uint64_t done, uint64_t now);
    void (*end)(void *context);
    void *context;
};

struct session_options {
    struct source_options input;
    enum nan_policy nan;
    enum device_choice device;
    int devices[ENGINE_DEVICES_MAX]; /* GPUs by number */
    unsigned device_count;
    unsigned threads;                         /* 0: as many as serve well */
    size_t chunk_size;                        /* bytes; 0: the engine's choice */
    unsigned wants;                           /* partial_want bits */
    const struct progress_observer *progress; /* NULL for nobody */
};

struct session;

/* Begins a session; the options must outlive it. `paths` are the inputs that will be reduced ("-"
   is standard input), so that auto knows how much work is to come. With DEVICE_GPU the GPUs are
   made ready here. NULL on failure. */
struct session *session_open(const struct session_options *options, char *const *paths, int count);

/* Reduces the input called `path`. False on failure; there is no result then. */
bool session_reduce(struct session *session, const char *path, struct reduction *reduction);

/* Ends a session. Returns false when a GPU is still being made ready, by a thread that must not be
   waited for: the process should then leave by _exit. */
bool session_close(struct session *session);

#endif
