#include "config.h"

#include "zstd/schedule.h"

#include <stdlib.h>

#include "sys/mapping.h"
#include "sys/waiters.h"
#include "zstd/decoder.h"
#include "zstd/finder.h"
#include "zstd/small.h"
#include "zstd/team.h"

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
struct zstd_slot {
    enum slot_state state GUARDED_BY(waiters_role);
    bool helped GUARDED_BY(waiters_role);     /* a worker makes its input present */
    uint64_t window GUARDED_BY(waiters_role); /* bytes that it may need for it */
    struct zstd_decoder decoder; /* its decoder's; with SLOT_IDLE, the mutex guards it */
};

struct zstd_schedule {
    struct zstd_input input;
    unsigned workers;
    uint64_t small_max;        /* bytes; a frame that can hold more is large */
    struct zstd_small *claims; /* one for each worker, its own */
    struct zstd_team *team;    /* NULL without memory */

    struct waiters waiters;

    /* Tasks that were found and not claimed, from queue_first on. */
    struct zstd_task *queue GUARDED_BY(waiters_role);
    unsigned queue_size;
    unsigned queue_first GUARDED_BY(waiters_role);
    unsigned queue_count GUARDED_BY(waiters_role);

    enum finder_state finder_state GUARDED_BY(waiters_role);
    uint64_t found_to GUARDED_BY(waiters_role); /* offset behind the last frame that was found */
    struct zstd_index index GUARDED_BY(waiters_role);

    struct zstd_slot *slots; /* slot_count of them */
    unsigned slot_count;
    unsigned slots_taken GUARDED_BY(waiters_role);  /* that are not SLOT_FREE */
    uint64_t windows GUARDED_BY(waiters_role);      /* of these, bytes */
    uint64_t extra_budget GUARDED_BY(waiters_role); /* bytes that claims may still take as extra */

    struct zstd_finder finder GUARDED_BY(finder_role);
};

/* Whether a frame of the task can hold no more than a small one. */
static inline bool is_small(const struct zstd_schedule *z, const struct zstd_task *task)
{
    return task->batch.frame_most <= z->small_max;
}

/*
 * The role of the finder.
 */

/* The role of the finder: taken from FINDER_FREE, and given back as `state`. */
REQUIRES(waiters_role)
ACQUIRE(finder_role) UNCHECKED static void take_finder_locked(struct zstd_schedule *z)
{
    z->finder_state = FINDER_BUSY;
}

REQUIRES(waiters_role)
RELEASE(finder_role)
UNCHECKED static void give_finder_back_locked(struct zstd_schedule *z, enum finder_state state)
{
    z->finder_state = state;
}

/* A large frame has ended: the finder, unless somebody has its role, need not look for where. */
REQUIRES(waiters_role)
static void note_end_locked(struct zstd_schedule *z, const struct zstd_decoder *d)
{
    if (z->finder_state != FINDER_FREE)
        return;
    take_finder_locked(z);
    zstd_finder_note_end(&z->finder, d->task.batch.begin, zstd_span_next(&d->span),
                         d->position - d->task.base);
    give_finder_back_locked(z, FINDER_FREE);
}

/* Tasks that should have been found ahead of those who decode them. */
static unsigned found_ahead(unsigned workers)
{
    return workers / 2 + 1;
}

/* Whether somebody should take the role of the finder. */
REQUIRES(waiters_role)
static bool must_find_locked(const struct zstd_schedule *z)
{
    return z->finder_state == FINDER_FREE && z->queue_count < found_ahead(z->workers) &&
           zstd_error_noted(z->input.file) == ZSTD_UNKNOWN;
}

/*
 * The queue.
 */

/* The queue: its first task, NULL where it has none; takes that out; puts one back before it. */
REQUIRES(waiters_role)
static const struct zstd_task *front_locked(const struct zstd_schedule *z)
{
    return z->queue_count > 0 ? &z->queue[z->queue_first] : NULL;
}

REQUIRES(waiters_role)
static struct zstd_task pop_locked(struct zstd_schedule *z)
{
    struct zstd_task task = z->queue[z->queue_first];

