/*
 * Decides when auto uses the GPU: a pure function of observations. It makes no decision by itself;
 * the run observes, asks, and does what it is told.
 *
 * A GPU costs time before it helps: its context is opened in the background, at the cost of some of
 * the CPU's work. So it is opened when the rest of the work ends sooner for it, start-up counted.
 * Then feeders are put on trial: they stay if the whole got faster.
 *
 * Whether a GPU decodes a compressed file is decided before that is opened: plan.h.
 */
#ifndef GPUREDUCE_RUN_GPU_POLICY_H
#define GPUREDUCE_RUN_GPU_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* How far the GPU is. */
enum gpu_state { GPU_UNUSED, GPU_OPENING, GPU_READY, GPU_FAILED };

/* How far the feeders of this run are. */
enum feeders_state {
    FEEDERS_NONE,     /* not started */
    FEEDERS_TRIAL,    /* at work, and to be judged */
    FEEDERS_KEPT,     /* they made the run faster */
    FEEDERS_DISMISSED /* they did not, and claim nothing more */
};

/* Inputs of fewer bytes never have feeders, whatever the rate; nor do they tell how fast the CPU
   is, for starting and ending are most of their time. A feeder is worth 50 ms of work at least, and
   a machine with a GPU reads more than 2.5 GB/s. */
#define GPU_INPUT_MIN ((uint64_t)128 << 20)

/* A rate is known after so long, nanoseconds. */
#define GPU_RATE_AFTER (UINT64_C(1000000000) / 10)

/* Rates are in bytes a nanosecond, times in nanoseconds. */
struct gpu_observation {
    bool compressed; /* the input is */
    bool small;      /* it has fewer bytes than GPU_INPUT_MIN */
    bool no_kernels; /* the GPU has none for what is wanted */
    bool in_order;   /* it comes in order: workers do not claim parts of it */
    enum gpu_state gpu;
    enum feeders_state feeders;
    bool useless;           /* earlier in this session feeders made nothing faster */
    bool forced;            /* as session_tuning.gpu_always */
    double rate;            /* of the CPU alone; 0 while it is not known */
    uint64_t left;          /* bytes of this input that have not been read */
    uint64_t later_bytes;   /* bytes of later inputs, of GPU_INPUT_MIN or more each */
    bool waits_for_storage; /* the workers do, most of the time */
    bool idle_core;         /* there are fewer workers than cores */
    uint64_t trial_time;    /* since the feeders were started */
    double trial_rate;      /* of the run, in that time */
    double rate_before;     /* of the CPU alone, before it */
};

enum gpu_action {
    GPU_WAIT,   /* nothing is to be done now */
    GPU_OPEN,   /* open the GPU, in the background */
    GPU_FEED,   /* start the feeders */
    GPU_KEEP,   /* the feeders have stood the trial */
    GPU_DISMISS /* they have not */
};

/* The next action. */
enum gpu_action gpu_policy(const struct gpu_observation *o);

/* Whether a GPU can help with the input at all. */
bool gpu_policy_possible(const struct gpu_observation *o);

/* Why the GPU was not used, in a few words, after a run with this last observation. `reason` is
   that of a GPU that failed. */
const char *gpu_policy_skipped(const struct gpu_observation *o, const char *reason);

#endif
