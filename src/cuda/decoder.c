#include "config.h"

#include "cuda/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/decoder_state.h"

unsigned char *decoder_memory(struct engine_decoder *u, size_t *size)
{
    *size = u->input.size;
    return u->input.memory;
}

/*
 * Reducing.
 */

/* Takes a result that has come back. With `wait`, waits for it. */
static bool collect(struct engine_decoder *u, struct mirror *m, bool wait)
{
    cudaError_t error;

    if (!m->busy)
        return true;
    error = wait ? cudaEventSynchronize(m->done) : cudaEventQuery(m->done);
    if (error == cudaErrorNotReady)
        return true;
    if (!decoder_check(u, error, "reducing"))
        return false;
    m->busy = false;
    if (!u->sums.job.kind->collect(&u->sums.job, (unsigned)(m - u->mirrors), u->error))
        return false;
    decoder_note(&u->times.kernels, u, m->begun, m->done, m->bytes);
    return true;
}

/* Takes all results that have come back, oldest first. */
static bool collect_all(struct engine_decoder *u, bool wait)
{
    for (unsigned i = 0; i < MIRRORS; i++) {
        struct mirror *m = &u->mirrors[(u->next_mirror + i) % MIRRORS];

        if (!collect(u, m, wait))
            return false;
        if (m->busy) /* nor are those behind it, whatever they say by now */
            break;
    }
    return true;
}

/* Reduces the elements up to position `to`. */
static bool reduce_to(struct engine_decoder *u, uint64_t to)
{
    const size_t size = element_size(u->setup.type);
    const unsigned slot = u->next_mirror;
    struct mirror *m = &u->mirrors[slot];
    bool good;

    if (to < u->reduced_to + size)
        return true;
    if (!collect(u, m, true))
        return false;
    u->next_mirror = (u->next_mirror + 1) % MIRRORS;
    m->busy = true;
    m->bytes = to - u->reduced_to;
    good = decoder_check(u, cudaEventRecord(m->begun, u->stream), "recording an event");
    while (good && to >= u->reduced_to + size) {
        uint64_t piece;
        const unsigned char *data = zstd_device_bytes(u->decoder, u->reduced_to, &piece);
        const uint64_t index =
            (u->reduced_to - u->part_begin + u->part.position - u->setup.begin) / size;
        size_t count;

        piece = piece < to - u->reduced_to ? piece : to - u->reduced_to;
        count = piece / size;
        good = u->sums.job.kind->add(&u->sums.job, slot, data, count, index, u->stream, u->error);
        u->reduced_to += count * size;
        u->elements += count;
    }
    good = good && u->sums.job.kind->send(&u->sums.job, slot, u->stream, u->error);
    u->failed = u->failed || !good;
    return good && decoder_check(u, cudaEventRecord(m->done, u->stream), "recording an event");
}

/* Reduces what has been decoded. Before the end what makes no ALIGNMENT bytes is left for later. */
static bool reduce_decoded(struct engine_decoder *u, bool at_end)
{
    const uint64_t end = decoder_wanted_end(u), to = u->decoded_to < end ? u->decoded_to : end;

    if (to <= u->reduced_to)
        return true;
    return reduce_to(u, at_end || to == end ? to : to - (to - u->reduced_to) % ALIGNMENT);
}

/*
 * Batches.
 */

/* Notes which frames a batch begins. */
static void note_frames(struct engine_decoder *u, const struct zstd_device_output *o)
{
    for (uint32_t i = o->block_count; i > 0; i--)
        if (o->blocks[i - 1].first) {
            u->frame = o->blocks[i - 1].frame;
            u->frame_position = o->position + o->blocks[i - 1].position;
            u->has_frame = true;
            return;
        }
}

/* The last byte that is wanted is in the batch: notes the end of its block. */
static void note_stop(struct engine_decoder *u, const struct zstd_device_output *o)
{
    const uint64_t last = decoder_wanted_end(u) - 1 - o->position;
    uint32_t i = 0;

    while (o->blocks[i].position + o->blocks[i].size <= last)
        i++;
    u->stopped_at = o->input_begin + o->blocks[i].behind;
}

