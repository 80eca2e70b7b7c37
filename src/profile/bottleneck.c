#include "config.h"

#include "profile/bottleneck.h"

#include <stdio.h>
#include <string.h>

#include "sys/plural.h"

/* If one worker at a time was in the source, reading and decoding take this part of the time at
   most: the clocks of those that take turns overlap by a little. */
#define ONE_AT_A_TIME 1.02

/* A link that is busier than this is what holds back the decompression behind it. */
#define LINK_BUSY 0.9

/* A steady state that is a lesser part of the run than this says less than the whole run does. */
#define STEADY_MIN 0.5

/* The text for a cause, and the recorded limit with which its rate is compared: the best that was
   measured, that of as many threads, or that of as many GPUs. */
static const struct cause {
    const char *text;
    const char *limit; /* NULL for none */
    enum { LIMIT_BEST, LIMIT_OF_THREADS, LIMIT_OF_GPUS } by;
    const char *owner; /* of the limit, unless threads are */
} causes[BOTTLENECK_CAUSES] = {
    [BOTTLENECK_STORAGE] = {"reading from storage", "cold-direct", LIMIT_BEST, "storage"},
    [BOTTLENECK_CACHED_COPY] = {"copying from the page cache", "cached-pread", LIMIT_OF_THREADS,
                                NULL},
    [BOTTLENECK_CACHED_PAGES] = {"mapping the page cache", "cached-mapped", LIMIT_OF_THREADS, NULL},
    [BOTTLENECK_PIPE] = {"reading the pipe", NULL, LIMIT_BEST, NULL},
    [BOTTLENECK_WRITER] = {"waiting for the pipe's writer", NULL, LIMIT_BEST, NULL},
    [BOTTLENECK_DECODING] = {"decompressing", "zstd-decode", LIMIT_OF_THREADS, NULL},
    [BOTTLENECK_LINK] = {"host-to-device copy", "host-to-device-pinned", LIMIT_OF_GPUS, "link"},
    [BOTTLENECK_GPU_DECODE] = {"decompressing on the GPU", NULL, LIMIT_BEST, NULL},
    [BOTTLENECK_GPU] = {"the kernel on the GPU", "gpu-read", LIMIT_OF_GPUS, "GPU"},
    [BOTTLENECK_CHECKSUM] = {"verifying a frame's checksum, by one thread at a time", NULL,
                             LIMIT_BEST, NULL},
    [BOTTLENECK_CHECKSUMS] = {"verifying checksums", NULL, LIMIT_BEST, NULL},
    [BOTTLENECK_MEMORY] = {"reducing on the CPU, reading mapped memory", "cached-mapped",
                           LIMIT_OF_THREADS, NULL},
    [BOTTLENECK_CPU] = {"reducing on the CPU", NULL, LIMIT_BEST, NULL},
};

/*
 * Finding it.
 */

static uint64_t busy(const struct profile *p, enum profile_stage stage)
{
    return p->stages[stage].busy;
}

/* Whether one worker at a time was in the source. */
static bool went_in_turn(const struct profile *p)
{
    return p->in_turn && (double)(busy(p, PROFILE_READ) + busy(p, PROFILE_DECODE)) <=
                             (double)p->input_span * ONE_AT_A_TIME;
}

/* The part of the time in which the checksum of a frame was computed that only one thread can. */
static double checked_in_turn(const struct profile *p)
{
    return profile_part(p->check_in_turn, profile_time(p));
}

/* The stage with the highest utilisation. */
static enum profile_stage busiest(const struct profile *p)
{
    uint64_t read = busy(p, PROFILE_READ), decode = busy(p, PROFILE_DECODE);
    uint64_t reduce = busy(p, PROFILE_REDUCE), check = busy(p, PROFILE_CHECK);
    enum profile_stage source = decode > read ? PROFILE_DECODE : PROFILE_READ;
    enum profile_stage stage = source;
    double most = 0,
           threads = profile_part(read + decode + reduce + check, p->stages[PROFILE_READ].capacity);

    if (went_in_turn(p))
        most = profile_part(read + decode, p->input_span);
    if (threads > most) {
        most = threads;
        stage = reduce > busy(p, source) ? PROFILE_REDUCE : source;
        stage = check > busy(p, stage) ? PROFILE_CHECK : stage;
    }
    if (checked_in_turn(p) > most) {
        most = checked_in_turn(p);
        stage = PROFILE_CHECK;
    }
    if (profile_utilisation(p, PROFILE_GPU_DECODE) > most) {
        most = profile_utilisation(p, PROFILE_GPU_DECODE);
        stage = PROFILE_GPU_DECODE;
    }
    if (profile_utilisation(p, PROFILE_KERNEL) > most) {
        most = profile_utilisation(p, PROFILE_KERNEL);
        stage = PROFILE_KERNEL;
    }
    /* If both are always busy, it is the link: the kernels follow the copies. Several batches are
       decompressed at a time, so that one always is. */
    if (stage == PROFILE_GPU_DECODE && profile_utilisation(p, PROFILE_COPY) > LINK_BUSY)
        return PROFILE_COPY;
    if (profile_utilisation(p, PROFILE_COPY) >= most && p->gpus > 0)
        stage = PROFILE_COPY;
    return stage;
}

/* Time of the workers that is accounted for by neither running nor waiting for each other or a GPU:
   they waited for bytes, or for a processor. */
