/*
 * Workers that wait for another worker of the same source: to have their buffers filled, or for
 * something to do. A list belongs to a source, whose mutex guards all of it.
 */
#ifndef GPUREDUCE_SOURCE_WAITERS_H
#define GPUREDUCE_SOURCE_WAITERS_H

#include <pthread.h>
#include <stdbool.h>

#include "source/source.h"

enum waiter_news {
    WAITER_FILLED,    /* its chunk has been filled in */
    WAITER_LOOK_AGAIN /* there may be something to do, or nothing more */
};

struct waiter {
    const struct source_request *request;
    struct chunk *chunk;
    enum waiter_news news;
    bool woken;
    pthread_cond_t condition;
    struct waiter *next;
};

/* Waits, the mutex being held, until another worker wakes this one. */
enum waiter_news waiters_wait(struct waiter **waiters, pthread_mutex_t *mutex,
                              const struct source_request *request, struct chunk *chunk);

/* Takes the waiter that came last off the list, NULL when there is none: the fewer workers take
   turns, the more of what they touch stays in their caches. */
struct waiter *waiters_take(struct waiter **waiters);

/* Lets a waiter that was taken go on. */
void waiter_wake(struct waiter *waiter, enum waiter_news news);

/* Has all waiters look again. */
void waiters_wake_all(struct waiter **waiters);

#endif
