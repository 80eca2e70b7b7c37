#include "config.h"

#include "zstd/schedule.h"

#include <stdlib.h>

#include "sys/waiters.h"
#include "zstd/budget.h"
#include "zstd/schedule_state.h"

static bool team_takes_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(waiters_role);
static void claim_small_locked(struct zstd_schedule *z, struct zstd_small *claim,
                               const struct zstd_task *task) REQUIRES(waiters_role);
static bool walk_locked(struct zstd_schedule *z, struct zstd_small *claim, struct zstd_task *task)
    REQUIRES(waiters_role);
static bool claim_next_locked(struct zstd_schedule *z, struct zstd_small *claim)
    REQUIRES(waiters_role);
static void end_claim_locked(struct zstd_schedule *z, struct zstd_small *claim)
    REQUIRES(waiters_role);
static bool earlier_left_locked(const struct zstd_schedule *z, uint64_t offset)
    REQUIRES(waiters_role);
static bool all_done_locked(struct zstd_schedule *z) REQUIRES(waiters_role);

/* Gives a large frame to all workers together, where that can be. If there are enough of them for
   each worker to have one, workers need not wait for each other. */
static bool team_takes_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    return z->team && !zstd_team_busy_locked(z->team) &&
           z->queue_count < zstd_schedule_found_ahead(z->workers) && z->slots_taken == 0 &&
           zstd_team_begin_locked(z->team, task);
}

/*
 * Claims.
 */

/* The worker claims a task of small frames. */
static void claim_small_locked(struct zstd_schedule *z, struct zstd_small *claim,
                               const struct zstd_task *task)
{
    const struct zstd_batch *batch = &task->batch;
    uint64_t size = batch->end - batch->begin, present = 2 * z->shared.input.step, extra = 0;

    if (batch->frames == 1 && size > present && size - present <= z->extra_budget)
        extra = size - present;
    if (zstd_small_begin(claim, task, extra))
        z->extra_budget -= extra;
}

/* Finds out how much a frame can hold whose end was a hint, and whose blocks the finder did not
   walk. Uses the worker's free claim. False on failure. Drops the mutex while it walks. */
static bool walk_locked(struct zstd_schedule *z, struct zstd_small *claim, struct zstd_task *task)
{
    struct zstd_decoder *d = &claim->decoder;
    struct zstd_frame frame;
    bool good;

    if (!zstd_decoder_begin(d, task, true))
        return false;
    waiters_unlock(&z->waiters);
    good = zstd_decoder_walk(d, z->small_max / ZSTD_BLOCK_CONTENT_MAX + 1, &frame);
    waiters_lock(&z->waiters);
    task->batch.walked = true;
    if (good && frame.end != ZSTD_UNKNOWN)
        task->batch.frame_most = frame.blocks * ZSTD_BLOCK_CONTENT_MAX;
    return good;
}

/* Takes the task at the front of the queue, where that can be now: into the worker's claim or a
   slot, or has it walked and puts it back. False when nothing was done. */
static bool claim_next_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    const struct zstd_task *front = zstd_schedule_front_locked(z);
    struct zstd_task task;

    if (!front || front->batch.begin >= zstd_error_noted(z->shared.file))
        return false;
    if (zstd_schedule_is_small(z, front)) {
        task = zstd_schedule_pop_locked(z);
        claim_small_locked(z, claim, &task);
    } else if (!front->batch.walked) {
        task = zstd_schedule_pop_locked(z);
        if (walk_locked(z, claim, &task))
            zstd_schedule_push_front_locked(z, &task);
    } else if (team_takes_locked(z, front)) {
        (void)zstd_schedule_pop_locked(z);
    } else if (zstd_schedule_may_open_slot_locked(z, front)) {
        task = zstd_schedule_pop_locked(z);
        zstd_schedule_open_slot_locked(z, &task);
    } else {
        return false;
    }
    return true;
}

static void end_claim_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    if (claim->state == ZSTD_SMALL_FREE)
        return;
    zstd_schedule_end_task_locked(z, &claim->decoder);
    z->extra_budget += claim->extra;
    claim->state = ZSTD_SMALL_FREE;
}

/*
 * Distribution of work.
 */

/* Whether a large frame, or a task in the queue, begins before this offset: those who have claims
   go on with them anyway. */
static bool earlier_left_locked(const struct zstd_schedule *z, uint64_t offset)
{
    const struct zstd_task *front = zstd_schedule_front_locked(z);

    if (front && front->batch.begin < offset)
        return true;
    if (zstd_team_busy_locked(z->team) && zstd_team_decoder(z->team)->task.batch.begin < offset)
        return true;
    for (unsigned i = 0; z->slots_taken > 0 && i < z->slot_count; i++)
        if (z->slots[i].state != SLOT_FREE && z->slots[i].decoder.task.batch.begin < offset)
            return true;
    return false;
}