static void note_refusal(struct engine_decoder *u, uint64_t frame)
{
    u->refused = true;
    u->refusal.frame = frame;
    u->refusal.begin =
        (u->has_frame && frame == u->frame ? u->frame_position : u->decoded_to) - u->shift;
}

/* Begins with the next part: all of the one before has been taken. Reduces what is left of that.
   The part's content begins at the next multiple of ALIGNMENT. */
static bool pass_part(struct engine_decoder *u)
{
    const uint64_t padding = (ALIGNMENT - u->decoded_to % ALIGNMENT) % ALIGNMENT;

    if (u->parts_passed > 0) {
        if (!reduce_decoded(u, true))
            return false;
        u->parts[u->parts_passed - 1].content = u->decoded_to - u->part_begin;
        u->padding += padding;
        u->decoded_to += padding;
        u->part_begin = u->reduced_to = u->decoded_to;
    }
    u->part = u->parts[u->parts_passed++].part;
    return true;
}

/* Goes on to the part that a batch is of. */
static bool pass_parts(struct engine_decoder *u, const struct zstd_device_output *o)
{
    while (u->parts_passed < u->part_count &&
           u->parts[u->parts_passed].part.offset <= o->input_begin)
        if (!pass_part(u))
            return false;
    return true;
}

/* All has been taken: reduces what is left, and ends all parts. */
static bool end_parts(struct engine_decoder *u)
{
    while (u->parts_passed < u->part_count)
        if (!pass_part(u))
            return false;
    if (u->parts_passed > 0)
        u->parts[u->parts_passed - 1].content = u->decoded_to - u->part_begin;
    return reduce_decoded(u, true);
}

/* The decoder has failed. */
static void decoder_failed(struct engine_decoder *u)
{
    memcpy(u->error, zstd_device_error(u->decoder), sizeof u->error);
    u->failed = true;
}

/* Takes the oldest batch, which is decoded, and reduces it. */
static bool take_batch(struct engine_decoder *u)
{
    struct zstd_device_output *o = &u->held;
    bool none, checked = false;

    if (!zstd_device_take(u->decoder, o, &none)) {
        if (!none)
            decoder_failed(u);
        u->failed = true;
        return false;
    }
    decoder_note(&u->times.gpu_decode, u, o->begun, o->done, o->size);
    if (!u->refused && !u->stopped && !pass_parts(u, o))
        return false;
    if (!u->refused && !u->stopped) {
        u->decoded_to = o->position + o->size;
        note_frames(u, o);
        if (!reduce_decoded(u, false))
            return false;
        for (uint32_t i = 0; u->setup.check && i < o->block_count && !checked; i++)
            checked = o->blocks[i].checked;
        /* Faults after the last element that is wanted are not looked for. */
        if (u->setup.stop && u->decoded_to >= decoder_wanted_end(u)) {
            if (decoder_wanted_end(u) > o->position)
                note_stop(u, o);
            u->stopped = true;
        } else if (o->refused) {
            note_refusal(u, o->frame);
        }
    }
    u->holding = true;
    u->held_done = o->size;
    u->held_block = o->block_count;
    if (checked) {
        if (!decoder_checks_begin(u))
            return false;
        decoder_content_begin(u);
    }
    return true;
}

/* Lets go of the held batch: all that reads it is queued. */
static bool release_batch(struct engine_decoder *u)
{
    u->holding = false;
    return decoder_check(u, cudaEventRecord(u->back_done, u->back), "recording an event") &&
           decoder_check(u, cudaStreamWaitEvent(u->stream, u->back_done, 0),
                         "waiting for an event") &&
           decoder_checks_end(u);
}

/* Whether every batch that was fed has been released. */
static bool all_released(const struct engine_decoder *u)
{
    return zstd_device_under_way(u->decoder) == 0 && !u->holding && u->check_begin == u->check_end;
}

