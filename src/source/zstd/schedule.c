#include "config.h"

#include "source/zstd/schedule.h"

#include <stdlib.h>

#include "source/waiters.h"
#include "source/zstd/budget.h"
#include "source/zstd/decoder.h"
#include "source/zstd/finder.h"
#include "source/zstd/large.h"
#include "source/zstd/small.h"
#include "source/zstd/team.h"
#include "sys/mapping.h"

/* Windows of the large frames being decoded, together; one frame is decoded whatever window it
   needs. */
#define WINDOW_BUDGET ((uint64_t)128 << 20)

/* A context with a larger window than this is not kept for another frame. */
#define WINDOW_KEPT ((uint64_t)4 << 20)

MUTEX_ROLE(finder_role);

enum finder_state {
    FINDER_FREE, /* any worker may take the role */
    FINDER_BUSY, /* a worker has it */
    FINDER_DONE  /* there is nothing more to find */
};

enum slot_state {
    SLOT_FREE, /* it has no task */
    SLOT_IDLE, /* it has one that nobody decodes */
    SLOT_BUSY  /* a worker has the role of its decoder */
};

/* For a large frame. */
struct slot {
    enum slot_state state GUARDED_BY(source_role);
    bool helped GUARDED_BY(source_role);     /* a worker makes its input present */
    uint64_t window GUARDED_BY(source_role); /* bytes that it may need for it */
    struct zstd_decoder decoder; /* its decoder's; with SLOT_IDLE, the mutex guards it */
};

struct zstd_schedule {
    struct zstd_shared shared;
    unsigned workers;
    uint64_t small_max;        /* bytes; a frame that can hold more is large */
    struct zstd_small *claims; /* one for each worker, its own */
    struct zstd_team *team;    /* NULL for a single worker */

    struct waiters waiters;

    /* Tasks that were found and not claimed, from queue_first on. */
    struct zstd_task *queue GUARDED_BY(source_role);
    unsigned queue_size;
    unsigned queue_first GUARDED_BY(source_role);
    unsigned queue_count GUARDED_BY(source_role);

    enum finder_state finder_state GUARDED_BY(source_role);
    struct zstd_index index GUARDED_BY(source_role);

    struct slot *slots; /* slot_count of them */
    unsigned slot_count;
    unsigned slots_taken GUARDED_BY(source_role);  /* that are not SLOT_FREE */
    uint64_t windows GUARDED_BY(source_role);      /* of these, bytes */
    uint64_t extra_budget GUARDED_BY(source_role); /* bytes that claims may still take as extra */

    struct zstd_finder finder GUARDED_BY(finder_role);
};

/* The role of the finder: taken from FINDER_FREE, and given back as `state`. */
static void finder_take_locked(struct zstd_schedule *z) REQUIRES(source_role) ACQUIRE(finder_role);
static void finder_give_back_locked(struct zstd_schedule *z, enum finder_state state)
    REQUIRES(source_role) RELEASE(finder_role);

static bool must_find_locked(const struct zstd_schedule *z) REQUIRES(source_role);
static bool rest_unwanted_locked(const struct zstd_schedule *z) REQUIRES(source_role);
static bool queue_batch_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
    REQUIRES(source_role);
static bool take_found_locked(struct zstd_schedule *z, enum zstd_found found,
                              const struct zstd_batch *batch) REQUIRES(source_role);
static void find_locked(struct zstd_schedule *z) REQUIRES(source_role);
static void note_end_locked(struct zstd_schedule *z, const struct zstd_decoder *d)
    REQUIRES(source_role);

