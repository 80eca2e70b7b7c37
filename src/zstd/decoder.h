/*
 * Tasks, and what their decoders share.
 *
 * A task is a batch of frames, as the finder found it, with its place in the index: everything that
 * it takes to decode it without looking at any other task. It yields chunks: elements in order,
 * numbered by provisional positions (see index.h). There are three decoders:
 *
 *     small.h       a batch of small frames: one worker decodes it by itself, whole frames where that
 *                   can be, into memory of its own, and hands out what is still in its level-2 cache;
 *     team.h        a large frame: all workers decode its blocks, into a ring of memory;
 *     schedule.c    a large frame that is not for a team: one worker at a time decodes it, piece by
 *                   piece, straight into the buffers of those who want elements.
 *
 * Functions that return false have noted why in the file, or asked for the input to be read again
 * in order: the schedule gives up either way.
 */
#ifndef GPUREDUCE_ZSTD_DECODER_H
#define GPUREDUCE_ZSTD_DECODER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "zstd/context.h"
#include "zstd/finder.h"
#include "zstd/input.h"

/* A batch, and where its content stands. */
struct zstd_task {
    struct zstd_batch batch;
    uint64_t base;      /* provisional position of its content */
    size_t number;      /* in the index, or ZSTD_INDEX_STATED */
    bool true_position; /* the position is true: all up to and with this one state their length */
};

/* A task being decoded. It belongs to one worker at a time; only its span may be looked at by
   another. */
struct zstd_decoder {
    const struct zstd_input *input;
    struct zstd_task task;
    ZSTD_DCtx *context; /* NULL before the first task */
    struct zstd_span span;
    uint64_t position; /* provisional position of the next byte to come out */

    /* The frame under way, or the last one. */
    bool in_frame;
    uint64_t frame;  /* offset of its first byte */
    uint64_t begun;  /* position of its content */
    uint64_t stated; /* bytes that its header states; ZSTD_UNKNOWN where it states none */

    /* The blocks of a large frame that libzstd has been given, where not all of the frame is asked
       for; and whether decoded bytes may be left in libzstd. */
    struct zstd_frame walk;
    bool filled;
};

/* A decoder without a task. To be called once. */
void zstd_decoder_init(struct zstd_decoder *d, const struct zstd_input *input);
void zstd_decoder_free(struct zstd_decoder *d);

/* Makes the decoder ready for a task. `stable`: the output of each frame stays where it is until
   the frame ends, so that libzstd needs no window of its own; the same in all calls. False without
   memory. */
bool zstd_decoder_begin(struct zstd_decoder *d, const struct zstd_task *task, bool stable);

/* Begins a task without a context of libzstd. */
void zstd_decoder_begin_task(struct zstd_decoder *d, const struct zstd_task *task);

/* Begins a frame at the span's next byte, which states its content so. */
void zstd_decoder_begin_frame(struct zstd_decoder *d, uint64_t stated);

/* Has libzstd decode these bytes, or a part of them: steps over what it took, and counts what came
   out. *ended: the frame has, and held what it states. */
bool zstd_decoder_feed(struct zstd_decoder *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in, bool *ended);

/* Decodes the frame, all of which is these bytes, in one call. *held: bytes that came out. */
bool zstd_decoder_whole(struct zstd_decoder *d, void *out, size_t capacity, const void *in,
                        size_t size, size_t *held);

/* Whether nothing of its task from a position on is wanted: --length, or a NaN that ends it all. */
bool zstd_decoder_unwanted(const struct zstd_decoder *d, uint64_t position);

/*
 * Errors. All return false.
 *
 * A batch that depends on hints may be wrong because they are. The file is then read again in
 * order, which finds the error, if there is one.
 */

/* A frame is not what it was when it was found, or not what a hint promised. */
bool zstd_decoder_fault(const struct zstd_decoder *d, const struct zstd_fault *fault);

/* The frame under way ends, or the task does, elsewhere than it should: "is damaged: TEXT". */
bool zstd_decoder_damaged(const struct zstd_decoder *d, const char *text);

/* The frame under way is cut off. */
bool zstd_decoder_cut_off(const struct zstd_decoder *d);

/* The mapped file vanished under the decoder, or ends before the span does. */
bool zstd_decoder_became_shorter(const struct zstd_decoder *d);

#endif
