#include "config.h"

#include "zstd/decoder.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sys/clock.h"

void zstd_decoder_init(struct zstd_decoder *d, const struct zstd_input *input)
{
    *d = (struct zstd_decoder){.input = input, .span = {.input = input}};
}

void zstd_decoder_free(struct zstd_decoder *d)
{
    ZSTD_freeDCtx(d->context);
    free(d->span.view.buffer);
}

void zstd_decoder_begin_task(struct zstd_decoder *d, const struct zstd_task *task)
{
    uint64_t begin = task->batch.begin, end = task->batch.end;

    d->task = *task;
    d->position = task->base;
    d->in_frame = false;
    d->frame = begin;
    zstd_span_begin(&d->span, begin, end == ZSTD_UNKNOWN ? d->input->file->size : end);
}

bool zstd_decoder_begin(struct zstd_decoder *d, const struct zstd_task *task, bool stable)
{
    if (!d->context) {
        d->context = zstd_context_open(d->input->file);
        if (!d->context) {
            zstd_fail(d->input->file, ERROR_MEMORY, "out of memory");
            return false;
        }
#ifdef ZSTD_d_stableOutBuffer
        if (stable) /* without it libzstd copies what comes out: slower, no worse */
            (void)ZSTD_DCtx_setParameter(d->context, ZSTD_d_stableOutBuffer, 1);
#else
        (void)stable;
#endif
    }
    zstd_decoder_begin_task(d, task);
    return true;
}

void zstd_decoder_begin_frame(struct zstd_decoder *d, uint64_t stated)
{
    ZSTD_DCtx_reset(d->context, ZSTD_reset_session_only);
    d->in_frame = true;
    d->frame = zstd_span_next(&d->span);
    d->begun = d->position;
    d->stated = stated;
}

/* Whether the task depends on hints; if so, asks for the file to be read in order. */
static bool retry(const struct zstd_decoder *d)
{
    if (d->task.batch.hinted)
        atomic_store(&d->input->file->retry, true);
    return d->task.batch.hinted;
}

/* The frame has ended. False when it held other than it states. */
static bool end_frame(struct zstd_decoder *d)
{
    uint64_t held = d->position - d->begun;

    d->in_frame = false;
    if (d->stated == ZSTD_UNKNOWN || d->stated == held)
        return true;
    if (!retry(d))
        zstd_note_wrong_content(d->input->file, d->frame, d->stated, held);
    return false;
}

/* libzstd has refused the frame. */
static bool refused(const struct zstd_decoder *d, size_t code)
{
    if (!retry(d))
        zstd_note_refusal(d->input->file, d->frame, code);
    return false;
}

bool zstd_decoder_feed(struct zstd_decoder *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in, bool *ended)
{
    size_t before = out->pos;
    size_t result = zstd_context_decompress(d->input->file, d->context, out, in);

    if (ZSTD_isError(result))
        return refused(d, result);
    d->position += out->pos - before;
    zstd_span_pass(&d->span, in->pos);
    *ended = result == 0;
    return !*ended || end_frame(d);
}

bool zstd_decoder_whole(struct zstd_decoder *d, void *out, size_t capacity, const void *in,
                        size_t size, size_t *held)
{
    uint64_t begun = clock_now();
    size_t result = ZSTD_decompressDCtx(d->context, out, capacity, in, size);

    atomic_fetch_add(&d->input->file->decode_time, clock_now() - begun);
    if (ZSTD_isError(result))
        return refused(d, result);
    *held = result;
    d->position += result;
    zstd_span_pass(&d->span, size);
    return end_frame(d);
}

bool zstd_decoder_unwanted(const struct zstd_decoder *d, uint64_t position)
{
    const struct zstd_file *file = d->input->file;

    return (file->true_positions && d->task.batch.begin >= file->through &&
            position >= file->wanted_end) ||
           (position >= file->data_offset &&
            (position - file->data_offset) / file->element_size >= zstd_wanted(file));
}

bool zstd_decoder_fault(const struct zstd_decoder *d, const struct zstd_fault *fault)
{
    if (!retry(d))
        zstd_note_fault(d->input->file, fault);
    return false;
}

bool zstd_decoder_damaged(const struct zstd_decoder *d, const char *text)
{
    if (!retry(d))
        zstd_note_error(d->input->file, ERROR_DATA, d->frame,
                        "byte %" PRIu64 ": zstd frame is damaged: %s", d->frame, text);
    return false;
}

bool zstd_decoder_cut_off(const struct zstd_decoder *d)
{
    return zstd_decoder_fault(d, &(struct zstd_fault){.kind = ZSTD_CUT_OFF, .frame = d->frame});
}

bool zstd_decoder_became_shorter(const struct zstd_decoder *d)
{
    const struct zstd_file *file = d->input->file;

    zstd_became_shorter(d->input->file, file->start + zstd_span_next(&d->span));
    return false;
}