static const struct zstd_task *front_locked(const struct zstd_schedule *z) REQUIRES(source_role);
static struct zstd_task pop_locked(struct zstd_schedule *z) REQUIRES(source_role);
static void push_front_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(source_role);
static bool may_open_slot_locked(const struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(source_role);
static struct slot *idle_slot_locked(const struct zstd_schedule *z, unsigned worker)
    REQUIRES(source_role);
static bool team_takes_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(source_role);
static void wake_next_locked(struct zstd_schedule *z) REQUIRES(source_role);

static void claim_small_locked(struct zstd_schedule *z, struct zstd_small *claim,
                               const struct zstd_task *task) REQUIRES(source_role);
static void open_slot_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(source_role);
static bool walk_locked(struct zstd_schedule *z, struct zstd_small *claim, struct zstd_task *task)
    REQUIRES(source_role);
static bool claim_next_locked(struct zstd_schedule *z, struct zstd_small *claim)
    REQUIRES(source_role);
static void end_task_locked(struct zstd_schedule *z, struct zstd_decoder *d) REQUIRES(source_role);
static void end_claim_locked(struct zstd_schedule *z, struct zstd_small *claim)
    REQUIRES(source_role);
static void close_slot_locked(struct zstd_schedule *z, struct slot *slot) REQUIRES(source_role);
static bool serve_locked(struct zstd_schedule *z, struct slot *slot,
                         const struct source_request *request, struct chunk *chunk)
    REQUIRES(source_role);
static bool help_locked(struct zstd_schedule *z) REQUIRES(source_role);

static bool all_done_locked(struct zstd_schedule *z) REQUIRES(source_role);

/*
 * The finder.
 */

UNCHECKED static void finder_take_locked(struct zstd_schedule *z)
{
    z->finder_state = FINDER_BUSY;
}

UNCHECKED static void finder_give_back_locked(struct zstd_schedule *z, enum finder_state state)
{
    z->finder_state = state;
}

/* Tasks that should have been found ahead of those who decode them. */
static unsigned found_ahead(unsigned workers)
{
    return workers / 2 + 1;
}

/* Whether somebody should take the role of the finder. */
static bool must_find_locked(const struct zstd_schedule *z)
{
    return z->finder_state == FINDER_FREE && z->queue_count < found_ahead(z->workers);
}

/* Whether nothing that is still to be found is wanted. */
static bool rest_unwanted_locked(const struct zstd_schedule *z)
{
    const struct source *s = z->shared.source;
    uint64_t limit = source_wanted(s);

    if (z->shared.true_positions && s->info.elements < limit)
        limit = s->info.elements;
    return limit != SOURCE_UNKNOWN && z->index.next >= s->data_offset &&
           (z->index.next - s->data_offset) / s->info.element_size >= limit;
}

/* Makes a batch a task, and puts it into the queue. False when that cannot be. */
static bool queue_batch_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
{
    struct zstd_task task = {.batch = *batch, .base = z->index.next};

    if ((batch->content != 0 && !zstd_index_is_boundary(&z->index, task.base)) ||
        (batch->content == SOURCE_UNKNOWN && z->shared.true_positions)) {
        atomic_store(&z->shared.retry, true);
        return false;
    }
    if (!zstd_index_begin(&z->index, batch->content, &task.number)) {
        source_error(z->shared.source, "out of memory");
        return false;
    }
    task.true_position = z->index.count == 0;
    z->queue[(z->queue_first + z->queue_count) % z->queue_size] = task;
    z->queue_count++;
    return true;
}

/* Takes what the finder found. False when that was the last. */
static bool take_found_locked(struct zstd_schedule *z, enum zstd_found found,
                              const struct zstd_batch *batch)
{
    switch (found) {
    case ZSTD_FOUND:
    case ZSTD_FOUND_LARGE:
        if (rest_unwanted_locked(z) || !queue_batch_locked(z, batch))
            return false;
        if (found == ZSTD_FOUND)
            zstd_index_advance(&z->index, batch->content, batch->most);
        wake_next_locked(z);
        return true;
    case ZSTD_FOUND_REST:
        zstd_index_advance(&z->index, batch->content, batch->most);
        return true;
    case ZSTD_FOUND_NONE:
        return true;
    case ZSTD_FOUND_END:
    case ZSTD_FOUND_FAULT:
        break;
    }
    return false;
}

/* A call of zstd_find, in the form that mapping_guard takes. */
struct find_call {
    struct zstd_finder *finder;
    struct zstd_batch *batch;
    enum zstd_found found;
};

static void call_find(void *argument)
{
    struct find_call *call = argument;

    call->found = zstd_find(call->finder, call->batch);
}

/* The role of the finder: finds tasks, until there are enough in the queue, or one for this worker
   while the rest of a large frame takes its time. Drops the mutex while it looks. */
static void find_locked(struct zstd_schedule *z)
{
    struct source *s = z->shared.source;
    enum finder_state state = FINDER_FREE;
    bool enough = false;

    finder_take_locked(z);
    while (!enough && state != FINDER_DONE && !source_failed(s) && !atomic_load(&z->shared.retry)) {
        struct zstd_batch batch;
        struct find_call call = {&z->finder, &batch, ZSTD_FOUND_FAULT};

        if (rest_unwanted_locked(z)) {
            state = FINDER_DONE;
            break;
        }
        waiters_unlock(&z->waiters);
        if (!mapping_guard(call_find, &call))
            source_became_shorter(s, s->start + z->finder.next);
        waiters_lock(&z->waiters);
        if (!take_found_locked(z, call.found, &batch))
            state = FINDER_DONE;
        enough = z->queue_count >= 2 * found_ahead(z->workers) ||
                 (call.found == ZSTD_FOUND_NONE && z->queue_count > 0 && !z->waiters.last);
    }
    finder_give_back_locked(z, state);
}

/* A large frame has ended: the finder, unless somebody has its role, need not look for where. */
static void note_end_locked(struct zstd_schedule *z, const struct zstd_decoder *d)
{
    if (z->finder_state != FINDER_FREE)
        return;
    finder_take_locked(z);
    zstd_finder_note_end(&z->finder, d->task.batch.begin, zstd_span_next(&d->span),
                         d->position - d->task.base);
    finder_give_back_locked(z, FINDER_FREE);
}

/*
 * The queue.
 */

static const struct zstd_task *front_locked(const struct zstd_schedule *z)
{
    return z->queue_count > 0 ? &z->queue[z->queue_first] : NULL;
}

static struct zstd_task pop_locked(struct zstd_schedule *z)
{
    struct zstd_task task = z->queue[z->queue_first];

    z->queue_first = (z->queue_first + 1) % z->queue_size;
    z->queue_count--;
    return task;
}

static void push_front_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    z->queue_first = (z->queue_first + z->queue_size - 1) % z->queue_size;
    z->queue_count++;
    z->queue[z->queue_first] = *task;
}

