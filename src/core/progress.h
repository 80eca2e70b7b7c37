/*
 * Observers of the progress of runs. Only the thread that began a run calls their functions.
 */
#ifndef GPUREDUCE_CORE_PROGRESS_H
#define GPUREDUCE_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/clock.h"

/* How often progress is shown: nanoseconds. */
#define PROGRESS_TICK (CLOCK_SECOND / 50)

struct progress_observer {
    /* A run begins. `name`: the input's name in messages, valid until the run ends; `total`:
       bytes of the input, UINT64_MAX if unknown. */
    void (*begin)(void *context, const char *name, uint64_t total);
    /* `done` bytes have been read. Called each PROGRESS_TICK, about. Returns whether the run is to
       end without a result; its input is then cancellable. */
    bool (*update)(void *context, uint64_t done);
    /* The run has ended. */
    void (*end)(void *context);
    void *context; /* the first argument of these functions */
};

#endif
