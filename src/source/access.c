#include "config.h"

#include "source/access.h"

#include <string.h>

/* Bytes of a trial, before which the method is used for so many others: page tables and buffers are
   new then. Mapped trials are longer, since their pages are taken out of memory in one piece, which
   interrupts all cores. */
#define WARM_BYTES ((uint64_t)1 << 20)
#define TRIAL_MAPPED ((uint64_t)8 << 20)
#define TRIAL_COPIED ((uint64_t)2 << 20)

/* Trials of each method, by all workers together. The fastest counts: others were interrupted. */
#define TRIALS 2

/* Bytes until a worker looks whether the trials of others have ended. */
#define WAIT_BYTES ((uint64_t)4 << 20)

/* Fewer workers than this take pages out of memory at once in trials. */
#define CROWD 8

UNCHECKED void access_shared_open(struct access_shared *shared, unsigned workers)
{
    memset(shared, 0, sizeof *shared);
    shared->workers = workers;
    mutex_init(&shared->mutex);
}

void access_shared_close(struct access_shared *shared)
{
    mutex_destroy(&shared->mutex);
}

void access_begin(struct access *w, enum source_access choice, bool small,
                  struct access_shared *shared)
{
    const bool fixed = choice != SOURCE_ACCESS_BEST;

    *w = (struct access){.shared = shared, .choice = choice, .small = small, .final = fixed};
    w->method = fixed ? choice : SOURCE_ACCESS_MAPPED;
}

/* Hands in the worker's trial, if it has ended one, and finds out what it should do next: try a
   method, wait for the trials of others, or keep the best method. */
static void choose(struct access *w)
{
    struct access_shared *s = w->shared;
    const double cost = w->taken > 0 ? (double)w->time / (double)w->taken : 0;
    enum source_access rarest = SOURCE_ACCESS_MAPPED, best = SOURCE_ACCESS_MAPPED;
    bool all = true;

    access_lock(s);
    if (w->trying && w->taken > 0 && (s->ended[w->method]++ == 0 || cost < s->cost[w->method]))
        s->cost[w->method] = cost;
    for (enum source_access method = SOURCE_ACCESS_MAPPED; method < SOURCE_ACCESSES; method++) {
        if (w->small && method == SOURCE_ACCESS_POPULATED)
            continue;
        rarest = s->begun[method] < s->begun[rarest] ? method : rarest;
        all = all && s->ended[method] >= TRIALS;
        if (s->ended[method] > 0 && (s->ended[best] == 0 || s->cost[method] < s->cost[best]))
            best = method;
    }
    w->trying = w->warming = s->begun[rarest] < TRIALS;
    if (w->trying)
        s->begun[rarest]++;
    access_unlock(s);
    w->final = all;
    w->method = w->trying ? rarest : best;
    w->left = w->trying ? WARM_BYTES : WAIT_BYTES;
}

enum source_access access_next(struct access *w, uint64_t *most)
{
    if (!w->final && w->left == 0) {
        if (w->warming) {
            w->warming = false;
            w->left = w->method == SOURCE_ACCESS_COPIED ? TRIAL_COPIED : TRIAL_MAPPED;
        } else {
            choose(w);
        }
        w->taken = w->time = 0;
    }
    *most = w->final ? UINT64_MAX : w->left;
    return w->method;
}

bool access_release_now(const struct access *w)
{
    return w->trying && w->shared->workers < CROWD;
}

void access_took(struct access *w, uint64_t bytes, uint64_t time)
{
    w->taken += bytes;
    w->time += time;
    w->left -= bytes < w->left ? bytes : w->left;
}
