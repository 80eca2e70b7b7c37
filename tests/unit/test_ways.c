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
    ways_begin(w, WAYS_TRIED);
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
    ways_begin(&w, WAYS_COPIED);
    check_one(&family, &w, WAY_COPIED, "copied");
    ways_begin(&w, WAYS_POPULATED);
    check_one(&family, &w, WAY_POPULATED, "populated");
    tap_family_end(&family, "a way that is fixed");

    ways_begin(&w, WAYS_TRIED);
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

    ways_begin(&w, choice);
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
    return tap_done();
}
