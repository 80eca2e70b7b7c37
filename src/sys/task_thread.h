/*
 * A thread that is kept between tasks: starting a task on it costs a wake-up, where starting a
 * thread costs several times as much. It is made when it is first needed.
 *
 * It belongs to one other thread, which gives it a task at a time, and has to learn from the task
 * itself when that has ended.
 */
#ifndef GPUREDUCE_TASK_THREAD_H
#define GPUREDUCE_TASK_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "sys/mutex.h"

MUTEX_ROLE(task_thread_role);

struct task_thread {
    bool made;   /* its owner's: there is a thread */
    bool ending; /* its owner's: it ends with its task */
    pthread_t thread;
    pthread_cond_t wake;

    struct mutex mutex;
    void (*task)(void *) GUARDED_BY(task_thread_role); /* to be taken up; NULL for none */
    void *argument GUARDED_BY(task_thread_role);
    bool quit GUARDED_BY(task_thread_role);
};

/* Begins without a thread. */
void task_thread_init(struct task_thread *t);

/* Has the thread call task(argument), after the task before it has ended. `last` says that it is
   most likely the last one: the thread ends with it, which spares waking it for that. False when
   there is no thread and none can be made. */
bool task_thread_start(struct task_thread *t, void (*task)(void *), void *argument, bool last);

/* Waits for the task to end, and ends the thread. */
void task_thread_end(struct task_thread *t);

#endif
