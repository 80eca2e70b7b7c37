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
    bool several;     /* inputs need their names */
    const char *name; /* of the input; NULL for none to show */
    uint64_t begun;   /* clock_now's */
    uint64_t shown;   /* when the line was last written; 0 for never */
    uint64_t total;   /* bytes of input; UINT64_MAX when unknown */
};

/* Room for the longest line that is shown, and its end. */
#define PROGRESS_TEXT_MAX ((size_t)2048)

/* The line that is shown where there are so many columns, when `done` bytes have been read by time `now`:
   never wider. The name, UTF-8 that is fit to print, is shortened in its middle, then figures are left
   out, then the name. Prints nothing. */
void progress_text(const struct progress *p, uint64_t done, uint64_t now, unsigned columns,
                   char text[PROGRESS_TEXT_MAX]);

/* The observer of runs that keeps the line in *p, which must outlive it, and whose other fields than
   p->several are 0 at first. */
struct progress_observer progress_observe(struct progress *p);

#endif
