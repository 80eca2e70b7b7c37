/*
 * source/access.h: the steps that workers take, and that of methods of known costs the cheapest one
 * gets nearly all bytes, also where trials are interrupted.
 */
#include "config.h"

#include "source/access.h"

#include <inttypes.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/tap.h"

#define MIB ((uint64_t)1 << 20)
#define MS UINT64_C(1000000) /* nanoseconds */
#define WORKERS_MOST 64

struct machine {
    const char *name;
    unsigned workers, absent;    /* of these so many, the last ones, never come */
    double cost[ACCESS_METHODS]; /* nanoseconds a byte */
    unsigned
        interrupted; /* in each millisecond with a chance of one in so many, for ten; 0: never */
    bool small;      /* pieces that are not populated */
    uint64_t mapped; /* bytes of a chunk; copies are of 256 KiB */
    uint64_t bytes;  /* of each worker */
    double longer;   /* as much longer may it take than by the best method alone */
};

static bool is_cheaper(const struct machine *m, int method, enum access_method than)
{
    return !(m->small && method == ACCESS_POPULATED) && m->cost[method] < m->cost[than];
}

/* The method that costs least; of two, the first. */
static enum access_method cheapest(const struct machine *m)
{
    enum access_method best = ACCESS_MAPPED;

    for (int method = 1; method < ACCESS_METHODS; method++)
        if (is_cheaper(m, method, best))
            best = (enum access_method)method;
    return best;
}

/* How long a worker is interrupted in so many nanoseconds. */
static double interruptions(struct rng *rng, double time, unsigned each)
{
    uint64_t left = (uint64_t)time;
    double found = 0;

    while (left > 0) {
        const uint64_t some = left < MS ? left : MS;

        if (rng_below(rng, MS * each) < some)
            found += 10 * (double)MS;
        left -= some;
    }
    return found;
}

/* Has a worker take its next chunk; what that takes. */
static double take(const struct machine *m, struct access *w, struct rng *rng, uint64_t left,
                   uint64_t *size)
{
    uint64_t most;
    const enum access_method method = access_next(w, &most);
    double time, more;

    *size = method == ACCESS_COPIED ? MIB / 4 : m->mapped;
    *size = *size < most ? *size : most;
    *size = *size < left ? *size : left;
    time = m->cost[method] * (double)*size;
    more = m->interrupted ? interruptions(rng, time, m->interrupted) : 0;
    access_took(w, *size, (uint64_t)(time + more));
    return time;
}

/* Has all workers take their bytes, always the one next whose clock is least far; what that takes,
   as a multiple of what it would by the best method. */
static double run(const struct machine *m, struct access w[])
{
    struct access_shared shared;
    const unsigned present = m->workers - m->absent;
    double clock[WORKERS_MOST] = {0}, took = 0;
    uint64_t left[WORKERS_MOST] = {0};
    struct rng rng;

    rng_seed(&rng, 7);
    access_shared_open(&shared, m->workers);
    for (unsigned i = 0; i < m->workers; i++) {
        access_begin(&w[i], m->small ? ACCESS_CHOICE_TRIED_SMALL : ACCESS_CHOICE_TRIED, &shared);
        left[i] = m->bytes;
    }
    for (;;) {
        unsigned next = present;
        uint64_t size;

        for (unsigned i = 0; i < present; i++)
            if (left[i] > 0 && (next == present || clock[i] < clock[next]))
                next = i;
        if (next == present)
            break;
        clock[next] += take(m, &w[next], &rng, left[next], &size);
        left[next] -= size;
    }
    for (unsigned i = 0; i < present; i++)
        took += clock[i];
    access_shared_close(&shared);
    return took / (m->cost[cheapest(m)] * (double)m->bytes * present);
}

