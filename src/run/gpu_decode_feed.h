/*
 * The parts of a run whose input engines decode (gpu_decode.h), for its files.
 *
 *     gpu_decode.c        feeds decoders, reads for them, begins and ends
 *     gpu_decode_hash.c   verifies the checksums of content that comes back
 *     gpu_decode_feed.c   what these have in common
 */
#ifndef GPUREDUCE_GPU_DECODE_FEED_H
#define GPUREDUCE_GPU_DECODE_FEED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "run/run_state.h"
#include "sys/mutex.h"
#include "zstd/xxh64.h"

MUTEX_ROLE(gpu_decode_role);

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

/* A decoder, and what workers do for it. */
struct feed {
    struct run *run;
    struct gpu_decode *decode; /* it is one of this one's */
    const struct engine_decode *ops;
    struct engine_decoder *decoder; /* of who feeds it */
    unsigned number;                /* of the device, and of the source's ring */

    struct mutex mutex;
    pthread_cond_t changed;
    unsigned workers GUARDED_BY(gpu_decode_role); /* that take part */
    bool feeding GUARDED_BY(gpu_decode_role);     /* a worker does */
    bool polling GUARDED_BY(gpu_decode_role);     /* a worker looks again soon */
    bool ended GUARDED_BY(gpu_decode_role);       /* nothing more comes out of the decoder */
    bool over GUARDED_BY(gpu_decode_role);        /* nor is there anything left to do */
    bool refused GUARDED_BY(gpu_decode_role);     /* the decoder has refused a frame */

    struct job jobs[ENGINE_CONTENT_MAX] GUARDED_BY(gpu_decode_role); /* from first_job on */
    uint64_t first_job GUARDED_BY(gpu_decode_role);
    uint64_t job_end GUARDED_BY(gpu_decode_role);
    uint64_t hashed GUARDED_BY(gpu_decode_role);    /* bytes */
    uint64_t hash_time GUARDED_BY(gpu_decode_role); /* nanoseconds, of all workers */
    /* The part of hash_time in pieces that one frame goes through, which are hashed one after the
       other. */
    uint64_t hash_time_in_turn GUARDED_BY(gpu_decode_role);

    /* Owned by the worker that feeds it. */
    uint64_t reduced; /* elements */
    size_t parts;     /* that have been passed to the source */
    bool input_ended;
    bool failed; /* the engine has */
};

struct gpu_decode {
    unsigned count;
    _Atomic unsigned next; /* feed that the next worker begins with */
    _Atomic bool given_up; /* a feed has come to what makes the others' work useless */

    /* Owned by the session's thread. */
    bool going_on; /* a worker has libzstd go on with a pipe */

    struct feed feeds[]; /* of a device each */
};

void feed_lock(struct feed *x) ACQUIRE(gpu_decode_role);
void feed_unlock(struct feed *x) RELEASE(gpu_decode_role);

/* Nothing is left to do. */
void feed_end_locked(struct feed *x) REQUIRES(gpu_decode_role);

/* A checksum is wrong: of the frame at this offset of the feed's input. */
void feed_wrong_checksum(struct feed *x, uint64_t frame);

/* Content has come back. Pieces come in order. */
void gpu_decode_hash_push_locked(struct feed *x, const struct engine_content *content)
    REQUIRES(gpu_decode_role);

/* Hashes content, where there is some that nobody hashes. Whether there was. */
bool gpu_decode_hash_some(struct feed *x);

/* Whether some that has come back is not hashed yet, but for the end of a frame that goes on. */
bool gpu_decode_hash_under_way_locked(struct feed *x) REQUIRES(gpu_decode_role);

#endif
