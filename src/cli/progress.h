/*
 * The progress line on standard error: bytes, percent, rate and time left. It belongs to the thread
 * that coordinates a reduction. Nothing is shown in the first second, and the line is erased at the
 * end.
 */
#ifndef GPUREDUCE_PROGRESS_H
#define GPUREDUCE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/session.h"

struct progress {
    bool enabled;
    uint64_t begun; /* monotonic, nanoseconds */
    uint64_t shown; /* when the line was last written; 0 for never */
    uint64_t total; /* bytes of input; UINT64_MAX when unknown */
};

/* Begins at time `now`, for `total` bytes of input, UINT64_MAX when it is not known. */
void progress_begin(struct progress *p, bool enabled, uint64_t total, uint64_t now);

/* Shows that `done` bytes have been read by time `now`, if it is time to. */
void progress_update(struct progress *p, uint64_t done, uint64_t now);

/* Erases the line. */
void progress_end(struct progress *p);

/* The observer of runs that keeps the line in *p, which must outlive it. */
struct progress_observer progress_observe(struct progress *p);

#endif
