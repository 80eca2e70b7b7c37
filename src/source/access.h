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

#include "source/source.h"
#include "sys/mutex.h"

MUTEX_ROLE(access_role);

/* The measurements of all workers of an input. */
struct access_shared {
    unsigned workers;
    struct mutex mutex;
    unsigned begun[SOURCE_ACCESSES] GUARDED_BY(access_role); /* trials that workers have begun */
    unsigned ended[SOURCE_ACCESSES] GUARDED_BY(access_role); /* trials that have ended */
    double cost[SOURCE_ACCESSES] GUARDED_BY(
        access_role); /* nanoseconds a byte of the fastest of these */
};

MUTEX_ROLE_OF(access, struct access_shared, mutex);

/* The state of one worker, which nobody else uses. */
struct access {
    struct access_shared *shared;
    enum source_access choice; /* the methods that may be used */
    bool small;                /* not populated: pieces are too small for that, one by one */
    enum source_access method; /* the method in use */
    bool final;                /* the method will not change any more */
    bool trying;               /* the method is being measured */
    bool warming;              /* the method will be measured when its page tables and buffers have
                                  been used once */
    uint64_t left;             /* bytes until another method may be used */
    uint64_t taken, time;      /* bytes of the trial so far, and their nanoseconds */
};

/* Initialises the measurements of an input, which has `workers` workers. */
void access_shared_open(struct access_shared *shared, unsigned workers);

/* Frees the measurements. */
void access_shared_close(struct access_shared *shared);

/* Initialises the state of a worker. */
void access_begin(struct access *w, enum source_access choice, bool small,
                  struct access_shared *shared);

/* The method for the next bytes. *most: the number of bytes to use it for. */
enum source_access access_next(struct access *w, uint64_t *most);

/* Whether mapped pages must be unmapped as soon as they have been read, so that a trial includes
   that cost. Not with many workers, which would interrupt each other. */
bool access_release_now(const struct access *w);

/* Notes the bytes that were handed out since the last access_next, and the nanoseconds until the
   worker gave them back. */
void access_took(struct access *w, uint64_t bytes, uint64_t time);

#endif
