#include "config.h"

#include "run/gpu_policy.h"

#include <math.h>
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

/*
 * Compressed files. GB/s, of decoded bytes unless stated otherwise; on an H200 or H100 and 16 to 32
 * cores, whole files of 4 to 32 GiB. doc/tuning.md says how to measure them again.
 */

/* A core that decodes many frames, as libzstd does, and all of them: 8.4 to 10.8 with 16, 16.2 with
   32, 19 with 64. One of a team, which decodes literals of one frame: 10.6 to 12.3 with 16. A team
   reaches 0.9 to 1.5 in a frame most of which is copied from before. */
#define CORE_DECODES 0.55
#define CORES_DECODE 22.0
#define MEMBER_DECODES 0.67
#define TEAM_COPIES 1.4

/* Frames that compress by more are of that kind: the others by 1.08 to 1.29, these by 1.84 to 14.
 */
#define COPIED_FROM 1.4

/* The GPU's decoder: 54 to 79 where the link does not hold it up, and where it also verifies many
   frames 47 to 67. The link, of compressed bytes, with 16 cores that feed it: 43 to 49. */
#define GPU_DECODES 52.0
#define GPU_VERIFIES 45.0
#define LINK_CARRIES 44.0

/* A beginning may decode to far more than the rest, as zeros do. */
#define RATIO_MOST 16.0

/* The rate of storage in a machine with such a GPU, of compressed bytes. */
#define STORAGE_READS 3.0

/* A core that hashes, and one that hashes what a GPU sent; of one frame no more than one can. */
#define CORE_HASHES 8.0
#define CORE_HASHES_BEHIND_LINK 7.8

/* To get the decoder its memory, and its context ready when nothing else can be done meanwhile:
   0.22 to 0.26 in all; and 0.11 at the end of the process, to give it all back. */
#define DECODER_START_UP (SECOND * 26 / 100)
#define DECODER_END (SECOND * 11 / 100)

static double least(double x, double y)
{
    return x < y ? x : y;
}

/* The estimated times of decoding a file. */
struct estimate {
    bool one;        /* a frame holds all of it, if it states as much: frames hardly ever grow */
    double content;  /* bytes */
    double cpu, gpu; /* bytes a nanosecond of that, by all cores, and by the GPU */
};

static struct estimate estimate(const struct unpack_observation *o)
{
    const double input = (double)o->input, ratio = o->ratio > 0 ? least(o->ratio, RATIO_MOST) : 1;
    struct estimate e = {.content = ratio * input,
                         .cpu = least(CORE_DECODES * o->cores, CORES_DECODE),
                         .gpu = GPU_DECODES};

    e.one = o->content != UINT64_MAX && o->content + o->content / 64 >= o->input;
    if (e.one) {
        e.content = (double)o->content;
        e.cpu = MEMBER_DECODES * o->cores;
        if (e.content > COPIED_FROM * input)
            e.cpu = least(e.cpu, TEAM_COPIES);
    }
    e.gpu = least(e.gpu, LINK_CARRIES * e.content / input);
    if (o->checked) {
        e.cpu = least(e.cpu, e.one ? CORE_HASHES : CORE_HASHES * o->cores);
        e.gpu = least(e.gpu, e.one ? CORE_HASHES_BEHIND_LINK : GPU_VERIFIES);
    }
    if (o->uncached) {
        e.cpu = least(e.cpu, STORAGE_READS * e.content / input);
        e.gpu = least(e.gpu, STORAGE_READS * e.content / input);
    }
    return e;
}

/* To get the GPU ready, and to end it: nanoseconds. */
static double start_up(enum gpu_state gpu)
{
    return gpu == GPU_UNUSED ? (double)(DECODER_START_UP + DECODER_END) : 0;
}

static const char *const as_soon = "the CPU decompresses it as soon";

const char *gpu_policy_unpack(const struct unpack_observation *o)
{
    const struct estimate e = estimate(o);
    const double inputs = 1 + (double)o->to_come / (double)o->input; /* of this one's size */

    if (o->no_kernels)
        return "it has no kernels for these operations";
    if (o->forced)
        return o->gpu == GPU_FAILED ? "" : NULL;
    if (o->gpu == GPU_OPENING)
        return "the GPU was not ready";
    if (o->gpu == GPU_FAILED)
        return "";
    return start_up(o->gpu) < inputs * (e.content / e.cpu - e.content / e.gpu) ? NULL : as_soon;
}

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

    return (double)(o->left + o->to_come) / o->rate >
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
