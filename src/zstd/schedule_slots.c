#include "config.h"

#include "zstd/large.h"
#include "zstd/schedule_state.h"

/* Windows of the large frames being decoded, together; one frame is decoded whatever window it
   needs. */
#define WINDOW_BUDGET ((uint64_t)128 << 20)

/* A context with a larger window than this is not kept for another frame. */
#define WINDOW_KEPT ((uint64_t)4 << 20)

static void close_slot_locked(struct zstd_schedule *z, struct zstd_slot *slot)
    REQUIRES(waiters_role);

/* Whether a large frame may be begun now: one at any time, others where memory allows. */
bool zstd_schedule_may_open_slot_locked(const struct zstd_schedule *z, const struct zstd_task *task)
{
    if (zstd_team_busy_locked(z->team) && !zstd_team_lasts_locked(z->team))
        return false; /* all cores are about to be there for it */
    return z->slots_taken == 0 ||
           (z->slots_taken < z->workers && z->windows + task->batch.window <= WINDOW_BUDGET);
}

/* A slot that nobody decodes. Workers begin to look at different ones. */
struct zstd_slot *zstd_schedule_idle_slot_locked(const struct zstd_schedule *z, unsigned worker)
{
    for (unsigned i = 0; z->slots_taken > 0 && i < z->slot_count; i++) {
        struct zstd_slot *slot = &z->slots[(worker + i) % z->slot_count];

        if (slot->state == SLOT_IDLE)
            return slot;
    }
    return NULL;
}

/* Gives a large frame a slot. */
void zstd_schedule_open_slot_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    struct zstd_slot *slot = z->slots;

    while (slot->state != SLOT_FREE || slot->helped)
        slot++;
    if (!zstd_decoder_begin(&slot->decoder, task, false))
        return;
    slot->state = SLOT_IDLE;
    slot->window = task->batch.window;
    z->windows += slot->window;
    z->slots_taken++;
}

/* A task has been decoded as far as it is wanted. */
void zstd_schedule_end_task_locked(struct zstd_schedule *z, struct zstd_decoder *d)
{
    zstd_span_release(&d->span);
    zstd_index_set_length(&z->index, d->task.number, d->position - d->task.base);
}

static void close_slot_locked(struct zstd_schedule *z, struct zstd_slot *slot)
{
    zstd_schedule_end_task_locked(z, &slot->decoder);
    if (slot->window > WINDOW_KEPT)
        zstd_decoder_shrink(&slot->decoder);
    z->windows -= slot->window;
    z->slots_taken--;
    slot->state = SLOT_FREE;
}

/* The role of a slot's decoder: decodes for those that wait, and for this worker when nobody does.
   Whether its own chunk was filled. Drops the mutex while it decodes. */
bool zstd_schedule_serve_locked(struct zstd_schedule *z, struct zstd_slot *slot,
                                const struct chunk_request *request, struct chunk *chunk)
{
    enum zstd_large_status status = ZSTD_LARGE_FILLED;
    struct waiter *waiter;
    bool filled = false;

    slot->state = SLOT_BUSY;
    while (status == ZSTD_LARGE_FILLED &&
           ((waiter = waiters_take_locked(&z->waiters)) || !filled)) {
        struct chunk *target = waiter ? waiter->reply : chunk;
        bool good;

        waiters_unlock(&z->waiters);
        status = zstd_large_fill(&slot->decoder, waiter ? waiter->request : request, target);
        waiters_lock(&z->waiters);
        if (status == ZSTD_LARGE_ENDED)
            zstd_schedule_note_end_locked(z, &slot->decoder);
        good = status != ZSTD_LARGE_FAILED && target->count > 0;
        if (waiter)
            waiter_wake_locked(waiter, good ? WAITER_FULFILLED : WAITER_LOOK_AGAIN);
        else
            filled = good;
    }
    if (status == ZSTD_LARGE_FILLED)
        slot->state = SLOT_IDLE;
    else
        close_slot_locked(z, slot);
    return filled;
}

/* Makes the input of a slot present that somebody else decodes. Whether there was something to do.
   Drops the mutex meanwhile. */
bool zstd_schedule_help_locked(struct zstd_schedule *z)
{
    for (unsigned i = 0; z->shared.input.map && z->slots_taken > 0 && i < z->slot_count; i++) {
        struct zstd_slot *slot = &z->slots[i];
        bool done;

        if (slot->state != SLOT_BUSY || slot->helped || !zstd_span_wanted(&slot->decoder.span))
            continue;
        slot->helped = true;
        waiters_unlock(&z->waiters);
        done = zstd_span_populate(&slot->decoder.span);
        waiters_lock(&z->waiters);
        slot->helped = false;
        return done;
    }
    return false;
}

/* Wakes one of those that wait when there is something to do. */
void zstd_schedule_wake_next_locked(struct zstd_schedule *z)
{
    const struct zstd_task *front = zstd_schedule_front_locked(z);

    if (z->waiters.last &&
        (zstd_schedule_must_find_locked(z) || zstd_schedule_idle_slot_locked(z, 0) ||
         zstd_team_wants_locked(z->team) ||
         (front &&
          (zstd_schedule_is_small(z, front) || zstd_schedule_may_open_slot_locked(z, front)))))
        waiter_wake_locked(waiters_take_locked(&z->waiters), WAITER_LOOK_AGAIN);
}
