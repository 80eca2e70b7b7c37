/*
 * The parts of a decoder, for its files:
 *
 *     decoder_open.c     makes it, and makes it ready for an input
 *     decoder.c          takes batches from the decoder, and reduces them
 *     decoder_checks.c   verifies checksums on the device
 *     decoder_content.c  brings back the other content whose checksum is to be verified
 */
#ifndef GPUREDUCE_CUDA_ZSTD_DECODER_STATE_H
#define GPUREDUCE_CUDA_ZSTD_DECODER_STATE_H

#include <stdatomic.h>

#include "cuda/feeder.h"
#include "cuda/sums.h"
#include "cuda/zstd/device.h"
#include "cuda/zstd/tuning.h"
#include "engine/engine.h"

/* Launches read from addresses that are multiples of this. */
#define ALIGNMENT ZSTD_DEVICE_ALIGNMENT

/* Results under way: one for each batch that was reduced and not been seen to be. */
#define MIRRORS 4

_Static_assert(ZSTD_CONTENT_PIECES <= ENGINE_CONTENT_MAX, "callers have room for as many");

enum piece_state {
    PIECE_FREE,
    PIECE_COPYING, /* its bytes are on their way */
    PIECE_OUT      /* they are being looked at */
};

/* A piece of content that comes back. */
struct piece {
    _Atomic int state;
    struct pinned_piece memory; /* gpu_tuning.content_bytes, once it has been used */
    cudaEvent_t copied;
    struct engine_segment *segments;
    size_t count, capacity;
};

/* The verification of a batch on the device. The batch is released after it. */
struct check {
    uint32_t count;             /* of frames; 0: nothing is */
    uint64_t bytes;             /* of them */
    uint32_t *wrong;            /* the first job whose checksum is wrong, if one is; pinned */
    struct zstd_hash_job *jobs; /* pinned */
    unsigned char *device;      /* both, on the device */
    uint64_t *frames;           /* their offsets in the input */
    cudaStream_t stream;        /* one of u->hash_streams */
    cudaEvent_t begun, hashed;
    cudaEvent_t done; /* and the batch is reduced */
};

/* A result on its way back. */
struct mirror {
    cudaEvent_t begun, done;
    uint64_t bytes;
    bool busy;
};

/* A part of the input. */
struct part {
    struct engine_part part;
    uint64_t content; /* bytes that it decoded to; UINT64_MAX while not known */
};

struct engine_decoder {
    const struct feeder_device *device;
    struct pinned_arena *arena;
    struct engine_decode_setup setup;
    struct zstd_device *decoder;
    uint64_t window;   /* of the decoder */
    size_t batch;      /* bytes of its batches */
    size_t copy_least; /* bytes of input that are worth a copy */
    struct pinned_piece input, mirrors_memory;
    cudaStream_t stream, back; /* of the kernels; of content that comes back */
    cudaEvent_t back_done;
    unsigned char *memory; /* device: the job's */
    struct cuda_sums sums;
    struct mirror mirrors[MIRRORS];
    unsigned next_mirror;
    cudaEvent_t base; /* in the stream's past, at base_time */
    uint64_t base_time;
    /* Batches that were taken, and are not released; their numbers go on. */
    struct check checks[ZSTD_HASHED];
    uint64_t check_begin, check_end;
    cudaStream_t hash_streams[ZSTD_HASH_STREAMS];
    struct pinned_piece checks_memory;
    unsigned char *checks_device;
    cudaEvent_t reduced; /* in `stream`: a batch is, and its content has come back */
    bool *on_device;     /* of each block of the held batch: it is verified on the device */
    size_t on_device_capacity;
    struct piece pieces[ZSTD_CONTENT_PIECES];
    unsigned next_out, next_piece; /* that comes back next; to be filled next */

    /* State of this input. Positions are those of the decoder's output: decoded bytes, and `shift`
       more, and the padding that aligns parts. */
    uint64_t shift;
    struct part *parts;               /* of the input */
    size_t part_count, part_capacity; /* that have been begun to be fed */
    size_t parts_passed;              /* of which a batch has been taken, or of one behind it */
    struct engine_part part;          /* the last of these */
    uint64_t part_begin;              /* position of what it decodes to */
    uint64_t padding;                 /* bytes between parts, so far */
    uint64_t elements;                /* that have been reduced */
    uint64_t reduced_to;              /* multiple of ALIGNMENT, but at the end of a part */
    uint64_t decoded_to;              /* all batches taken */
    uint64_t frame, frame_position;   /* of the frame that was begun last */
    bool has_frame;
    bool holding; /* a batch whose content is not all on its way */
    struct zstd_device_output held;
    uint64_t held_done; /* bytes of it */
    uint32_t held_block;
    uint64_t stopped_at; /* offset in the input behind the block that holds the last wanted byte;
                            UINT64_MAX before that is decoded, or where all is wanted */
    bool refused, stopped, failed;
    bool wrong; /* a checksum is */
    uint64_t wrong_frame;
    struct engine_refusal refusal;
    struct engine_times times;
    char error[ENGINE_REASON_MAX];
};

/* Returns whether a call succeeded; if not, the device has failed, and u->error says why. */
bool decoder_check(struct engine_decoder *u, cudaError_t error, const char *what);

/* Position behind the last element that is wanted, UINT64_MAX where that is not known. */
uint64_t decoder_wanted_end(const struct engine_decoder *u);

/* Notes what lies between two events, on the clock of the host. */
void decoder_note(struct timeline *t, const struct engine_decoder *u, cudaEvent_t from,
                  cudaEvent_t to, uint64_t bytes);

/* Memory and streams for verifying on the device. False with a reason where they cannot be had. */
bool decoder_checks_open(struct engine_decoder *u, char reason[ENGINE_REASON_MAX]);
void decoder_checks_close(struct engine_decoder *u);

/* Has the device verify frames of the held batch, which is decoded. Which blocks are of these is
   then in u->on_device. The functions return false when the device failed. */
bool decoder_checks_begin(struct engine_decoder *u);

/* Whether there is room to verify another batch. */
bool decoder_checks_have_room(const struct engine_decoder *u);

/* All else that reads the held batch is queued: it is left, and to be released when it can be. */
bool decoder_checks_end(struct engine_decoder *u);

/* Releases batches that are verified, and notes what is wrong with them. */
bool decoder_checks_pass(struct engine_decoder *u);

/* Releases all batches, whatever the device makes of them, and waits for that. */
bool decoder_checks_drop(struct engine_decoder *u);

/* Begins with the held batch: where is the first content of it that is to come back. */
void decoder_content_begin(struct engine_decoder *u);

/* Has the next piece of the held batch brought back, when there is room for it. *done: something
   was. False when the device failed. */
bool decoder_bring_back(struct engine_decoder *u, bool *done);

/* Whether content of the held batch is still to be brought back. */
bool decoder_more_to_bring(const struct engine_decoder *u);

/* Hands out the oldest piece that has come back. False when there is none. */
bool decoder_hand_out(struct engine_decoder *u, struct engine_content *content);

/* Whether content is on its way. */
bool decoder_content_copying(const struct engine_decoder *u);

#endif
