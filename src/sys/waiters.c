#include "config.h"

#include "sys/waiters.h"

UNCHECKED void waiters_init(struct waiters *w)
{
    mutex_init(&w->mutex);
    w->last = NULL;
}

void waiters_destroy(struct waiters *w)
{
    mutex_destroy(&w->mutex);
}

enum waiter_news waiters_wait_locked(struct waiters *w, const void *request, void *reply)
{
    struct waiter waiter = {.request = request, .reply = reply, .next = w->last};

    pthread_cond_init(&waiter.condition, NULL);
    /* cppcheck-suppress autoVariables ; it is taken off the list before it is woken */
    w->last = &waiter;
    while (!waiter.woken)
        waiters_wait_for(w, &waiter.condition);
    pthread_cond_destroy(&waiter.condition);
    return waiter.news;
}

struct waiter *waiters_take_locked(struct waiters *w)
{
    struct waiter *waiter = w->last;

    if (waiter)
        w->last = waiter->next;
    return waiter;
}

void waiter_wake_locked(struct waiter *waiter, enum waiter_news news)
{
    waiter->news = news;
    waiter->woken = true;
    pthread_cond_signal(&waiter->condition);
}

void waiters_wake_all_locked(struct waiters *w)
{
    struct waiter *waiter;

    while ((waiter = waiters_take_locked(w)))
        waiter_wake_locked(waiter, WAITER_LOOK_AGAIN);
}