/* Whether the input is of a part that has not been begun. */
static bool is_new_part(const struct engine_decoder *u, const struct engine_input *input)
{
    return u->part_count == 0 || input->part.offset > u->parts[u->part_count - 1].part.offset;
}

/* Begins the part that the input is of. False without memory. */
static bool begin_part(struct engine_decoder *u, const struct engine_input *input)
{
    if (u->part_count == u->part_capacity) {
        const size_t capacity = 2 * u->part_capacity + 8;
        struct part *larger = realloc(u->parts, capacity * sizeof *larger);

        if (!larger) {
            snprintf(u->error, sizeof u->error, "out of memory");
            u->failed = true;
            return false;
        }
        u->parts = larger;
        u->part_capacity = capacity;
    }
    u->parts[u->part_count++] = (struct part){.part = input->part, .content = UINT64_MAX};
    if (u->part_count > 1)
        zstd_device_align(u->decoder);
    return true;
}

/* Refuses the next bytes, once all batches under way have been taken. */
static enum engine_decode_status refuse_next(struct engine_decoder *u)
{
    if (!all_released(u))
        return DECODE_IDLE;
    note_refusal(u, zstd_device_frame(u->decoder));
    return DECODE_AGAIN;
}

/* Whether the device has nothing to do, and would have to wait for a whole batch. The first one is
   waited for: of little input it would cut off a frame that may well be short. */
static bool is_idle(const struct engine_decoder *u)
{
    return zstd_device_under_way(u->decoder) == 0 && u->decoded_to > u->shift;
}

/* The input that the decoder's next batch may wait for. */
static enum zstd_more more_of(const struct engine_decoder *u, const struct engine_input *input,
                              bool idle)
{
    if (input->last || input->part_ends)
        return ZSTD_MORE_NONE;
    if (!idle)
        return ZSTD_MORE_BATCH;
    return input->full || zstd_device_holds(u->decoder) ? ZSTD_MORE_FRAME : ZSTD_MORE_NONE;
}

/* Makes the decoder's next step, and returns its outcome. */
static enum engine_decode_status step(struct engine_decoder *u, const struct engine_input *input)
{
    const bool idle = is_idle(u);

    if (u->refused || u->stopped)
        return DECODE_IDLE;
    if (input->size > 0 && is_new_part(u, input)) {
        if (!zstd_device_between_frames(u->decoder)) /* the frame goes on, or is not a true one */
            return refuse_next(u);
        if (!begin_part(u, input))
            return DECODE_FAILED;
    }
    if (!input->full && !idle && input->size < u->copy_least)
        return DECODE_IDLE;
    if (input->size > zstd_device_left(u->decoder))
        zstd_device_give(u->decoder, input->bytes, input->size, input->rest,
                         zstd_device_next(u->decoder), NULL);
    switch (zstd_device_step(u->decoder, more_of(u, input, idle))) {
    case ZSTD_STEP_FED:
        return DECODE_AGAIN;
    case ZSTD_STEP_BUSY:
        break;
    case ZSTD_STEP_STARVED:
        /* Headers, and skippable frames, make no batch. */
        if (input->last || input->part_ends) {
            if (!zstd_device_between_frames(u->decoder))
                return refuse_next(u);
            if (input->last && all_released(u))
                return DECODE_ENDED;
        }
        break;
    case ZSTD_STEP_REFUSED:
        return refuse_next(u);
    case ZSTD_STEP_FAILED:
        decoder_failed(u);
        return DECODE_FAILED;
    }
    return DECODE_IDLE;
}

/* Whether nothing more is to come of what was fed, refused or not wanted. */
static bool at_rest(const struct engine_decoder *u)
{
    return (u->refused || u->stopped) && all_released(u) && !decoder_content_copying(u);
}

enum engine_decode_status decoder_advance(struct engine_decoder *u,
                                          const struct engine_input *input,
                                          struct engine_content *content)
{
    enum engine_decode_status status;
    bool done = false;

