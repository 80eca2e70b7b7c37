#include "config.h"

#include "zstd/large.h"

#include "sys/mapping.h"

/* Finds how much of the input, from this offset on, libzstd gets next where not all of the frame is
   asked for: nothing until all has come out of it; after that up to the end of the block, or of the
   frame after its last one. False where the next block is not sound. */
static bool limit_to_block(struct zstd_decoder *d, uint64_t offset, size_t *size)
{
    struct zstd_fault fault = {.kind = ZSTD_SOUND};
    uint64_t end;

    if (d->filled) {
        *size = 0;
        return true;
    }
    if (offset == d->walk.position && d->walk.end == ZSTD_UNKNOWN &&
        !zstd_block(&d->span.view, &d->walk, &fault))
        return zstd_decoder_fault(d, &fault);
    end = offset < d->walk.position ? d->walk.position : d->walk.end;
    if (end - offset < *size)
        *size = (size_t)(end - offset);
    return true;
}

/* Feeds libzstd with all input that is present. *ended: the frame has. */
static bool feed_libzstd(struct zstd_decoder *d, ZSTD_outBuffer *out, bool *ended)
{
    struct zstd_file *file = d->shared->file;
    const uint64_t offset = zstd_span_next(&d->span), from = d->position;
    const bool by_block = file->stop != ZSTD_UNKNOWN, filled = d->filled;
    struct zstd_frame frame;
    ZSTD_inBuffer in = {.pos = 0};
    size_t before = out->pos;

    /* Never less than a block: libzstd would copy it until it has the rest. */
    in.src = zstd_span_bytes(&d->span, ZSTD_INPUT_BYTES, &in.size);
    if (!in.src)
        return false;
    if (d->span.view.map)
        in.size = (size_t)(atomic_load(&d->span.present) - offset);
    if (in.size == 0 && offset < d->span.end)
        return zstd_decoder_became_shorter(d);
    if (!d->in_frame) {
        zstd_decoder_begin_frame(d, d->task.batch.content);
        /* The header alone: see context.h. */
        if (zstd_read_header(in.src, in.size, offset, &frame))
            in.size = (size_t)(frame.position - offset);
        d->walk = frame;
        d->filled = false;
    } else if (by_block && !limit_to_block(d, offset, &in.size)) {
        return false;
    }
    if (!zstd_decoder_feed(d, out, &in, ended))
        return false;
    d->filled = out->pos == out->size;
    zstd_note_block(file, from, d->position, d->walk.position);
    return *ended || out->pos > before || in.pos > 0 || (by_block && filled) ||
           zstd_decoder_cut_off(d);
}

/* A call of decode, in the form that mapping_guard takes. */
struct call {
    struct zstd_decoder *decoder;
    ZSTD_outBuffer *out;
    bool ended; /* the frame has */
    bool good;
};

/* Decodes until the buffer is full or the frame ends. */
static void decode(void *argument)
{
    struct call *call = argument;
    struct zstd_decoder *d = call->decoder;
    uint64_t end = d->task.batch.end;

    while (!call->ended && call->out->pos < call->out->size) {
        call->good = feed_libzstd(d, call->out, &call->ended);
        if (!call->good)
            return;
    }
    if (call->ended && end != ZSTD_UNKNOWN && zstd_span_next(&d->span) != end)
        call->good = zstd_decoder_damaged(d, "it continues after its last block");
}

enum zstd_large_status zstd_large_fill(struct zstd_decoder *d, const struct chunk_request *request,
                                       struct chunk *chunk)
{
    const struct zstd_file *file = d->shared->file;
    const uint64_t begin = file->wanted_begin, end = file->wanted_end;

    chunk->count = 0;
    chunk->data = request->buffer;
    for (;;) {
        uint64_t from = d->position;
        ZSTD_outBuffer out = {request->buffer, request->size - request->size % file->element_size,
                              0};
        struct call call = {d, &out, false, true};

        if (zstd_decoder_unwanted(d))
            return ZSTD_LARGE_UNWANTED;
        if (from < begin && out.size > begin - from)
            out.size = (size_t)(begin - from);
        if (file->stop - from < out.size)
            out.size = (size_t)(file->stop - from);
        if (!mapping_guard(decode, &call))
            call.good = zstd_decoder_became_shorter(d);
        if (!call.good)
            return ZSTD_LARGE_FAILED;
        if (from >= begin) {
            /* Data after the array of a .npy are decoded only to verify them. */
            if (d->task.true_position && from >= end)
                out.pos = 0;
            else if (d->task.true_position && end - from < out.pos)
                out.pos = (size_t)(end - from);
            chunk->index = (from - file->data_offset) / file->element_size;
            chunk->count = out.pos / file->element_size;
        }
        if (call.ended)
            return ZSTD_LARGE_ENDED;
        if (chunk->count > 0)
            return ZSTD_LARGE_FILLED;
    }
}
