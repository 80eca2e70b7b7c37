#include "config.h"

#include "sys/mapping.h"
#include "zstd/schedule_state.h"

static bool queue_batch_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
    REQUIRES(waiters_role);
static bool take_found_locked(struct zstd_schedule *z, enum zstd_found found,
                              const struct zstd_batch *batch) REQUIRES(waiters_role);
static bool advance_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
    REQUIRES(waiters_role);
static void end_found_locked(struct zstd_schedule *z) REQUIRES(waiters_role);

/* Whether nothing that is still to be found is wanted. */
bool zstd_schedule_rest_unwanted_locked(const struct zstd_schedule *z)
{
    const struct zstd_file *file = z->shared.file;
    uint64_t limit = zstd_wanted(file);

    if (file->true_positions && z->found_to >= file->through && file->elements < limit)
        limit = file->elements;
    return limit != ZSTD_UNKNOWN && z->index.next >= file->data_offset &&
           (z->index.next - file->data_offset) / file->element_size >= limit;
}

/* Makes a batch a task, and puts it into the queue. False when that cannot be. */
static bool queue_batch_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
{
    struct zstd_task task = {.batch = *batch, .base = z->index.next};

    if ((batch->content != 0 && !zstd_index_is_boundary(&z->index, task.base)) ||
        (batch->content == ZSTD_UNKNOWN && z->shared.file->true_positions)) {
        atomic_store(&z->shared.retry, true);
        return false;
    }
    if (!zstd_index_begin(&z->index, batch->content, &task.number)) {
        zstd_fail(z->shared.file, "out of memory");
        return false;
    }
    task.true_position = z->index.count == 0;
    z->queue[(z->queue_first + z->queue_count) % z->queue_size] = task;
    z->queue_count++;
    return true;
}

/* The frames of a batch are all found: what follows stands behind them. A part must end just where
   it was cut: otherwise the frames are not what a seek table or hints said. False then. */
static bool advance_locked(struct zstd_schedule *z, const struct zstd_batch *batch)
{
    const struct zstd_file *file = z->shared.file;
    const uint64_t before = z->found_to;

    zstd_index_advance(&z->index, batch->content, batch->most);
    z->found_to = batch->end;
    if (before >= file->through || z->found_to < file->through ||
        (z->found_to == file->through && z->index.next == file->part->content_end))
        return true;
    atomic_store(&z->shared.retry, true);
    return false;
}

/* There are no more frames: nor must there be of the part. */
static void end_found_locked(struct zstd_schedule *z)
{
    const struct zstd_file *file = z->shared.file;

    if (z->found_to < file->through &&
        (file->through != file->size || z->index.next != file->part->content_end))
        atomic_store(&z->shared.retry, true);
}

/* Takes what the finder found. False when that was the last. */
static bool take_found_locked(struct zstd_schedule *z, enum zstd_found found,
                              const struct zstd_batch *batch)
{
    switch (found) {
    case ZSTD_FOUND:
    case ZSTD_FOUND_LARGE:
        if (zstd_schedule_rest_unwanted_locked(z) || !queue_batch_locked(z, batch))
            return false;
        if (found == ZSTD_FOUND && !advance_locked(z, batch))
            return false;
        zstd_schedule_wake_next_locked(z);
        return true;
    case ZSTD_FOUND_REST:
        return advance_locked(z, batch);
    case ZSTD_FOUND_NONE:
        return true;
    case ZSTD_FOUND_END:
        end_found_locked(z);
        break;
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
void zstd_schedule_find_locked(struct zstd_schedule *z)
{
    struct zstd_file *file = z->shared.file;
    enum finder_state state = FINDER_FREE;
    bool enough = false;

    zstd_schedule_take_finder_locked(z);
    while (!enough && state != FINDER_DONE && !zstd_failed(file) &&
           zstd_error_noted(file) == ZSTD_UNKNOWN && !atomic_load(&z->shared.retry)) {
        struct zstd_batch batch;
        struct find_call call = {&z->finder, &batch, ZSTD_FOUND_FAULT};

        if (zstd_schedule_rest_unwanted_locked(z)) {
            state = FINDER_DONE;
            break;
        }
        waiters_unlock(&z->waiters);
        if (!mapping_guard(call_find, &call))
            zstd_became_shorter(file, file->start + z->finder.next);
        waiters_lock(&z->waiters);
        if (!take_found_locked(z, call.found, &batch))
            state = FINDER_DONE;
        enough = z->queue_count >= 2 * zstd_schedule_found_ahead(z->workers) ||
                 (call.found == ZSTD_FOUND_NONE && z->queue_count > 0 && !z->waiters.last);
    }
    zstd_schedule_give_finder_back_locked(z, state);
}
