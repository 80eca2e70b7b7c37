/*
 * For the files of the schedule: its state, and what each does of its work. schedule.h says what is
 * which.
 *
 *     schedule.c        who does what; claims; the beginning and the end
 *     schedule_find.c   finds tasks
 *     schedule_slots.c  large frames that one worker at a time decodes; who is woken
 *     schedule_queue.c  the queue of tasks, and who has the role of the finder
 *
 * Functions that end in _locked may drop the mutex meanwhile where that is said.
 */
#ifndef GPUREDUCE_ZSTD_SCHEDULE_STATE_H
#define GPUREDUCE_ZSTD_SCHEDULE_STATE_H

#include "sys/waiters.h"
#include "zstd/decoder.h"
#include "zstd/finder.h"
#include "zstd/index.h"
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
    struct zstd_shared shared;
    unsigned workers;
    uint64_t small_max;        /* bytes; a frame that can hold more is large */
    struct zstd_small *claims; /* one for each worker, its own */
    struct zstd_team *team;    /* NULL for a single worker */

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
static inline bool zstd_schedule_is_small(const struct zstd_schedule *z,
                                          const struct zstd_task *task)
{
    return task->batch.frame_most <= z->small_max;
}

/*
 * schedule_queue.c
 */

/* The role of the finder: taken from FINDER_FREE, and given back as `state`. */
void zstd_schedule_take_finder_locked(struct zstd_schedule *z) REQUIRES(waiters_role)
    ACQUIRE(finder_role);
void zstd_schedule_give_finder_back_locked(struct zstd_schedule *z, enum finder_state state)
    REQUIRES(waiters_role) RELEASE(finder_role);

/* Tasks that should have been found ahead of those who decode them. */
unsigned zstd_schedule_found_ahead(unsigned workers);

/* Whether somebody should take the role of the finder. */
bool zstd_schedule_must_find_locked(const struct zstd_schedule *z) REQUIRES(waiters_role);

/* A large frame has ended: the finder, unless somebody has its role, need not look for where. */
void zstd_schedule_note_end_locked(struct zstd_schedule *z, const struct zstd_decoder *d)
    REQUIRES(waiters_role);

/* The queue: its first task, NULL where it has none; takes that out; puts one back before it. */
const struct zstd_task *zstd_schedule_front_locked(const struct zstd_schedule *z)
    REQUIRES(waiters_role);
struct zstd_task zstd_schedule_pop_locked(struct zstd_schedule *z) REQUIRES(waiters_role);
void zstd_schedule_push_front_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(waiters_role);

/*
 * schedule_find.c
 */

/* Whether nothing that is still to be found is wanted. */
bool zstd_schedule_rest_unwanted_locked(const struct zstd_schedule *z) REQUIRES(waiters_role);

/* The role of the finder: finds tasks, until there are enough in the queue, or one for this worker
   while the rest of a large frame takes its time. Drops the mutex while it looks. */
void zstd_schedule_find_locked(struct zstd_schedule *z) REQUIRES(waiters_role);

/*
 * schedule_slots.c
 */

/* A task has been decoded as far as it is wanted. */
void zstd_schedule_end_task_locked(struct zstd_schedule *z, struct zstd_decoder *d)
    REQUIRES(waiters_role);

/* Whether a large frame may be begun now: one at any time, others where memory allows. */
bool zstd_schedule_may_open_slot_locked(const struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(waiters_role);

/* A slot that nobody decodes. Workers begin to look at different ones. */
struct zstd_slot *zstd_schedule_idle_slot_locked(const struct zstd_schedule *z, unsigned worker)
    REQUIRES(waiters_role);

/* Gives a large frame a slot. */
void zstd_schedule_open_slot_locked(struct zstd_schedule *z, const struct zstd_task *task)
    REQUIRES(waiters_role);

/* The role of a slot's decoder: decodes for those that wait, and for this worker when nobody does.
   Whether its own chunk was filled. Drops the mutex while it decodes. */
bool zstd_schedule_serve_locked(struct zstd_schedule *z, struct zstd_slot *slot,
                                const struct chunk_request *request, struct chunk *chunk)
    REQUIRES(waiters_role);

/* Makes the input of a slot present that somebody else decodes. Whether there was something to do.
   Drops the mutex meanwhile. */
bool zstd_schedule_help_locked(struct zstd_schedule *z) REQUIRES(waiters_role);

/* Wakes one of those that wait when there is something to do. */
void zstd_schedule_wake_next_locked(struct zstd_schedule *z) REQUIRES(waiters_role);

#endif
