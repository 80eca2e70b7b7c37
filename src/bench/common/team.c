#include "config.h"

#include "bench/common/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"
#include "sys/message.h"

struct team;

struct member {
    pthread_t thread;
    struct team *team;
    unsigned number;
    uint64_t begun, ended;
};

struct team {
    team_work *work;
    void *argument;
    atomic_bool failed;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    unsigned arrived;
    bool go;
    bool cancelled; /* not all could be started */
};

static void *run_member(void *argument)
{
    struct member *m = argument;
    struct team *team = m->team;
    bool cancelled;

    pthread_mutex_lock(&team->mutex);
    team->arrived++;
    pthread_cond_broadcast(&team->changed);
    while (!team->go)
        pthread_cond_wait(&team->changed, &team->mutex);
    cancelled = team->cancelled;
    pthread_mutex_unlock(&team->mutex);
    if (cancelled)
        return NULL;
    m->begun = clock_now();
    if (!team->work(team->argument, m->number))
        atomic_store(&team->failed, true);
    m->ended = clock_now();
    return NULL;
}

double team_run(unsigned threads, team_work *work, void *argument)
{
    struct team team = {.work = work, .argument = argument};
    struct member *members = calloc(threads, sizeof *members);
    uint64_t begun = UINT64_MAX, ended = 0;
    unsigned started = 0;
    int error = members ? 0 : ENOMEM;

    pthread_mutex_init(&team.mutex, NULL);
    pthread_cond_init(&team.changed, NULL);
    while (started < threads && !error) {
        struct member *m = &members[started];

        *m = (struct member){.team = &team, .number = started};
        error = pthread_create(&m->thread, NULL, run_member, m);
        started += !error;
    }
    if (error)
        message_error(EXIT_FAILED, "cannot start a thread: %s", strerror(error));

    pthread_mutex_lock(&team.mutex);
    while (team.arrived < started)
        pthread_cond_wait(&team.changed, &team.mutex);
    team.cancelled = error != 0;
    team.go = true;
    pthread_cond_broadcast(&team.changed);
    pthread_mutex_unlock(&team.mutex);

    for (unsigned i = 0; i < started; i++) {
        pthread_join(members[i].thread, NULL);
        begun = members[i].begun < begun ? members[i].begun : begun;
        ended = members[i].ended > ended ? members[i].ended : ended;
    }
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.mutex);
    free(members);
    if (error || atomic_load(&team.failed))
        return -1;
    return (double)(ended - begun) / (double)CLOCK_SECOND;
}

struct share {
    team_share_work *work;
    void *argument;
    uint64_t count, unit;
    uint64_t each, more; /* units of a member, and how many members have one more */
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
    uint64_t units = count / unit + (count % unit != 0);
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
    uint64_t units = bytes / unit + (bytes % unit != 0);
    uint64_t each = units / threads + (units % threads != 0);

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
