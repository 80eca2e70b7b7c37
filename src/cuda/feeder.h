/*
 * Feeders: what brings chunks from the host to a device and has jobs (job.h) done on them there. A
 * feeder has slots, each a pinned host buffer, a device buffer and events, on one stream. While the
 * copy and the kernels of one slot are in flight, its thread fills another.
 *
 * After the kernels of a chunk the jobs' results are sent to the slot's pinned memory: when the
 * slot's event has passed, they prove that this chunk and all before it are counted. A chunk whose
 * event has not passed is still in its slot's buffer, so a device that fails takes nothing with it.
 *
 * One thread owns a feeder. Functions that fail leave the reason in feeder_error, but for
 * feeder_open.
 */
#ifndef GPUREDUCE_CUDA_FEEDER_H
#define GPUREDUCE_CUDA_FEEDER_H

#include "cuda/job.h"
#include "cuda/runtime/pinned.h"
#include "engine/engine.h"

#define FEEDER_SLOTS ENGINE_PENDING_MAX

#define FEEDER_JOBS_MAX 2

/* A GPU, and where it stands among those of the engine. */
struct feeder_device {
    unsigned index; /* in the engine, which is also its number in the CUDA runtime */
    int multiprocessors;
    int shared; /* bytes of shared memory that a block may ask for */
    const struct gpu_tuning *tuning;
};

struct feeder_setup {
    const struct feeder_device *device; /* it and the arena stay until the feeder is closed */
    struct pinned_arena *arena;
    size_t element_size;
    size_t size;     /* bytes of a buffer: feeder_buffer_size of a chunk's */
    size_t in_place; /* bytes of the largest chunk that comes in place; 0 if none does */
    unsigned slots;  /* FEEDER_SLOTS at most */
    bool timed;      /* note when copies and kernels ran */
    struct cuda_job *jobs[FEEDER_JOBS_MAX]; /* of the caller; closed with the feeder */
    unsigned job_count;
};

struct feeder;

/* Bytes of a feeder's buffer for chunks of `chunk_size` bytes, and of the pinned memory of one with
   FEEDER_SLOTS slots and a job that sums. */
size_t feeder_buffer_size(size_t chunk_size);
size_t feeder_pinned_size(size_t chunk_size);

/* NULL with a reason when something is lacking. Jobs that were begun are closed then, too. */
struct feeder *feeder_open(const struct feeder_setup *setup, char reason[ENGINE_REASON_MAX]);
void feeder_close(struct feeder *f);

/* The next slot's buffer; waits until it is free. NULL on failure. */
void *feeder_buffer(struct feeder *f);

/* Copies a chunk to the device and has all jobs add it. It lies in the buffer given last, or in
   place. */
enum engine_status feeder_add(struct feeder *f, const struct chunk *chunk);

/* Waits until all chunks are known good, and ends the jobs. False when some are not. The times become the
   caller's. */
bool feeder_finish(struct feeder *f, struct engine_times *times);

/* The chunks that are not known good, oldest first. Returns how many. */
unsigned feeder_unfinished(const struct feeder *f, struct chunk chunks[ENGINE_PENDING_MAX]);

const char *feeder_error(const struct feeder *f);

#endif