    z->queue_first = (z->queue_first + 1) % z->queue_size;
    z->queue_count--;
    return task;
}

REQUIRES(waiters_role)
static void push_front_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    z->queue_first = (z->queue_first + z->queue_size - 1) % z->queue_size;
    z->queue_count++;
    z->queue[z->queue_first] = *task;
}

/*
 * A large frame, decoded by one worker at a time: piece by piece, straight into the buffers of those
 * who want elements. libzstd keeps a window of its own.
 */

enum large_status {
    LARGE_FILLED,   /* the chunk, and there is more of the frame */
    LARGE_ENDED,    /* the frame has; the chunk may be empty */
    LARGE_UNWANTED, /* the rest of the frame is not wanted; the chunk is empty */
    LARGE_FAILED    /* the chunk is not to be looked at */
};

/* Finds how much of the input, from this offset on, libzstd gets next where not all of the frame is
   asked for: nothing until all has come out of it; after that up to the end of the block, or of the
   frame after its last one. False where the next block is not sound. */
static bool limit_to_block(struct zstd_decoder *d, uint64_t offset, size_t *size)
{
    struct zstd_fault fault = {.kind = ZSTD_SOUND};
    uint64_t end;

    if (d->filled) {
        *size = 0;
        return true;
    }
    if (offset == d->walk.position && d->walk.end == ZSTD_UNKNOWN &&
        !zstd_block(&d->span.view, &d->walk, &fault))
        return zstd_decoder_fault(d, &fault);
    end = offset < d->walk.position ? d->walk.position : d->walk.end;
    if (end - offset < *size)
        *size = (size_t)(end - offset);
    return true;
}

/* Feeds libzstd with all input that is present. *ended: the frame has. */
static bool feed_libzstd(struct zstd_decoder *d, ZSTD_outBuffer *out, bool *ended)
{
    struct zstd_file *file = d->input->file;
    const uint64_t offset = zstd_span_next(&d->span), from = d->position;
    const bool by_block = file->stop != ZSTD_UNKNOWN, filled = d->filled;
    struct zstd_frame frame;
    ZSTD_inBuffer in = {.pos = 0};
    size_t before = out->pos;

    /* Never less than a block: libzstd would copy it until it has the rest. */
    in.src = zstd_span_bytes(&d->span, ZSTD_INPUT_BYTES, &in.size);
    if (!in.src)
        return false;
    if (d->span.view.map)
        in.size = (size_t)(atomic_load(&d->span.present) - offset);
    if (in.size == 0 && offset < d->span.end)
        return zstd_decoder_became_shorter(d);
    if (!d->in_frame) {
        zstd_decoder_begin_frame(d, d->task.batch.content);
        /* The header alone: see context.h. */
        if (zstd_read_header(in.src, in.size, offset, &frame))
            in.size = (size_t)(frame.position - offset);
        d->walk = frame;
        d->filled = false;
    } else if (by_block && !limit_to_block(d, offset, &in.size)) {
        return false;
    }
    if (!zstd_decoder_feed(d, out, &in, ended))
        return false;
    d->filled = out->pos == out->size;
    zstd_note_block(file, from, d->position, d->walk.position);
    return *ended || out->pos > before || in.pos > 0 || (by_block && filled) ||
           zstd_decoder_cut_off(d);
}

/* A call of decode, in the form that mapping_guard takes. */
struct large_call {
    struct zstd_decoder *decoder;
    ZSTD_outBuffer *out;
    bool ended; /* the frame has */
    bool good;
};

/* Decodes until the buffer is full or the frame ends. */
static void decode_large(void *argument)
{
    struct large_call *call = argument;
    struct zstd_decoder *d = call->decoder;
    uint64_t end = d->task.batch.end;

    while (!call->ended && call->out->pos < call->out->size) {
        call->good = feed_libzstd(d, call->out, &call->ended);
        if (!call->good)
            return;
    }
    if (call->ended && end != ZSTD_UNKNOWN && zstd_span_next(&d->span) != end)
        call->good = zstd_decoder_damaged(d, "it continues after its last block");
}