static bool is_small(const struct zstd_schedule *z, const struct zstd_task *task)
{
    return task->batch.frame_most <= z->small_max;
}

/* Whether a large frame may be begun now: one at any time, others where memory allows. */
static bool may_open_slot_locked(const struct zstd_schedule *z, const struct zstd_task *task)
{
    if (zstd_team_busy_locked(z->team) && !zstd_team_lasts_locked(z->team))
        return false; /* all cores are about to be there for it */
    return z->slots_taken == 0 ||
           (z->slots_taken < z->workers && z->windows + task->batch.window <= WINDOW_BUDGET);
}

/* Gives a large frame to all workers together, where that can be. Where there are others, enough
   for each worker to have one, they need not wait for each other. */
static bool team_takes_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    return z->team && !zstd_team_busy_locked(z->team) && z->queue_count < found_ahead(z->workers) &&
           z->slots_taken == 0 && zstd_team_begin_locked(z->team, task);
}

/* A slot that nobody decodes. Workers begin to look at different ones. */
static struct slot *idle_slot_locked(const struct zstd_schedule *z, unsigned worker)
{
    for (unsigned i = 0; z->slots_taken > 0 && i < z->slot_count; i++) {
        struct slot *slot = &z->slots[(worker + i) % z->slot_count];

        if (slot->state == SLOT_IDLE)
            return slot;
    }
    return NULL;
}

/* Wakes one of those that wait when there is something to do. */
static void wake_next_locked(struct zstd_schedule *z)
{
    const struct zstd_task *front = front_locked(z);

    if (z->waiters.last &&
        (must_find_locked(z) || idle_slot_locked(z, 0) || zstd_team_wants_locked(z->team) ||
         (front && (is_small(z, front) || may_open_slot_locked(z, front)))))
        waiter_wake_locked(waiters_take_locked(&z->waiters), WAITER_LOOK_AGAIN);
}

/*
 * Claims and slots.
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

/* Gives a large frame a slot. */
static void open_slot_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    struct slot *slot = z->slots;

    while (slot->state != SLOT_FREE || slot->helped)
        slot++;
    if (!zstd_decoder_begin(&slot->decoder, task, false))
        return;
    slot->state = SLOT_IDLE;
    slot->window = task->batch.window;
    z->windows += slot->window;
    z->slots_taken++;
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
    if (good && frame.end != SOURCE_UNKNOWN)
        task->batch.frame_most = frame.blocks * ZSTD_BLOCK_CONTENT_MAX;
    return good;
}

