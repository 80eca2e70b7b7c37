#include "account.h"

#include "clock.h"

/* A run that is shorter consists of starting threads, some tens of microseconds for each. */
#define TIME_MIN (CLOCK_SECOND / 1000)

/* If one worker at a time was in the source, reading and decoding take this part of the time at
   most: the clocks of those that take turns overlap by a little. */
#define ONE_AT_A_TIME 1.02

/* A steady state that is a lesser part of the run than this says less than the whole run does. */
#define STEADY_MIN 0.5

double account_rate(uint64_t bytes, uint64_t time)
{
    return time ? (double)bytes / (double)time : 0; /* bytes a nanosecond are GB/s */
}

/* A part of a whole that may be 0; at most 1. */
static double part(uint64_t some, uint64_t whole)
{
    return whole == 0 ? 0 : some < whole ? (double)some / (double)whole : 1;
}

double account_busy(const struct account *a, enum account_stage stage)
{
    return part(a->stages[stage].busy, a->stages[stage].room);
}

uint64_t account_time(const struct account *a)
{
    return a->phases[ACCOUNT_RAMP_UP].time + a->phases[ACCOUNT_STEADY].time +
           a->phases[ACCOUNT_FINISH].time;
}

static uint64_t busy(const struct account *a, enum account_stage stage)
{
    return a->stages[stage].busy;
}

/* Whether one worker at a time was in the source. */
static bool went_in_turn(const struct account *a)
{
    return a->in_turn && (double)(busy(a, ACCOUNT_READ) + busy(a, ACCOUNT_DECODE)) <=
                             (double)a->taking * ONE_AT_A_TIME;
}

/* The stage that kept what it runs on busiest. */
static enum account_stage busiest(const struct account *a)
{
    uint64_t read = busy(a, ACCOUNT_READ), decode = busy(a, ACCOUNT_DECODE);
    uint64_t reduce = busy(a, ACCOUNT_REDUCE);
    enum account_stage source = decode > read ? ACCOUNT_DECODE : ACCOUNT_READ;
    enum account_stage stage = source;
    double most = 0, threads = part(read + decode + reduce, a->stages[ACCOUNT_READ].room);

    if (went_in_turn(a))
        most = part(read + decode, a->taking);
    if (threads > most) {
        most = threads;
        stage = reduce > busy(a, source) ? ACCOUNT_REDUCE : source;
    }
    if (account_busy(a, ACCOUNT_KERNEL) > most) {
        most = account_busy(a, ACCOUNT_KERNEL);
        stage = ACCOUNT_KERNEL;
    }
    /* Of two that are always busy, the link: the kernels follow the copies. */
    if (account_busy(a, ACCOUNT_COPY) >= most && a->gpus > 0)
        stage = ACCOUNT_COPY;
    return stage;
}

/* Time of the workers that is accounted for by neither running nor waiting for each other or a GPU:
   they waited for bytes, or for a processor. */
static uint64_t stalled(const struct account *a)
{
    uint64_t known = a->cpu_time + a->wait + a->turn, room = a->stages[ACCOUNT_READ].room;

    return known < room ? room - known : 0;
}

static enum account_cause cause_of(const struct account *a, enum account_stage stage)
{
    bool in_place = a->in_place > a->stages[ACCOUNT_REDUCE].bytes / 2;
    bool from_storage = a->storage > a->stages[ACCOUNT_READ].bytes / 2;

    switch (stage) {
    case ACCOUNT_READ:
        if (a->pipe)
            return stalled(a) > busy(a, ACCOUNT_READ) / 2 ? ACCOUNT_WRITER : ACCOUNT_PIPE;
        return from_storage ? ACCOUNT_STORAGE
               : in_place   ? ACCOUNT_CACHED_PAGES
                            : ACCOUNT_CACHED_COPY;
    case ACCOUNT_DECODE:
        return ACCOUNT_DECODING;
    case ACCOUNT_COPY:
        return ACCOUNT_LINK;
    case ACCOUNT_KERNEL:
        return ACCOUNT_GPU;
    default:
        /* A page that is not there is waited for in the kernel. */
        if (in_place && from_storage && stalled(a) > busy(a, ACCOUNT_REDUCE) / 2)
            return ACCOUNT_STORAGE;
        return in_place ? ACCOUNT_MEMORY : ACCOUNT_CPU;
    }
}

/* The rate of a stage: of the GPU's, while it was at work; of the others, in the steady state if
   there is one, taking its bytes to be spread over the run as those of the elements are. */
static double rate_of(const struct account *a, enum account_stage stage)
{
    const struct account_work *w = &a->stages[stage];
    const struct account_period *steady = &a->phases[ACCOUNT_STEADY];
    uint64_t all = 0, time = account_time(a);

    if (stage == ACCOUNT_COPY || stage == ACCOUNT_KERNEL)
        return account_rate(w->bytes, w->room) * a->gpus;
    for (int i = 0; i < ACCOUNT_PHASES; i++)
        all += a->phases[i].bytes;
    if (all == 0 || (double)steady->time < (double)time * STEADY_MIN)
        return account_rate(w->bytes, time);
    return account_rate(w->bytes, steady->time) * part(steady->bytes, all);
}

bool account_limiter(const struct account *a, struct account_limiter *limiter)
{
    enum account_stage stage = busiest(a);
    bool source = stage == ACCOUNT_READ || stage == ACCOUNT_DECODE;

    if (account_time(a) < TIME_MIN)
        return false;
    limiter->stage = stage;
    limiter->cause = cause_of(a, stage);
    limiter->rate = rate_of(a, stage);
    limiter->units = stage == ACCOUNT_COPY || stage == ACCOUNT_KERNEL ? a->gpus
                     : source && went_in_turn(a)                      ? 1
                                                                      : a->threads;
    return true;
}
