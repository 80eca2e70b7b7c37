/*
 * Decodes a task that is one large frame with all workers: the decoder of blocks, in the roles of a
 * team.
 *
 *     walk --> decode (many at a time) --> place --> execute --> hand out (many at a time)
 *                                                         \--> hash
 *
 * Walking over the headers, executing and hashing go through the frame in order: they are roles
 * that one worker holds at a time, for a block or a few. Entropy decoding, most of the work, does
 * not depend on the blocks in front; nor does placing literals whose position is known. Content
 * lies in a ring, out of which chunks are handed out, borrowed or copied. A worker that asks for a
 * chunk does what is to be done until there is one for it.
 *
 *     walked >= claimed >= ...           blocks, numbered through the frame
 *     walked >= assigned >= executed     assigned: has a place, since all before it have sizes
 *     position: executed >= handed, hashed; nothing before what they and windows need is kept
 *
 * Refused frames, bad checksums included, are left to libzstd: the team asks for the input to be
 * read again in order (retry), and notes nothing. Errors in headers are noted at
 * once, as by the finder.
 *
 * The locking is that of waiters.h. Functions that end in _locked may drop the mutex meanwhile. A
 * block that is claimed, the walk, the history of offsets, and the checksum belong to whoever has
 * the role.
 */
#ifndef GPUREDUCE_ZSTD_TEAM_H
#define GPUREDUCE_ZSTD_TEAM_H

#include "sys/waiters.h"
#include "zstd/decoder.h"

struct zstd_team;

/* A team of so many workers, with nothing to do. NULL without memory; nothing is noted. */
struct zstd_team *zstd_team_open(const struct zstd_input *input, struct waiters *waiters,
                                 unsigned workers);
void zstd_team_close(struct zstd_team *t);

/* Whether it has a frame. Here and below NULL is a team that has none. */
bool zstd_team_busy_locked(const struct zstd_team *t) REQUIRES(waiters_role);

/* Whether there is still more of its frame to decode than is under way. */
bool zstd_team_lasts_locked(const struct zstd_team *t) REQUIRES(waiters_role);

/* Gives a team that has none the frame of this task. False when it is not for it: it needs a window
   too large, a dictionary, or memory that is not there; nothing is noted. */
bool zstd_team_begin_locked(struct zstd_team *t, const struct zstd_task *task)
    REQUIRES(waiters_role);

/* The chunk that the worker had is not read any more. To be called when it asks for the next. */
void zstd_team_release_locked(struct zstd_team *t, unsigned worker) REQUIRES(waiters_role);

enum zstd_team_step {
    ZSTD_TEAM_NOTHING, /* there is nothing to do */
    ZSTD_TEAM_AGAIN,   /* something was done */
    ZSTD_TEAM_CHUNK,   /* the chunk was filled in */
    ZSTD_TEAM_ENDED,   /* the frame has: the decoder says where */
    ZSTD_TEAM_UNWANTED /* the rest of it is not wanted, or was refused */
};

/* Does one thing for the team's frame, or for the worker that asks. A worker without a chunk to fill
   in (NULL) only helps others: it takes none, and does not end the frame. */
enum zstd_team_step zstd_team_step_locked(struct zstd_team *t, const struct chunk_request *request,
                                          struct chunk *chunk) REQUIRES(waiters_role);

/* Whether there is something to do for one more worker. */
bool zstd_team_wants_locked(const struct zstd_team *t) REQUIRES(waiters_role);

/* The task, and how far it has come. */
struct zstd_decoder *zstd_team_decoder(struct zstd_team *t);

#endif
