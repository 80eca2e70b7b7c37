/*
 * Observers of the progress of runs. Only the thread that began a run calls their functions. Times
 * are by clock_now.
 */
#ifndef GPUREDUCE_CORE_PROGRESS_H
#define GPUREDUCE_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress_observer {
    /* A run begins. `name`: the input's name in messages, valid until the run ends; `total`:
       bytes of the input, UINT64_MAX if unknown. */
    void (*begin)(void *context, const char *name, uint64_t total, uint64_t now);
    /* `done` bytes have been read. Called about fifty times a second. */
    void (*update)(void *context, uint64_t done, uint64_t now);
    /* Whether the run is to end without a result; its input is then cancellable. Called after
       `update`. NULL: it is not. */
    bool (*cancelled)(void *context);
    /* The run has ended. */
    void (*end)(void *context);
    void *context; /* the first argument of these functions */
};

#endif
