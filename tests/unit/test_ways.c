/*
 * source/ways.h: of ways of known costs the cheapest one gets nearly all bytes, also where costs
 * change, and where a trial is interrupted.
 */
#include "config.h"

#include "source/ways.h"

#include <inttypes.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/tap.h"

#define MIB ((uint64_t)1 << 20)
#define MS UINT64_C(1000000) /* nanoseconds */

struct machine {
    const char *name;
    double cost[WAYS];    /* nanoseconds a byte */
    double after[WAYS];   /* the same from half of the bytes on */
    unsigned interrupted; /* after each millisecond, one time in so many, for ten; 0: never */
    uint64_t mapped;      /* bytes of a chunk; copies are of 256 KiB */
    uint64_t bytes;
    double longer; /* as much longer may it take than by the best way alone */
};

/* The way that costs least; of two, the first. */
static enum way cheapest(const double cost[WAYS])
{
    enum way best = WAY_MAPPED;

    for (int way = 1; way < WAYS; way++)
        if (cost[way] < cost[best])
            best = (enum way)way;
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

/* Has a worker take all bytes; what that takes, as a part of what the best way would. */
static double run(const struct machine *m, struct ways *w)
{
    struct rng rng;
    double took = 0, best = 0;

    rng_seed(&rng, 7);
    ways_begin(w, WAYS_TRIED, NULL, 0);
    for (uint64_t at = 0; at < m->bytes;) {
        const double *cost = at < m->bytes / 2 ? m->cost : m->after;
        uint64_t most;
        const enum way way = ways_next(w, &most);
        uint64_t size = way == WAY_COPIED ? MIB / 4 : m->mapped;
        double time;

        size = size < most ? size : most;
        size = size < m->bytes - at ? size : m->bytes - at;
        time = cost[way] * (double)size;
        took += time;
        best += cost[cheapest(cost)] * (double)size;
        if (m->interrupted)
            time += interruptions(&rng, time, m->interrupted);
        ways_took(w, size, (uint64_t)time);
        at += size;
    }
    return took / best;
}

static void check_machines(void)
{
    static const struct machine machines[] = {
        {"as dear", {.1, .1, .1}, {.1, .1, .1}, 0, 32 * MIB, 4096 * MIB, 1.0001},
        {"mapped by half cheaper", {.1, .15, .15}, {.1, .15, .15}, 0, 32 * MIB, 4096 * MIB, 1.01},
        {"populated cheaper", {.15, .1, .15}, {.15, .1, .15}, 0, 32 * MIB, 4096 * MIB, 1.02},
        {"copies by half cheaper", {.15, .2, .1}, {.15, .2, .1}, 0, 32 * MIB, 4096 * MIB, 1.03},
        {"copies much cheaper", {.3, .2, .1}, {.3, .2, .1}, 0, 32 * MIB, 4096 * MIB, 1.05},
        {"mapped much cheaper", {.1, .2, .3}, {.1, .2, .3}, 0, 32 * MIB, 4096 * MIB, 1.03},
        {"copies cheaper, small file", {.2, .2, .1}, {.2, .2, .1}, 0, 32 * MIB, 256 * MIB, 1.15},
        {"populated cheaper, small file", {.2, .1, .2}, {.2, .1, .2}, 0, 32 * MIB, 256 * MIB, 1.1},
        {"mapped cheaper, small file", {.1, .2, .2}, {.1, .2, .2}, 0, 32 * MIB, 256 * MIB, 1.1},
        {"copies become cheaper", {.1, .1, .2}, {.1, .1, .05}, 0, 32 * MIB, 8192 * MIB, 1.35},
        {"populated becomes cheaper", {.1, .2, .2}, {.1, .05, .2}, 0, 32 * MIB, 8192 * MIB, 1.35},
        {"copies become dearer", {.2, .3, .1}, {.2, .3, .4}, 0, 32 * MIB, 8192 * MIB, 1.3},
        {"mapped cheaper, interrupted", {.1, .2, .2}, {.1, .2, .2}, 20, 32 * MIB, 8192 * MIB, 1.15},
        {"copies cheaper, interrupted", {.2, .2, .1}, {.2, .2, .1}, 20, 32 * MIB, 8192 * MIB, 1.15},
        {"chunks of 64 KiB", {.3, .3, .1}, {.3, .3, .1}, 0, MIB / 16, 4096 * MIB, 1.05},
    };

    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const struct machine *m = &machines[i];
        struct ways w;
        const double longer = run(m, &w);
        const enum way best = cheapest(m->after);

        tap_ok(longer <= m->longer, "%s: %.4f times the time of the best way alone", m->name,
               longer);
        if (!m->interrupted)
            tap_ok(m->after[w.best] == m->after[best], "%s: ends with the best way", m->name);
    }
}

/*
 * Workers that share what they find, each with a clock of its own.
 */

#define WORKERS_MOST 64

