#include "config.h"

#include "sys/team.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "sys/clock.h"

MUTEX_ROLE(member_role);

/* A member. It has a mutex of its own: all that are started at a time would wait for one. */
struct team_member {
    struct team *team;
    unsigned number;
    bool made; /* there is a thread to be joined; set by whoever starts the member */
    pthread_t thread;
    pthread_cond_t wake;
    struct mutex mutex;
    bool ended GUARDED_BY(member_role);          /* it has done its last job */
    bool quit GUARDED_BY(member_role);           /* it is to end */
    struct team_job job GUARDED_BY(member_role); /* to be taken up if it has a function */
    unsigned behind GUARDED_BY(member_role);     /* members after this one that it is to start for
                                                    the job */
};

MUTEX_ROLE_OF(member, struct team_member, mutex);

bool team_open(struct team *t, unsigned size)
{
    *t = (struct team){.size = size, .members = calloc(size + 1, sizeof *t->members)};
    if (!t->members)
        return false;
    mutex_init(&t->mutex);
    mutex_condition_init(&t->changed);
    for (unsigned i = 0; i < size; i++) {
        t->members[i].team = t;
        t->members[i].number = i;
        mutex_init(&t->members[i].mutex);
        pthread_cond_init(&t->members[i].wake, NULL);
    }
    return true;
}

struct team *team_choose(struct team *own, struct team *given, unsigned size)
{
    *own = (struct team){.size = 0};
    if (given && given->size >= size)
        return given;
    return team_open(own, size) ? own : NULL;
}

static void *main_loop(void *member);

/* Makes a thread. Signals that are sent to the process are left to others; those that a thread
   causes itself stay: if SIGBUS and its like were blocked, they would end the process. */
static bool make_thread(pthread_t *thread, struct team_member *m)
{
    static const int own[] = {SIGBUS,  SIGSEGV, SIGILL,  SIGFPE, SIGTRAP,
                              SIGABRT, SIGSYS,  SIGPIPE, SIGXFSZ};
    sigset_t blocked, before;
    bool made;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    made = pthread_create(thread, NULL, main_loop, m) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

/* Gives a member the job, and wakes or makes its thread. False if there is none. */
static bool start_member(struct team_member *m, unsigned behind, const struct team_job *job)
{
    bool ended;

    member_lock(m);
    m->job = *job;
    m->behind = behind;
    ended = m->ended;
    m->ended = false;
    member_unlock(m);
    if (m->made && !ended) {
        /* Without the mutex, which the thread wants. The team is not closed before this one ends. */
        pthread_cond_signal(&m->wake);
        return true;
    }
    if (ended)
        pthread_join(m->thread, NULL);
    m->made = make_thread(&m->thread, m);
    return m->made;
}

/* Some members, from this number on, have no thread. */
static void leave(struct team *t, unsigned first, unsigned count, const struct team_job *job)
{
    for (unsigned i = 0; job->absent && i < count; i++)
        job->absent(job->context, first + i);
    team_lock(t);
    t->active -= count;
    if (t->active == 0)
        pthread_cond_signal(&t->changed);
    team_unlock(t);
}

/* Starts `count` members from this one on, each of which starts half of those that are left: to make a thread
   takes as long as to read half a megabyte. Returns how many have a thread, or are left to one. */
static unsigned start_members(struct team_member *m, unsigned count, const struct team_job *job)
{
    unsigned started = 0;

    while (started < count) {
        const unsigned behind = (count - started - 1) / 2;

        if (!start_member(m + started, behind, job)) {
            leave(m->team, m->number + started, count - started, job);
            break;
        }
        started += behind + 1;
    }
    return started;
}

/* The next job of a member; without a function if it is to end. */
static struct team_job next_job(struct team_member *m, unsigned *behind)
{
    struct team_job job;

    member_lock(m);
    while (!m->job.work && !m->quit)
        member_wait_for(m, &m->wake);
    job = m->job;
    m->job.work = NULL;
    *behind = m->behind;
    m->ended = job.last;
    member_unlock(m);
    return job;
}

static void *main_loop(void *member)
{
    struct team_member *m = member;
    struct team *t = m->team;
    struct team_job job;
    unsigned behind;

    do {
        job = next_job(m, &behind);
        if (!job.work)
            break;
        (void)start_members(m + 1, behind, &job);
        job.work(job.context, m->number);
        team_lock(t);
        /* Under the mutex: otherwise the team could be closed before the signal. */
        if (--t->active == 0)
            pthread_cond_signal(&t->changed);
        team_unlock(t);
    } while (!job.last);
    return NULL;
}

unsigned team_start(struct team *t, unsigned first, unsigned count, const struct team_job *job)
{
    team_lock(t);
    t->active += count;
    team_unlock(t);
    return start_members(&t->members[first], count, job);
}

void team_take_part(struct team *t, unsigned first, unsigned count, const struct team_job *job)
{
    if (count > 1)
        (void)team_start(t, first + 1, count - 1, job);
    job->work(job->context, first);
}

UNCHECKED bool team_wait(struct team *t, uint64_t limit)
{
    const uint64_t until = clock_now() + limit;
    const struct timespec time = {.tv_sec = (time_t)(until / CLOCK_SECOND),
                                  .tv_nsec = (long)(until % CLOCK_SECOND)};
    bool late = false, done;

    mutex_lock(&t->mutex);
    while (t->active > 0 && !t->woken && !late) {
        if (limit)
            late = !mutex_wait_until(&t->mutex, &t->changed, &time);
        else
            mutex_wait(&t->mutex, &t->changed);
    }
    t->woken = false;
    done = t->active == 0;
    mutex_unlock(&t->mutex);
    return done;
}

void team_wake(struct team *t)
{
    team_lock(t);
    t->woken = true;
    pthread_cond_signal(&t->changed);
    team_unlock(t);
}

void team_close(struct team *t)
{
    if (!t->members)
        return;
    while (!team_wait(t, 0)) {
    }
    for (unsigned i = 0; i < t->size; i++) {
        struct team_member *m = &t->members[i];

        member_lock(m);
        m->quit = true;
        member_unlock(m);
        pthread_cond_signal(&m->wake);
        if (m->made)
            pthread_join(m->thread, NULL);
        pthread_cond_destroy(&m->wake);
        mutex_destroy(&m->mutex);
    }
    pthread_cond_destroy(&t->changed);
    mutex_destroy(&t->mutex);
    free(t->members);
}

struct call {
    void (*work)(void *context, unsigned number);
    void *context;
};

static void make_call(void *context, unsigned number)
{
    const struct call *call = context;

    call->work(call->context, number + 1);
}

void team_call(unsigned count, void (*work)(void *context, unsigned number), void *context)
{
    struct call call = {work, context};
    const struct team_job job = {make_call, make_call, &call, true};
    const bool several = count > 1;
    struct team team;

    if (several && team_open(&team, count - 1)) {
        (void)team_start(&team, 0, count - 1, &job);
        work(context, 0);
        team_close(&team);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        work(context, i);
}
