#include "config.h"

#include "run/gpu_policy.h"

#include <stddef.h>

#define SECOND UINT64_C(1000000000)

/* Opening a context takes about 0.35 s in the background, and costs the CPU about 0.2 s of work,
   in part at the end of the process. */
#define START_UP (SECOND * 35 / 100)
#define OPEN_COST (SECOND / 5)

/* What a feeder adds, in bytes a nanosecond: with a core of its own (4 cores 65 GB/s, with a feeder
   86), and where it shares the cores with as many workers, from which it takes most of what it
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
 * Compressed files. GB/s, of decoded bytes unless stated otherwise; on an H200 and 16 cores, whole
 * files of 4 to 8 GiB. doc/tuning.md says how to measure them again.
 */

/* A core that decodes, as libzstd does or literals as one of a team: 10.6 with 16. What a team
   comes to in a frame most of which is copied from before: 0.9 to 1.5. */
#define CORE_DECODES 0.67
#define TEAM_COPIES 1.4

/* Frames that compress by more are of that kind: the others by 1.08 to 1.29, these by 1.84 to 14.
 */
#define COPIED_FROM 1.4

/* The GPU's decoder: 54 to 79 where the link does not hold it up, and where it also verifies many
   frames 40 to 45. The link, of compressed bytes, with 16 cores that feed it: 43 to 46. */
#define GPU_DECODES 52.0
#define GPU_VERIFIES 40.0
#define LINK_CARRIES 44.0

/* A core that hashes, and one that hashes what a GPU sent; of one frame no more than one can. */
#define CORE_HASHES 8.0
#define CORE_HASHES_BEHIND_LINK 7.8

/* To get the decoder its memory, and its context ready when nothing else can be done meanwhile:
   0.65 to 0.75 in all; and 0.35 at the end of the process, to give it all back. */
#define DECODER_START_UP (SECOND * 70 / 100)
#define DECODER_END (SECOND * 35 / 100)

/* The part of that which is left when the context is there. */
#define DECODER_MEMORY (DECODER_START_UP / 2)

/* Cores that feed the GPU, and decode nothing meanwhile: as PACKED_WORKERS in run.c. And what each
   of them copies into pinned memory. */
#define CORES_FEED 16
#define CORE_FEEDS 4.5

/* A GPU beside cores is to make the rest faster by this factor, for the rates are estimates. */
#define SHARE_GAIN 1.1

static double least(double x, double y)
{
    return x < y ? x : y;
}

const char *gpu_policy_unpack(const struct unpack_observation *o)
{
    /* One frame holds all of it, if it states as much: frames hardly ever grow. */
    const bool one = o->content != UINT64_MAX && o->content + o->content / 64 >= o->input;
    const double input = (double)o->input, content = one ? (double)o->content : input;
    double cpu = CORE_DECODES * o->cores, gpu = GPU_DECODES, start_up = 0;

    if (o->no_kernels)
        return "it has no kernels for these operations";
    if (o->forced)
        return o->gpu == GPU_FAILED ? "" : NULL;
    gpu = least(gpu, LINK_CARRIES * content / input);
    if (one && content > COPIED_FROM * input)
        cpu = least(cpu, TEAM_COPIES);
    if (o->checked) {
        cpu = least(cpu, one ? CORE_HASHES : CORE_HASHES * o->cores);
        gpu = least(gpu, one ? CORE_HASHES_BEHIND_LINK : GPU_VERIFIES);
    }
    switch (o->gpu) {
    case GPU_UNUSED:
        start_up = (double)(DECODER_START_UP + DECODER_END);
        break;
    case GPU_READY:
        break;
    case GPU_OPENING:
        return "the GPU was not ready";
    case GPU_FAILED:
        return "";
    }
    return content / gpu + start_up < content / cpu ? NULL : "the CPU decompresses it as soon";
}

enum gpu_action gpu_policy_share(const struct share_observation *o)
{
    const bool ready = o->gpu == GPU_READY;
    const double start_up = (double)(ready ? DECODER_MEMORY : DECODER_START_UP);
    const unsigned feed = o->workers < CORES_FEED ? o->workers : CORES_FEED;
    const double beside = o->workers > 0 ? o->rate * (o->workers - feed) / o->workers : 0;
    double alone, gpu, left, together;

    if (o->fed || o->no_kernels || o->gpu == GPU_OPENING || o->gpu == GPU_FAILED)
        return GPU_WAIT;
    if (!o->forced) {
        if (o->rate <= 0 || o->ratio <= 0 || o->waits_for_storage)
            return GPU_WAIT;
        gpu = least((o->checked ? GPU_VERIFIES : GPU_DECODES) / o->ratio,
                    least(LINK_CARRIES, CORE_FEEDS * feed));
        alone = (double)o->left / o->rate;
        left = (double)o->left - o->rate * start_up;
        together = start_up + left / (gpu + beside) + (double)DECODER_END;
        if (left <= 0 || SHARE_GAIN * together >= alone)
            return GPU_WAIT;
    }
    return ready ? GPU_FEED : GPU_OPEN;
}

const char *gpu_policy_share_begins(const struct unpack_observation *o)
{
    const struct share_observation share = {
        .gpu = GPU_UNUSED,
        .forced = o->forced,
        .workers = o->cores,
        .rate = CORE_DECODES * o->cores,
        .ratio = 1,
        .left = o->input,
        .checked = o->checked,
    };

    if (o->no_kernels)
        return "it has no kernels for these operations";
    if (o->gpu == GPU_FAILED)
        return "";
    if (o->gpu == GPU_READY)
        return "it can begin as soon as the cores";
    return gpu_policy_share(&share) == GPU_WAIT ? "the CPU decompresses it as soon" : NULL;
}

/* Why the GPU would not help, as far as the run shows; NULL when it might. */
static const char *hindrance(const struct gpu_observation *o)
{
    return o->no_kernels            ? "it has no kernels for these operations"
           : o->compressed          ? "the input is compressed"
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
    return o->gpu == GPU_UNUSED ? "too little work" : "too little work was left when it was ready";
}
