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

/* Where costs are shared: the least number of workers; bytes for which the best way is used until
   the worker looks at them again, and while some are not known; how often it does that until it
   tries these itself; of how many samples a cost is the mean, or of later ones almost. */
#define SHARED_LEAST 8
#define LOOK_BYTES ((uint64_t)32 << 20)
#define LOOK_SOON_BYTES ((uint64_t)4 << 20)
#define LOOKS_MOST 2
#define SAMPLES_MOST 8

/* What `trials` then counts to: the bytes that are dropped, the first trial, and all else. */
#define SETTLED 3

/* Then few workers try other ways at a time, which costs less: intervals double so often. */
#define SHARED_DOUBLED 2

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

static void lock(struct ways_shared *s) ACQUIRE(ways_role);
static void unlock(struct ways_shared *s) RELEASE(ways_role);

UNCHECKED static void lock(struct ways_shared *s)
{
    mutex_lock(&s->mutex);
}

UNCHECKED static void unlock(struct ways_shared *s)
{
    mutex_unlock(&s->mutex);
}

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

void ways_begin(struct ways *w, enum ways_choice choice, struct ways_shared *shared,
                unsigned number)
{
    memset(w, 0, sizeof *w);
    w->choice = choice;
    w->shared = shared && shared->workers >= SHARED_LEAST ? shared : NULL;
    w->number = number;
    w->best = w->way = is_fixed(w) ? (enum way)choice : WAY_MAPPED;
}

/* The next way, behind the one in use, that is not the best. */
static enum way other(const struct ways *w)
{
    const enum way next = behind(w, w->way);

    return next == w->best ? behind(w, next) : next;
}

/* A cost that was known, or 0, with what it is now. */
static double blend(double known, double now)
{
    return known > 0 ? known + WEIGHT * (now - known) : now;
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
    *cost = blend(*cost, now);
}

static uint64_t trial_bytes(enum way way)
{
    return way == WAY_COPIED ? TRIAL_COPIED : TRIAL_MAPPED;
}

/*
 * Shared costs.
 */

/* What the worker knows of the ways. */
struct known {
    double cost[WAYS];
    bool all;          /* that are tried */
    enum way unknown;  /* else: the first that is not */
    enum way cheapest; /* of those that are */
};

/* Tells the others what the way in use has cost, and looks at what all have found. */
static void exchange(const struct ways *w, bool told, struct known *known)
{
    struct ways_shared *s = w->shared;
    bool any = false;

    lock(s);
    if (told && w->taken > 0) {
        double *cost = &s->cost[w->way], now = (double)w->time / (double)w->taken;
        unsigned *samples = &s->samples[w->way];

        if (*samples > 0 && now > LONGEST * *cost)
            now = LONGEST * *cost;
        *samples += *samples < SAMPLES_MOST;
        *cost +=
            (now - *cost) * (w->way == w->best || *samples <= 2 ? 1.0 / (double)*samples : WEIGHT);
    }
    known->all = true;
    known->unknown = known->cheapest = WAY_MAPPED;
    for (enum way way = WAY_MAPPED; way < WAYS; way++) {
        known->cost[way] = s->cost[way] + (way == WAY_COPIED ? 0 : s->release);
        if (way == WAY_POPULATED && tried_ways(w) < WAYS)
            continue;
        if (s->samples[way] == 0) {
            known->unknown = known->all ? way : known->unknown;
            known->all = false;
        } else if (!any || known->cost[way] < known->cost[known->cheapest]) {
            known->cheapest = way;
            any = true;
        }
    }
    unlock(s);
}

static void begin_trial(struct ways *w, enum way way)
{
    w->way = way;
    w->left = trial_bytes(way);
}

/* Whether the best way has come to cost much more, twice in a row. */
static bool is_dearer(struct ways *w, const struct known *known)
{
    if (w->taken < DEARER_BYTES ||
        (double)w->time <= DEARER * known->cost[w->best] * (double)w->taken)
        w->dear = 0;
    else
        w->dear++;
    return w->dear == 2;
}

/* Whether the worker is to try the other ways now: after an interval it is its turn now and then.
 */
