#include "config.h"

#include "source/waiters.h"

enum waiter_news waiters_wait(struct waiter **waiters, pthread_mutex_t *mutex,
                              const struct source_request *request, struct chunk *chunk)
{
    struct waiter waiter = {.request = request, .chunk = chunk, .next = *waiters};

    pthread_cond_init(&waiter.condition, NULL);
    /* cppcheck-suppress autoVariables ; it is taken off the list before it is woken */
    *waiters = &waiter;
    while (!waiter.woken)
        pthread_cond_wait(&waiter.condition, mutex);
    pthread_cond_destroy(&waiter.condition);
    return waiter.news;
}

struct waiter *waiters_take(struct waiter **waiters)
{
    struct waiter *waiter = *waiters;

    if (waiter)
        *waiters = waiter->next;
    return waiter;
}

void waiter_wake(struct waiter *waiter, enum waiter_news news)
{
    waiter->news = news;
    waiter->woken = true;
    pthread_cond_signal(&waiter->condition);
}

void waiters_wake_all(struct waiter **waiters)
{
    struct waiter *waiter;

    while ((waiter = waiters_take(waiters)))
        waiter_wake(waiter, WAITER_LOOK_AGAIN);
}
