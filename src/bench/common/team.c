#include "config.h"

#include "bench/common/team.h"

#include <pthread.h>
#include <stdlib.h>

#include "cli/message.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/team.h"

struct times {
    uint64_t begun, ended;
};

struct trial {
    team_work *work;
    void *argument;
    struct times *times; /* of each member */
    atomic_bool failed;

    pthread_mutex_t mutex; /* guards all fields below */
    pthread_cond_t all;    /* `arrived` is `threads` */
    unsigned threads;
    unsigned arrived; /* members that are ready, or have no thread */
    bool cancelled;   /* one has no thread */
};

/* Waits until all members are ready. False if they are not going to work. */
static bool arrive(struct trial *t, bool here)
{
    bool going;

    pthread_mutex_lock(&t->mutex);
    t->cancelled = t->cancelled || !here;
    if (++t->arrived == t->threads)
        pthread_cond_broadcast(&t->all);
    while (here && t->arrived < t->threads)
        pthread_cond_wait(&t->all, &t->mutex);
    going = !t->cancelled;
    pthread_mutex_unlock(&t->mutex);
    return going;
}

static void run_member(void *trial, unsigned number)
{
    struct trial *t = trial;

    if (!arrive(t, true))
        return;
    t->times[number].begun = clock_now();
    if (!t->work(t->argument, number))
        atomic_store(&t->failed, true);
    t->times[number].ended = clock_now();
}

static void miss_member(void *trial, unsigned number)
{
    (void)number;
    (void)arrive(trial, false);
}

double team_run_watched(unsigned threads, team_work *work, team_watch *watch, void *argument,
                        uint64_t interval)
{
    struct trial trial = {.work = work, .argument = argument, .threads = threads};
    const struct team_job job = {run_member, miss_member, &trial, true};
    uint64_t begun = UINT64_MAX, ended = 0;
    struct team team;

    trial.times = calloc(threads, sizeof *trial.times);
    if (!trial.times || !team_open(&team, threads)) {
        message_error(EXIT_FAILED, "out of memory");
        free(trial.times);
        return -1;
    }
    pthread_mutex_init(&trial.mutex, NULL);
    pthread_cond_init(&trial.all, NULL);
    (void)team_start(&team, 0, threads, &job);
    while (!team_wait(&team, watch ? interval : 0))
        watch(argument);
    team_close(&team);
    if (trial.cancelled)
        message_error(EXIT_FAILED, "cannot start a thread");
    for (unsigned i = 0; i < threads; i++) {
        begun = trial.times[i].begun < begun ? trial.times[i].begun : begun;
        ended = trial.times[i].ended > ended ? trial.times[i].ended : ended;
    }
    pthread_cond_destroy(&trial.all);
    pthread_mutex_destroy(&trial.mutex);
    free(trial.times);
    return trial.cancelled || atomic_load(&trial.failed)
               ? -1
               : (double)(ended - begun) / (double)CLOCK_SECOND;
}

double team_run(unsigned threads, team_work *work, void *argument)
{
    return team_run_watched(threads, work, NULL, argument, 0);
}

struct share {
    team_share_work *work;
    void *argument;
    uint64_t count, unit;
    uint64_t each; /* units of a member... */
    uint64_t more; /* ...and one more for so many members */
};

static bool work_share(void *argument, unsigned number)
{
    const struct share *s = argument;
    uint64_t first = s->each * number + (number < s->more ? number : s->more);
    uint64_t last = first + s->each + (number < s->more);

    s->work(s->argument, number, first * s->unit,
            last * s->unit < s->count ? last * s->unit : s->count);
    return true;
}

bool team_share(unsigned threads, uint64_t count, uint64_t unit, team_share_work *work,
                void *argument)
{
    uint64_t units = align_units(count, unit);
    struct share s = {.work = work, .argument = argument, .count = count, .unit = unit};

    if (units == 0)
        return true;
    threads = units < threads ? (unsigned)units : threads;
    s.each = units / threads;
    s.more = units % threads;
    return team_run(threads, work_share, &s) >= 0;
}

unsigned team_next(unsigned threads, unsigned most)
{
    if (threads == most)
        return 0;
    return 2 * threads < most ? 2 * threads : most;
}

size_t team_piece(uint64_t bytes, unsigned threads, size_t most, size_t unit)
{
    uint64_t each = align_units(align_units(bytes, unit), threads);

    return each < most / unit ? (size_t)each * unit : most;
}

void team_range_set(struct team_range *r, uint64_t begin, uint64_t end, size_t piece)
{
    r->begin = begin;
    r->end = end;
    r->piece = piece;
    team_range_rewind(r);
}

void team_range_rewind(struct team_range *r)
{
    atomic_store(&r->next, r->begin);
}

bool team_claim(struct team_range *r, uint64_t *offset, size_t *size)
{
    *offset = atomic_fetch_add(&r->next, r->piece);
    if (*offset >= r->end)
        return false;
    *size = r->end - *offset < r->piece ? (size_t)(r->end - *offset) : r->piece;
    return true;
}
