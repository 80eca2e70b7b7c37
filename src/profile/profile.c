#include "config.h"

#include "profile/profile.h"

#include "sys/clock.h"

/* If one worker at a time was in the source, reading and decoding take this part of the time at
   most: the clocks of those that take turns overlap by a little. */
#define ONE_AT_A_TIME 1.02

/* A steady state that is a lesser part of the run than this says less than the whole run does. */
#define STEADY_MIN 0.5

double profile_rate(uint64_t bytes, uint64_t time)
{
    return time ? (double)bytes / (double)time : 0; /* bytes a nanosecond are GB/s */
}

/* A part of a whole that may be 0; at most 1. */
static double part(uint64_t some, uint64_t whole)
{
    return whole == 0 ? 0 : some < whole ? (double)some / (double)whole : 1;
}

double profile_utilisation(const struct profile *a, enum profile_stage stage)
{
    return part(a->stages[stage].busy, a->stages[stage].capacity);
}

uint64_t profile_time(const struct profile *a)
{
    return a->phases[PROFILE_RAMP_UP].time + a->phases[PROFILE_STEADY].time +
           a->phases[PROFILE_FINISH].time;
}

static uint64_t busy(const struct profile *a, enum profile_stage stage)
{
    return a->stages[stage].busy;
}

/* Whether one worker at a time was in the source. */
static bool went_in_turn(const struct profile *a)
{
    return a->in_turn && (double)(busy(a, PROFILE_READ) + busy(a, PROFILE_DECODE)) <=
                             (double)a->input_span * ONE_AT_A_TIME;
}

/* The stage that kept what it runs on busiest. */
static enum profile_stage busiest(const struct profile *a)
{
    uint64_t read = busy(a, PROFILE_READ), decode = busy(a, PROFILE_DECODE);
    uint64_t reduce = busy(a, PROFILE_REDUCE);
    enum profile_stage source = decode > read ? PROFILE_DECODE : PROFILE_READ;
    enum profile_stage stage = source;
    double most = 0, threads = part(read + decode + reduce, a->stages[PROFILE_READ].capacity);

    if (went_in_turn(a))
        most = part(read + decode, a->input_span);
    if (threads > most) {
        most = threads;
        stage = reduce > busy(a, source) ? PROFILE_REDUCE : source;
    }
    if (profile_utilisation(a, PROFILE_KERNEL) > most) {
        most = profile_utilisation(a, PROFILE_KERNEL);
        stage = PROFILE_KERNEL;
    }
    /* Of two that are always busy, the link: the kernels follow the copies. */
    if (profile_utilisation(a, PROFILE_COPY) >= most && a->gpus > 0)
        stage = PROFILE_COPY;
    return stage;
}

/* Time of the workers that is accounted for by neither running nor waiting for each other or a GPU:
   they waited for bytes, or for a processor. */
static uint64_t stalled(const struct profile *a)
{
    uint64_t known = a->cpu_time + a->wait + a->source_wait;
    uint64_t capacity = a->stages[PROFILE_READ].capacity;

    return known < capacity ? capacity - known : 0;
}

static enum profile_cause cause_of(const struct profile *a, enum profile_stage stage)
{
    bool in_place = a->in_place > a->stages[PROFILE_REDUCE].bytes / 2;
    bool from_storage = a->storage > a->stages[PROFILE_READ].bytes / 2;

    switch (stage) {
    case PROFILE_READ:
        if (a->pipe)
            return stalled(a) > busy(a, PROFILE_READ) / 2 ? PROFILE_WRITER : PROFILE_PIPE;
        return from_storage ? PROFILE_STORAGE
               : in_place   ? PROFILE_CACHED_PAGES
                            : PROFILE_CACHED_COPY;
    case PROFILE_DECODE:
        return PROFILE_DECODING;
    case PROFILE_COPY:
        return PROFILE_LINK;
    case PROFILE_KERNEL:
        return PROFILE_GPU;
    case PROFILE_REDUCE:
    case PROFILE_STAGES:
        break;
    }
    /* A page that is not there is waited for in the kernel. */
    if (in_place && from_storage && stalled(a) > busy(a, PROFILE_REDUCE) / 2)
        return PROFILE_STORAGE;
    return in_place ? PROFILE_MEMORY : PROFILE_CPU;
}

/* The rate of a stage: of the GPU's, while it was at work; of the others, in the steady state if
   there is one, taking its bytes to be spread over the run as those of the elements are. */
static double rate_of(const struct profile *a, enum profile_stage stage)
{
    const struct profile_work *w = &a->stages[stage];
    const struct profile_period *steady = &a->phases[PROFILE_STEADY];
    uint64_t all = 0, time = profile_time(a);

    if (stage == PROFILE_COPY || stage == PROFILE_KERNEL)
        return profile_rate(w->bytes, w->capacity) * a->gpus;
    for (int i = 0; i < PROFILE_PHASES; i++)
        all += a->phases[i].bytes;
    if (all == 0 || (double)steady->time < (double)time * STEADY_MIN)
        return profile_rate(w->bytes, time);
    return profile_rate(w->bytes, steady->time) * part(steady->bytes, all);
}

bool profile_limiter(const struct profile *a, struct profile_limiter *limiter)
{
    enum profile_stage stage = busiest(a);
    bool source = stage == PROFILE_READ || stage == PROFILE_DECODE;

    if (profile_time(a) < PROFILE_TIME_MIN)
        return false;
    limiter->stage = stage;
    limiter->cause = cause_of(a, stage);
    limiter->rate = rate_of(a, stage);
    limiter->units = stage == PROFILE_COPY || stage == PROFILE_KERNEL ? a->gpus
                     : source && went_in_turn(a)                      ? 1
                                                                      : a->threads;
    return true;
}
