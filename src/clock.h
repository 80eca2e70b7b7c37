/*
 * The clock that every duration is measured by.
 */
#ifndef GPUREDUCE_CLOCK_H
#define GPUREDUCE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND UINT64_C(1000000000)

/* Monotonic nanoseconds. */
static inline uint64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * CLOCK_SECOND + (uint64_t)t.tv_nsec;
}

#endif