/* Fills the request's buffer with the next elements of d's task, which was begun with stable =
   false. Bytes outside the elements (a header, data after the array of a .npy) are decoded, and
   dropped. */
static enum large_status fill_large(struct zstd_decoder *d, const struct chunk_request *request,
                                    struct chunk *chunk)
{
    const struct zstd_file *file = d->input->file;
    const uint64_t begin = file->wanted_begin, end = file->wanted_end;

    chunk->count = 0;
    chunk->data = request->buffer;
    for (;;) {
        uint64_t from = d->position;
        ZSTD_outBuffer out = {request->buffer, request->size - request->size % file->element_size,
                              0};
        struct large_call call = {d, &out, false, true};

        if (zstd_decoder_unwanted(d, d->position))
            return LARGE_UNWANTED;
        if (from < begin && out.size > begin - from)
            out.size = (size_t)(begin - from);
        if (file->stop - from < out.size)
            out.size = (size_t)(file->stop - from);
        if (!mapping_guard(decode_large, &call))
            call.good = zstd_decoder_became_shorter(d);
        if (!call.good)
            return LARGE_FAILED;
        if (from >= begin) {
            /* Data after the array of a .npy are decoded only to verify them. */
            if (d->task.true_position && from >= end)
                out.pos = 0;
            else if (d->task.true_position && end - from < out.pos)
                out.pos = (size_t)(end - from);
            chunk->index = (from - file->data_offset) / file->element_size;
            chunk->count = out.pos / file->element_size;
        }
        if (call.ended)
            return LARGE_ENDED;
        if (chunk->count > 0)
            return LARGE_FILLED;
    }
}

/*
 * Slots: large frames that one worker at a time decodes.
 */

/* Windows of the large frames being decoded, together; one frame is decoded whatever window it
   needs. */
#define WINDOW_BUDGET ((uint64_t)128 << 20)

/* A context with a larger window than this is not kept for another frame. */
#define WINDOW_KEPT ((uint64_t)4 << 20)

/* Whether a large frame may be begun now: one at any time, others where memory allows. */
REQUIRES(waiters_role)
static bool may_open_slot_locked(const struct zstd_schedule *z, const struct zstd_task *task)
{
    if (zstd_team_busy_locked(z->team) && !zstd_team_lasts_locked(z->team))
        return false; /* all cores are about to be there for it */
    return z->slots_taken == 0 ||
           (z->slots_taken < z->workers && z->windows + task->batch.window <= WINDOW_BUDGET);
}

/* A slot that nobody decodes. Workers begin to look at different ones. */
REQUIRES(waiters_role)
static struct zstd_slot *idle_slot_locked(const struct zstd_schedule *z, unsigned worker)
{
    for (unsigned i = 0; z->slots_taken > 0 && i < z->slot_count; i++) {
        struct zstd_slot *slot = &z->slots[(worker + i) % z->slot_count];

        if (slot->state == SLOT_IDLE)
            return slot;
    }
    return NULL;
}

/* Gives a large frame a slot. */
REQUIRES(waiters_role)
static void open_slot_locked(struct zstd_schedule *z, const struct zstd_task *task)
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
REQUIRES(waiters_role)
static void end_task_locked(struct zstd_schedule *z, struct zstd_decoder *d)
{
    const uint64_t held = d->position - d->task.base;

    zstd_span_release(&d->span, mapping_page());
    zstd_index_set_length(&z->index, d->task.number, held);
    /* Later tasks have begun too early if it holds more than a seek table states. */
    if (held > d->task.batch.content)
        atomic_store(&z->input.file->retry, true);
}

REQUIRES(waiters_role)
static void close_slot_locked(struct zstd_schedule *z, struct zstd_slot *slot)
{
    end_task_locked(z, &slot->decoder);
    if (slot->window > WINDOW_KEPT) {
        ZSTD_freeDCtx(slot->decoder.context);
        slot->decoder.context = NULL;
    }
    z->windows -= slot->window;
    z->slots_taken--;
    slot->state = SLOT_FREE;
}

