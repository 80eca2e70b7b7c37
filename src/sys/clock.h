/*
 * The clock that every duration is measured by.
 */
#ifndef GPUREDUCE_CLOCK_H
#define GPUREDUCE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND UINT64_C(1000000000)

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

/* Nanoseconds that this thread has been running on a processor. It takes a system call. */
static inline uint64_t clock_thread(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

#endif
