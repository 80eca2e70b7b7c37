/*
 * The clock that every duration is measured by, and the rest of those who look again and again.
 */
#ifndef GPUREDUCE_CLOCK_H
#define GPUREDUCE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND UINT64_C(1000000000)

/* How long clock_rest takes, nanoseconds. */
#define CLOCK_MOMENT (CLOCK_SECOND / 50000)

static inline uint64_t clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * CLOCK_SECOND + (uint64_t)t.tv_nsec;
}

/* Monotonic nanoseconds. */
static inline uint64_t clock_now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

/* Nanoseconds from `start` to `now`, both of one clock; 0 when `start` is the later one, as the
   stamp of another thread may be. */
static inline uint64_t clock_between(uint64_t start, uint64_t now)
{
    return now > start ? now - start : 0;
}

/* Monotonic nanoseconds since `start`, likewise. */
static inline uint64_t clock_since(uint64_t start)
{
    return clock_between(start, clock_now());
}

/* Nanoseconds that this thread has been running on a processor. It takes a system call. */
static inline uint64_t clock_thread(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Rests for CLOCK_MOMENT, before the thread looks again for what nobody would wake it for. */
static inline void clock_rest(void)
{
    const struct timespec moment = {0, (long)CLOCK_MOMENT};

    (void)nanosleep(&moment, NULL);
}

#endif
