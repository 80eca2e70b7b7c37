/*
 * task_thread.h: tasks one after the other on a thread that is kept, and on one that ended with
 * what was to be the last task.
 */
/* Tags: threads */
#include "config.h"

#include "sys/task_thread.h"

#include <stdatomic.h>

#include "lib/tap.h"

static _Atomic unsigned done;

static void count(void *argument)
{
    atomic_fetch_add(&done, *(const unsigned *)argument);
}

/* Runs `tasks` tasks, of which `last` (from 0) is announced as the last one. They add up. */
static bool run(unsigned tasks, unsigned last)
{
    unsigned weights[8];
    struct task_thread t;
    unsigned sum = 0;
    bool good = true;

    atomic_store(&done, 0);
    task_thread_init(&t);
    for (unsigned i = 0; i < tasks && good; i++) {
        weights[i] = 1u << i;
        sum += weights[i];
        good = task_thread_start(&t, count, &weights[i], i == last);
        while (good && atomic_load(&done) < sum)
            ;
    }
    task_thread_end(&t);
    return good && atomic_load(&done) == sum;
}

int main(void)
{
    tap_ok(run(0, 9), "no task, and no thread");
    tap_ok(run(1, 9), "one task");
    tap_ok(run(8, 9), "eight tasks");
    tap_ok(run(1, 0), "one task, which is the last");
    tap_ok(run(8, 7), "eight tasks, the last of them announced");
    tap_ok(run(8, 2), "tasks behind what was to be the last");
    return tap_done();
}
