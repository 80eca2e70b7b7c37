/*
 * Ways to take elements that the page cache holds: where they are mapped, the pages becoming
 * present as they are read, or all in one call before; or copied into a buffer that stays in a
 * core's cache. Which costs least depends on the machine: on how large the pages are that a file is
 * cached in, on what a page fault and a TLB miss cost, and on how many threads share the page
 * tables. So workers try all, and stay with the best one. A few try each way themselves; more share
 * what they find, and each tries one way.
 *
 * A struct ways is one worker's own.
 */
#ifndef GPUREDUCE_WAYS_H
#define GPUREDUCE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/mutex.h"

MUTEX_ROLE(ways_role);

enum way { WAY_MAPPED, WAY_POPULATED, WAY_COPIED, WAYS };

/* Which of the ways may be used: one, as above; all; or all but populated, for pieces that are too
   small for a call each. Zeros: mapped alone. */
enum ways_choice { WAYS_MAPPED, WAYS_POPULATED, WAYS_COPIED, WAYS_TRIED, WAYS_TRIED_SMALL };

/* What the workers of an input have found together. */
struct ways_shared {
    unsigned workers;
    struct mutex mutex;
    double cost[WAYS] GUARDED_BY(ways_role);      /* nanoseconds a byte */
    unsigned samples[WAYS] GUARDED_BY(ways_role); /* that this is a mean of, up to a few; 0: it is
                                                     not known */
    double release GUARDED_BY(ways_role);         /* what it costs to give mapped pages back, which
                                                     is no part of that, likewise; 0: not known */
};

struct ways {
    struct ways_shared *shared; /* NULL where the worker is on its own */
    unsigned number;            /* the worker's, from 0 */
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

    /* Where costs are shared. */
    unsigned looks; /* for costs that were not known yet */
    unsigned round; /* of trying the others */
    unsigned dear;  /* times in a row that the best way cost much more than it did */
    uint64_t since; /* bytes that it was used for since the last round */
};

/* Begins with nothing known. */
void ways_shared_open(struct ways_shared *shared, unsigned workers);
void ways_shared_close(struct ways_shared *shared);

/* Begins. `number` counts workers from 0; `shared` may be NULL. */
void ways_begin(struct ways *w, enum ways_choice choice, struct ways_shared *shared,
                unsigned number);

/* The way for the next bytes; *most: how many of them it should be at most. */
enum way ways_next(struct ways *w, uint64_t *most);

/* Whether mapped pages that the worker is done with have to be given back at once, so that it is a
   part of what ways_took is told: where it is on its own, and the way in use is being tried. */
bool ways_release_now(const struct ways *w);

/* So many bytes of mapped pages were given back together later, which is no part of what ways_took
   is told. */
void ways_released(struct ways *w, uint64_t bytes, uint64_t time);

/* What was taken since the last ways_next: bytes, and the nanoseconds from handing them out until
   the worker was done with them. */
void ways_took(struct ways *w, uint64_t bytes, uint64_t time);

#endif
