#include "config.h"

#include "source/ways.h"

#include <string.h>

/* Bytes of a trial. Those of a mapping are more, since its pages are given back in one piece, which
   interrupts all cores. */
#define TRIAL_MAPPED ((uint64_t)8 << 20)
#define TRIAL_COPIED ((uint64_t)2 << 20)

/* The first trials: both ways by turns. The first of each is short, and dropped: page tables and
   buffers are new then. */
#define FIRST_TRIALS 4
#define DROPPED 2
#define DROPPED_BYTES ((uint64_t)1 << 20)

/* Bytes for which the better way is used until the other one is tried again; twice as many after
   each trial that changed nothing, so often. */
#define INTERVAL ((uint64_t)128 << 20)
#define DOUBLED 4

/* The other way is taken if it costs less by so much. */
#define GAIN 0.97

/* A trial that took longer than this many times what is known was interrupted: it counts so much.
 */
#define LONGEST 2

/* If the better way comes to cost so many times what it did, for so many bytes, the other is tried
   at once. */
#define DEARER 1.3
#define DEARER_BYTES ((uint64_t)32 << 20)

/* The weight of the newest trial. */
#define WEIGHT 0.5

void ways_begin(struct ways *w, enum ways_choice choice)
{
    memset(w, 0, sizeof *w);
    w->choice = choice;
    w->best = w->way = choice == WAYS_COPIED ? WAY_COPIED : WAY_MAPPED;
}

static enum way other(enum way way)
{
    return way == WAY_MAPPED ? WAY_COPIED : WAY_MAPPED;
}

/* Notes what the way in use has cost. */
static void note(struct ways *w)
{
    double *cost = &w->cost[w->way];
    double now;

    if (w->taken == 0 || w->trials <= DROPPED)
        return;
    now = (double)w->time / (double)w->taken;
    if (*cost > 0 && now > LONGEST * *cost)
        now = LONGEST * *cost;
    *cost = *cost > 0 ? *cost + WEIGHT * (now - *cost) : now;
}

enum way ways_next(struct ways *w, uint64_t *most)
{
    if (w->choice != WAYS_TRIED) {
        *most = UINT64_MAX;
        return w->way;
    }
    if (w->left == 0) {
        const bool first = w->trials < FIRST_TRIALS, tried = w->way != w->best;

        note(w);
        if (first) {
            w->way = w->trials % 2 == 0 ? WAY_MAPPED : WAY_COPIED;
        } else if (tried) {
            if (w->cost[w->way] < GAIN * w->cost[w->best]) {
                w->best = w->way;
                w->vain = 0;
            } else if (w->vain < DOUBLED) {
                w->vain++;
            }
            w->way = w->best;
        } else {
            w->way = other(w->best);
        }
        w->left = w->trials < DROPPED           ? DROPPED_BYTES
                  : !first && w->way == w->best ? INTERVAL << w->vain
                  : w->way == WAY_MAPPED        ? TRIAL_MAPPED
                                                : TRIAL_COPIED;
        w->trials++;
        w->taken = w->time = 0;
    }
    *most = w->left;
    return w->way;
}

void ways_took(struct ways *w, uint64_t bytes, uint64_t time)
{
    w->taken += bytes;
    w->time += time;
    w->left -= bytes < w->left ? bytes : w->left;
    if (w->trials > FIRST_TRIALS && w->way == w->best && w->taken >= DEARER_BYTES &&
        (double)w->time > DEARER * w->cost[w->best] * (double)w->taken) {
        w->left = 0;
        w->vain = 0;
    }
}
