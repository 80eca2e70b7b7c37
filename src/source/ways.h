/*
 * Ways to take elements that the page cache holds: where they are mapped, the pages becoming
 * present as they are read, or all in one call before; or copied into a buffer that stays in a
 * core's cache. Which costs least depends on the machine: on how large the pages are that a file is
 * cached in, on what a page fault and a TLB miss cost, and on how many threads share the page
 * tables. So each worker tries all, and stays with the best one. Pure; one worker's own.
 */
#ifndef GPUREDUCE_WAYS_H
#define GPUREDUCE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

enum way { WAY_MAPPED, WAY_POPULATED, WAY_COPIED, WAYS };

/* Which of the ways may be used: one, as above; all; or all but populated, for pieces that are too
   small for a call each. Zeros: mapped alone. */
enum ways_choice { WAYS_MAPPED, WAYS_POPULATED, WAYS_COPIED, WAYS_TRIED, WAYS_TRIED_SMALL };

struct ways {
    enum ways_choice choice;
    enum way best;        /* as far as is known */
    enum way way;         /* in use */
    unsigned trials;      /* begun so far */
    unsigned others;      /* ways besides the best that are still to be tried now */
    bool changed;         /* one of these has become the best */
    unsigned vain;        /* times in a row that trying them changed nothing, up to a few */
    uint64_t left;        /* bytes that `way` is still to be used for */
    uint64_t taken, time; /* bytes that it was used for, and nanoseconds that they took */
    double cost[WAYS];    /* nanoseconds a byte; 0: not known */
};

/* Begins. */
void ways_begin(struct ways *w, enum ways_choice choice);

/* The way for the next bytes; *most: how many of them it should be at most. */
enum way ways_next(struct ways *w, uint64_t *most);

/* Whether the way in use is being tried: then all that it costs has to be in what ways_took is
 * told.
 */
bool ways_trying(const struct ways *w);

/* What was taken since the last ways_next: bytes, and the nanoseconds from handing them out until
   the worker was done with them. */
void ways_took(struct ways *w, uint64_t bytes, uint64_t time);

#endif