/* Whether there is nothing more to do for anybody but those who have a claim. Notes what is wrong
   behind the last frame. */
static bool all_done_locked(struct zstd_schedule *z)
{
    struct zstd_file *file = z->shared.file;
    struct zstd_fault fault;
    bool hinted;

    if (zstd_failed(file) || atomic_load(&z->shared.retry))
        return true;
    if (zstd_error_noted(file) != ZSTD_UNKNOWN)
        return !earlier_left_locked(z, zstd_error_noted(file));
    if (z->finder_state != FINDER_DONE || z->queue_count > 0)
        return false;
    zstd_schedule_take_finder_locked(z);
    fault = z->finder.fault;
    hinted = z->finder.hinted;
    zstd_schedule_give_finder_back_locked(z, FINDER_DONE);
    if (fault.kind == ZSTD_SOUND || zstd_schedule_rest_unwanted_locked(z))
        return z->slots_taken == 0 && !zstd_team_busy_locked(z->team);
    if (hinted) {
        atomic_store(&z->shared.retry, true);
        return true;
    }
    zstd_note_fault(file, &fault);
    return zstd_failed(file) || !earlier_left_locked(z, zstd_error_noted(file));
}

/* The outcome of a step of a worker without a claim. */
enum step {
    STEP_NOTHING, /* there was nothing to do */
    STEP_AGAIN,   /* something was done; there may be more */
    STEP_CHUNK,   /* its chunk was filled */
    STEP_CLAIM    /* it has a claim */
};

static enum step team_step_locked(struct zstd_schedule *z, const struct chunk_request *request,
                                  struct chunk *chunk) REQUIRES(waiters_role);
static enum step step_locked(struct zstd_schedule *z, struct zstd_small *claim,
                             const struct chunk_request *request, struct chunk *chunk)
    REQUIRES(waiters_role);

/* Does one thing as one of the team. Drops the mutex meanwhile. */
static enum step team_step_locked(struct zstd_schedule *z, const struct chunk_request *request,
                                  struct chunk *chunk)
{
    enum zstd_team_step step = zstd_team_step_locked(z->team, request, chunk);

    switch (step) {
    case ZSTD_TEAM_CHUNK:
        return STEP_CHUNK;
    case ZSTD_TEAM_NOTHING:
        return STEP_NOTHING;
    case ZSTD_TEAM_ENDED:
    case ZSTD_TEAM_UNWANTED:
        if (step == ZSTD_TEAM_ENDED)
            zstd_schedule_note_end_locked(z, zstd_team_decoder(z->team));
        zstd_schedule_end_task_locked(z, zstd_team_decoder(z->team));
        waiters_wake_all_locked(&z->waiters);
        break;
    case ZSTD_TEAM_AGAIN:
        zstd_schedule_wake_next_locked(z);
        break;
    }
    return STEP_AGAIN;
}

/* Does one thing. Drops the mutex meanwhile. */
static enum step step_locked(struct zstd_schedule *z, struct zstd_small *claim,
                             const struct chunk_request *request, struct chunk *chunk)
{
    enum step step = team_step_locked(z, request, chunk);
    struct zstd_slot *slot;

    if (step != STEP_NOTHING)
        return step;
    slot = zstd_schedule_idle_slot_locked(z, request->worker);
    if (slot)
        return zstd_schedule_serve_locked(z, slot, request, chunk) ? STEP_CHUNK : STEP_AGAIN;
    if (zstd_schedule_must_find_locked(z)) {
        zstd_schedule_find_locked(z);
        return STEP_AGAIN;
    }
    if (!claim_next_locked(z, claim))
        return STEP_NOTHING;
    return claim->state == ZSTD_SMALL_FREE ? STEP_AGAIN : STEP_CLAIM;
}

/* Finds something to do for a worker that is through with its claim, and waits for it if need be.
   STEP_NOTHING when there is nothing more. */
