#include "config.h"

#include "sys/side_by_side.h"

#include <pthread.h>
#include <stdbool.h>

struct one {
    void (*call)(void *context, unsigned i);
    void *context;
    pthread_t thread;
    unsigned number;
    bool threaded;
};

static void *make_call(void *argument)
{
    const struct one *one = argument;

    one->call(one->context, one->number);
    return NULL;
}

void side_by_side(void (*call)(void *context, unsigned i), void *context, unsigned count)
{
    struct one calls[SIDE_BY_SIDE_MAX];

    for (unsigned i = 1; i < count; i++) {
        struct one *one = &calls[i];

        *one = (struct one){.call = call, .context = context, .number = i};
        one->threaded = pthread_create(&one->thread, NULL, make_call, one) == 0;
    }
    if (count > 0)
        call(context, 0);
    for (unsigned i = 1; i < count; i++)
        if (!calls[i].threaded)
            call(context, i);
    for (unsigned i = 1; i < count; i++)
        if (calls[i].threaded)
            pthread_join(calls[i].thread, NULL);
}
