#include "config.h"

#include "zstd/small.h"

#include <stdlib.h>
#include <string.h>

#include "sys/align.h"
#include "sys/mapping.h"

/* The most that is handed out at a time of what lies in the source's memory. It should still be in
   the level-2 cache when it is reduced. But a core that lowers its clock for vector instructions
   stays slow for a while: with pieces of 288 KiB and less decoding takes 5 % longer. */
#define PIECE_BYTES MIB

bool zstd_small_begin(struct zstd_small *z, const struct zstd_task *task, uint64_t extra)
{
    const struct zstd_batch *batch = &task->batch;
    /* The ready part of a piece, followed by the largest frame. */
    size_t capacity =
        (size_t)batch->frame_most + ZSTD_SMALL_BEHIND + (batch->frames > 1 ? PIECE_BYTES : 0);

    capacity = align_up(capacity, mapping_page());
    if (z->capacity < capacity) {
        free(z->memory);
        z->memory = aligned_alloc(mapping_page(), capacity);
        z->capacity = z->memory ? capacity : 0;
        if (!z->memory) {
            zstd_fail(z->decoder.input->file, ERROR_MEMORY, "out of memory");
            return false;
        }
    }
    if (!zstd_decoder_begin(&z->decoder, task, true))
        return false;
    z->state = ZSTD_SMALL_DECODING;
    z->extra = extra;
    z->ready = z->filled = 0;
    z->from = task->base;
    return true;
}

/*
 * Decoding.
 */

/* A block has come out, which began at `where`. False when it held more than it may. */
static bool check_block(const struct zstd_small *z, uint64_t where, size_t held)
{
    const struct zstd_decoder *d = &z->decoder;

    if (held <= z->walk.block_most)
        return true;
    return zstd_decoder_fault(
        d, &(struct zstd_fault){.kind = ZSTD_BLOCK_SIZE, .frame = d->frame, .where = where});
}

/* Decodes the frame, all of whose bytes these are, in one call: so libzstd is fastest. It has one
   block, or holds no more than one may. */
static bool decode_in_one_call(struct zstd_small *z, const unsigned char *b, size_t size)
{
    size_t held;

    if (!zstd_decoder_whole(&z->decoder, z->out.dst, z->out.size, b, size, &held))
        return false;
    z->filled += held;
    return check_block(z, z->walk.position, held);
}

/* Decodes the frame, all of whose bytes these are, in two calls: its header, and the rest. See
   context.h. */
static bool decode_in_two_calls(struct zstd_small *z, const unsigned char *b, size_t size)
{
    struct zstd_decoder *d = &z->decoder;
    size_t header = (size_t)(z->walk.position - z->walk.begin);
    ZSTD_inBuffer first = {b, header, 0}, rest = {b + header, size - header, 0};
    bool ended = false;

    if (!zstd_decoder_feed(d, &z->out, &first, &ended) ||
        !zstd_decoder_feed(d, &z->out, &rest, &ended))
        return false;
    z->filled += z->out.pos;
    return ended || zstd_decoder_cut_off(d);
}

/* Decodes all of the frame that has begun, where so much of its input may be present. Otherwise it
   is left to decode_block. */
static bool decode_whole(struct zstd_small *z)
{
    struct zstd_decoder *d = &z->decoder;
    struct zstd_frame whole = z->walk;
    bool within_block = zstd_within_block(&whole);
    /* The end of a batch's only frame is known; it is then enough to know whether it has a second
       block. */
    uint64_t blocks = d->task.batch.frames == 1 && !within_block ? 1 : ZSTD_UNKNOWN, end;
    struct zstd_fault fault = {.kind = ZSTD_SOUND};
    const unsigned char *b;
    size_t size, got;

    if (!zstd_walk(&d->span.view, &whole, blocks, &fault))
        return zstd_decoder_fault(d, &fault);
    end = whole.end == ZSTD_UNKNOWN ? d->task.batch.end : whole.end;
    if (end < whole.position)
        return zstd_decoder_cut_off(d);
    if (end - whole.begin > 2 * d->input->step + z->extra)
        return true;
    size = (size_t)(end - whole.begin);
    b = zstd_span_bytes(&d->span, size, &got);
    if (!b)
        return false;
    if (got < size) /* the kernel does not map it any more */
        return true;
    return within_block || (whole.end == end && whole.blocks == 1)
               ? decode_in_one_call(z, b, size)
               : decode_in_two_calls(z, b, size);
}