static bool begins_round(struct ways *w, const struct known *known)
{
    const bool dearer = w->way == w->best && is_dearer(w, known);

    w->since += w->way == w->best ? w->taken : 0;
    if (w->since < INTERVAL << w->vain && !dearer)
        return false;
    w->since = 0;
    w->dear = 0;
    w->vain = w->changed || dearer ? 0 : w->vain < SHARED_DOUBLED ? w->vain + 1 : SHARED_DOUBLED;
    w->changed = false;
    return (w->round++ + w->number) % (w->shared->workers / 2) == 0 || dearer;
}

/* Chooses the way for the next bytes, when the worker's own trial has ended. */
static void choose(struct ways *w, const struct known *known)
{
    if (!known->all) {
        w->best = known->cheapest;
        if (w->looks++ < LOOKS_MOST) { /* somebody may be trying it */
            w->way = known->unknown == WAY_MAPPED ? WAY_MAPPED : w->best;
            w->left = LOOK_SOON_BYTES;
        } else {
            begin_trial(w, known->unknown);
        }
        return;
    }
    if (known->cost[known->cheapest] < GAIN * known->cost[w->best]) {
        w->best = known->cheapest;
        w->changed = true;
    }
    if (w->others == 0 && begins_round(w, known))
        w->others = tried_ways(w) - 1;
    if (w->others > 0) {
        w->others--;
        begin_trial(w, other(w));
        return;
    }
    w->way = w->best;
    w->left = LOOK_BYTES;
}

/* The way that a worker tries: half of them what is mapped, which mostly is the best, and a quarter
   each of the others. */
static enum way first_way(const struct ways *w)
{
    static const enum way all[] = {WAY_MAPPED, WAY_POPULATED, WAY_MAPPED, WAY_COPIED};
    static const enum way small[] = {WAY_MAPPED, WAY_COPIED, WAY_MAPPED, WAY_MAPPED};

    return (tried_ways(w) == WAYS ? all : small)[w->number % 4];
}

/* Whether pieces that are mapped are taken as wholes, however few bytes would do, but in the
   worker's first trial: to give a part of a huge page back costs more than to give back all of it.
 */
static bool takes_whole(const struct ways *w)
{
    return w->shared && w->choice == WAYS_TRIED_SMALL && w->way == WAY_MAPPED &&
           w->trials == SETTLED;
}

/* ways_next, when it is to be another one. First each worker tries one way. */
static void next_shared(struct ways *w)
{
    struct known known;

    exchange(w, w->trials > 1, &known);
    if (w->trials == 0) {
        w->best = w->way = first_way(w);
        w->left = DROPPED_BYTES;
    } else if (w->trials == 1) {
        begin_trial(w, w->way);
    } else {
        choose(w, &known);
    }
    w->trials += w->trials < SETTLED;
    w->taken = w->time = 0;
}

/*
 * A worker by itself, and all.
 */

enum way ways_next(struct ways *w, uint64_t *most)
{
    const unsigned ways = tried_ways(w);

    if (is_fixed(w)) {
        *most = UINT64_MAX;
        return w->way;
    }
    if (w->left == 0 && w->shared) {
        next_shared(w);
    } else if (w->left == 0) {
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
                                                : trial_bytes(w->way);
        w->trials++;
        w->taken = w->time = 0;
    }
    *most = takes_whole(w) ? UINT64_MAX : w->left;
    return w->way;
}

bool ways_release_now(const struct ways *w)
{
    return !is_fixed(w) && !w->shared &&
           (w->trials <= FIRST_TURNS * tried_ways(w) || w->way != w->best);
}

void ways_released(struct ways *w, uint64_t bytes, uint64_t time)
{
    const double now = (double)time / (double)bytes;
    struct ways_shared *s = w->shared;

    if (!s)
        return;
    lock(s);
    s->release = blend(s->release, now);
    unlock(s);
}

void ways_took(struct ways *w, uint64_t bytes, uint64_t time)
{
    w->taken += bytes;
    w->time += time;
    w->left -= bytes < w->left ? bytes : w->left;
    if (!w->shared && w->trials > FIRST_TURNS * tried_ways(w) && w->way == w->best &&
        w->taken >= DEARER_BYTES &&
        (double)w->time > DEARER * w->cost[w->best] * (double)w->taken) {
        w->left = 0;
        w->vain = 0;
    }
}
