/*
 * The schedule: which worker does what with a zstd file whose frames are decoded in parallel.
 *
 *     finder --> queue --+--> claim: small frames, decoded by the worker that claims them
 *                        +--> team: a large frame, decoded by all workers; see team.h
 *                        +--> slot: a large frame, decoded by one worker at a time
 *
 * Looking for frames, and decoding a slot, are roles that one worker holds at a time.
 *
 * A worker that asks for a chunk goes on with its claim. Without one it does the first of these
 * that there is to do:
 *
 *     1. do its part of the team's frame;
 *     2. decode a slot that nobody decodes, for those who wait and then for itself;
 *     3. find more tasks, when the queue is short and nobody looks for any;
 *     4. claim the task at the front of the queue, or give it to the team, or a slot;
 *     5. make input present that the decoder of another's slot will need soon;
 *     6. wait. So a worker waits only while another has a role, or something of the team's.
 *
 * A worker that gives a role up, or claims something, wakes a waiting one if there is more to do.
 *
 * decoder.h describes tasks and their results.
 *
 * The locking is that of waiters.h. Three kinds of state are not guarded by the mutex: what is
 * fixed once the file is open; a worker's claim, which is its own; and the finder and the decoder
 * of a slot, which belong to whoever has that role.
 */
#ifndef GPUREDUCE_ZSTD_SCHEDULE_H
#define GPUREDUCE_ZSTD_SCHEDULE_H

#include "core/chunk.h"
#include "zstd/file.h"
#include "zstd/index.h"

struct zstd_schedule;

/* For a file whose elements are described. NULL without memory. */
struct zstd_schedule *zstd_schedule_open(struct zstd_file *file, unsigned workers);
void zstd_schedule_close(struct zstd_schedule *z);

/* The next chunk for the worker that asks; any worker may, at any time. Waits if need be. False
   when there is nothing more, or the file has failed. */
bool zstd_schedule_next(struct zstd_schedule *z, const struct chunk_request *request,
                        struct chunk *chunk);

/* The worker does not ask any more, nor read what it was lent: others need not wait for it. */
void zstd_schedule_leave(struct zstd_schedule *z, unsigned worker);

/* When no worker asks any more: the index of what was decoded; NULL when that is not the whole
   input, which must be read again in order. */
struct zstd_index *zstd_schedule_finish(struct zstd_schedule *z);

/* The index, also after the end. */
const struct zstd_index *zstd_schedule_index(const struct zstd_schedule *z);

#endif