/* The role of a slot's decoder: decodes for those that wait, and for this worker when nobody does.
   Whether its own chunk was filled. Drops the mutex while it decodes. */
REQUIRES(waiters_role)
static bool serve_locked(struct zstd_schedule *z, struct zstd_slot *slot,
                         const struct chunk_request *request, struct chunk *chunk)
{
    enum large_status status = LARGE_FILLED;
    struct waiter *waiter;
    bool filled = false;

    slot->state = SLOT_BUSY;
    while (status == LARGE_FILLED && ((waiter = waiters_take_locked(&z->waiters)) || !filled)) {
        struct chunk *target = waiter ? waiter->reply : chunk;
        bool good;

        waiters_unlock(&z->waiters);
        status = fill_large(&slot->decoder, waiter ? waiter->request : request, target);
        waiters_lock(&z->waiters);
        if (status == LARGE_ENDED)
            note_end_locked(z, &slot->decoder);
        good = status != LARGE_FAILED && target->count > 0;
        if (waiter)
            waiter_wake_locked(waiter, good ? WAITER_FULFILLED : WAITER_LOOK_AGAIN);
        else
            filled = good;
    }
    if (status == LARGE_FILLED)
        slot->state = SLOT_IDLE;
    else
        close_slot_locked(z, slot);
    return filled;
}

/* Makes the input of a slot present that somebody else decodes. Whether there was something to do.
   Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static bool help_locked(struct zstd_schedule *z)
{
    for (unsigned i = 0; z->input.map && z->slots_taken > 0 && i < z->slot_count; i++) {
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
REQUIRES(waiters_role)
static void wake_next_locked(struct zstd_schedule *z)
{
    const struct zstd_task *front = front_locked(z);

    if (z->waiters.last &&
        (must_find_locked(z) || idle_slot_locked(z, 0) || zstd_team_wants_locked(z->team) ||
         (front && (is_small(z, front) || may_open_slot_locked(z, front)))))
        waiter_wake_locked(waiters_take_locked(&z->waiters), WAITER_LOOK_AGAIN);
}

/*
 * Finding tasks.
 */

/* Whether nothing that is still to be found is wanted. */
REQUIRES(waiters_role)
static bool rest_unwanted_locked(const struct zstd_schedule *z)
{
    const struct zstd_file *file = z->input.file;
    uint64_t limit = zstd_wanted(file);

    if (file->true_positions && z->found_to >= file->through && file->elements < limit)
        limit = file->elements;
    return limit != ZSTD_UNKNOWN && z->index.next >= file->data_offset &&
           (z->index.next - file->data_offset) / file->element_size >= limit;
}

/* Makes a batch a task, and puts it into the queue. False when that cannot be. */
REQUIRES(waiters_role)
static bool queue_batch_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
{
    struct zstd_task task = {.batch = *batch, .base = z->index.next};

    if ((batch->content != 0 && !zstd_index_is_boundary(&z->index, task.base)) ||
        (batch->content == ZSTD_UNKNOWN && z->input.file->true_positions)) {
        atomic_store(&z->input.file->retry, true);
        return false;
    }
    if (!zstd_index_begin(&z->index, batch->content, &task.number)) {
        zstd_fail(z->input.file, ERROR_MEMORY, "out of memory");
        return false;
    }
    task.true_position = z->index.count == 0;
    z->queue[(z->queue_first + z->queue_count) % z->queue_size] = task;
    z->queue_count++;
    return true;
}

/* The frames of a batch are all found: what follows stands behind them. A part must end just where
   it was cut: otherwise the frames are not what a seek table or hints said. False then. */
REQUIRES(waiters_role)
static bool advance_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
{
    const struct zstd_file *file = z->input.file;
    const uint64_t before = z->found_to;

    zstd_index_advance(&z->index, batch->content, batch->most);
    z->found_to = batch->end;
    if (before >= file->through || z->found_to < file->through ||
        (z->found_to == file->through && z->index.next == file->part->content_end))
        return true;
    atomic_store(&z->input.file->retry, true);
    return false;
}

