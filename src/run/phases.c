#include "config.h"

#include "run/phases.h"

#include "sys/clock.h"

/* A worker that has had this many chunks has seen the run come up to speed, though another may
   still wait for its first: where they take turns there is no saying who is next. */
#define RAMP_CHUNKS 16

static uint64_t get(const _Atomic uint64_t *stamp)
{
    return atomic_load_explicit(stamp, memory_order_relaxed);
}

/* Sets a stamp, unless a worker has set it before. */
static void note(_Atomic uint64_t *stamp, uint64_t now)
{
    uint64_t none = 0;

    if (get(stamp) == 0)
        atomic_compare_exchange_strong(stamp, &none, now);
}

void phases_note_start(struct phases *p, uint64_t now)
{
    note(&p->started_at, now);
}

void phases_note_ramped(struct phases *p)
{
    if (atomic_fetch_sub(&p->ramping, 1) == 1)
        note(&p->steady_from, clock_now());
}

enum profile_phase phases_note_chunk(struct phases *p, unsigned number, uint64_t now)
{
    enum profile_phase phase = get(&p->steady_to)     ? PROFILE_FINISH
                               : get(&p->steady_from) ? PROFILE_STEADY
                                                      : PROFILE_RAMP_UP;

    if (number == RAMP_CHUNKS)
        note(&p->steady_from, now);
    return phase;
}

void phases_note_end(struct phases *p, uint64_t now)
{
    note(&p->steady_to, now);
}

uint64_t phases_started_at(const struct phases *p)
{
    return atomic_load(&p->started_at);
}

uint64_t phases_time(const struct phases *p, uint64_t now)
{
    uint64_t started_at = phases_started_at(p);

    return started_at ? clock_between(started_at, now) : 0;
}

void phases_finish(const struct phases *p, uint64_t now,
                   struct profile_period periods[PROFILE_PHASES])
{
    uint64_t from = get(&p->steady_from), to = get(&p->steady_to);

    to = to ? to : now;
    if (from == 0 || from >= to) { /* it ended before it was steady */
        from = to;
        periods[PROFILE_RAMP_UP].bytes += periods[PROFILE_STEADY].bytes;
        periods[PROFILE_STEADY].bytes = 0;
    }
    periods[PROFILE_RAMP_UP].time = clock_between(get(&p->started_at), from);
    periods[PROFILE_STEADY].time = clock_between(from, to);
    periods[PROFILE_FINISH].time = clock_between(to, now);
}
