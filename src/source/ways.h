/*
 * Access methods for elements that the page cache holds: mapped, with pages that become present
 * when they are read, or that are all made present by one call before; or copied into a buffer that
 * stays in a core's cache. Which is fastest depends on the machine: on the size of the pages that a
 * file is cached in, on the cost of page faults and TLB misses, and on how many threads share the
 * page tables. So the workers of an input measure each method at its beginning, and then keep the
 * best.
 */
#ifndef GPUREDUCE_WAYS_H
#define GPUREDUCE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/mutex.h"

MUTEX_ROLE(ways_role);

enum way { WAY_MAPPED, WAY_POPULATED, WAY_COPIED, WAYS };

/* Which methods may be used: one of them; the best of all; or the best of mapped and copied, for
   pieces that are too small for a call each. Zeros: mapped alone. */
enum ways_choice { WAYS_MAPPED, WAYS_POPULATED, WAYS_COPIED, WAYS_TRIED, WAYS_TRIED_SMALL };

/* The measurements of all workers of an input. */
struct ways_shared {
    unsigned workers;
    struct mutex mutex;
    unsigned begun[WAYS] GUARDED_BY(ways_role); /* trials that workers have begun */
    unsigned ended[WAYS] GUARDED_BY(ways_role); /* trials that have ended */
    double cost[WAYS] GUARDED_BY(ways_role);    /* nanoseconds a byte of the fastest of these */
};

MUTEX_ROLE_OF(ways, struct ways_shared, mutex);

/* One worker's part. */
struct ways {
    struct ways_shared *shared;
    enum ways_choice choice;
    enum way way;         /* in use */
    bool settled;         /* it is for all that is left */
    bool trying;          /* it is measured */
    bool warming;         /* it is going to be: page tables and buffers are new */
    uint64_t left;        /* bytes until another method may be used */
    uint64_t taken, time; /* bytes of the trial so far, and nanoseconds that they took */
};

/* Begins with nothing measured. */
void ways_shared_open(struct ways_shared *shared, unsigned workers);
void ways_shared_close(struct ways_shared *shared);

/* Begins a worker's part. */
void ways_begin(struct ways *w, enum ways_choice choice, struct ways_shared *shared);

/* The method for the next bytes; *most: how many of them it should be at most. */
enum way ways_next(struct ways *w, uint64_t *most);

/* Whether mapped pages that the worker is done with have to be taken out of memory at once, as a
   part of what a trial costs. Many workers would interrupt each other by that, and do without. */
bool ways_release_now(const struct ways *w);

/* Notes what the bytes have cost that were handed out since the last ways_next: nanoseconds until
   the worker was done with them. */
void ways_took(struct ways *w, uint64_t bytes, uint64_t time);

#endif
