/*
 * The policy of DEVICE_AUTO: when a run uses the GPU. A pure function of observations of the run.
 *
 * A GPU is initialised in the background, which takes time and slows the CPU down. So it is
 * initialised only if the work will end sooner with it, initialisation included. Then feeders, the
 * threads that fill buffers for the GPU, are tried for a while, and remain if the run became
 * faster.
 *
 * plan.h decides, before it is opened, whether a GPU decodes a compressed file.
 */
#ifndef GPUREDUCE_RUN_GPU_POLICY_H
#define GPUREDUCE_RUN_GPU_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* The state of the GPU. */
enum gpu_state { GPU_UNUSED, GPU_OPENING, GPU_READY, GPU_FAILED };

/* The state of the feeders of a run. */
enum feeders_state {
    FEEDERS_NONE,     /* not started */
    FEEDERS_TRIAL,    /* working on trial */
    FEEDERS_KEPT,     /* working; they made the run faster */
    FEEDERS_DISMISSED /* ended; they did not make the run faster */
};

/* The smallest input, in bytes, that may have feeders, and whose rate is measured: most of the
   time of smaller inputs is that of starting and ending. A feeder needs at least 50 ms of work
   to be useful, and a machine with a GPU reads more than 2.5 GB/s. */
#define GPU_INPUT_MIN ((uint64_t)128 << 20)

/* Nanoseconds of work after which a rate is known. */
#define GPU_RATE_AFTER (UINT64_C(1000000000) / 10)

/* Rates are in bytes a nanosecond, times in nanoseconds. */
struct gpu_observation {
    bool compressed; /* the input is compressed */
    bool small;      /* the input has fewer bytes than GPU_INPUT_MIN */
    bool no_kernels; /* the GPU has no kernels for the request */
    bool in_order;   /* the input is read in order, not in parts that workers claim */
    enum gpu_state gpu;
    enum feeders_state feeders;
    bool useless;           /* feeders were dismissed earlier in this session */
    bool forced;            /* session_tuning.gpu_always */
    double rate;            /* rate of the CPU alone; 0 if it is not known yet */
    uint64_t left;          /* bytes of this input that have not been read */
    uint64_t later_bytes;   /* bytes of later inputs of GPU_INPUT_MIN or more each */
    bool waits_for_storage; /* workers wait for storage most of the time */
    bool idle_core;         /* there are fewer workers than cores */
    uint64_t trial_time;    /* time since the feeders were started */
    double trial_rate;      /* rate of the run during the trial */
    double rate_before;     /* rate of the CPU alone before the trial */
};

enum gpu_action {
    GPU_WAIT,   /* do nothing */
    GPU_OPEN,   /* initialise the GPU in the background */
    GPU_FEED,   /* start feeders */
    GPU_KEEP,   /* keep the feeders */
    GPU_DISMISS /* end the feeders */
};

/* The next action. */
enum gpu_action gpu_policy(const struct gpu_observation *o);

/* Whether a GPU can help with the input at all. */
bool gpu_policy_possible(const struct gpu_observation *o);

/* The reason why a run that ended with this observation did not use the GPU. `reason`: the
   reason of a GPU that failed. Returns `reason` or a constant. */
const char *gpu_policy_skipped(const struct gpu_observation *o, const char *reason);

#endif
