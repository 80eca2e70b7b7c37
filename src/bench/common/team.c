#include "config.h"

#include "bench/common/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/align.h"
#include "sys/clock.h"
#include "sys/message.h"
#include "sys/mutex.h"

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

    pthread_mutex_t mutex;  /* guards all fields below */
    pthread_cond_t changed; /* `arrived` or `go` */
    pthread_cond_t done;    /* the last member has ended its work */
    unsigned arrived;
    unsigned working;
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
    pthread_mutex_lock(&team->mutex);
    if (--team->working == 0)
        pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static void team_init(struct team *team)
{

    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    mutex_condition_init(&team->done);
}

static void team_destroy(struct team *team)
{
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
}

/* Starts up to `threads` members. Returns how many could be started; prints an error if not all. */
static unsigned team_start(struct team *team, struct member *members, unsigned threads)
{
    unsigned started = 0;
    int error = members ? 0 : ENOMEM;

    while (started < threads && !error) {
        struct member *m = &members[started];

        *m = (struct member){.team = team, .number = started};
        error = pthread_create(&m->thread, NULL, run_member, m);
        started += !error;
    }
    if (error)
        message_error(EXIT_FAILED, "cannot start a thread: %s", strerror(error));
    return started;
}

/* Waits until the `started` members are ready, and lets them go: to work or, if not all of the team
   could be started, to end. */
static void team_go(struct team *team, unsigned started, bool cancel)
{
    pthread_mutex_lock(&team->mutex);
    while (team->arrived < started)
        pthread_cond_wait(&team->changed, &team->mutex);
    team->cancelled = cancel;
    team->working = cancel ? 0 : started;
    team->go = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
}

/* Calls `watch` again and again until no member works any more. */
static void team_look(struct team *team, team_watch *watch, uint64_t interval)
{
    pthread_mutex_lock(&team->mutex);
    while (team->working > 0) {
        uint64_t tick = clock_now() + interval;
        struct timespec until = {(time_t)(tick / CLOCK_SECOND), (long)(tick % CLOCK_SECOND)};

        pthread_cond_timedwait(&team->done, &team->mutex, &until);
        pthread_mutex_unlock(&team->mutex);
        watch(team->argument);
        pthread_mutex_lock(&team->mutex);
    }
    pthread_mutex_unlock(&team->mutex);
}

double team_run_watched(unsigned threads, team_work *work, team_watch *watch, void *argument,
                        uint64_t interval)
{
    struct team team = {.work = work, .argument = argument};
    struct member *members = calloc(threads, sizeof *members);
    uint64_t begun = UINT64_MAX, ended = 0;
    unsigned started;

    team_init(&team);
    started = team_start(&team, members, threads);
    team_go(&team, started, started < threads);
    if (watch)
        team_look(&team, watch, interval);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(members[i].thread, NULL);
        begun = members[i].begun < begun ? members[i].begun : begun;
        ended = members[i].ended > ended ? members[i].ended : ended;
    }
    team_destroy(&team);
    free(members);
    if (started < threads || atomic_load(&team.failed))
        return -1;
    return (double)(ended - begun) / (double)CLOCK_SECOND;
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