    if (u->failed || !decoder_check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") ||
        !collect_all(u, false) || !decoder_checks_pass(u))
        return DECODE_FAILED;
    if (u->wrong)
        return DECODE_WRONG;
    if (decoder_hand_out(u, content))
        return DECODE_CONTENT;
    if (decoder_more_to_bring(u) && !decoder_bring_back(u, &done))
        return DECODE_FAILED;
    if (u->holding && !decoder_more_to_bring(u)) {
        if (!release_batch(u))
            return DECODE_FAILED;
        done = true;
    }
    if (!done && !u->holding && decoder_checks_have_room(u) && zstd_device_ready(u->decoder)) {
        if (!take_batch(u))
            return DECODE_FAILED;
        done = true;
    }
    /* A decoder that has failed is never ready, and is not asked for a step where all is refused or
       nothing more is wanted. */
    if (zstd_device_failed(u->decoder)) {
        decoder_failed(u);
        return DECODE_FAILED;
    }
    status = step(u, input);
    if (u->failed)
        return DECODE_FAILED;
    if (u->wrong) /* what was released above may have been hashed by then */
        return DECODE_WRONG;
    if (status == DECODE_ENDED && decoder_content_copying(u))
        return DECODE_IDLE;
    if (status == DECODE_ENDED || (at_rest(u) && u->stopped && !u->refused)) {
        u->stopped = true;
        return end_parts(u) ? DECODE_ENDED : DECODE_FAILED;
    }
    if (at_rest(u))
        return DECODE_REFUSED;
    return done ? DECODE_AGAIN : status;
}

/*
 * The result.
 */

uint64_t decoder_wanted(const struct engine_decoder *u)
{
    return zstd_device_next(u->decoder);
}

uint64_t decoder_taken(const struct engine_decoder *u)
{
    return zstd_device_passed(u->decoder);
}

uint64_t decoder_total(const struct engine_decoder *u)
{
    return u->decoded_to - u->padding - u->shift;
}

uint64_t decoder_stopped_at(const struct engine_decoder *u)
{
    return u->stopped_at;
}

uint64_t decoder_reduced(const struct engine_decoder *u)
{
    return u->elements;
}

uint64_t decoder_first_nan(const struct engine_decoder *u)
{
    return u->sums.good.first_nan;
}

uint64_t decoder_part_content(const struct engine_decoder *u, size_t part)
{
    return part < u->part_count ? u->parts[part].content : UINT64_MAX;
}

uint64_t decoder_wrong(const struct engine_decoder *u)
{
    return u->wrong_frame;
}

bool decoder_refused(struct engine_decoder *u, struct engine_refusal *refusal)
{
    const uint64_t begin = u->refusal.begin + u->shift;
    const uint64_t left = u->reduced_to < begin ? begin - u->reduced_to : 0;

    *refusal = u->refusal;
    refusal->good = u->reduced_to - u->shift;
    refusal->tail_size = left <= sizeof refusal->tail ? (size_t)left : 1;
    if (refusal->tail_size > 0) {
        uint64_t piece;
        const unsigned char *from = zstd_device_bytes(u->decoder, u->reduced_to, &piece);

        if (!decoder_check(u,
                           cudaMemcpyAsync(refusal->tail, from, refusal->tail_size,
                                           cudaMemcpyDeviceToHost, u->stream),
                           "copying a result") ||
            !decoder_check(u, cudaStreamSynchronize(u->stream), "copying a result"))
            return false;
    }
    return true;
}

bool decoder_finish(struct engine_decoder *u, struct partial *partial, struct engine_times *times)
{
    bool good = !u->failed &&
                decoder_check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") &&
                collect_all(u, true);

    (void)zstd_device_passed(u->decoder); /* the last copies are noted */
    *partial = u->sums.good;
    *times = u->times;
    u->times = (struct engine_times){0}; /* the timelines are the caller's now */
    return good;
}

const char *decoder_error(const struct engine_decoder *u)
{
    return u->error;
}
