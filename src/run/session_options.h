/*
 * The options of a session: how its inputs are reduced, and functions that it calls. The caller
 * fills them in, and they do not change while the session uses them, except where session.h says
 * so.
 */
#ifndef GPUREDUCE_RUN_SESSION_OPTIONS_H
#define GPUREDUCE_RUN_SESSION_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "core/pass_plan.h"
#include "core/progress.h"
#include "engine/engine.h"
#include "source/source.h"

enum nan_policy { NAN_PROPAGATE, NAN_SKIP, NAN_ERROR };

/* The words for them, up to a NULL. */
extern const char *const nan_policy_words[];

enum device_choice { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };

struct buffer;
struct reduction;
struct team;

/* A writer of the lines of containers' arrays, as text. */
struct line_writer {
    /* Writes the line of an array of the input `path`, which may be empty, to `out`. Called by
       workers, several at a time, each with its own `out`. */
    void (*write)(const void *context, const char *path, const struct reduction *one,
                  struct buffer *out);
    const void *context; /* the first argument of `write` */
};

/* Numbers that were found by measuring (doc/tuning.md). Tests pass others. */
struct session_tuning {
    const struct gpu_tuning *gpu;
    unsigned compressed_workers; /* default number of workers for each GPU that decodes a compressed
                                    input: a core copies 4 to 5 GB/s while the link is busy */
    bool gpu_always;             /* DEVICE_AUTO uses a GPU for any amount of work */
};
extern const struct session_tuning session_tuning_shipped;

struct session_options {
    struct source_options input;
    enum nan_policy nan;
    enum device_choice device;
    int devices[ENGINE_DEVICES_MAX]; /* numbers of GPUs */
    unsigned device_count;           /* GPUs in `devices` */
    unsigned threads;                /* 0: chosen by the session */
    unsigned cores; /* that the process may use; 0: they are counted, which takes as long as to
                          read a small file */
    struct team
        *team; /* for reductions along an axis and comparisons, which keep its threads, if it
                          is large enough; NULL: each has threads of its own */
    size_t chunk_size;                        /* bytes; 0: chosen by the engine */
    unsigned wants;                           /* partial_want bits */
    struct missing_values missing;            /* values that are missing wherever they are found */
    bool keep_partials;                       /* keep the partial results of arrays, for a total */
    uint64_t ddof;                            /* see struct moments_terms */
    struct pass_request passes;               /* quantiles and histogram */
    const struct progress_observer *progress; /* NULL for none */
    const struct line_writer *lines;          /* NULL for none */
    bool keep_results;                        /* keep results of arrays whose lines are written */
    bool stays;                               /* the number of inputs is not known beforehand:
                                                 threads are kept until the session is closed */
    const struct session_tuning *tuning;      /* NULL: session_tuning_shipped */

    /* The process. */
    const char *kernels;         /* name of the CPU's instruction set; NULL: the best */
    const char *visible_devices; /* value of CUDA_VISIBLE_DEVICES; NULL: not set */
    /* Sets an environment variable for the CUDA runtime. Called before there are other threads.
       NULL: the environment is not changed, and all visible GPUs are initialised. */
    engine_set_variable *set_variable;
    /* Prepares malloc for many threads that allocate much memory. NULL: nothing is done. */
    void (*widen_heap)(void);
};

/* The tuning that applies to these options. */
static inline const struct session_tuning *session_tuning(const struct session_options *options)
{
    return options->tuning ? options->tuning : &session_tuning_shipped;
}

/* Workers of the CPU for files: as many as the user has asked for, or one for each core, and then at least
   so many: inputs that are not cached want several requests at a time, whatever the cores. */
#define SESSION_WORKERS_MIN 4
static inline unsigned session_workers(const struct session_options *options, unsigned cores)
{
    return options->threads              ? options->threads
           : cores > SESSION_WORKERS_MIN ? cores
                                         : SESSION_WORKERS_MIN;
}

/* Bytes in memory that are worth a worker of their own. They are fewer than bytes of a file, since a
   session for memory keeps its threads. */
#define SESSION_WORKER_BYTES ((uint64_t)512 << 10)

/* Bytes in memory that are reduced before progress would be shown. */
#define SESSION_SHORT_BYTES ((uint64_t)8 << 20)

/* Whether an input of so many bytes is so soon reduced that the calling thread is the first worker. */
static inline bool session_is_short(const struct session_options *options, uint64_t bytes)
{
    return options->input.view && bytes <= SESSION_SHORT_BYTES;
}

#endif
