/*
 * Cores that decode packed input beside an engine: by tasks of small frames, as those of zstd files
 * (zstd/small.h), each of which is a part that a worker has cut.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>

#include "source/packed.h"
#include "source/packed_state.h"
#include "source/zstd/budget.h"
#include "source/zstd/decoder.h"
#include "sys/clock.h"

/* A core's part is at least so long, bytes. */
#ifndef PACKED_CORE_PART
#    define PACKED_CORE_PART ((uint64_t)4 << 20)
#endif

/* Frames are small as they are to so many workers (zstd/budget.h), however many there are: up to 8
   MiB, which are pzstd's. A GPU's own memory on the host is that of 20 workers. */
#define BUDGET_WORKERS 16

enum claimed {
    CLAIMED,
    CLAIM_BUSY, /* another worker cuts */
    CLAIM_NONE  /* there is nothing for this worker, or it has to help with the ring */
};

static bool has_returned_locked(const struct packed_state *p) REQUIRES(source_role);
static enum claimed claim_locked(struct source *s, unsigned worker) REQUIRES(source_role);
static bool left_locked(const struct source *s) REQUIRES(source_role);
static bool helps_locked(const struct packed_state *p, unsigned worker) REQUIRES(source_role);

/*
 * Claiming: the takers of parts.
 *
 *     the first part                          any worker, by source_next
 *     parts of a ring whose engine failed     the same
 *     what has not been cut, while the ring   the ring, and workers that do not help with it
 *         takes parts
 *     the same, when it takes no more         any worker, by source_next
 *
 * So there is something for everyone who asks, or he can help with a ring that goes on, or nothing
 * is left for anyone. A ring that has been called takes parts until none is left, all is refused or
 * torn, or its engine fails, which its feeder says (packed_return). A worker that helps is with the
 * ring until then, and asks again.
 *
 * A worker that finds another one cutting looks again soon; nothing that cuts waits for others.
 * Cores that are held look again, too, until packed_call or packed_return.
 */

/* Whether there is a part whose ring's engine has failed. */
static bool has_returned_locked(const struct packed_state *p)
{
    return p->share->returning && p->share->returned < p->rings[0].part_count;
}

/* Whether there is a part that no ring has, or another may be cut. */
static bool left_locked(const struct source *s)
{
    const struct packed_state *p = s->state;
    const struct packed_share *share = p->share;

    return !p->refused && !p->torn &&
           (share->has_first || has_returned_locked(p) || p->cutting ||
            p->cutter->begin < s->info.input_bytes);
}

/* Whether a worker has to do with the ring rather than with what has not been cut. */
static bool helps_locked(const struct packed_state *p, unsigned worker)
{
    const struct packed_ring *r = &p->rings[0];

    return worker < p->share->helpers && r->end == SOURCE_UNKNOWN && !r->complete;
}

/* Claims a part for a worker. Drops the mutex meanwhile. */
static enum claimed claim_locked(struct source *s, unsigned worker)
{
    struct packed_state *p = s->state;
    struct packed_share *share = p->share;
    struct packed_part *part = &share->cores[worker].part;

    if (!left_locked(s))
        return CLAIM_NONE;
    if (share->has_first && !share->hold_first) {
        share->has_first = false;
        *part = share->first;
        return CLAIMED;
    }
    if (has_returned_locked(p)) {
        *part = p->rings[0].parts[share->returned++];
        return CLAIMED;
    }
    if (helps_locked(p, worker))
        return CLAIM_NONE;
    if (p->cutting || share->hold)
        return CLAIM_BUSY;
    return packed_cut_part_locked(s, PACKED_CORE_PART, part) ? CLAIMED : CLAIM_NONE;
}

/* Walks over the first `frames` frames of a part, to find out what they may hold; with `count`,
   counts the skippable ones as read. False where they are not sound, or one is too large for a
   core. */
static bool describe(struct source *s, const struct packed_part *part, unsigned frames, bool count,
                     struct zstd_batch *batch)
{
    const struct packed_share *share = ((const struct packed_state *)s->state)->share;
    const uint64_t blocks = share->small_max / ZSTD_BLOCK_CONTENT_MAX + 1;
    unsigned char buffer[ZSTD_FINDER_BUFFER];
    struct zstd_view view = {.source = s, .buffer = buffer, .capacity = sizeof buffer};
    struct zstd_fault fault;
    uint64_t at = part->begin;

    *batch = (struct zstd_batch){.begin = part->begin,
                                 .end = part->end,
                                 .content = part->content,
                                 .most = part->most,
                                 .walked = true,
                                 .hinted = true}; /* nothing is printed of what is wrong */
    while (at < part->end && batch->frames < frames) {
        size_t got;
        const unsigned char *b = zstd_view_at(&view, at, ZSTD_SKIPPABLE_HEADER, &got);
        const uint64_t skippable = b ? zstd_skippable_size(b, got) : 0;
        struct zstd_frame frame;
        uint64_t most;

        if (!b)
            return false;
        if (skippable > 0) {
            if (skippable > part->end - at)
                return false;
            at += skippable;
            if (count)
                atomic_fetch_add(&s->input_read, skippable);
            continue;
        }
        if (!zstd_header(&view, at, &frame, &fault))
            return false;
        if (!zstd_walk(&view, &frame, blocks, &fault) || frame.end == SOURCE_UNKNOWN ||
            frame.end > part->end)
            return false;
        most = frame.blocks * ZSTD_BLOCK_CONTENT_MAX;
        if (frame.content < most)
            most = frame.content;
        if (most > batch->frame_most)
            batch->frame_most = most;
        if (frame.window > batch->window)
            batch->window = frame.window;
        batch->frames++;
        at = frame.end;
    }
    return batch->frame_most <= share->small_max;
}

