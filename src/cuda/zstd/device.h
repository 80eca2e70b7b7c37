/*
 * Decoding of zstd on a GPU: compressed bytes go in, decoded bytes lie in device memory.
 *
 *   give --> step, step, ... --> take --> the caller's kernels --> leave --> release
 *
 * The caller gives ranges of compressed input in pinned memory, one after the other. A step plans
 * and queues the next batch of blocks. Several batches are under way at a time; they are taken in
 * the order of the input, each when it is decoded. Another batch takes its place when the caller
 * has left it; its bytes stay until it is released, after what the caller has queued on a stream.
 *
 * Output is a ring of device memory, which holds the windows of frames from batch to batch. Byte n
 * of the output stands at offset n of the ring, modulo its size, which is a multiple of 4096: so
 * what is aligned in the output is aligned in memory. The 4096 bytes before a batch that has not
 * been released stay, too: what the caller could not use of one batch it finds in front of the
 * next.
 *
 * Frames and blocks are checked as plan.h and the kernels do. libzstd judges frames that they
 * refuse, and windows larger than asked for at the opening: nothing after them is decoded.
 *
 * Batches that share one of the context's connections wait for each other; engine.c chooses how
 * many there are. A decoder belongs to one thread; its device is current.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_DEVICE_H
#define GPUREDUCE_CUDA_ZSTD_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/runtime/owned.h"
#include "cuda/zstd/plan.h"
#include "engine/engine.h"

struct zstd_device;

struct zstd_device_options {
    size_t memory;   /* device memory to take, bytes; a little more is taken */
    uint64_t window; /* the largest window of a frame, bytes, up to ZSTD_OFFSET_MAX */
    size_t batch;    /* bytes of output aimed at for a batch; 0: chosen by the memory */
    unsigned keep;   /* batches that are left and not released, at most, where there is memory */
    struct timeline *copies;        /* notes copies of compressed bytes, by the times of a clock */
    const struct cuda_clock *clock; /* NULL: nothing is noted */
    const struct gpu_tuning *tuning;
};

/* Opens a decoder on the current device; NULL with a reason when something is lacking. */
struct zstd_device *zstd_device_open(const struct zstd_device_options *options,
                                     char reason[ENGINE_REASON_MAX]);
/* Waits for what is under way. Takes NULL, too. */
void zstd_device_close(struct zstd_device *d);

/* Begins at a frame, with what is given next; its first byte has this position in the output, and
   offset 0 in the input unless a range says otherwise. Every batch has been released. `input`:
   bytes of input that a batch should take at most; SIZE_MAX for as many as there is room for. A
   decoder that is opened has so begun, at position 0. */
void zstd_device_restart(struct zstd_device *d, uint64_t position, size_t input);

/* Gives the next `size` bytes, at offset `origin` of the input. The rest of the range before is
   dropped: so the new one begins with it. They stay as they are until zstd_device_passed is behind
   them. `rest`: bytes of the input up to where a batch is to end, these among them: up to there all
   are made of the same size. */
void zstd_device_give(struct zstd_device *d, const unsigned char *bytes, size_t size, uint64_t rest,
                      uint64_t origin);

/* Has what is given next begin at a multiple of ZSTD_DEVICE_ALIGNMENT of the output: up to so many
   bytes before it stand for nothing. It begins with a frame. */
void zstd_device_align(struct zstd_device *d);
#define ZSTD_DEVICE_ALIGNMENT 16

/* Bytes of the range that no batch has taken. */
size_t zstd_device_left(const struct zstd_device *d);

/* Offset in the input of the first byte that no batch has taken. */
uint64_t zstd_device_next(const struct zstd_device *d);

/* Offset in the input of the first byte that may not be overwritten yet: all before it have been
   copied, and none are copied once more, as up to 15 before a batch are. */
uint64_t zstd_device_passed(struct zstd_device *d);

/* Whether the input may end here: after a frame. */
bool zstd_device_between_frames(const struct zstd_device *d);

/* Offset in the input of the frame, skippable or not, that comes next, or goes on, or was refused
   by a step. */
uint64_t zstd_device_frame(const struct zstd_device *d);

enum zstd_step {
    ZSTD_STEP_FED,     /* a batch is queued */
    ZSTD_STEP_STARVED, /* the range holds no whole block any more; a batch may be held */
    ZSTD_STEP_BUSY,    /* as many batches are under way as there is room for: take, leave; a batch
                          may be held */
    ZSTD_STEP_REFUSED, /* what comes next is not for this decoder, until it is restarted */
    ZSTD_STEP_FAILED   /* zstd_device_error tells */
};

/* Input that a batch waits for and that the range does not have. */
enum zstd_more {
    ZSTD_MORE_NONE,
    ZSTD_MORE_FRAME, /* where the range ends within a short frame, for the rest of that */
    ZSTD_MORE_BATCH  /* for as much as it has room for */
};

/* With `more`, another range will follow: the batch is then held (STARVED), and takes what it waits
   for from the next range. Its bytes of this range are copied meanwhile. */
enum zstd_step zstd_device_step(struct zstd_device *d, enum zstd_more more);

/* Whether a batch is held. */
bool zstd_device_holds(const struct zstd_device *d);

/* A batch that is decoded. */
struct zstd_device_output {
    uint64_t position; /* of its first byte in the output */
    uint64_t size;     /* bytes; what is refused is not part of them */
    bool refused;      /* a block of it was: nothing of later batches is good, either */
    uint64_t frame;    /* offset in the input of the refused block's frame */
    const struct zstd_plan_block *blocks; /* until the batch is left */
    uint32_t block_count;                 /* that are good */
    uint64_t input_begin;                 /* offset in the input */
    cudaEvent_t begun, done; /* its kernels have begun; its bytes are there. Both have passed. */
};

/* Whether the oldest batch that has not been taken is decoded. Queues what can be queued by now. */
bool zstd_device_ready(struct zstd_device *d);

/* Batches that are fed and have not been taken. */
uint64_t zstd_device_under_way(const struct zstd_device *d);

/* The oldest batch that has not been taken; waits until it is decoded. False when there is none
   (then *none is true), or the device failed. */
bool zstd_device_take(struct zstd_device *d, struct zstd_device_output *output, bool *none);

/* Leaves the oldest batch that was taken and not left, which there must be: only its bytes are still
   wanted. */
void zstd_device_leave(struct zstd_device *d);

/* Releases the oldest batch that was taken, which there must be, once the work is done that is in the
   stream now, or, if that is NULL, at once; leaves it, too. False if the device failed. */
bool zstd_device_release(struct zstd_device *d, cudaStream_t stream);

/* Queues what can be queued by now. A caller that is busy with something else for long calls this
   now and then. Returns false when the device failed. */
bool zstd_device_pump(struct zstd_device *d);

/* The address in device memory of output from `position` on, and the number of bytes in one piece
   there. Output after them is at the beginning of the ring. */
const unsigned char *zstd_device_bytes(const struct zstd_device *d, uint64_t position,
                                       uint64_t *in_one_piece);

/* Why the device has failed; NULL: it has not. */
const char *zstd_device_error(const struct zstd_device *d);

/* Bytes of output that are aimed at for a batch. */
size_t zstd_device_batch(const struct zstd_device *d);

#endif
