/*
 * The mutex of a source, and the workers that wait for another worker of it: to have their buffers
 * filled, or for something to do.
 *
 * ONE RULE of locking for all of src/source: a source has at most one mutex, of which its fields
 * say GUARDED_BY(source_role). A function that needs it ends in _locked; it may drop the mutex in
 * between, by waiters_unlock and waiters_lock in the same block, and its comment says so. The work
 * in between (reading, decoding) belongs to a role that one worker holds at a time, and that the
 * guarded state names. (The reader of zstd has a second mutex, for its two buffers alone.)
 */
#ifndef GPUREDUCE_SOURCE_WAITERS_H
#define GPUREDUCE_SOURCE_WAITERS_H

#include <pthread.h>
#include <stdbool.h>

#include "source/source.h"
#include "sys/mutex.h"

/* Stands for the mutex of the source at hand. */
MUTEX_ROLE(source_role);

enum waiter_news {
    WAITER_FILLED,    /* its chunk is filled */
    WAITER_LOOK_AGAIN /* there may be something to do, or nothing more */
};

/* A worker that waits. Once it is taken off the list, its request and chunk belong to who took it,
   until that wakes it. */
struct waiter {
    const struct source_request *request;
    struct chunk *chunk;
    enum waiter_news news GUARDED_BY(source_role);
    bool woken GUARDED_BY(source_role);
    pthread_cond_t condition;
    struct waiter *next GUARDED_BY(source_role);
};

struct waiters {
    struct mutex mutex;
    struct waiter *last GUARDED_BY(source_role); /* the list; NULL when nobody waits */
};

void waiters_init(struct waiters *w);
void waiters_destroy(struct waiters *w);

void waiters_lock(struct waiters *w) ACQUIRE(source_role);
void waiters_unlock(struct waiters *w) RELEASE(source_role);

/* Waits until another worker wakes this one. Drops the mutex meanwhile. */
enum waiter_news waiters_wait_locked(struct waiters *w, const struct source_request *request,
                                     struct chunk *chunk) REQUIRES(source_role);

/* Takes the waiter that came last off the list, NULL when there is none: the fewer workers take
   turns, the more of what they touch stays in their caches. */
struct waiter *waiters_take_locked(struct waiters *w) REQUIRES(source_role);

/* Lets a waiter that was taken go on. */
void waiter_wake_locked(struct waiter *waiter, enum waiter_news news) REQUIRES(source_role);

/* Has all waiters look again. */
void waiters_wake_all_locked(struct waiters *w) REQUIRES(source_role);

#endif