/* Takes what the finder found. False when that was the last. */
REQUIRES(waiters_role)
static bool take_found_locked(struct zstd_schedule *z, enum zstd_found found,
                              const struct zstd_batch *batch)
{
    struct zstd_file *file = z->input.file;

    if (found == ZSTD_FOUND_REST)
        return advance_locked(z, batch);
    /* There are no more frames: nor must there be of the part. */
    if (found == ZSTD_FOUND_END && file->part && z->found_to < file->through &&
        (file->through != file->size || z->index.next != file->part->content_end))
        atomic_store(&file->retry, true);
    if (found != ZSTD_FOUND && found != ZSTD_FOUND_LARGE)
        return found == ZSTD_FOUND_NONE;
    if (rest_unwanted_locked(z) || !queue_batch_locked(z, batch) ||
        (found == ZSTD_FOUND && !advance_locked(z, batch)))
        return false;
    wake_next_locked(z);
    return true;
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
REQUIRES(waiters_role)
static void find_locked(struct zstd_schedule *z)
{
    struct zstd_file *file = z->input.file;
    enum finder_state state = FINDER_FREE;
    bool enough = false;

    take_finder_locked(z);
    while (!enough && state != FINDER_DONE && !zstd_failed(file) &&
           zstd_error_noted(file) == ZSTD_UNKNOWN && !atomic_load(&z->input.file->retry)) {
        struct zstd_batch batch;
        struct find_call call = {&z->finder, &batch, ZSTD_FOUND_FAULT};

        if (rest_unwanted_locked(z)) {
            state = FINDER_DONE;
            break;
        }
        waiters_unlock(&z->waiters);
        if (!mapping_guard(call_find, &call))
            zstd_became_shorter(file, file->start + z->finder.next);
        waiters_lock(&z->waiters);
        if (!take_found_locked(z, call.found, &batch))
            state = FINDER_DONE;
        enough = z->queue_count >= 2 * found_ahead(z->workers) ||
                 (call.found == ZSTD_FOUND_NONE && z->queue_count > 0 && !z->waiters.last);
    }
    give_finder_back_locked(z, state);
}

/*
 * Claims.
 */

/* Gives a large frame to all workers together, where that can be. If there are enough of them for
   each of several workers to have one, workers need not wait for each other. */
REQUIRES(waiters_role)
static bool team_takes_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    return z->team && !zstd_team_busy_locked(z->team) &&
           (z->workers == 1 || z->queue_count < found_ahead(z->workers)) && z->slots_taken == 0 &&
           zstd_team_begin_locked(z->team, task);
}

/* The worker claims a task of small frames. */
REQUIRES(waiters_role)
static void claim_small_locked(struct zstd_schedule *z, struct zstd_small *claim,
                               const struct zstd_task *task)
{
    const struct zstd_batch *batch = &task->batch;
    uint64_t size = batch->end - batch->begin, present = 2 * z->input.step, extra = 0;

    if (batch->frames == 1 && size > present && size - present <= z->extra_budget)
        extra = size - present;
    if (zstd_small_begin(claim, task, extra))
        z->extra_budget -= extra;
}

/* A call that walks over blocks of a task's frame, in the form that mapping_guard takes. */
struct walk_call {
    struct zstd_decoder *decoder;
    uint64_t blocks; /* at most */
    struct zstd_frame frame;
    struct zstd_fault fault;
    bool good;
};

static void call_walk(void *argument)
{
    struct walk_call *call = argument;
    struct zstd_view *view = &call->decoder->span.view;

    call->good = zstd_header(view, call->decoder->task.batch.begin, &call->frame, &call->fault) &&
                 zstd_walk(view, &call->frame, call->blocks, &call->fault);
}

/* Finds out how much a frame can hold whose end was a hint, and whose blocks the finder did not
   walk. Uses the worker's free claim. False on failure. Drops the mutex while it walks. */
