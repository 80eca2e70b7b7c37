/*
 * Access methods for elements that the page cache holds: mapped, with pages that become present
 * when they are read, or that are all made present by one call before; or copied into a buffer that
 * stays in a core's cache. Which is fastest depends on the machine: on the size of the pages that a
 * file is cached in, on the cost of page faults and TLB misses, and on how many threads share the
 * page tables. So the workers of an input measure each method at its beginning, and then keep the
 * best.
 */
#ifndef GPUREDUCE_ACCESS_H
#define GPUREDUCE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/mutex.h"

MUTEX_ROLE(access_role);

enum access_method { ACCESS_MAPPED, ACCESS_POPULATED, ACCESS_COPIED, ACCESS_METHODS };

/* Which methods may be used: one of them; the best of all; or the best of mapped and copied, for
   pieces that are too small for a call each. Zeros: mapped alone. */
enum access_choice {
    ACCESS_CHOICE_MAPPED,
    ACCESS_CHOICE_POPULATED,
    ACCESS_CHOICE_COPIED,
    ACCESS_CHOICE_TRIED,
    ACCESS_CHOICE_TRIED_SMALL
};

/* The measurements of all workers of an input. */
struct access_shared {
    unsigned workers;
    struct mutex mutex;
    unsigned begun[ACCESS_METHODS] GUARDED_BY(access_role); /* trials that workers have begun */
    unsigned ended[ACCESS_METHODS] GUARDED_BY(access_role); /* trials that have ended */
    double cost[ACCESS_METHODS] GUARDED_BY(
        access_role); /* nanoseconds a byte of the fastest of these */
};

MUTEX_ROLE_OF(access, struct access_shared, mutex);

/* One worker's part. */
struct access {
    struct access_shared *shared;
    enum access_choice choice;
    enum access_method method; /* in use */
    bool settled;              /* it is for all that is left */
    bool trying;               /* it is measured */
    bool warming;              /* it is going to be: page tables and buffers are new */
    uint64_t left;             /* bytes until another method may be used */
    uint64_t taken, time;      /* bytes of the trial so far, and nanoseconds that they took */
};

/* Begins with nothing measured. */
void access_shared_open(struct access_shared *shared, unsigned workers);
void access_shared_close(struct access_shared *shared);

/* Begins a worker's part. */
void access_begin(struct access *w, enum access_choice choice, struct access_shared *shared);

/* The method for the next bytes; *most: how many of them it should be at most. */
enum access_method access_next(struct access *w, uint64_t *most);

/* Whether mapped pages that the worker is done with have to be taken out of memory at once, as a
   part of what a trial costs. Many workers would interrupt each other by that, and do without. */
bool access_release_now(const struct access *w);

/* Notes what the bytes have cost that were handed out since the last access_next: nanoseconds until
   the worker was done with them. */
void access_took(struct access *w, uint64_t bytes, uint64_t time);

#endif