static void check_machines(void)
{
    static const struct machine machines[] = {
        {"1, as dear", 1, 0, {.1, .1, .1}, 0, false, 32 * MIB, 4096 * MIB, 1.0001},
        {"1, mapped by half cheaper", 1, 0, {.1, .15, .15}, 0, false, 32 * MIB, 4096 * MIB, 1.01},
        {"1, populated cheaper", 1, 0, {.15, .1, .15}, 0, false, 32 * MIB, 4096 * MIB, 1.01},
        {"1, copies much cheaper", 1, 0, {.3, .2, .1}, 0, false, 32 * MIB, 4096 * MIB, 1.02},
        {"1, mapped much cheaper", 1, 0, {.1, .2, .3}, 0, false, 32 * MIB, 4096 * MIB, 1.02},
        {"1, copies cheaper, 256 MiB", 1, 0, {.2, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.15},
        {"1, mapped cheaper, 256 MiB", 1, 0, {.1, .2, .2}, 0, false, 32 * MIB, 256 * MIB, 1.1},
        {"1, mapped cheaper, interrupted",
         1,
         0,
         {.1, .2, .2},
         20,
         false,
         32 * MIB,
         4096 * MIB,
         1.02},
        {"1, copies cheaper, interrupted",
         1,
         0,
         {.2, .2, .1},
         20,
         false,
         32 * MIB,
         4096 * MIB,
         1.02},
        {"1, chunks of 64 KiB", 1, 0, {.3, .3, .1}, 0, false, MIB / 16, 4096 * MIB, 1.02},
        {"1, small pieces", 1, 0, {.1, .05, .2}, 0, true, 32 * MIB, 1024 * MIB, 1.01},
        {"2, copies cheaper", 2, 0, {.2, .2, .1}, 0, false, 32 * MIB, 1024 * MIB, 1.02},
        {"16, mapped cheaper", 16, 0, {.1, .15, .15}, 0, false, 32 * MIB, 256 * MIB, 1.01},
        {"16, populated much cheaper", 16, 0, {.3, .1, .3}, 0, false, 32 * MIB, 256 * MIB, 1.1},
        {"16, copies cheaper", 16, 0, {.15, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.03},
        {"16, 24 MiB each", 16, 0, {.1, .15, .15}, 0, false, 32 * MIB, 24 * MIB, 1.1},
        {"16, interrupted", 16, 0, {.1, .2, .2}, 20, false, 32 * MIB, 256 * MIB, 1.02},
        {"16 of which one comes", 16, 15, {.2, .2, .1}, 0, false, 32 * MIB, 1024 * MIB, 1.05},
        {"64, copies cheaper", 64, 0, {.15, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.03},
    };

    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const struct machine *m = &machines[i];
        struct access w[WORKERS_MOST];
        const double longer = run(m, w);
        unsigned wrong = 0;

        for (unsigned k = 0; k < m->workers - m->absent; k++)
            wrong += m->cost[w[k].method] > m->cost[cheapest(m)];
        tap_ok(longer <= m->longer, "%s: %.4f times the time of the best method alone", m->name,
               longer);
        tap_ok(wrong == 0, "%s: all workers end with the best method", m->name);
    }
}

/*
 * The steps.
 */

#define M ACCESS_MAPPED
#define P ACCESS_POPULATED
#define C ACCESS_COPIED

struct step {
    enum access_method method;
    uint64_t mib; /* 0: all that is left */
    bool release; /* pages are given back at once */
};

/* Whether workers take these steps, as many as there are, by turns. */
static void check_steps(const char *name, unsigned workers, unsigned present,
                        enum access_choice choice, const double cost[ACCESS_METHODS],
                        const struct step *steps, size_t count)
{
    struct tap_family family = {0};
    struct access_shared shared;
    struct access w[WORKERS_MOST];

    access_shared_open(&shared, workers);
    for (unsigned i = 0; i < present; i++)
        access_begin(&w[i], choice, &shared);
    for (size_t i = 0; i < count; i++) {
        struct access *one = &w[i % present];
        uint64_t most;
        const enum access_method method = access_next(one, &most);
        const uint64_t expected = steps[i].mib ? steps[i].mib * MIB : UINT64_MAX;

        tap_case(&family,
                 method == steps[i].method && most == expected &&
                     access_release_now(one) == steps[i].release,
                 "step %zu: method %d, %" PRIu64 " bytes, release %d", i, method, most,
                 access_release_now(one));
        most = most < MIB * 1024 ? most : MIB * 1024;
        access_took(one, most, (uint64_t)(cost[method] * (double)most));
    }
    access_shared_close(&shared);
    tap_family_end(&family, "%s", name);
}
#define STEPS(name, workers, present, choice, costs, ...)                            \
    check_steps(name, workers, present, choice, (const double[ACCESS_METHODS])costs, \
                (const struct step[]){__VA_ARGS__},                                  \
                sizeof(const struct step[]){__VA_ARGS__} / sizeof(struct step))
#define COSTS(m, p, c) \
    {                  \
        m, p, c        \
    }

static void check_all_steps(void)
{
    STEPS("one worker tries all twice, and keeps the best", 1, 1, ACCESS_CHOICE_TRIED,
          COSTS(.2, .2, .1), {M, 1, true}, {M, 8, true}, {P, 1, true}, {P, 8, true}, {C, 1, true},
          {C, 2, true}, {M, 1, true}, {M, 8, true}, {P, 1, true}, {P, 8, true}, {C, 1, true},
          {C, 2, true}, {C, 0, false}, {C, 0, false});
    STEPS("small pieces are not populated", 1, 1, ACCESS_CHOICE_TRIED_SMALL, COSTS(.1, .01, .2),
          {M, 1, true}, {M, 8, true}, {C, 1, true}, {C, 2, true}, {M, 1, true}, {M, 8, true},
          {C, 1, true}, {C, 2, true}, {M, 0, false}, {M, 0, false});
    STEPS("of as good ones the first is kept", 1, 1, ACCESS_CHOICE_TRIED_SMALL, COSTS(.1, .1, .1),
          {M, 1, true}, {M, 8, true}, {C, 1, true}, {C, 2, true}, {M, 1, true}, {M, 8, true},
          {C, 1, true}, {C, 2, true}, {M, 0, false});
    STEPS("two workers share trials", 2, 2, ACCESS_CHOICE_TRIED_SMALL, COSTS(.2, .2, .1),
          {M, 1, true}, {C, 1, true}, {M, 8, true}, {C, 2, true}, {M, 1, true}, {C, 1, true},
          {M, 8, true}, {C, 2, true}, {C, 4, false}, {C, 0, false}, {C, 0, false}, {C, 0, false});
    STEPS("many workers give no pages back in trials, and wait for others", 8, 5,
          ACCESS_CHOICE_TRIED_SMALL, COSTS(.1, .1, .2), {M, 1, false}, {C, 1, false}, {M, 1, false},
          {C, 1, false}, {M, 4, false}, {M, 8, false}, {C, 2, false}, {M, 8, false}, {C, 2, false},
          {M, 4, false}, {M, 4, false}, {M, 4, false}, {M, 4, false}, {M, 0, false}, {M, 0, false},
          {M, 0, false}, {M, 0, false}, {M, 0, false});
    STEPS("mapped alone", 1, 1, ACCESS_CHOICE_MAPPED, COSTS(.2, .2, .1), {M, 0, false},
          {M, 0, false});
    STEPS("populated alone", 1, 1, ACCESS_CHOICE_POPULATED, COSTS(.2, .2, .1), {P, 0, false},
          {P, 0, false});
    STEPS("copied alone", 1, 1, ACCESS_CHOICE_COPIED, COSTS(.1, .2, .2), {C, 0, false},
          {C, 0, false});
}

int main(void)
{
    check_all_steps();
    check_machines();
    return tap_done();
}
