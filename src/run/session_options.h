/*
 * How the inputs of a session are to be reduced, and who is told of its progress.
 */
#ifndef GPUREDUCE_RUN_SESSION_OPTIONS_H
#define GPUREDUCE_RUN_SESSION_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/pass_plan.h"
#include "engine/engine.h"
#include "source/source.h"

enum nan_policy { NAN_PROPAGATE, NAN_SKIP, NAN_ERROR };

enum device_choice { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };

/* An observer of the progress of a run. Called by the session's thread alone; times are
   clock_now's. */
struct progress_observer {
    /* A run of `total` bytes of input begins, UINT64_MAX when it is not known how many. `name` is
       the input's, as messages show it; it lives until the run ends. */
    void (*begin)(void *context, const char *name, uint64_t total, uint64_t now);
    /* `done` bytes have been read; called some fifty times a second. */
    void (*update)(void *context, uint64_t done, uint64_t now);
    void (*end)(void *context);
    void *context;
};

struct buffer;
struct reduction;

/* A writer of the lines of containers' arrays, as text. */
struct line_writer {
    /* Writes what is to be printed of an array of the input `path`, which may be nothing. Workers
       call it as soon as they have reduced one, each with an `out` of its own. */
    void (*write)(const void *context, const char *path, const struct reduction *one,
                  struct buffer *out);
    const void *context;
};

/* Numbers that were found by measuring: doc/tuning.md says how. Tests pass others. */
struct session_tuning {
    const struct gpu_tuning *gpu;
    /* Workers for a compressed input and each GPU, unless so many are asked for: a core copies 4 to
       5 GB/s from the page cache while a link is busy. */
    unsigned compressed_workers;
    bool gpu_always; /* auto has a GPU help as soon as it can, however small the work is */
};
extern const struct session_tuning session_tuning_shipped;

struct session_options {
    struct source_options input;
    enum nan_policy nan;
    enum device_choice device;
    int devices[ENGINE_DEVICES_MAX]; /* GPUs by number */
    unsigned device_count;
    unsigned threads;                         /* 0: as many as serve well */
    size_t chunk_size;                        /* bytes; 0: the engine's choice */
    unsigned wants;                           /* partial_want bits */
    bool keep_partials;                       /* of arrays, too: a total is to be made of them */
    uint64_t ddof;                            /* of variances; see struct moments_terms */
    struct pass_request passes;               /* quantiles and histogram */
    const struct progress_observer *progress; /* NULL for nobody */
    const struct line_writer *lines;          /* NULL for nobody */
    bool keep_results;                        /* of arrays whose lines are written, too */
    const struct session_tuning *tuning;      /* NULL: session_tuning_shipped */

    /* The process. */
    const char *kernels;         /* of the CPU, by the name of an instruction set; NULL: the best */
    const char *visible_devices; /* GPUs that the user made visible, as CUDA_VISIBLE_DEVICES has
                                    them; NULL: all */
    /* Sets a variable of the environment, which the CUDA runtime reads; called before there are
       other threads. NULL: all visible GPUs are used, as they are. */
    engine_set_variable *set_variable;
    /* Prepares malloc for many threads that allocate much; NULL: nobody does. */
    void (*widen_heap)(void);
};

static inline const struct session_tuning *session_tuning(const struct session_options *options)
{
    return options->tuning ? options->tuning : &session_tuning_shipped;
}

#endif