static uint64_t stalled(const struct profile *p)
{
    uint64_t known = p->cpu_time + p->wait + p->source_wait;
    uint64_t capacity = p->stages[PROFILE_READ].capacity;

    return known < capacity ? capacity - known : 0;
}

static enum bottleneck_cause cause_of(const struct profile *p, enum profile_stage stage)
{
    bool in_place = p->in_place > p->stages[PROFILE_REDUCE].bytes / 2;
    bool from_storage = p->storage > p->stages[PROFILE_READ].bytes / 2;

    switch (stage) {
    case PROFILE_READ:
        if (p->pipe)
            return stalled(p) > busy(p, PROFILE_READ) / 2 ? BOTTLENECK_WRITER : BOTTLENECK_PIPE;
        return from_storage ? BOTTLENECK_STORAGE
               : in_place   ? BOTTLENECK_CACHED_PAGES
                            : BOTTLENECK_CACHED_COPY;
    case PROFILE_DECODE:
        return BOTTLENECK_DECODING;
    case PROFILE_COPY:
        return BOTTLENECK_LINK;
    case PROFILE_GPU_DECODE:
    case PROFILE_VERIFY: /* it is under way together with that */
        return BOTTLENECK_GPU_DECODE;
    case PROFILE_KERNEL:
        return BOTTLENECK_GPU;
    case PROFILE_CHECK:
        return p->check_in_turn > busy(p, PROFILE_CHECK) / 2 ? BOTTLENECK_CHECKSUM
                                                             : BOTTLENECK_CHECKSUMS;
    case PROFILE_REDUCE:
    case PROFILE_STAGES:
        /* A page that is not there is waited for in the kernel. */
        if (in_place && from_storage && stalled(p) > busy(p, PROFILE_REDUCE) / 2)
            return BOTTLENECK_STORAGE;
        break;
    }
    return in_place ? BOTTLENECK_MEMORY : BOTTLENECK_CPU;
}

static bool on_gpu(enum profile_stage stage)
{
    return stage == PROFILE_COPY || stage == PROFILE_GPU_DECODE || stage == PROFILE_KERNEL;
}

/* The rate of a stage: of the GPU's, while it was at work; of the others, in the steady state if
   there is one, taking its bytes to be spread over the run as those of the elements are. */
static double rate_of(const struct profile *p, enum profile_stage stage)
{
    const struct profile_work *w = &p->stages[stage];
    const struct profile_period *steady = &p->phases[PROFILE_STEADY];
    uint64_t all = 0, time = profile_time(p);

    if (on_gpu(stage))
        return profile_rate(w->bytes, w->capacity) * p->gpus;
    for (int i = 0; i < PROFILE_PHASES; i++)
        all += p->phases[i].bytes;
    if (all == 0 || (double)steady->time < (double)time * STEADY_MIN)
        return profile_rate(w->bytes, time);
    return profile_rate(w->bytes, steady->time) * profile_part(steady->bytes, all);
}

bool bottleneck_find(const struct profile *p, struct bottleneck *b)
{
    enum profile_stage stage = busiest(p);
    bool source = stage == PROFILE_READ || stage == PROFILE_DECODE;

    if (profile_time(p) < PROFILE_TIME_MIN)
        return false;
    b->stage = stage;
    b->cause = cause_of(p, stage);
    b->rate = rate_of(p, stage);
    b->units = on_gpu(stage)                     ? p->gpus
               : source && went_in_turn(p)       ? 1
               : b->cause == BOTTLENECK_CHECKSUM ? 1
                                                 : p->threads;
    return true;
}

/*
 * The words for it.
 */

const char *bottleneck_text(const struct bottleneck *b)
{
    return causes[b->cause].text;
}

double bottleneck_limit(const struct bottleneck *b, const struct machine *m, const char *gpus)
{
    const struct cause *cause = &causes[b->cause];

    if (!cause->limit)
        return 0;
    switch (cause->by) {
    case LIMIT_BEST:
        return machine_best(m, cause->limit);
    case LIMIT_OF_THREADS:
        return machine_rate(m, cause->limit, b->units);
    case LIMIT_OF_GPUS:
        /* A description of several GPUs begins with their number: the name stands anywhere. */
        if (gpus && m->gpu[0] && strstr(gpus, m->gpu))
            return machine_best(m, cause->limit) * b->units;
        break;
    }
    return 0;
}

const char *bottleneck_compare(char text[BOTTLENECK_TEXT_MAX], const struct bottleneck *b,
                               double limit)
{
    const struct cause *cause = &causes[b->cause];
    double percent = 100 * b->rate / limit;

    if (cause->by == LIMIT_OF_THREADS)
        snprintf(text, BOTTLENECK_TEXT_MAX, "%.0f %% of the measured %.1f GB/s of %u thread%s",
                 percent, limit, b->units, plural(b->units));
    else if (cause->by == LIMIT_OF_GPUS && b->units > 1)
        snprintf(text, BOTTLENECK_TEXT_MAX, "%.0f %% of the %u %ss' measured %.1f GB/s", percent,
                 b->units, cause->owner, limit);
    else
        snprintf(text, BOTTLENECK_TEXT_MAX, "%.0f %% of the %s's measured %.1f GB/s", percent,
                 cause->owner, limit);
    return text;
}
