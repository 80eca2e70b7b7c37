/*
 * Sizes of work on GPUs that were found by measuring: doc/tuning.md says how. Tests pass small
 * ones, so that small files have many batches.
 */
#ifndef GPUREDUCE_ENGINE_GPU_TUNING_H
#define GPUREDUCE_ENGINE_GPU_TUNING_H

#include <stddef.h>
#include <stdint.h>

struct gpu_tuning {
    /* Bytes of input for which another GPU is made ready. The driver takes 0.25 s for each, one
       after the other, in which the first has reduced more than that. */
    uint64_t device_bytes;

    /* Slices. The CPU takes no longer for chunks of fewer bytes than a copy there and back, nor
       where more bytes come back than this for each byte that goes there. */
    size_t slices_least;
    double slices_back;

    /*
     * The zstd decoder.
     */

    /* Bytes of the output of a batch, at most and at least. The sequences of a block take about
       3 ms, whatever the batch: so many bytes have to be under way that this does not matter.
       Batches that are few and large need few connections, each of which takes time to make. With
       less memory batches are smaller, then fewer. */
    size_t batch, batch_least;

    /* Bytes of input that are worth a copy of their own: a batch has many. Copies that may be under
       way and be told of one by one, ZSTD_COPIES_MAX at most. */
    size_t copy_least;
    unsigned copies;

    /* Bytes of blocks that one thread block executes in order, and bytes that are resolved at a
       time. A slice whose frames have at most `one_wave` bytes each is resolved at once. */
    uint32_t unit, wave, one_wave;

    /* Frames of up to so many bytes that a batch holds whole are hashed on the device, if there are
       no more of them. A frame is hashed at 2 GB/s there, and its batch is not released before. */
    uint64_t hash_max;
    uint32_t hash_jobs;

    /* Bytes of a piece of other content that comes back to be checked. A core that hashes is behind
       by half a batch; many frames keep many cores busy. */
    size_t content_bytes;
};

extern const struct gpu_tuning gpu_tuning_shipped;

#endif
