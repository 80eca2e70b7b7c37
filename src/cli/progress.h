/*
 * The progress line on standard error: the file's name among several, bytes, percent, rate and time
 * left, as much of it as the terminal has columns for. It belongs to the thread that coordinates a
 * reduction. Nothing is shown in the first second, nor by a background job, and the line is erased
 * at the end.
 */
#ifndef GPUREDUCE_PROGRESS_H
#define GPUREDUCE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/progress.h"

struct progress {
    bool several; /* the observer's inputs need their names */
    bool enabled;
    const char *name; /* of the input; NULL for none to show */
    uint64_t begun;   /* monotonic, nanoseconds */
    uint64_t shown;   /* when the line was last written; 0 for never */
    uint64_t total;   /* bytes of input; UINT64_MAX when unknown */
};

/* Begins at time `now`, for `total` bytes of input, UINT64_MAX when it is not known. `name` is to
   be shown with it, UTF-8 that is fit to print; NULL for none. It must live until progress_end. */
void progress_begin(struct progress *p, bool enabled, const char *name, uint64_t total,
                    uint64_t now);

/* Shows that `done` bytes have been read by time `now`, if it is time to. */
void progress_update(struct progress *p, uint64_t done, uint64_t now);

/* Erases the line. */
void progress_end(struct progress *p);

/* Room for the longest line that is shown, and its end. */
#define PROGRESS_TEXT_MAX ((size_t)2048)

/* The line that progress_update shows where there are so many columns: never wider. The name is
   shortened in its middle, then figures are left out, then the name. Prints nothing. */
void progress_text(const struct progress *p, uint64_t done, uint64_t now, unsigned columns,
                   char text[PROGRESS_TEXT_MAX]);

/* The observer of runs that keeps the line in *p, which must outlive it. p->several is the
   caller's. */
struct progress_observer progress_observe(struct progress *p);

#endif
