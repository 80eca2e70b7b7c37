#include "config.h"

#include "source/ways.h"

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

_Static_assert((int)WAY_MAPPED == (int)WAYS_MAPPED && (int)WAY_POPULATED == (int)WAYS_POPULATED &&
                   (int)WAY_COPIED == (int)WAYS_COPIED,
               "a choice of one method has its number");

static bool is_allowed(const struct ways *w, enum way way)
{
    return w->choice != WAYS_TRIED_SMALL || way != WAY_POPULATED;
}

UNCHECKED void ways_shared_open(struct ways_shared *shared, unsigned workers)
{
    memset(shared, 0, sizeof *shared);
    shared->workers = workers;
    mutex_init(&shared->mutex);
}

void ways_shared_close(struct ways_shared *shared)
{
    mutex_destroy(&shared->mutex);
}

void ways_begin(struct ways *w, enum ways_choice choice, struct ways_shared *shared)
{
    const bool fixed = choice != WAYS_TRIED && choice != WAYS_TRIED_SMALL;

    *w = (struct ways){.shared = shared, .choice = choice, .settled = fixed};
    w->way = fixed ? (enum way)choice : WAY_MAPPED;
}

/* Hands in the worker's trial, if it has ended one, and finds out what it should do next: try a
   method, wait for the trials of others, or keep the best method. */
static void choose(struct ways *w)
{
    struct ways_shared *s = w->shared;
    const double cost = w->taken > 0 ? (double)w->time / (double)w->taken : 0;
    enum way rarest = WAY_MAPPED, best = WAY_MAPPED;
    bool all = true;

    ways_lock(s);
    if (w->trying && w->taken > 0 && (s->ended[w->way]++ == 0 || cost < s->cost[w->way]))
        s->cost[w->way] = cost;
    for (enum way way = WAY_MAPPED; way < WAYS; way++) {
        if (!is_allowed(w, way))
            continue;
        rarest = s->begun[way] < s->begun[rarest] ? way : rarest;
        all = all && s->ended[way] >= TRIALS;
        if (s->ended[way] > 0 && (s->ended[best] == 0 || s->cost[way] < s->cost[best]))
            best = way;
    }
    w->trying = w->warming = s->begun[rarest] < TRIALS;
    if (w->trying)
        s->begun[rarest]++;
    ways_unlock(s);
    w->settled = all;
    w->way = w->trying ? rarest : best;
    w->left = w->trying ? WARM_BYTES : WAIT_BYTES;
}

enum way ways_next(struct ways *w, uint64_t *most)
{
    if (!w->settled && w->left == 0) {
        if (w->warming) {
            w->warming = false;
            w->left = w->way == WAY_COPIED ? TRIAL_COPIED : TRIAL_MAPPED;
        } else {
            choose(w);
        }
        w->taken = w->time = 0;
    }
    *most = w->settled ? UINT64_MAX : w->left;
    return w->way;
}

bool ways_release_now(const struct ways *w)
{
    return w->trying && w->shared->workers < CROWD;
}

void ways_took(struct ways *w, uint64_t bytes, uint64_t time)
{
    w->taken += bytes;
    w->time += time;
    w->left -= bytes < w->left ? bytes : w->left;
}
