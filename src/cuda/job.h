/*
 * Jobs: what is found of elements that lie in device memory. A job knows nothing of where they came
 * from: a feeder has copied them there (feeder.h), or the zstd decoder has written them. Sums with
 * extremes and moments (sums.h), tallies (tallies.h) and slices (slices.h) are jobs.
 *
 *     begin -> add -> send -> (the caller sees that the stream has passed) -> collect -> ... -> end
 *
 * Results grow in device memory with every add. `send` queues a copy of them to the pinned memory
 * of a slot. Once the caller has seen an event pass that was recorded after it, `collect` takes
 * that copy: what was added until then is known good, and stays so whatever becomes of the device.
 * A slot that has not been collected counts for nothing, so the caller can have its elements
 * reduced elsewhere: nothing is lost and nothing counts twice.
 *
 * Everything is queued on the stream that is given, on the current device. One thread at a time
 * uses a job. Functions that return false leave the reason. The caller owns the memory, which stays
 * until `close`.
 */
#ifndef GPUREDUCE_CUDA_JOB_H
#define GPUREDUCE_CUDA_JOB_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "sys/align.h"

/* Device and pinned memory of jobs is aligned to this, and is a multiple of it. */
#define CUDA_JOB_ALIGNMENT 256

/* The first member of every job. */
struct cuda_job {
    const struct cuda_job_kind *kind;
    size_t device_bytes, pinned_bytes; /* that `begin` is to be given */
};

struct cuda_job_kind {
    /* Makes ready to add elements, and forgets what was added before. `device` and `pinned` are of
       the sizes that the job has asked for. Nothing may be added before the stream has been waited
       for. */
    bool (*begin)(struct cuda_job *job, unsigned char *device, unsigned char *pinned,
                  cudaStream_t stream, char reason[ENGINE_REASON_MAX]);

    /* Adds `count` elements at `data` in device memory, aligned to 16 bytes; `index` is that of the
       first. They stay until the slot is collected. */
    bool (*add)(struct cuda_job *job, unsigned slot, const void *data, size_t count, uint64_t index,
                cudaStream_t stream, char reason[ENGINE_REASON_MAX]);

    /* Sends what has been found so far to the slot's pinned memory. */
    bool (*send)(struct cuda_job *job, unsigned slot, cudaStream_t stream,
                 char reason[ENGINE_REASON_MAX]);

    /* Takes what was sent for the slot. After a failure it may be tried again. */
    bool (*collect)(struct cuda_job *job, unsigned slot, char reason[ENGINE_REASON_MAX]);

    /* Nothing more will be collected: hands on what is known good. NULL: there is nothing to do. */
    void (*end)(struct cuda_job *job);

    /* Frees what the job has of its own, begun or not. NULL: it has nothing. */
    void (*close)(struct cuda_job *job);
};

#endif
