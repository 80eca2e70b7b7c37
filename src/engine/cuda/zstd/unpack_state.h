/*
 * What an unpacker consists of: for the files of it.
 *
 *     unpack_open.c     makes it, and makes it ready for an input
 *     unpack.c          takes batches from the decoder, and reduces them
 *     unpack_content.c  brings content back whose checksum is to be verified
 */
#ifndef GPUREDUCE_CUDA_ZSTD_UNPACK_STATE_H
#define GPUREDUCE_CUDA_ZSTD_UNPACK_STATE_H

#include <stdatomic.h>

#include "engine/cuda/feeder.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/zstd/device.h"
#include "engine/cuda/zstd/tuning.h"
#include "engine/engine.h"

/* Launches read from addresses that are multiples of this. */
#define ALIGNMENT 16

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
    unsigned char *bytes;
    cudaEvent_t copied;
    struct engine_segment *segments;
    size_t count, capacity;
};

/* A result on its way back. */
struct mirror {
    struct partial *partial;
    cudaEvent_t begun, done;
    uint64_t bytes;
    bool busy;
};

struct engine_unpacker {
    const struct feeder_device *device;
    struct pinned_arena *arena;
    struct engine_unpack_setup setup;
    struct zstd_device *decoder;
    uint64_t window; /* of the decoder */
    size_t batch;    /* bytes of its batches */
    struct pinned_piece input, mirrors_memory, content_memory;
    cudaStream_t stream, back; /* of the kernels; of content that comes back */
    cudaEvent_t back_done;
    unsigned char *memory; /* device: the partial and the scratch */
    struct partial *partial;
    struct cuda_scratch *scratch;
    struct mirror mirrors[MIRRORS];
    unsigned next_mirror;
    cudaEvent_t base; /* in the stream's past, at base_time */
    uint64_t base_time;
    struct piece pieces[ZSTD_CONTENT_PIECES];
    unsigned next_out, next_piece; /* that comes back next; to be filled next */

    /* Of this input. Positions are those of the decoder's output: of what is decoded, and `shift`
       more. */
    uint64_t shift;
    uint64_t reduced_to;            /* multiple of ALIGNMENT, but at the end */
    uint64_t decoded_to;            /* all batches taken */
    uint64_t frame, frame_position; /* of the frame that was begun last */
    bool has_frame;
    bool holding; /* a batch whose content is not all on its way */
    struct zstd_device_output held;
    uint64_t held_done; /* bytes of it */
    uint32_t held_block;
    bool refused, stopped, failed;
    struct engine_refusal refusal;
    struct partial good;
    struct engine_times times;
    char error[ENGINE_REASON_MAX];
};

/* Returns whether a call succeeded; if not, the device has failed, and u->error says why. */
bool unpack_check(struct engine_unpacker *u, cudaError_t error, const char *what);

/* Position behind the last element that is wanted, UINT64_MAX where that is not known. */
uint64_t unpack_wanted_end(const struct engine_unpacker *u);

/* Has the next piece of the held batch brought back, when there is room for it. *done: something
   was. False when the device failed. */
bool unpack_bring_back(struct engine_unpacker *u, bool *done);

/* Whether content of the held batch is still to be brought back. */
bool unpack_more_to_bring(const struct engine_unpacker *u);

/* Hands out the oldest piece that has come back. False when there is none. */
bool unpack_hand_out(struct engine_unpacker *u, struct engine_content *content);

/* Whether content is on its way. */
bool unpack_content_copying(const struct engine_unpacker *u);

#endif
