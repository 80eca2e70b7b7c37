/*
 * team.h: jobs one after the other on threads that are kept or ended, of teams of any size;
 * when threads cannot be had; and which signals arrive in them.
 */
/* Tags: threads */
#include "config.h"

#include "sys/team.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/tap.h"
#include "sys/clock.h"

#define MOST 64

/* Every thread is made through this: from the `fail_from`th on none can be had. */
static _Atomic int made, fail_from;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (atomic_fetch_add(&made, 1) >= atomic_load(&fail_from))
        return EAGAIN;
    return __real_pthread_create(thread, attributes, start, argument);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* The record of a member. */
struct record {
    _Atomic unsigned worked[MOST], absent[MOST];
};

static void work(void *context, unsigned number)
{
    atomic_fetch_add(&((struct record *)context)->worked[number], 1);
}

static void miss(void *context, unsigned number)
{
    atomic_fetch_add(&((struct record *)context)->absent[number], 1);
}

/* Whether members `first` to `end` - 1 have come or missed so often in all, and no others. */
static bool all_are(const struct record *r, unsigned first, unsigned end, unsigned times)
{
    bool good = true;

    for (unsigned i = 0; i < MOST; i++)
        good = good && r->worked[i] + r->absent[i] == (i >= first && i < end ? times : 0);
    return good;
}

static unsigned sum(const _Atomic unsigned *counts)
{
    unsigned n = 0;

    for (unsigned i = 0; i < MOST; i++)
        n += counts[i];
    return n;
}

/* `jobs` jobs of `size` members; `last`, counted from 0, is announced as the last. */
static bool run(unsigned size, unsigned jobs, unsigned last)
{
    struct record r = {0};
    struct team team;
    bool good = team_open(&team, size);

    for (unsigned i = 0; good && i < jobs; i++) {
        const struct team_job job = {work, miss, &r, i == last};

        good = team_start(&team, 0, size, &job) == size && team_wait(&team, 0) &&
               all_are(&r, 0, size, i + 1) && sum(r.absent) == 0;
    }
    team_close(&team);
    return good;
}

static void test_jobs(void)
{
    static const unsigned sizes[] = {1, 2, 7, 8, 9, 64};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const unsigned n = sizes[i];

        tap_ok(run(n, 0, 9), "%u members: no job, and no thread", n);
        tap_ok(run(n, 1, 9), "%u members: one job", n);
        tap_ok(run(n, 8, 9), "%u members: eight jobs", n);
        tap_ok(run(n, 1, 0), "%u members: one job, which is the last", n);
        tap_ok(run(n, 8, 7), "%u members: eight jobs, the last of them announced", n);
        tap_ok(run(n, 8, 2), "%u members: jobs after what was to be the last", n);
    }
}

/* Some members of a team, beside others that are active. */
static void test_parts(void)
{
    struct record r = {0};
    const struct team_job job = {work, miss, &r, false};
    struct team team;

    tap_ok(team_open(&team, 20), "a team of 20");
    atomic_store(&made, 0);
    tap_ok(team_start(&team, 3, 4, &job) == 4, "members 3 to 6 start");
    tap_ok(team_start(&team, 10, 10, &job) == 10, "members 10 to 19 start beside them");
    tap_ok(team_wait(&team, 0), "all end");
    tap_ok(sum(r.worked) == 14 && r.worked[2] == 0 && r.worked[7] == 0 && r.worked[19] == 1,
           "these and no others have worked");
    tap_ok(atomic_load(&made) == 14, "there are no other threads");
    tap_ok(team_start(&team, 3, 17, &job) == 17 && team_wait(&team, 0), "once more");
    tap_ok(atomic_load(&made) == 17, "threads have been kept");
    team_take_part(&team, 2, 5, &job);
    tap_ok(team_wait(&team, 0) && r.worked[2] == 1 && r.worked[6] == 3 && r.worked[7] == 1,
           "members 2 to 6");
    tap_ok(atomic_load(&made) == 17, "the first on this thread");
    atomic_store(&fail_from, 0);
    team_take_part(&team, 0, 3, &job);
    tap_ok(team_wait(&team, 0) && r.worked[0] == 1 && r.absent[1] == 1 && r.worked[2] == 1 &&
               r.absent[2] == 1,
           "this thread alone, where no other can be had");
    atomic_store(&fail_from, 1 << 30);
    team_close(&team);
}