/* Whether the frame that has begun may hold more than is asked for: what lies behind that is not
   decoded. */
static bool holds_stop(const struct zstd_small *z)
{
    const uint64_t stop = z->decoder.input->file->stop;

    return stop != ZSTD_UNKNOWN &&
           (z->walk.content == ZSTD_UNKNOWN || z->walk.content >= stop - z->decoder.position);
}

/* Between two frames: steps over a skippable one, or begins the next, and decodes all of it where
   that can be. */
static bool next_frame(struct zstd_small *z)
{
    struct zstd_decoder *d = &z->decoder;
    const uint64_t offset = zstd_span_next(&d->span);
    struct zstd_fault fault = {.kind = ZSTD_NO_FRAME, .frame = offset};
    size_t got;
    const unsigned char *b = zstd_span_bytes(&d->span, ZSTD_HEADER_MAX, &got);
    uint64_t skippable;

    if (!b)
        return false;
    if (!zstd_recognise(b, got))
        return zstd_decoder_fault(d, &fault);
    skippable = zstd_skippable_size(b, got);
    if (skippable > 0) {
        atomic_fetch_add(&d->span.next, skippable); /* counted when they were found */
        return true;
    }
    if (!zstd_header(&d->span.view, offset, &z->walk, &fault))
        return zstd_decoder_fault(d, &fault);
    zstd_decoder_begin_frame(d, z->walk.content);
    z->out = (ZSTD_outBuffer){z->memory + z->filled, z->capacity - z->filled, 0};
    return !d->span.view.map || holds_stop(z) || decode_whole(z);
}

/* Decodes the next block of the frame. */
static bool decode_block(struct zstd_small *z)
{
    struct zstd_decoder *d = &z->decoder;
    struct zstd_fault fault = {.kind = ZSTD_SOUND};
    const uint64_t where = z->walk.position, from = d->position;
    size_t wanted, before = z->out.pos;
    bool ended = false;

    if (!zstd_block(&d->span.view, &z->walk, &fault))
        return zstd_decoder_fault(d, &fault);
    wanted = (size_t)((z->walk.end == ZSTD_UNKNOWN ? z->walk.position : z->walk.end) -
                      zstd_span_next(&d->span));
    while (wanted > 0 && !ended) {
        ZSTD_inBuffer in = {.pos = 0};

        in.src = zstd_span_bytes(&d->span, wanted < ZSTD_INPUT_BYTES ? wanted : ZSTD_INPUT_BYTES,
                                 &in.size);
        if (!in.src)
            return false;
        if (in.size == 0)
            return zstd_decoder_became_shorter(d);
        if (!zstd_decoder_feed(d, &z->out, &in, &ended))
            return false;
        wanted -= in.pos;
    }
    z->filled += z->out.pos - before;
    zstd_note_block(d->input->file, from, d->position, z->walk.position);
    if (!check_block(z, where, z->out.pos - before))
        return false;
    return (ended == (z->walk.end != ZSTD_UNKNOWN) && wanted == 0) || zstd_decoder_cut_off(d);
}

/* Whether the task is decoded, or the rest of it not wanted. */
static bool at_end(const struct zstd_small *z)
{
    const struct zstd_decoder *d = &z->decoder;

    if (d->in_frame) /* whose end may be checked */
        return d->position >= d->input->file->stop;
    return zstd_decoder_unwanted(d, d->position) || zstd_span_next(&d->span) >= d->task.batch.end;
}

