/*
 * One reduction: opens the source, starts workers of one or more engines on it, watches them, and
 * merges their partial results. The only module that sees sources, engines and partials together.
 *
 * A session lasts for all files of a run, so that a GPU is made ready once.
 */
#ifndef GPUREDUCE_REDUCTION_H
#define GPUREDUCE_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "core/partial.h"
#include "engine/engine.h"
#include "profile/profile.h"

/* What one engine contributed. */
struct reduction_share {
    const char *engine;   /* "cpu" or "gpu"; NULL when it had no part */
    char description[64]; /* what it ran on */
    unsigned workers;     /* workers */
    uint64_t elements;
    uint64_t bytes;
    uint64_t joined;      /* nanoseconds from the first read to its first chunk */
    uint64_t source_time; /* nanoseconds in the source, all workers together */
    uint64_t wait;        /* nanoseconds they waited for a free buffer */
};

#define REDUCTION_ENGINES 2

/* A finished reduction. */
struct reduction {
    struct result result;
    enum element_type type;
    const char *format; /* raw, npy, zstd or npy+zstd */
    bool compressed;
    bool in_order;        /* frames could not go in parallel, and were read a second time */
    uint64_t elements;    /* reduced, NaNs included */
    uint64_t bytes;       /* of elements */
    uint64_t input_bytes; /* read from the file: compressed, where it is */
    double seconds;       /* from the first read to the final result */
    struct reduction_share shares[REDUCTION_ENGINES];
    char gpu_absence[ENGINE_REASON_MAX]; /* why auto went without a GPU; empty if it did not */
    struct profile profile;
};

struct session;

/* Begins a session. With --device=gpu the GPUs are made ready here. NULL on failure (said). */
struct session *session_open(const struct options *options);

/* Reduces one input. False on failure, which has been said; there is no result then. */
bool session_reduce(struct session *session, const char *path, struct reduction *reduction);

/* Ends a session. Returns false when a GPU is still being made ready, by a thread that must not be
   waited for: the process should then leave by _exit. */
bool session_close(struct session *session);

#endif
