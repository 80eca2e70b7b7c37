#include "config.h"

#include "source/ways.h"

#include <string.h>

/* Bytes of a trial. Those of a mapping are more, since its pages are given back in one piece, which
   interrupts all cores. */
#define TRIAL_MAPPED ((uint64_t)8 << 20)
#define TRIAL_COPIED ((uint64_t)2 << 20)

/* The first trials: all ways by turns, so often. The first of each is short, and dropped: page
   tables and buffers are new then. */
#define FIRST_TURNS 2
#define DROPPED_BYTES ((uint64_t)1 << 20)

/* Bytes for which the best way is used until the others are tried again; twice as many each time
   that this changed nothing, so often. */
#define INTERVAL ((uint64_t)128 << 20)
#define DOUBLED 4

/* Another way is taken if it costs less by so much. */
#define GAIN 0.97

/* A trial that took longer than this many times what is known was interrupted: it counts so much.
 */
#define LONGEST 2

/* If the best way comes to cost so many times what it did, for so many bytes, the others are tried
   at once. */
#define DEARER 1.3
#define DEARER_BYTES ((uint64_t)32 << 20)

/* The weight of the newest trial. */
#define WEIGHT 0.5

_Static_assert((int)WAY_MAPPED == (int)WAYS_MAPPED && (int)WAY_POPULATED == (int)WAYS_POPULATED &&
                   (int)WAY_COPIED == (int)WAYS_COPIED,
               "a choice of one way has its number");

/* Whether there is one way alone. */
static bool is_fixed(const struct ways *w)
{
    return w->choice != WAYS_TRIED && w->choice != WAYS_TRIED_SMALL;
}

/* How many ways are tried. */
static unsigned tried_ways(const struct ways *w)
{
    return w->choice == WAYS_TRIED_SMALL ? WAYS - 1 : WAYS;
}

/* The way behind one, of those that are tried. */
static enum way behind(const struct ways *w, enum way way)
{
    const enum way next = (enum way)((way + 1) % WAYS);

    return w->choice == WAYS_TRIED_SMALL && next == WAY_POPULATED ? WAY_COPIED : next;
}

void ways_begin(struct ways *w, enum ways_choice choice)
{
    memset(w, 0, sizeof *w);
    w->choice = choice;
    w->best = w->way = is_fixed(w) ? (enum way)choice : WAY_MAPPED;
}

/* The next way, behind the one in use, that is not the best. */
static enum way other(const struct ways *w)
{
    const enum way next = behind(w, w->way);

    return next == w->best ? behind(w, next) : next;
}

/* Notes what the way in use has cost. */
static void note(struct ways *w)
{
    double *cost = &w->cost[w->way];
    double now;

    if (w->taken == 0 || w->trials <= tried_ways(w))
        return;
    now = (double)w->time / (double)w->taken;
    if (*cost > 0 && now > LONGEST * *cost)
        now = LONGEST * *cost;
    *cost = *cost > 0 ? *cost + WEIGHT * (now - *cost) : now;
}

enum way ways_next(struct ways *w, uint64_t *most)
{
    const unsigned ways = tried_ways(w);

    if (is_fixed(w)) {
        *most = UINT64_MAX;
        return w->way;
    }
    if (w->left == 0) {
        const bool first = w->trials < FIRST_TURNS * ways, tried = w->way != w->best;

        note(w);
        if (tried && w->cost[w->way] < GAIN * w->cost[w->best]) {
            w->best = w->way;
            w->changed = true;
        }
        if (tried && !first && w->others == 0) {
            w->vain = w->changed ? 0 : w->vain < DOUBLED ? w->vain + 1 : DOUBLED;
            w->changed = false;
        }
        if (first) {
            w->way = w->trials == 0 ? WAY_MAPPED : behind(w, w->way);
        } else {
            w->others = tried ? w->others : ways - 1;
            w->way = w->others > 0 ? other(w) : w->best;
            w->others -= w->others > 0;
        }
        w->left = w->trials < ways              ? DROPPED_BYTES
                  : !first && w->way == w->best ? INTERVAL << w->vain
                  : w->way == WAY_COPIED        ? TRIAL_COPIED
                                                : TRIAL_MAPPED;
        w->trials++;
        w->taken = w->time = 0;
    }
    *most = w->left;
    return w->way;
}

bool ways_trying(const struct ways *w)
{
    return !is_fixed(w) && (w->trials <= FIRST_TURNS * tried_ways(w) || w->way != w->best);
}

void ways_took(struct ways *w, uint64_t bytes, uint64_t time)
{
    w->taken += bytes;
    w->time += time;
    w->left -= bytes < w->left ? bytes : w->left;
    if (w->trials > FIRST_TURNS * tried_ways(w) && w->way == w->best && w->taken >= DEARER_BYTES &&
        (double)w->time > DEARER * w->cost[w->best] * (double)w->taken) {
        w->left = 0;
        w->vain = 0;
    }
}