/* The task is decoded. False when it is not what it should be. */
static bool end_task(struct zstd_small *z)
{
    struct zstd_decoder *d = &z->decoder;
    const struct zstd_batch *batch = &d->task.batch;

    z->state = ZSTD_SMALL_DECODED;
    zstd_span_release(&d->span, mapping_page());
    return zstd_decoder_unwanted(d, d->position) ||
           (zstd_span_next(&d->span) == batch->end &&
            (batch->content == ZSTD_UNKNOWN || batch->content == d->position - d->task.base)) ||
           zstd_decoder_damaged(d, "its end is not where its blocks say");
}

/* Whether the largest frame of the task fits behind what is ready. When that is less than an
   element, it is moved to the front for it. */
static bool has_space(struct zstd_small *z)
{
    size_t ready = z->filled - z->ready;

    if (ready < z->decoder.input->file->element_size) {
        memmove(z->memory, z->memory + z->ready, ready);
        z->filled = ready;
        z->ready = 0;
    }
    return z->capacity - z->filled >= z->decoder.task.batch.frame_most;
}

/* A call of decode, in the form that mapping_guard takes. */
struct call {
    struct zstd_small *small;
    size_t bytes;
    bool good;
};

/* Decodes until `bytes` are ready, no further frame fits in behind them, or the task is decoded. */
static void decode(void *argument)
{
    struct call *call = argument;
    struct zstd_small *z = call->small;

    while (call->good && z->state == ZSTD_SMALL_DECODING && z->filled - z->ready < call->bytes) {
        if (at_end(z))
            call->good = end_task(z);
        else if (z->decoder.in_frame)
            call->good = decode_block(z);
        else if (has_space(z))
            call->good = next_frame(z);
        else
            return;
    }
}

/*
 * Handing out.
 */

/* Makes up to `piece` bytes of what is ready a chunk. False when that is no whole element. */
static bool take_ready(struct zstd_small *z, size_t piece, struct chunk *chunk)
{
    const struct zstd_file *file = z->decoder.input->file;
    size_t size = z->filled - z->ready;
    uint64_t begin = file->wanted_begin, end = file->wanted_end;

    if (z->from < begin) {
        size_t header = size < begin - z->from ? size : (size_t)(begin - z->from);

        z->ready += header;
        z->from += header;
        size -= header;
    }
    /* Data after the array of a .npy are decoded only to verify them. */
    if (z->decoder.task.true_position && z->from >= end) {
        z->ready += size;
        z->from += size;
        return false;
    }
    if (z->decoder.task.true_position && z->from + size > end)
        size = (size_t)(end - z->from);
    if (size > piece)
        size = piece;
    size -= size % file->element_size;
    if (size == 0)
        return false;
    chunk->index = (z->from - file->data_offset) / file->element_size;
    chunk->count = size / file->element_size;
    chunk->data = z->memory + z->ready;
    z->ready += size;
    z->from += size;
    return true;
}

bool zstd_small_next(struct zstd_small *z, const struct chunk_request *request, struct chunk *chunk)
{
    const size_t element_size = z->decoder.input->file->element_size;
    size_t piece = request->size;
    struct call call = {.small = z, .good = true};
    bool taken;

    if (request->borrow && request->in_place > piece)
        piece = request->in_place;
    if (request->borrow && piece > PIECE_BYTES)
        piece = PIECE_BYTES;
    call.bytes = piece - piece % element_size;
    do {
        if (z->state == ZSTD_SMALL_DECODING && !mapping_guard(decode, &call))
            call.good = zstd_decoder_became_shorter(&z->decoder);
        taken = call.good && take_ready(z, piece, chunk);
    } while (call.good && !taken && z->state == ZSTD_SMALL_DECODING);
    if (taken && !request->borrow)
        chunk->data = memcpy(request->buffer, chunk->data, chunk->count * element_size);
    return taken;
}