REQUIRES(waiters_role)
static bool walk_locked(struct zstd_schedule *z, struct zstd_small *claim, struct zstd_task *task)
{
    struct zstd_decoder *d = &claim->decoder;
    struct walk_call call = {.decoder = d, .blocks = z->small_max / ZSTD_BLOCK_CONTENT_MAX + 1};

    zstd_decoder_begin_task(d, task);
    waiters_unlock(&z->waiters);
    if (!mapping_guard(call_walk, &call))
        (void)zstd_decoder_became_shorter(d);
    else if (!call.good)
        (void)zstd_decoder_fault(d, &call.fault);
    waiters_lock(&z->waiters);
    task->batch.walked = true;
    if (call.good && call.frame.end != ZSTD_UNKNOWN)
        task->batch.frame_most = call.frame.blocks * ZSTD_BLOCK_CONTENT_MAX;
    return call.good;
}

/* Takes the task at the front of the queue, where that can be now: into the worker's claim or a
   slot, or has it walked and puts it back. False when nothing was done. */
REQUIRES(waiters_role)
static bool claim_next_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    const struct zstd_task *front = front_locked(z);
    struct zstd_task task;

    if (!front || front->batch.begin >= zstd_error_noted(z->input.file))
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

REQUIRES(waiters_role)
static void end_claim_locked(struct zstd_schedule *z, struct zstd_small *claim)
{
    if (claim->state == ZSTD_SMALL_FREE)
        return;
    end_task_locked(z, &claim->decoder);
    z->extra_budget += claim->extra;
    claim->state = ZSTD_SMALL_FREE;
}

/*
 * Distribution of work.
 */

/* Whether a large frame, or a task in the queue, begins before this offset: those who have claims
   go on with them anyway. */
