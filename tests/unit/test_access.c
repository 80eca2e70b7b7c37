/*
 * source/access.h: of methods of known costs the cheapest one gets nearly all bytes, also where trials
 * are interrupted.
 */
#include "config.h"

#include "source/access.h"

#include "lib/data_gen.h"
#include "lib/tap.h"

#define MIB ((uint64_t)1 << 20)
#define MS UINT64_C(1000000) /* nanoseconds */
#define WORKERS_MOST 64

struct machine {
    const char *name;
    unsigned workers, absent;     /* of these so many, the last ones, never come */
    double cost[SOURCE_ACCESSES]; /* nanoseconds a byte */
    unsigned
        interrupted; /* in each millisecond with a chance of one in so many, for ten; 0: never */
    bool small;      /* pieces that are not populated */
    uint64_t mapped; /* bytes of a chunk; copies are of 256 KiB */
    uint64_t bytes;  /* of each worker */
    double longer;   /* as much longer may it take than by the best method alone */
};

static bool is_cheaper(const struct machine *m, int method, enum source_access than)
{
    return !(m->small && method == SOURCE_ACCESS_POPULATED) && m->cost[method] < m->cost[than];
}

/* The method that costs least; of two, the first. */
static enum source_access cheapest(const struct machine *m)
{
    enum source_access best = SOURCE_ACCESS_MAPPED;

    for (int method = SOURCE_ACCESS_POPULATED; method < SOURCE_ACCESSES; method++)
        if (is_cheaper(m, method, best))
            best = (enum source_access)method;
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
    const enum source_access method = access_next(w, &most);
    double time, more;

    *size = method == SOURCE_ACCESS_COPIED ? MIB / 4 : m->mapped;
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
        access_begin(&w[i], SOURCE_ACCESS_BEST, m->small, &shared);
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
        {"1, as dear", 1, 0, {0, .1, .1, .1}, 0, false, 32 * MIB, 4096 * MIB, 1.0001},
        {"1, mapped by half cheaper",
         1,
         0,
         {0, .1, .15, .15},
         0,
         false,
         32 * MIB,
         4096 * MIB,
         1.01},
        {"1, populated cheaper", 1, 0, {0, .15, .1, .15}, 0, false, 32 * MIB, 4096 * MIB, 1.01},
        {"1, copies much cheaper", 1, 0, {0, .3, .2, .1}, 0, false, 32 * MIB, 4096 * MIB, 1.02},
        {"1, mapped much cheaper", 1, 0, {0, .1, .2, .3}, 0, false, 32 * MIB, 4096 * MIB, 1.02},
        {"1, copies cheaper, 256 MiB", 1, 0, {0, .2, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.15},
        {"1, mapped cheaper, 256 MiB", 1, 0, {0, .1, .2, .2}, 0, false, 32 * MIB, 256 * MIB, 1.1},
        {"1, mapped cheaper, interrupted",
         1,
         0,
         {0, .1, .2, .2},
         20,
         false,
         32 * MIB,
         4096 * MIB,
         1.02},
        {"1, copies cheaper, interrupted",
         1,
         0,
         {0, .2, .2, .1},
         20,
         false,
         32 * MIB,
         4096 * MIB,
         1.02},
        {"1, chunks of 64 KiB", 1, 0, {0, .3, .3, .1}, 0, false, MIB / 16, 4096 * MIB, 1.02},
        {"1, small pieces", 1, 0, {0, .1, .05, .2}, 0, true, 32 * MIB, 1024 * MIB, 1.01},
        {"2, copies cheaper", 2, 0, {0, .2, .2, .1}, 0, false, 32 * MIB, 1024 * MIB, 1.02},
        {"16, mapped cheaper", 16, 0, {0, .1, .15, .15}, 0, false, 32 * MIB, 256 * MIB, 1.01},
        {"16, populated much cheaper", 16, 0, {0, .3, .1, .3}, 0, false, 32 * MIB, 256 * MIB, 1.1},
        {"16, copies cheaper", 16, 0, {0, .15, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.03},
        {"16, 24 MiB each", 16, 0, {0, .1, .15, .15}, 0, false, 32 * MIB, 24 * MIB, 1.1},
        {"16, interrupted", 16, 0, {0, .1, .2, .2}, 20, false, 32 * MIB, 256 * MIB, 1.02},
        {"16 of which one comes", 16, 15, {0, .2, .2, .1}, 0, false, 32 * MIB, 1024 * MIB, 1.05},
        {"64, copies cheaper", 64, 0, {0, .15, .2, .1}, 0, false, 32 * MIB, 256 * MIB, 1.03},
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

int main(void)
{
    check_machines();
    return tap_done();
}
