#include "config.h"

#include "run/gpu_policy.h"

#include <stddef.h>

#define SECOND UINT64_C(1000000000)

/* Opening a context takes about 0.18 s in the background, and costs the CPU about 0.13 s of work,
   in part at the end of the process. */
#define START_UP (SECOND * 18 / 100)
#define OPEN_COST (SECOND * 13 / 100)

/* The gain by a feeder, in bytes a nanosecond: with a core of its own (4 cores 65 GB/s, with a
   feeder 86), and if it shares the cores with as many workers, from which it takes most of what it
   brings (4 cores 66 and 70, 8 cores 122 and 126). */
#define FEEDER_RATE 20.0
#define FEEDER_RATE_SHARED 4.0

/* Cores that read faster than this leave the memory nothing to give to a GPU: 12 of them at 162 and
   16 at 183, of the 193 that plain reading gave, got no faster with one. */
#define CPU_RATE_MAX 130.0

/* For less work than this a feeder is not worth starting on a GPU that is ready. */
#define FEEDER_TIME (SECOND / 20)

/* After this long the feeders must have made the run faster, by this factor: where the cores read
   as fast as memory can, they only take from them. */
#define TRIAL (SECOND / 10)
#define TRIAL_GAIN 1.02

static const char *const too_little = "too little work";

/* Why the GPU would not help, as far as the run shows; NULL when it might. */
static const char *hindrance(const struct gpu_observation *o)
{
    return o->no_kernels            ? "it has no kernels for these operations"
           : o->compressed          ? (o->small ? too_little : "the input is compressed")
           : o->in_order            ? "the input comes in order"
           : o->useless             ? "the GPU made earlier work no faster"
           : o->waits_for_storage   ? "the cores wait for storage"
           : o->rate > CPU_RATE_MAX ? "the CPU alone reads as fast as memory allows"
                                    : NULL;
}

bool gpu_policy_possible(const struct gpu_observation *o)
{
    return !o->no_kernels && !o->compressed && !o->in_order;
}

/* Whether the work ends sooner when the GPU is opened now. */
static bool worth_opening(const struct gpu_observation *o)
{
    double gain = o->idle_core ? FEEDER_RATE : FEEDER_RATE_SHARED;

    return (double)(o->left + o->later_bytes) / o->rate >
           (double)START_UP + (double)OPEN_COST * (1 + o->rate / gain);
}

static enum gpu_action judge(const struct gpu_observation *o)
{
    if (o->rate_before == 0)
        return GPU_KEEP;
    if (o->trial_time < TRIAL)
        return GPU_WAIT;
    return o->trial_rate < TRIAL_GAIN * o->rate_before ? GPU_DISMISS : GPU_KEEP;
}

enum gpu_action gpu_policy(const struct gpu_observation *o)
{
    if (!gpu_policy_possible(o))
        return GPU_WAIT;
    if (o->feeders != FEEDERS_NONE)
        return o->feeders == FEEDERS_TRIAL ? judge(o) : GPU_WAIT;
    if (!o->forced && (o->rate == 0 || hindrance(o)))
        return GPU_WAIT;
    switch (o->gpu) {
    case GPU_UNUSED:
        return o->forced || worth_opening(o) ? GPU_OPEN : GPU_WAIT;
    case GPU_READY:
        return o->forced || (double)o->left / o->rate > (double)FEEDER_TIME ? GPU_FEED : GPU_WAIT;
    case GPU_OPENING:
    case GPU_FAILED:
        break;
    }
    return GPU_WAIT;
}

const char *gpu_policy_skipped(const struct gpu_observation *o, const char *reason)
{
    const char *why = hindrance(o);

    if (!gpu_policy_possible(o))
        return why;
    if (o->gpu == GPU_FAILED)
        return reason;
    if (why)
        return why;
    return o->gpu == GPU_UNUSED ? too_little : "too little work was left when it was ready";
}
