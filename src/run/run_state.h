/*
 * The state of a run: one input, reduced once from its beginning to its end. Workers, the fallback,
 * the profile and the coordinating thread share it; run.c owns it.
 */
#ifndef GPUREDUCE_RUN_STATE_H
#define GPUREDUCE_RUN_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/gpu.h"
#include "run/phases.h"
#include "run/plan.h"
#include "run/session_options.h"
#include "sys/team.h"

struct worker;
struct gpu_decode;
struct arrays;

/* Experience of auto from the runs of a session. */
struct experience {
    uint64_t read,
        read_time; /* bytes that the CPU alone read, of inputs that tell, in nanoseconds */
    bool useless;  /* where a GPU was ready, it made nothing faster */
    bool alone;    /* no thread could be started, and the user knows */
};

/* Checksums of what a GPU decompressed. Bytes, and nanoseconds of all workers. */
struct checked {
    uint64_t bytes, time;
    uint64_t time_in_turn; /* in frames that one worker at a time hashes */
};

struct run {
    /* The session's. */
    const struct session_options *options;
    unsigned cores;
    struct engine_state *cpu;
    struct gpu *gpu;
    struct experience *experience;
    uint64_t *storage_seen; /* bytes that storage had brought when that was last looked at */
    bool last;              /* no input is expected after this one */
    uint64_t later_bytes;   /* bytes of later inputs that a GPU could help with */
    struct worker *workers; /* the workers of the CPU, followed by the feeders */
    unsigned cpu_workers, feeders;
    struct team *team; /* a member for each worker */

    /* The input. */
    struct source *source;
    const struct source_info *info;
    bool in_container; /* it is one array of a container, and the others are not read */
    struct engine_setup setup;
    struct missing missing;    /* that of the input; see setup.missing */
    struct arrays *arrays;     /* of a container: what is found of each; otherwise NULL */
    struct tally_set *tallies; /* of each CPU worker, and then of each feeder; NULL for none */
    /* One of each CPU worker, which finds quantiles of whole arrays by it; of an input that is one array
       the first worker does, alone. NULL: none does. */
    struct pass_keys *keys;
    struct plan *plan;         /* how it is read */
    struct gpu_decode *decode; /* where compressed input is decoded by an engine; otherwise NULL */
    struct checked checked;
    struct partial_split split;    /* see setup.split */
    struct engine_columns columns; /* see setup.columns */
    /* When it was asked for, when it was opened, and when it was first read, if that was in a run
       before this; clock_now's. */
    uint64_t called_at, opened_at, started_at;

    struct phases phases;
    _Atomic unsigned cpu_at_work; /* CPU workers that have a part in the run, ended or not */
    struct source_stats before;   /* statistics at the time when the workers began */
    _Atomic bool feeders_end;     /* feeders are to claim nothing more */

    /* The GPU's part; the session's thread's. */
    enum feeders_state feeders_state;
    uint64_t fed_since;              /* when the feeders were started */
    uint64_t read_before_it;         /* bytes of input */
    double rate_before_it;           /* bytes a nanosecond */
    struct gpu_observation observed; /* the last */
};

/* Runs workers on run->source until its end, and merges what they found. The fields of the session
   and of the input are set. */
enum source_verdict run_workers(struct run *run, struct partial *partial);

#endif