/* Takes the task at the front of the queue, where that can be now: into the worker's claim or a
   slot, or has it walked and puts it back. False when nothing was done. */
static bool claim_next_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    const struct zstd_task *front = front_locked(z);
    struct zstd_task task;

    if (!front)
        return false;
    if (is_small(z, front)) {
        task = pop_locked(z);
        claim_small_locked(z, claim, &task);
    } else if (!front->batch.walked) {
        task = pop_locked(z);
        if (walk_locked(z, claim, &task))
            push_front_locked(z, &task);
    } else if (team_takes_locked(z, front)) {
        (void)pop_locked(z);
    } else if (may_open_slot_locked(z, front)) {
        task = pop_locked(z);
        open_slot_locked(z, &task);
    } else {
        return false;
    }
    return true;
}

/* A task has been decoded as far as it is wanted. */
static void end_task_locked(struct zstd_schedule *z, struct zstd_decoder *d)
{
    zstd_span_release(&d->span);
    zstd_index_set_length(&z->index, d->task.number, d->position - d->task.base);
}

static void end_claim_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    if (claim->state == ZSTD_SMALL_FREE)
        return;
    end_task_locked(z, &claim->decoder);
    z->extra_budget += claim->extra;
    claim->state = ZSTD_SMALL_FREE;
}

static void close_slot_locked(struct zstd_schedule *z, struct slot *slot)
{
    end_task_locked(z, &slot->decoder);
    if (slot->window > WINDOW_KEPT)
        zstd_decoder_shrink(&slot->decoder);
    z->windows -= slot->window;
    z->slots_taken--;
    slot->state = SLOT_FREE;
}

/* The role of a slot's decoder: decodes for those that wait, and for this worker when nobody does.
   Whether its own chunk was filled. Drops the mutex while it decodes. */
static bool serve_locked(struct zstd_schedule *z, struct slot *slot,
                         const struct source_request *request, struct chunk *chunk)
{
    enum zstd_large_status status = ZSTD_LARGE_FILLED;
    struct waiter *waiter;
    bool filled = false;

    slot->state = SLOT_BUSY;
    while (status == ZSTD_LARGE_FILLED &&
           ((waiter = waiters_take_locked(&z->waiters)) || !filled)) {
        struct chunk *target = waiter ? waiter->chunk : chunk;
        bool good;

        waiters_unlock(&z->waiters);
        status = zstd_large_fill(&slot->decoder, waiter ? waiter->request : request, target);
        waiters_lock(&z->waiters);
        if (status == ZSTD_LARGE_ENDED)
            note_end_locked(z, &slot->decoder);
        good = status != ZSTD_LARGE_FAILED && target->count > 0;
        if (waiter)
            waiter_wake_locked(waiter, good ? WAITER_FILLED : WAITER_LOOK_AGAIN);
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
static bool help_locked(struct zstd_schedule *z)
{
    for (unsigned i = 0; z->shared.input.map && z->slots_taken > 0 && i < z->slot_count; i++) {
        struct slot *slot = &z->slots[i];
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

/*
 * Who does what.
 */

/* Whether there is nothing more to do for anybody but those who have a claim. Prints what is wrong
   behind the last frame. */
static bool all_done_locked(struct zstd_schedule *z)
{
    struct source *s = z->shared.source;
    struct zstd_fault fault;
    bool hinted;

    if (source_failed(s) || atomic_load(&z->shared.retry))
        return true;
    if (z->finder_state != FINDER_DONE || z->queue_count > 0)
        return false;
    finder_take_locked(z);
    fault = z->finder.fault;
    hinted = z->finder.hinted;
    finder_give_back_locked(z, FINDER_DONE);
    if (fault.kind == ZSTD_SOUND || rest_unwanted_locked(z))
        return z->slots_taken == 0 && !zstd_team_busy_locked(z->team);
    if (hinted)
        atomic_store(&z->shared.retry, true);
    else
        zstd_fault_print(s, &fault);
    return true;
}

/* What a worker without a claim came by. */
enum step {
    STEP_NOTHING, /* there was nothing to do */
    STEP_AGAIN,   /* something was done; there may be more */
    STEP_CHUNK,   /* its chunk was filled */
    STEP_CLAIM    /* it has a claim */
};

static enum step team_step_locked(struct zstd_schedule *z, const struct source_request *request,
                                  struct chunk *chunk) REQUIRES(source_role);
static enum step step_locked(struct zstd_schedule *z, struct zstd_small *claim,
                             const struct source_request *request, struct chunk *chunk)
    REQUIRES(source_role);

/* Does one thing as one of the team. Drops the mutex meanwhile. */
static enum step team_step_locked(struct zstd_schedule *z, const struct source_request *request,
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
            note_end_locked(z, zstd_team_decoder(z->team));
        end_task_locked(z, zstd_team_decoder(z->team));
        waiters_wake_all_locked(&z->waiters);
        break;
    case ZSTD_TEAM_AGAIN:
        wake_next_locked(z);
        break;
    }
    return STEP_AGAIN;
}

/* Does one thing. Drops the mutex meanwhile. */
static enum step step_locked(struct zstd_schedule *z, struct zstd_small *claim,
                             const struct source_request *request, struct chunk *chunk)
{
    enum step step = team_step_locked(z, request, chunk);
    struct slot *slot;

    if (step != STEP_NOTHING)
        return step;
    slot = idle_slot_locked(z, request->worker);
    if (slot)
        return serve_locked(z, slot, request, chunk) ? STEP_CHUNK : STEP_AGAIN;
    if (must_find_locked(z)) {
        find_locked(z);
        return STEP_AGAIN;
    }
    if (!claim_next_locked(z, claim))
        return STEP_NOTHING;
    return claim->state == ZSTD_SMALL_FREE ? STEP_AGAIN : STEP_CLAIM;
}

/* Finds something to do for a worker that is through with its claim, and waits for it if need be.
   STEP_NOTHING when there is nothing more. */
static enum step find_work(struct zstd_schedule *z, struct zstd_small *claim,
                           const struct source_request *request, struct chunk *chunk)
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
            may_help = help_locked(z);
        } else {
            if (waiters_wait_locked(&z->waiters, request, chunk) == WAITER_FILLED)
                step = STEP_CHUNK;
            may_help = true;
        }
    }
    if (done)
        waiters_wake_all_locked(&z->waiters);
    else
        wake_next_locked(z);
    waiters_unlock(&z->waiters);
    return done ? STEP_NOTHING : step;
}