REQUIRES(waiters_role)
static bool earlier_left_locked(const struct zstd_schedule *z, uint64_t offset)
{
    const struct zstd_task *front = front_locked(z);

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
REQUIRES(waiters_role)
static bool all_done_locked(struct zstd_schedule *z)
{
    struct zstd_file *file = z->input.file;
    struct zstd_fault fault;
    bool hinted;

    if (zstd_failed(file) || atomic_load(&z->input.file->retry))
        return true;
    if (zstd_error_noted(file) != ZSTD_UNKNOWN)
        return !earlier_left_locked(z, zstd_error_noted(file));
    if (z->finder_state != FINDER_DONE || z->queue_count > 0)
        return false;
    take_finder_locked(z);
    fault = z->finder.fault;
    hinted = z->finder.hinted;
    give_finder_back_locked(z, FINDER_DONE);
    if (fault.kind == ZSTD_SOUND || rest_unwanted_locked(z))
        return z->slots_taken == 0 && !zstd_team_busy_locked(z->team);
    if (hinted) {
        atomic_store(&z->input.file->retry, true);
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

/* Does one thing as one of the team. Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static enum step team_step_locked(struct zstd_schedule *z, const struct chunk_request *request,
                                  struct chunk *chunk)
{
    const enum zstd_team_step step = zstd_team_step_locked(z->team, request, chunk);

    if (step == ZSTD_TEAM_CHUNK || step == ZSTD_TEAM_NOTHING)
        return step == ZSTD_TEAM_CHUNK ? STEP_CHUNK : STEP_NOTHING;
    if (step == ZSTD_TEAM_AGAIN) {
        wake_next_locked(z);
        return STEP_AGAIN;
    }
    if (step == ZSTD_TEAM_ENDED)
        note_end_locked(z, zstd_team_decoder(z->team));
    end_task_locked(z, zstd_team_decoder(z->team));
    waiters_wake_all_locked(&z->waiters);
    return STEP_AGAIN;
}

/* Does one thing. Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static enum step step_locked(struct zstd_schedule *z, struct zstd_small *claim,
                             const struct chunk_request *request, struct chunk *chunk)
{
    enum step step = team_step_locked(z, request, chunk);
    struct zstd_slot *slot;

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
            may_help = help_locked(z);
        } else {
            if (waiters_wait_locked(&z->waiters, request, chunk) == WAITER_FULFILLED)
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
    return step == STEP_CHUNK && !zstd_failed(z->input.file);
}

void zstd_schedule_leave(struct zstd_schedule *z, unsigned worker)
{
    waiters_lock(&z->waiters);
    zstd_team_release_locked(z->team, worker);
    waiters_wake_all_locked(&z->waiters);
    waiters_unlock(&z->waiters);
}

/*
 * How the memory for decoding is divided between the workers.
 */

/* Resident memory is to stay under 256 MiB. This is what all workers together may take of it for
   what they decode into, for the input they keep mapped, and for libzstd's tables and an engine's
   buffer: WORKER_BYTES each. */
#define MEMORY_BUDGET ((uint64_t)246 << 20)
#define WORKER_BYTES ((uint64_t)512 << 10)

/* Frames that hold no more than this are small, however many workers there are. */
#define SMALL_MIN ((uint64_t)256 << 10)

/* Compressed bytes made present, and released, at a time; fewer where the workers are many.
   MADV_DONTNEED costs a TLB shootdown on every core. Up to twice as many are present for a worker,
   and of frames that are decoded in one call all. */
#define STEP_MAX ((uint64_t)2 << 20)
#define STEP_MIN ((uint64_t)256 << 10)
#define PRESENT_BUDGET ((uint64_t)64 << 20)

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most)
{
    return x < least ? least : x > most ? most : x;
}

/* Sets the size from which on frames are large, if it is not more than `most`, and what claims may have
   present beyond two steps each. Returns the bytes of a step: whole pages. */
UNCHECKED static uint64_t divide_memory(struct zstd_schedule *z, uint64_t most)
{
    uint64_t share = MEMORY_BUDGET / z->workers, step, fixed;

    step = clamp(PRESENT_BUDGET / 2 / z->workers, STEP_MIN, STEP_MAX);
    step -= step % mapping_page();
    fixed = WORKER_BYTES + ZSTD_SMALL_BEHIND + 2 * step;
    share = share > fixed ? share - fixed : 0;
    z->small_max = clamp(share, SMALL_MIN < most ? SMALL_MIN : most, most);
    z->small_max -= z->small_max % ZSTD_BLOCK_CONTENT_MAX;
    z->extra_budget = share > z->small_max ? (share - z->small_max) * z->workers : 0;
    return step;
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
    return abandoned || atomic_load(&z->input.file->retry) ? NULL : &z->index;
}

UNCHECKED const struct zstd_index *zstd_schedule_index(const struct zstd_schedule *z)
{
    return &z->index;
}

UNCHECKED static bool allocate(struct zstd_schedule *z)
{
    /* One for each worker, and one for each that still helps with another. */
    z->slot_count = 2 * z->workers;
    /* The most that find_locked puts there, plus what workers that walk a task put
       back. */
    z->queue_size = 2 * found_ahead(z->workers) + z->workers;
    z->claims = calloc(z->workers, sizeof *z->claims);
    z->slots = calloc(z->slot_count, sizeof *z->slots);
    z->queue = calloc(z->queue_size, sizeof *z->queue);
    if (!z->claims || !z->slots || !z->queue)
        return false;
    for (unsigned i = 0; i < z->workers; i++)
        zstd_decoder_init(&z->claims[i].decoder, &z->input);
    for (unsigned i = 0; i < z->slot_count; i++)
        zstd_decoder_init(&z->slots[i].decoder, &z->input);
    return true;
}

UNCHECKED struct zstd_schedule *zstd_schedule_open(struct zstd_file *file, unsigned workers)
{
    struct zstd_schedule *z = calloc(1, sizeof *z);

    if (!z)
        return NULL;
    zstd_forget_errors(file);
    waiters_init(&z->waiters);
    z->workers = workers;
    if (!allocate(z)) {
        zstd_schedule_close(z);
        return NULL;
    }
    zstd_input_open(&z->input, file, divide_memory(z, file->tuning->small_max));
    z->team = zstd_team_open(&z->input, &z->waiters, workers);
    zstd_index_init(&z->index, file->wanted_begin, file->element_size);
    zstd_finder_init(&z->finder, file, z->input.map, z->small_max, workers);
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
    zstd_input_close(&z->input);
    zstd_index_free(&z->index);
    free(z->claims);
    free(z->slots);
    free(z->queue);
    waiters_destroy(&z->waiters);
    free(z);
}
