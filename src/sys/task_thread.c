#include "config.h"

#include "sys/task_thread.h"

static void lock(struct task_thread *t) ACQUIRE(task_thread_role);
static void unlock(struct task_thread *t) RELEASE(task_thread_role);

UNCHECKED static void lock(struct task_thread *t)
{
    mutex_lock(&t->mutex);
}

UNCHECKED static void unlock(struct task_thread *t)
{
    mutex_unlock(&t->mutex);
}

void task_thread_init(struct task_thread *t)
{
    *t = (struct task_thread){.made = false};
    mutex_init(&t->mutex);
    pthread_cond_init(&t->wake, NULL);
}

/* The next task; NULL when the thread is to quit. */
UNCHECKED static void (*next_task(struct task_thread *t, void **argument))(void *)
{
    void (*task)(void *);

    mutex_lock(&t->mutex);
    while (!t->task && !t->quit)
        mutex_wait(&t->mutex, &t->wake);
    task = t->task;
    *argument = t->argument;
    t->task = NULL;
    mutex_unlock(&t->mutex);
    return task;
}

static void *main_loop(void *thread)
{
    void (*task)(void *), *argument;

    while ((task = next_task(thread, &argument)))
        task(argument);
    return NULL;
}

bool task_thread_start(struct task_thread *t, void (*task)(void *), void *argument, bool last)
{
    if (t->ending) { /* it was not the last task */
        pthread_join(t->thread, NULL);
        t->made = t->ending = false;
        lock(t);
        t->quit = false;
        unlock(t);
    }
    if (!t->made)
        t->made = pthread_create(&t->thread, NULL, main_loop, t) == 0;
    if (!t->made)
        return false;
    lock(t);
    t->task = task;
    t->argument = argument;
    t->quit = last;
    unlock(t);
    t->ending = last;
    pthread_cond_signal(&t->wake);
    return true;
}

void task_thread_end(struct task_thread *t)
{
    if (t->made && !t->ending) {
        lock(t);
        t->quit = true;
        unlock(t);
        pthread_cond_signal(&t->wake);
    }
    if (t->made)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    mutex_destroy(&t->mutex);
}