enum source_status zstd_schedule_next(struct zstd_schedule *z, const struct source_request *request,
                                      struct chunk *chunk)
{
    struct zstd_small *claim = &z->claims[request->worker];
    enum step step;

    do {
        if (claim->state != ZSTD_SMALL_FREE && zstd_small_next(claim, request, chunk))
            return SOURCE_CHUNK;
        step = find_work(z, claim, request, chunk);
    } while (step == STEP_CLAIM);
    if (source_failed(z->shared.source))
        return SOURCE_FAILED;
    return step == STEP_CHUNK ? SOURCE_CHUNK : SOURCE_END;
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

UNCHECKED const struct zstd_index *zstd_schedule_index(const struct zstd_schedule *z)
{
    return &z->index;
}

UNCHECKED static bool allocate(struct zstd_schedule *z)
{
    /* One for each worker, and one for each that still helps with another. */
    z->slot_count = 2 * z->workers;
    /* What find_locked puts there at most, and what those who walk a task put back. */
    z->queue_size = 2 * found_ahead(z->workers) + z->workers;
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

UNCHECKED struct zstd_schedule *zstd_schedule_open(struct source *s, unsigned workers)
{
    const struct zstd_budget budget = zstd_budget(workers);
    struct zstd_schedule *z = calloc(1, sizeof *z);

    if (!z)
        return NULL;
    waiters_init(&z->waiters);
    z->workers = workers;
    z->shared.source = s;
    if (!allocate(z)) {
        zstd_schedule_close(z);
        return NULL;
    }
    z->small_max = budget.small_max;
    z->extra_budget = budget.extra;
    zstd_input_open(&z->shared.input, s, budget.step);
    if (workers > 1)
        z->team = zstd_team_open(&z->shared, &z->waiters, workers);
    z->shared.true_positions =
        s->info.elements != s->promised || (!s->header && s->data_offset > 0);
    zstd_index_init(&z->index, s->data_offset, s->info.element_size);
    zstd_finder_init(&z->finder, s, z->shared.input.map, z->small_max, workers);
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
