/*
 * The parts of a run whose input engines decode (unpack.h), for its files.
 *
 *     unpack.c        feeds unpackers, reads for them, begins and ends
 *     unpack_hash.c   verifies the checksums of content that comes back
 *     unpack_feed.c   what these have in common
 */
#ifndef GPUREDUCE_UNPACK_FEED_H
#define GPUREDUCE_UNPACK_FEED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "run/run_state.h"
#include "source/zstd/xxh64.h"
#include "sys/mutex.h"

MUTEX_ROLE(unpack_role);

/* A piece of content. */
struct job {
    struct engine_content content;
    size_t next;  /* segment that nobody has claimed */
    size_t left;  /* segments whose hashing has not ended */
    bool goes_on; /* its first segment goes on with the last one of the piece before */
    bool head_claimed, head_done;
    bool open;         /* the frame of its last segment goes on behind it */
    bool tail_done;    /* as far as that segment goes, it is hashed: */
    struct xxh64 tail; /* to this */
};

/* An unpacker, and what workers do for it. */
struct feed {
    struct run *run;
    struct unpack *unpack; /* it is one of this one's */
    const struct engine_unpack *ops;
    struct engine_unpacker *unpacker; /* of who feeds it */
    unsigned number;                  /* of the device, and of the source's ring */

    struct mutex mutex;
    pthread_cond_t changed;
    unsigned workers GUARDED_BY(unpack_role); /* that take part */
    bool feeding GUARDED_BY(unpack_role);     /* a worker does */
    bool polling GUARDED_BY(unpack_role);     /* a worker looks again soon */
    bool ended GUARDED_BY(unpack_role);       /* nothing more comes out of the unpacker */
    bool over GUARDED_BY(unpack_role);        /* nor is there anything left to do */
    bool refused GUARDED_BY(unpack_role);     /* the unpacker has refused a frame */

    struct job jobs[ENGINE_CONTENT_MAX] GUARDED_BY(unpack_role); /* from first_job on */
    uint64_t first_job GUARDED_BY(unpack_role);
    uint64_t job_end GUARDED_BY(unpack_role);
    uint64_t hashed GUARDED_BY(unpack_role);    /* bytes */
    uint64_t hash_time GUARDED_BY(unpack_role); /* nanoseconds, of all workers */
    /* The part of hash_time in pieces that one frame goes through, which are hashed one after the
       other. */
    uint64_t hash_time_in_turn GUARDED_BY(unpack_role);

    /* Owned by the worker that feeds it. */
    uint64_t reduced; /* elements */
    size_t parts;     /* that have been passed to the source */
    bool input_ended;
    bool failed; /* the engine has */
};

struct unpack {
    unsigned count;
    _Atomic unsigned next; /* feed that the next worker begins with */
    _Atomic bool given_up; /* a feed has come to what makes the others' work useless */

    /* Owned by the session's thread. */
    bool going_on; /* a worker has libzstd go on with a pipe */

    struct feed feeds[]; /* of a device each */
};

void feed_lock(struct feed *x) ACQUIRE(unpack_role);
void feed_unlock(struct feed *x) RELEASE(unpack_role);

/* Nothing is left to do. */
void feed_end_locked(struct feed *x) REQUIRES(unpack_role);

/* A checksum is wrong: of the frame at this offset of the feed's input. */
void feed_wrong_checksum(struct feed *x, uint64_t frame);

/* Content has come back. Pieces come in order. */
void unpack_hash_push_locked(struct feed *x, const struct engine_content *content)
    REQUIRES(unpack_role);

/* Hashes content, where there is some that nobody hashes. Whether there was. */
bool unpack_hash_some(struct feed *x);

/* Whether some that has come back is not hashed yet, but for the end of a frame that goes on. */
bool unpack_hash_under_way_locked(struct feed *x) REQUIRES(unpack_role);

#endif
