/*
 * The job (job.h) that reduces slices along an axis (--axis). Each chunk is by itself: what is
 * found of its slices is sent to pinned memory, where `found` points to once the chunk has been
 * collected. It has one slot, and one chunk in it at a time.
 */
#ifndef GPUREDUCE_CUDA_SLICES_H
#define GPUREDUCE_CUDA_SLICES_H

#include "cuda/job.h"
#include "cuda/slice_launch.h"

struct cuda_slices {
    struct cuda_job job;
    struct cuda_slice_launch launch;
    unsigned wants;                 /* partial_want bits */
    bool records;                   /* it takes records to find them */
    bool rounded;                   /* of the chunk: rounded sums will do */
    size_t bytes, room;             /* of a chunk at most; and of what is found */
    size_t sent;                    /* bytes of what is found of the chunk */
    unsigned char *device, *pinned; /* of `room` bytes */
    struct engine_found found;
    const struct gpu_tuning *tuning;
};

/* Makes a job for chunks of up to `bytes`. */
void cuda_slices_init(struct cuda_slices *s, const struct engine_slice_setup *setup, size_t bytes,
                      const struct gpu_tuning *tuning);

enum cuda_slices_verdict {
    CUDA_SLICES_GOOD,
    CUDA_SLICES_CPU,     /* the CPU takes no longer */
    CUDA_SLICES_TOO_MANY /* the chunk is larger than was said */
};

/* Says what the next chunk is: rows of `length` elements, of which each row is a slice, or each
   column. With `rounded`, rounded sums of slices that are not cut will do. */
enum cuda_slices_verdict cuda_slices_shape(struct cuda_slices *s, bool columns, bool rounded,
                                           size_t rows, size_t length);

#endif
