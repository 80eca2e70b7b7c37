#include "config.h"

#include "zstd/schedule_state.h"

/*
 * The role of the finder.
 */

UNCHECKED void zstd_schedule_take_finder_locked(struct zstd_schedule *z)
{
    z->finder_state = FINDER_BUSY;
}

UNCHECKED void zstd_schedule_give_finder_back_locked(struct zstd_schedule *z,
                                                     enum finder_state state)
{
    z->finder_state = state;
}

/* A large frame has ended: the finder, unless somebody has its role, need not look for where. */
void zstd_schedule_note_end_locked(struct zstd_schedule *z, const struct zstd_decoder *d)
{
    if (z->finder_state != FINDER_FREE)
        return;
    zstd_schedule_take_finder_locked(z);
    zstd_finder_note_end(&z->finder, d->task.batch.begin, zstd_span_next(&d->span),
                         d->position - d->task.base);
    zstd_schedule_give_finder_back_locked(z, FINDER_FREE);
}

/* Tasks that should have been found ahead of those who decode them. */
unsigned zstd_schedule_found_ahead(unsigned workers)
{
    return workers / 2 + 1;
}

/* Whether somebody should take the role of the finder. */
bool zstd_schedule_must_find_locked(const struct zstd_schedule *z)
{
    return z->finder_state == FINDER_FREE &&
           z->queue_count < zstd_schedule_found_ahead(z->workers) &&
           zstd_error_noted(z->shared.file) == ZSTD_UNKNOWN;
}

/*
 * The queue.
 */

const struct zstd_task *zstd_schedule_front_locked(const struct zstd_schedule *z)
{
    return z->queue_count > 0 ? &z->queue[z->queue_first] : NULL;
}

struct zstd_task zstd_schedule_pop_locked(struct zstd_schedule *z)
{
    struct zstd_task task = z->queue[z->queue_first];

    z->queue_first = (z->queue_first + 1) % z->queue_size;
    z->queue_count--;
    return task;
}

void zstd_schedule_push_front_locked(struct zstd_schedule *z, const struct zstd_task *task)
{
    z->queue_first = (z->queue_first + z->queue_size - 1) % z->queue_size;
    z->queue_count++;
    z->queue[z->queue_first] = *task;
}