/* Begins with the part that a worker has claimed. False where it is not for a core, or on failure.
 */
static bool begin_part(struct source *s, struct packed_core *core)
{
    const struct packed_state *p = s->state;
    struct zstd_task task = {.base = core->part.position,
                             .number = core->part.number,
                             .true_position =
                                 !core->part.provisional && core->part.content != SOURCE_UNKNOWN};

    return describe(s, &core->part, UINT_MAX, true, &task.batch) &&
           zstd_small_begin(&core->small, &task, p->share->extra);
}

/* Ends a part of which nothing more is to be handed out. False when it was not what it should be:
   that is noted. */
static bool end_part(struct source *s, struct packed_core *core)
{
    struct packed_state *p = s->state;
    const struct zstd_decoder *d = &core->small.decoder;
    const bool decoded = core->small.state == ZSTD_SMALL_DECODED;
    bool good;

    core->small.state = ZSTD_SMALL_FREE;
    if (!decoded || atomic_load(&p->share->shared.retry) || source_failed(s)) {
        packed_note_refused(p);
        return false;
    }
    waiters_lock(&p->waiters);
    good = packed_note_content_locked(s, &core->part, d->position - d->task.base);
    waiters_unlock(&p->waiters);
    return good;
}

enum source_status packed_next(struct source *s, const struct source_request *request,
                               struct chunk *chunk)
{
    struct packed_state *p = s->state;
    struct packed_core *core = &p->share->cores[request->worker];

    for (;;) {
        enum claimed claimed;
        bool good = true;

        if (core->small.state != ZSTD_SMALL_FREE) {
            if (zstd_small_next(&core->small, request, chunk))
                return SOURCE_CHUNK;
            good = end_part(s, core);
        }
        if (source_failed(s))
            return SOURCE_FAILED;
        if (!good || request->drain)
            return SOURCE_END;
        waiters_lock(&p->waiters);
        claimed = claim_locked(s, request->worker);
        waiters_unlock(&p->waiters);
        switch (claimed) {
        case CLAIMED:
            if (!begin_part(s, core))
                packed_note_refused(p);
            break;
        case CLAIM_BUSY:
            clock_rest();
            break;
        case CLAIM_NONE:
            return SOURCE_END;
        }
    }
}

/*
 * Beside the engine.
 */

void packed_call(struct source *s, unsigned helpers)
{
    struct packed_state *p = s->state;

    waiters_lock(&p->waiters);
    p->share->helpers = helpers;
    p->share->hold = p->share->hold_first = false;
    waiters_unlock(&p->waiters);
}

void packed_return(struct source *s)
{
    struct packed_state *p = s->state;
    struct packed_ring *r = &p->rings[0];

    waiters_lock(&p->waiters);
    p->parts_noted -= r->parts_done;
    r->parts_done = 0;
    r->end = r->known; /* it gets no other part */
    r->complete = true;
    p->share->returning = true;
    p->share->hold = p->share->hold_first = false;
    waiters_unlock(&p->waiters);
}

bool packed_left(struct source *s)
{
    struct packed_state *p = s->state;
    bool left;

    waiters_lock(&p->waiters);
    left = !source_failed(s) && left_locked(s);
    waiters_unlock(&p->waiters);
    return left;
}

double packed_ratio(struct source *s)
{
    const struct packed_state *p = s->state;
    struct packed_state *state = s->state;
    double ratio;

    waiters_lock(&state->waiters);
    ratio = p->noted_input > 0 ? (double)p->noted_content / (double)p->noted_input : 0;
    waiters_unlock(&state->waiters);
    return ratio;
}

/*
 * The beginning and the end.
 */

void packed_share_free(struct packed_state *p)
{
    struct packed_share *share = p->share;

    for (unsigned i = 0; share && i < share->count; i++) {
        zstd_decoder_free(&share->cores[i].small.decoder);
        free(share->cores[i].small.memory);
    }
    if (share)
        zstd_input_close(&share->shared.input);
    free(share);
    p->share = NULL;
}

UNCHECKED bool packed_share(struct source *s, unsigned workers, enum packed_hold hold)
{
    struct packed_state *p = s->state;
    const struct zstd_budget budget = zstd_budget(BUDGET_WORKERS);
    const struct packed_part whole = {.end = s->info.input_bytes};
    struct packed_share *share;
    struct zstd_batch batch;
    bool cut;

    if (p->pipe || !packed_can_cut(s))
        return false;
    share = calloc(1, sizeof *share + workers * sizeof *share->cores);
    if (!share)
        return false;
    p->share = share;
    share->small_max = budget.small_max;
    share->extra = budget.small_max;
    share->count = workers;
    share->hold = hold != PACKED_HOLD_NONE;
    share->hold_first = hold == PACKED_HOLD_ALL;
    share->shared.source = s;
    zstd_input_open(&share->shared.input, s, budget.step);
    for (unsigned i = 0; i < workers; i++)
        zstd_decoder_init(&share->cores[i].small.decoder, &share->shared);
    packed_rings_free(p);
    waiters_lock(&p->waiters);
    cut = describe(s, &whole, 1, false, &batch) && packed_cut_ring(s) &&
          packed_cut_part_locked(s, PACKED_CORE_PART, &share->first);
    waiters_unlock(&p->waiters);
    if (cut && !share->first.last && describe(s, &share->first, UINT_MAX, false, &batch)) {
        share->has_first = true;
        return true;
    }
    packed_share_free(p);
    packed_rings_free(p);
    (void)packed_cut(s, 1);
    return false;
}