/* Threads fail from each one on: every member works or is missed, and the first jobs leave as many
   threads as there are. */
static void test_failures(void)
{
    static const unsigned sizes[] = {1, 3, 8, 18};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool good = true, returned = true;

        for (int from = 0; from <= (int)sizes[i]; from++) {
            struct record r = {0};
            struct team team;

            good = good && team_open(&team, sizes[i]);
            atomic_store(&made, 0);
            atomic_store(&fail_from, from);
            for (unsigned k = 0; k < 3; k++) {
                const struct team_job job = {work, miss, &r, k == 1};
                const unsigned started = team_start(&team, 0, sizes[i], &job);

                good = team_wait(&team, 0) && all_are(&r, 0, sizes[i], k + 1) && good;
                returned = returned && (started > 0) == (from > 0);
                if (k == 1) /* these threads have ended: made again, as many fail */
                    atomic_store(&made, 0);
            }
            good = good && sum(r.worked) == 3 * (unsigned)from;
            team_close(&team);
        }
        atomic_store(&fail_from, 1 << 30);
        tap_ok(good, "%u members, threads fail: each works or is missed", sizes[i]);
        tap_ok(returned, "%u members, threads fail: 0 only if none is there", sizes[i]);
    }
}

/*
 * Waiting.
 */

static _Atomic bool go;

static void hold(void *context, unsigned number)
{
    (void)number;
    if (context)
        team_wake(context);
    while (!atomic_load(&go))
        clock_rest();
}

static void test_wait(void)
{
    struct team team;
    struct team_job job = {.work = hold};
    uint64_t begun = clock_now();

    tap_ok(team_open(&team, 2), "a team of two");
    tap_ok(team_wait(&team, 0), "nobody is active");
    (void)team_start(&team, 0, 2, &job);
    tap_ok(!team_wait(&team, CLOCK_SECOND / 100), "they are active");
    tap_ok(clock_now() - begun >= CLOCK_SECOND / 100, "it has waited");
    atomic_store(&go, true);
    tap_ok(team_wait(&team, 0), "they end");
    atomic_store(&go, false);
    job.context = &team;
    (void)team_start(&team, 0, 1, &job);
    tap_ok(!team_wait(&team, 0), "a member ends the waiting");
    atomic_store(&go, true);
    while (!team_wait(&team, 0)) {
    }
    team_close(&team);
    team_close(&(struct team){.size = 0});
    tap_ok(true, "a team that was never opened can be closed");
}

/* Each call of team_call, whatever fails, is made once. */
static void test_call(void)
{
    for (unsigned count = 0; count <= 12; count++) {
        bool good = true;

        for (int from = 0; from <= (int)count; from++) {
            struct record r = {0};

            atomic_store(&made, 0);
            atomic_store(&fail_from, from);
            team_call(count, work, &r);
            good = good && all_are(&r, 0, count, 1) && sum(r.absent) == 0;
        }
        atomic_store(&fail_from, 1 << 30);
        tap_ok(good, "%u calls side by side, with fewer threads", count);
    }
}

/*
 * Signals.
 */

static void note_mask(void *context, unsigned number)
{
    (void)number;
    pthread_sigmask(SIG_SETMASK, NULL, context);
}

static void test_signals(void)
{
    static const int blocked[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGALRM, SIGUSR1, SIGCHLD, SIGWINCH};
    static const int open[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGPIPE, SIGXFSZ};
    sigset_t before, after, there;
    const struct team_job job = {.work = note_mask, .context = &there, .last = true};
    struct team team;

    sigemptyset(&there);
    sigemptyset(&before);
    sigemptyset(&after);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    tap_ok(team_open(&team, 1) && team_start(&team, 0, 1, &job) == 1, "a thread");
    team_close(&team);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) {
        tap_ok(sigismember(&there, blocked[i]) == 1, "%s is blocked there", strsignal(blocked[i]));
        tap_ok(sigismember(&before, blocked[i]) == sigismember(&after, blocked[i]),
               "and here it is as it was");
    }
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        tap_ok(sigismember(&there, open[i]) == 0, "%s is not", strsignal(open[i]));
}

int main(void)
{
    atomic_store(&fail_from, 1 << 30);
    test_jobs();
    test_parts();
    test_failures();
    test_wait();
    test_call();
    test_signals();
    return tap_done();
}
