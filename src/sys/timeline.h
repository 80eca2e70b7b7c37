/*
 * When something was at work, as several threads saw it: stretches of time that may overlap. How
 * long it was at work is the length of their union; their sum would count twice what two threads
 * waited for at once.
 *
 * A timeline belongs to one thread at a time. It starts as {0}.
 */
#ifndef GPUREDUCE_TIMELINE_H
#define GPUREDUCE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct timeline_span {
    uint64_t begin, end; /* nanoseconds of one clock */
};

/* The most stretches that one thread notes; later ones are left out. Chunks of 6 MiB by 8 threads
   at 55 GB/s fill it in half a minute: as good a sample as any, in half a MiB for each thread. */
#define TIMELINE_MAX 32768

struct timeline {
    struct timeline_span *spans;
    size_t count, capacity;
    uint64_t bytes; /* that were moved in them */
};

/* Notes that `bytes` were moved from `begin` to `end`. Without memory it does not. */
void timeline_note(struct timeline *t, uint64_t begin, uint64_t end, uint64_t bytes);

/* Moves all that `part` holds to `whole`. */
void timeline_join(struct timeline *whole, struct timeline *part);

void timeline_free(struct timeline *t);

/* The sums of a timeline, in nanoseconds. */
struct timeline_total {
    uint64_t busy;   /* at least one stretch was under way */
    uint64_t extent; /* from the begin of the first to the end of the last */
    uint64_t bytes;
};

/* Adds it up; sorts the stretches for that. */
struct timeline_total timeline_total(struct timeline *t);

#endif
