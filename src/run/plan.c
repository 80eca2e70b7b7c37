#include "config.h"

#include "run/plan.h"

#include <stddef.h>

#include "zstd/frames.h"

/*
 * Rates on an H200 or H100 and 16 to 32 cores, of whole files of 4 to 32 GiB. doc/tuning.md says how
 * to measure them again.
 */

/* A core that decodes many frames, as libzstd does, and all of them: 8.4 to 10.8 with 16, 15.6 with
   32, 19 to 29 with 64. In data most of which is copied from before, as weights, 16 came to 5.9 and
   32 to 9.1. One of a team, which decodes literals of one frame: 10.6 to 12.3 with 16. A team reaches 0.9
   to 1.5 in a frame most of which is copied. */
#define CORE_DECODES 0.55
#define CORES_DECODE 22.0
#define CORE_COPIES 0.36
#define CORES_COPY 10.0
#define MEMBER_DECODES 0.67
#define TEAM_COPIES 1.4

/* Frames that compress by more are of that kind: the others by 1.08 to 1.29, these by 1.84 to 14.
 */
#define COPIED_FROM 1.4

/* One core decodes those that compress by 1.8 to 3.3 at 0.73 to 0.82, by 14 at 0.95, and others at
   0.87: frames that compress by more than this are as fast as those that hardly do. */
#define COPIED_TO 4.0

/* The GPU's decoder: 54 to 79 where the link does not hold it up, and where it also verifies many
   frames 47 to 67. The link, of compressed bytes, with 16 cores that feed it: 43 to 49. */
#define GPU_DECODES 52.0
#define GPU_VERIFIES 45.0
#define LINK_CARRIES 44.0

/* The parts of recorded limits that are reached: of libzstd alone, of a frame that is decoded as the
   program does, and of copies to the GPU. */
#define OF_FRAMES 0.8
#define OF_ONE 0.95
#define OF_LINK 0.8

/* A beginning may decode to far more than the rest, as zeros do. */
#define RATIO_MOST 16.0

/* The rate of storage in a machine with such a GPU, of compressed bytes. */
#define STORAGE_READS 3.0

/* A core that hashes, and one that hashes what a GPU sent; of one frame no more than one can. */
#define CORE_HASHES 8.0
#define CORE_HASHES_BEHIND_LINK 7.8

/* To get the decoder its memory, and its context ready when nothing else can be done meanwhile:
   0.22 to 0.26 in all; and 0.11 at the end of the process, to give it all back. */
#define DECODER_START_UP 0.26
#define DECODER_END 0.11

static double least(double x, double y)
{
    return x < y ? x : y;
}

/* A part of what is recorded; `otherwise` where nothing is. */
static double recorded_part(double rate, double part, double otherwise)
{
    return rate > 0 ? rate * part : otherwise;
}

struct plan_rates plan_rates(unsigned cores, const struct machine *m)
{
    struct plan_rates r = {
        .frames = {least(CORE_DECODES * cores, CORES_DECODE),
                   least(CORE_COPIES * cores, CORES_COPY)},
        .one = {MEMBER_DECODES * cores, least(MEMBER_DECODES * cores, TEAM_COPIES)},
        .gpu = {GPU_DECODES, GPU_DECODES},
        .verifies = GPU_VERIFIES,
        .link = LINK_CARRIES,
        .start = DECODER_START_UP,
        .end = DECODER_END,
    };
    static const struct {
        const char *frames, *one, *gpu;
    } names[2] = {{"zstd-decode", "one-frame", "one-frame-gpu"},
                  {"zstd-decode-weights", "one-frame-weights", "one-frame-gpu-weights"}};

    for (unsigned i = 0; m && i < 2; i++) {
        r.frames[i] =
            recorded_part(machine_rate(m, names[i].frames, cores), OF_FRAMES, r.frames[i]);
        r.one[i] = recorded_part(machine_rate(m, names[i].one, cores), OF_ONE, r.one[i]);
        r.gpu[i] = recorded_part(machine_best(m, names[i].gpu), OF_ONE, r.gpu[i]);
    }
    if (m)
        r.link = recorded_part(machine_best(m, "host-to-device-pinned"), OF_LINK, r.link);
    r.verifies = least(r.verifies, least(r.gpu[0], r.gpu[1]));
    return r;
}

/* The estimated seconds that a GPU saves in decoding a file. */
static double saved(const struct source_facts *f, const struct plan_request *request,
                    const struct plan_rates *r)
{
    const double input = (double)f->size;
    const double frames = f->ratio > 0 ? least(f->ratio, RATIO_MOST) : 1;
    const bool one = zstd_states_all(f->content, f->size);
    const double content = one ? (double)f->content : frames * input, ratio = content / input;
    const unsigned kind = ratio > COPIED_FROM;
    double cpu = one ? r->one[kind] : r->frames[kind && ratio < COPIED_TO];
    double gpu = least(r->gpu[kind], r->link * ratio);

    if (f->checked) {
        cpu = least(cpu, one ? CORE_HASHES : CORE_HASHES * request->cores);
        gpu = least(gpu, one ? CORE_HASHES_BEHIND_LINK : r->verifies);
    }
    if (f->uncached) {
        cpu = least(cpu, STORAGE_READS * ratio);
        gpu = least(gpu, STORAGE_READS * ratio);
    }
    return (content / cpu - content / gpu) * 1e-9;
}

/* Why auto is not to have a GPU decode a file; NULL if it is. */
static const char *reason_against(const struct source_facts *f, const struct plan_request *request,
                                  const struct plan_rates *r)
{
    const double inputs =
        1 + (double)request->later_bytes / (double)f->size; /* of this one's size */

    if (request->no_kernels)
        return PLAN_NO_KERNELS;
    if (request->gpu == GPU_FAILED)
        return "";
    if (request->forced)
        return NULL;
    if (request->gpu == GPU_OPENING)
        return "the GPU was not ready";
    return inputs * saved(f, request, r) > (request->gpu == GPU_UNUSED ? r->start + r->end : 0)
               ? NULL
               : "the CPU decompresses it as soon";
}

struct plan plan_input(const struct source_facts *facts, const struct plan_request *request,
                       const struct plan_rates *rates)
{
    struct plan plan = {.how = PLAN_PARALLEL};

    if (!facts->compressed || request->cpu_alone)
        return plan;
    switch (request->device) {
    case DEVICE_CPU:
        break;
    case DEVICE_GPU:
        plan.how = PLAN_GPUS;
        break;
    case DEVICE_AUTO:
        if (facts->size == 0 || (facts->size < GPU_INPUT_MIN && !request->forced))
            break;
        plan.no_gpu = reason_against(facts, request, rates);
        if (!plan.no_gpu)
            plan.how = PLAN_GPUS;
        break;
    }
    return plan;
}

bool plan_again(struct plan *plan, enum source_verdict verdict)
{
    if (plan->how == PLAN_IN_ORDER)
        return false;
    if (plan->how == PLAN_PARALLEL)
        plan->how = PLAN_IN_ORDER;
    else
        plan->how = plan->how == PLAN_GPUS && verdict == SOURCE_TORN ? PLAN_ONE_GPU : PLAN_PARALLEL;
    return true;
}