struct team {
    const char *name;
    unsigned workers, absent; /* of these so many, the last ones, never come */
    double cost[WAYS], after[WAYS];
    unsigned interrupted;
    bool small;     /* pieces that are not populated */
    uint64_t bytes; /* of each worker */
    double longer;
};

/* Has all of them take their bytes, always the one next that is least far; what that takes of what
   the best way would. */
static double run_team(const struct team *t, struct ways w[])
{
    struct ways_shared shared;
    double clock[WORKERS_MOST] = {0}, took = 0, best = 0;
    uint64_t at[WORKERS_MOST] = {0};
    const unsigned present = t->workers - t->absent;
    struct rng rng;

    rng_seed(&rng, 11);
    ways_shared_open(&shared, t->workers);
    for (unsigned i = 0; i < t->workers; i++)
        ways_begin(&w[i], t->small ? WAYS_TRIED_SMALL : WAYS_TRIED, &shared, i);
    for (;;) {
        unsigned next = present;
        const double *cost;
        uint64_t most, size;
        enum way way;
        double time;

        for (unsigned i = 0; i < present; i++)
            if (at[i] < t->bytes && (next == present || clock[i] < clock[next]))
                next = i;
        if (next == present)
            break;
        cost = at[next] < t->bytes / 2 ? t->cost : t->after;
        way = ways_next(&w[next], &most);
        size = way == WAY_COPIED ? MIB / 4 : 32 * MIB;
        size = size < most ? size : most;
        size = size < t->bytes - at[next] ? size : t->bytes - at[next];
        time = cost[way] * (double)size;
        took += time;
        best +=
            (t->small ? (cost[WAY_COPIED] < cost[WAY_MAPPED] ? cost[WAY_COPIED] : cost[WAY_MAPPED])
                      : cost[cheapest(cost)]) *
            (double)size;
        if (t->interrupted)
            time += interruptions(&rng, time, t->interrupted);
        clock[next] += time;
        ways_took(&w[next], size, (uint64_t)time);
        at[next] += size;
    }
    ways_shared_close(&shared);
    return took / best;
}

static void check_teams(void)
{
    static const struct team teams[] = {
        {"16, mapped by a tenth cheaper",
         16,
         0,
         {.1, .11, .11},
         {.1, .11, .11},
         0,
         false,
         256 * MIB,
         1.005},
        {"16, mapped by half cheaper",
         16,
         0,
         {.1, .15, .15},
         {.1, .15, .15},
         0,
         false,
         256 * MIB,
         1.02},
        {"16, copies by half cheaper",
         16,
         0,
         {.15, .2, .1},
         {.15, .2, .1},
         0,
         false,
         256 * MIB,
         1.04},
        {"16, populated much cheaper",
         16,
         0,
         {.3, .1, .2},
         {.3, .1, .2},
         0,
         false,
         256 * MIB,
         1.07},
        {"16, a small file", 16, 0, {.1, .15, .15}, {.1, .15, .15}, 0, false, 24 * MIB, 1.15},
        {"16, small pieces", 16, 0, {.1, .05, .15}, {.1, .05, .15}, 0, true, 256 * MIB, 1.02},
        {"16, small pieces, copies cheaper",
         16,
         0,
         {.2, .05, .1},
         {.2, .05, .1},
         0,
         true,
         256 * MIB,
         1.08},
        {"16, interrupted", 16, 0, {.1, .2, .2}, {.1, .2, .2}, 20, false, 1024 * MIB, 1.05},
        {"8, mapped by half cheaper",
         8,
         0,
         {.1, .15, .15},
         {.1, .15, .15},
         0,
         false,
         1024 * MIB,
         1.02},
        {"64, copies by half cheaper",
         64,
         0,
         {.15, .2, .1},
         {.15, .2, .1},
         0,
         false,
         256 * MIB,
         1.04},
        {"16 of which one comes", 16, 15, {.2, .2, .1}, {.2, .2, .1}, 0, false, 1024 * MIB, 1.1},
        {"16, copies become cheaper",
         16,
         0,
         {.1, .1, .2},
         {.1, .1, .05},
         0,
         false,
         8192 * MIB,
         1.35},
        {"16, copies become dearer", 16, 0, {.2, .3, .1}, {.2, .3, .4}, 0, false, 8192 * MIB, 1.1},
    };

    for (size_t i = 0; i < sizeof teams / sizeof *teams; i++) {
        const struct team *t = &teams[i];
        struct ways w[WORKERS_MOST];
        const double longer = run_team(t, w);
        double best = t->after[t->small ? WAY_MAPPED : cheapest(t->after)];
        unsigned wrong = 0;

        if (t->small && t->after[WAY_COPIED] < best)
            best = t->after[WAY_COPIED];
        for (unsigned k = 0; k < t->workers - t->absent; k++)
            wrong += t->after[w[k].best] != best;
        tap_ok(longer <= t->longer, "%s: %.4f times the time of the best way alone", t->name,
               longer);
        if (!t->interrupted)
            tap_ok(wrong == 0, "%s: all end with the best way, but %u", t->name, wrong);
    }
}