static enum step find_work(struct zstd_schedule *z, struct zstd_small *claim,
                           const struct chunk_request *request, struct chunk *chunk)
{
    enum step step = STEP_AGAIN;
    bool done = false, may_help = true;

    waiters_lock(&z->waiters);
    end_claim_locked(z, claim);
    zstd_team_release_locked(z->team, request->worker);
    if (request->drain)
        step = STEP_NOTHING;
    while (step == STEP_AGAIN && !(done = all_done_locked(z))) {
        step = step_locked(z, claim, request, chunk);
        if (step != STEP_NOTHING)
            continue;
        step = STEP_AGAIN;
        if (may_help) {
            may_help = zstd_schedule_help_locked(z);
        } else {
            if (waiters_wait_locked(&z->waiters, request, chunk) == WAITER_FULFILLED)
                step = STEP_CHUNK;
            may_help = true;
        }
    }
    if (done)
        waiters_wake_all_locked(&z->waiters);
    else
        zstd_schedule_wake_next_locked(z);
    waiters_unlock(&z->waiters);
    return done ? STEP_NOTHING : step;
}

bool zstd_schedule_next(struct zstd_schedule *z, const struct chunk_request *request,
                        struct chunk *chunk)
{
    struct zstd_small *claim = &z->claims[request->worker];
    enum step step;

    do {
        if (claim->state != ZSTD_SMALL_FREE && zstd_small_next(claim, request, chunk))
            return true;
        step = find_work(z, claim, request, chunk);
    } while (step == STEP_CLAIM);
    return step == STEP_CHUNK && !zstd_failed(z->shared.file);
}

/*
 * The beginning and the end: one thread's.
 */

UNCHECKED struct zstd_index *zstd_schedule_finish(struct zstd_schedule *z)
{
    /* A worker that left with something undone: what it decoded is not in the result. */
    bool abandoned = z->slots_taken > 0 || zstd_team_busy_locked(z->team);

    for (unsigned i = 0; i < z->workers; i++)
        abandoned |= z->claims[i].state != ZSTD_SMALL_FREE;
    return abandoned || atomic_load(&z->shared.retry) ? NULL : &z->index;
}

bool zstd_schedule_retries(const struct zstd_schedule *z)
{
    return atomic_load(&z->shared.retry);
}

UNCHECKED const struct zstd_index *zstd_schedule_index(const struct zstd_schedule *z)
{
    return &z->index;
}

UNCHECKED static bool allocate(struct zstd_schedule *z)
{
    /* One for each worker, and one for each that still helps with another. */
    z->slot_count = 2 * z->workers;
    /* The most that zstd_schedule_find_locked puts there, plus what workers that walk a task put
       back. */
    z->queue_size = 2 * zstd_schedule_found_ahead(z->workers) + z->workers;
    z->claims = calloc(z->workers, sizeof *z->claims);
    z->slots = calloc(z->slot_count, sizeof *z->slots);
    z->queue = calloc(z->queue_size, sizeof *z->queue);
    if (!z->claims || !z->slots || !z->queue)
        return false;
    for (unsigned i = 0; i < z->workers; i++)
        zstd_decoder_init(&z->claims[i].decoder, &z->shared);
    for (unsigned i = 0; i < z->slot_count; i++)
        zstd_decoder_init(&z->slots[i].decoder, &z->shared);
    return true;
}

UNCHECKED struct zstd_schedule *zstd_schedule_open(struct zstd_file *file, unsigned workers)
{
    const struct zstd_budget budget = zstd_budget(workers);
    struct zstd_schedule *z = calloc(1, sizeof *z);

    if (!z)
        return NULL;
    zstd_forget_errors(file);
    waiters_init(&z->waiters);
    z->workers = workers;
    z->shared.file = file;
    if (!allocate(z)) {
        zstd_schedule_close(z);
        return NULL;
    }
    z->small_max = budget.small_max;
    z->extra_budget = budget.extra;
    zstd_input_open(&z->shared.input, file, budget.step);
    if (workers > 1)
        z->team = zstd_team_open(&z->shared, &z->waiters, workers);
    zstd_index_init(&z->index, file->wanted_begin, file->element_size);
    zstd_finder_init(&z->finder, file, z->shared.input.map, z->small_max, workers);
    if (file->part) {
        z->index.next = file->part->content_begin;
        zstd_finder_start(&z->finder, file->part);
    }
    return z;
}

UNCHECKED void zstd_schedule_close(struct zstd_schedule *z)
{
    for (unsigned i = 0; z->claims && i < z->workers; i++) {
        zstd_decoder_free(&z->claims[i].decoder);
        free(z->claims[i].memory);
    }
    for (unsigned i = 0; z->slots && i < z->slot_count; i++)
        zstd_decoder_free(&z->slots[i].decoder);
    zstd_team_close(z->team);
    zstd_input_close(&z->shared.input);
    zstd_index_free(&z->index);
    free(z->claims);
    free(z->slots);
    free(z->queue);
    waiters_destroy(&z->waiters);
    free(z);
}
