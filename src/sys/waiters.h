/*
 * The mutex of what workers share, and the workers that wait for another one: to have their
 * requests fulfilled, or for something to do.
 *
 * ONE RULE of locking for all who use it: fields are GUARDED_BY(waiters_role). A function that
 * needs the mutex ends in _locked; it may drop the mutex in between, by waiters_unlock and
 * waiters_lock in the same block, and its comment says so. The work in between (reading, decoding)
 * belongs to a role that one worker holds at a time, and that the guarded state names.
 */
#ifndef GPUREDUCE_WAITERS_H
#define GPUREDUCE_WAITERS_H

#include <pthread.h>
#include <stdbool.h>

#include "sys/mutex.h"

/* Stands for the mutex at hand. */
MUTEX_ROLE(waiters_role);

enum waiter_news {
    WAITER_FULFILLED, /* its request is */
    WAITER_LOOK_AGAIN /* there may be something to do, or nothing more */
};

/* A worker that waits, with its request and room for the reply, whose types its users know. Once it
   is taken off the list, these belong to who took it, until that wakes it. */
struct waiter {
    const void *request;
    void *reply;
    enum waiter_news news GUARDED_BY(waiters_role);
    bool woken GUARDED_BY(waiters_role);
    pthread_cond_t condition;
    struct waiter *next GUARDED_BY(waiters_role);
};

struct waiters {
    struct mutex mutex;
    struct waiter *last GUARDED_BY(waiters_role); /* the list; NULL when nobody waits */
};

MUTEX_ROLE_OF(waiters, struct waiters, mutex);

void waiters_init(struct waiters *w);
void waiters_destroy(struct waiters *w);

/* Waits until another worker wakes this one. Drops the mutex meanwhile. */
enum waiter_news waiters_wait_locked(struct waiters *w, const void *request, void *reply)
    REQUIRES(waiters_role);

/* Takes the waiter that came last off the list, NULL when there is none: the fewer workers take
   turns, the more of what they touch stays in their caches. */
struct waiter *waiters_take_locked(struct waiters *w) REQUIRES(waiters_role);

/* Lets a waiter that was taken go on. */
void waiter_wake_locked(struct waiter *waiter, enum waiter_news news) REQUIRES(waiters_role);

/* Has all waiters look again. */
void waiters_wake_all_locked(struct waiters *w) REQUIRES(waiters_role);

#endif
