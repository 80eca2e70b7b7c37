/*
 * Teams of threads. Members are numbered from 0 on; each has a thread of its own, which is made
 * when the member is first started and kept for the next job: waking it costs a fraction of making
 * one.
 *
 *     team_open(&team, 16);
 *     team_start(&team, 0, 16, &(struct team_job){.work = reduce_part, .context = run});
 *     while (!team_wait(&team, CLOCK_SECOND / 50))
 *         show_progress(run);
 *     team_close(&team);
 *
 * In these threads all signals are blocked but those that a thread causes itself, such as SIGBUS
 * and SIGPIPE: handlers of the process run on threads that it has made otherwise.
 *
 * A team belongs to one thread, which alone calls the functions below, except team_wake.
 */
#ifndef GPUREDUCE_TEAM_H
#define GPUREDUCE_TEAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/mutex.h"

MUTEX_ROLE(team_role);

/* A job for some members of a team. */
struct team_job {
    void (*work)(void *context, unsigned number);   /* called for each member, on its thread */
    void (*absent)(void *context, unsigned number); /* called in place of it for each member that no
                                                       thread can be made for, on any thread; NULL:
                                                       nothing is called */
    void *context;
    bool last; /* most likely the last job: its threads end with it, which saves waking them */
};

struct team_member;

struct team {
    unsigned size;
    struct team_member *members;

    struct mutex mutex;
    pthread_cond_t changed;                /* nobody is active, or `woken` */
    unsigned active GUARDED_BY(team_role); /* members that have been started and have not ended */
    bool woken GUARDED_BY(team_role);
};

MUTEX_ROLE_OF(team, struct team, mutex);

/* Makes a team without threads. False without memory. */
bool team_open(struct team *t, unsigned size);

/* The team for a run of `size` members: `given`, whose threads are kept for the next run, if it is so
   large and not NULL; else *own, which is opened. *own is to be closed in any case. NULL without
   memory. */
struct team *team_choose(struct team *own, struct team *given, unsigned size);

/* Has members `first` to `first + count - 1`, none of which is active, do the job. Returns how many
   of them have a thread; of those that are started on the threads of others, it takes that they
   have. 0 only if no thread at all can be had. */
unsigned team_start(struct team *t, unsigned first, unsigned count, const struct team_job *job);

/* Has them do it, but for the first one, whose part the calling thread does before it returns: for
   short jobs, for which it takes long to wake a thread. */
void team_take_part(struct team *t, unsigned first, unsigned count, const struct team_job *job);

/* Waits until no member is active, but so many nanoseconds at most, 0 for no limit, or until
   team_wake has been called. True if none is active. */
bool team_wait(struct team *t, uint64_t limit);

/* Ends the current call of team_wait, or the next one. Any thread may call it. */
void team_wake(struct team *t);

/* Waits for all members, and ends their threads. Also for a team of zeros, or that was not opened
   for want of memory. */
void team_close(struct team *t);

/* Calls work(context, i) for all i below `count`, side by side, and returns when all calls have
   ended. The calling thread makes the first one, and those for which no thread can be had. */
void team_call(unsigned count, void (*work)(void *context, unsigned number), void *context);

#endif