/* There is no choice but this way, however dear it is. */
static void check_one(struct tap_family *family, struct ways *w, enum way way, const char *name)
{
    uint64_t most;

    for (int i = 0; i < 100; i++) {
        tap_case(family, ways_next(w, &most) == way && most == UINT64_MAX, "%s: %d", name, i);
        ways_took(w, MIB, 1000000000);
    }
}

/* Where there is no choice, and what a way is asked for first. */
static void check_fixed(void)
{
    struct tap_family family = {0};
    struct ways w = {0};
    uint64_t most;

    check_one(&family, &w, WAY_MAPPED, "zeros");
    ways_begin(&w, WAYS_COPIED, NULL, 0);
    check_one(&family, &w, WAY_COPIED, "copied");
    ways_begin(&w, WAYS_POPULATED, NULL, 0);
    check_one(&family, &w, WAY_POPULATED, "populated");
    tap_family_end(&family, "a way that is fixed");

    ways_begin(&w, WAYS_TRIED, NULL, 0);
    for (int i = 0; i < 1000; i++) {
        (void)ways_next(&w, &most);
        tap_case(&family, most > 0, "chunk %d", i);
        ways_took(&w, most, 0); /* and no time at all */
    }
    tap_family_end(&family, "there is always something to take");
}

/* What is asked for: a way and MiB. */
struct step {
    int way;
    unsigned mib;
};

enum { M = WAY_MAPPED, P = WAY_POPULATED, C = WAY_COPIED };

/* Whether the ways that are asked for one after the other are these steps, where a byte costs so
   many nanoseconds. */
static void check_steps(const char *name, enum ways_choice choice, const double cost[WAYS],
                        const struct step *steps, unsigned count)
{
    struct tap_family family = {0};
    struct ways w;

    ways_begin(&w, choice, NULL, 0);
    for (unsigned k = 0; k < count; k++) {
        uint64_t most;
        const enum way way = ways_next(&w, &most);

        tap_case(&family, (int)way == steps[k].way && most == steps[k].mib * MIB,
                 "step %u: way %d, %" PRIu64 " bytes", k, way, most);
        ways_took(&w, most, (uint64_t)(cost[way] * (double)most));
    }
    tap_family_end(&family, "%s", name);
}

/* Pieces that are too small to be populated: that way is never asked for, though it cost least. */
static void check_small(void)
{
    static const struct step mapped[] = {{M, 1}, {C, 1},   {M, 8}, {C, 2},   {M, 256},
                                         {C, 2}, {M, 512}, {C, 2}, {M, 1024}};
    static const struct step copied[] = {{M, 1}, {C, 1},   {M, 8}, {C, 2},   {C, 128},
                                         {M, 8}, {C, 256}, {M, 8}, {C, 512}, {M, 8}};

    check_steps("small pieces, mapped is best", WAYS_TRIED_SMALL, (double[]){.2, .1, .3}, mapped,
                sizeof mapped / sizeof *mapped);
    check_steps("small pieces, copied is best", WAYS_TRIED_SMALL, (double[]){.3, .1, .2}, copied,
                sizeof copied / sizeof *copied);
}

/* What is asked for one after the other, where all costs stay as they are: first always the same,
   and then what depends on the best way. */
static void check_order(void)
{
    enum { FIRST = 6, THEN = 8 };
    static const struct step first[FIRST] = {{M, 1}, {P, 1}, {C, 1}, {M, 8}, {P, 8}, {C, 2}};
    static const struct step mapped[THEN] = {{M, 256}, {P, 8}, {C, 2},    {M, 512},
                                             {P, 8},   {C, 2}, {M, 1024}, {P, 8}};
    static const struct step populated[THEN] = {{P, 128}, {C, 2}, {M, 8},   {P, 256},
                                                {C, 2},   {M, 8}, {P, 512}, {C, 2}};
    static const struct step copied[THEN] = {{C, 128}, {M, 8}, {P, 8},   {C, 256},
                                             {M, 8},   {P, 8}, {C, 512}, {M, 8}};
    static const struct {
        const char *name;
        double cost[WAYS];
        const struct step *then;
    } orders[] = {
        {"mapped is best", {.1, .2, .3}, mapped},
        {"populated is best", {.2, .1, .3}, populated},
        {"copied is best", {.3, .2, .1}, copied},
        {"populated is better by too little", {.1, .098, .3}, mapped},
    };

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct step steps[FIRST + THEN];

        memcpy(steps, first, sizeof first);
        memcpy(steps + FIRST, orders[i].then, sizeof mapped);
        check_steps(orders[i].name, WAYS_TRIED, orders[i].cost, steps, FIRST + THEN);
    }
}

int main(void)
{
    check_fixed();
    check_order();
    check_small();
    check_machines();
    check_teams();
    return tap_done();
}
