/*
 * The parts of a decoder of zstd on a GPU, for device_run.c, which runs it, and device_open.c,
 * which makes it.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_DEVICE_STATE_H
#define GPUREDUCE_CUDA_ZSTD_DEVICE_STATE_H

#include "cuda/runtime/check.h"
#include "cuda/runtime/pinned.h"
#include "cuda/zstd/device.h"
#include "cuda/zstd/tuning.h"

/* Output that stays in front of the oldest batch, whatever the windows. */
#define KEPT ((uint64_t)4096)

/* A host array and its copy on the device. */
struct mirrored {
    void *host, *device;
};

/* A batch, from the time that it is held or fed until it is left. */
enum slot_state { SLOT_FREE, SLOT_HELD, SLOT_FED, SLOT_SIZED, SLOT_PLACED, SLOT_TAKEN };

struct slot {
    enum slot_state state;
    struct zstd_plan plan;
    struct mirrored literals_jobs, sequences_jobs, codes, tables, executions, units, results;
    struct mirrored refused; /* a number */
    unsigned char *source;   /* on the device, as are these */
    unsigned char *pool;
    const unsigned char *source_used; /* `source`, or the caller's */
    cudaStream_t stream;
    cudaEvent_t copied, sequences_done, executed, done;
    cudaEvent_t copy_begun, literals_begun, sequences_begun, execute_begun, resolve_begun;
    bool aligned; /* it begins where zstd_device_align says */
    uint64_t position, size;
    uint64_t input_begin; /* offset in the input */
    uint32_t placed;      /* blocks */
};

/* The output of a batch, from the time that it is placed until it may be overwritten. */
struct kept {
    uint64_t position;
    bool awaited;         /* it was released behind something: then there is an event */
    cudaEvent_t released; /* all that reads it is done */
};

/* A copy of compressed bytes, or several that end with the last. */
struct copy {
    uint64_t bytes;
    uint64_t end; /* offset in the input */
    cudaEvent_t begun, done;
};

/* Memory for the symbols of a slice; slots share few of them. */
struct symbols {
    uint32_t *memory;
    cudaEvent_t free;
};

struct zstd_device {
    struct zstd_device_options options;
    struct zstd_plan_limits limits;
    struct zstd_stream stream;
    struct zstd_carry carry;
    unsigned slot_count, symbols_count;
    struct slot slots[ZSTD_SLOTS];
    struct symbols symbols[ZSTD_SLOTS];
    struct kept kept[ZSTD_KEPT_MAX];
    /* Slots are used in turn, and so is kept[]: numbers of batches. Those before `overwritable` are
       known to be read no more. */
    uint64_t fed, placed, taken, left, released, overwritable;
    uint64_t slices; /* executed so far */
    unsigned char *memory;
    struct pinned_piece host_memory;
    unsigned char *ring;
    uint64_t ring_size;
    uint64_t position; /* of the next batch in the output */
    size_t input;      /* bytes that a batch should take of it at most */
    cudaStream_t copy_stream, resolve_stream;
    /* The range that was given. */
    const unsigned char *bytes, *on_device;
    size_t size, at;
    uint64_t rest; /* bytes up to where a batch is to end */
    uint64_t origin;
    bool align;                          /* the next batch is to be aligned */
    struct copy copies[ZSTD_COPIES_MAX]; /* gpu_tuning.copies of them */
    uint64_t copies_begun, copies_ended; /* their numbers go on */
    uint64_t passed;                     /* see zstd_device_passed */
    uint64_t ratio_in, ratio_out;        /* bytes of batches of late */
    bool failed;
    char error[ENGINE_REASON_MAX];
};

/* Returns whether a call succeeded; if not, the device has failed, and d->error says why. */
static inline bool zstd_device_check(struct zstd_device *d, cudaError_t error, const char *what)
{
    if (!cuda_check(error, what, d->error))
        d->failed = true;
    return !d->failed;
}

#endif
