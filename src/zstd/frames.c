#include "config.h"

#include "zstd/frames.h"

#include <inttypes.h>

#define FRAME_MAGIC 0xfd2fb528u
#define SKIPPABLE_MAGIC 0x184d2a50u /* and the fifteen that follow */
#define SKIPPABLE_MASK 0xfffffff0u

bool zstd_is_skippable(const unsigned char *b, size_t got)
{
    return got >= 4 && (zstd_load32(b) & SKIPPABLE_MASK) == SKIPPABLE_MAGIC;
}

bool zstd_recognise(const void *bytes, size_t size)
{
    return size >= 4 && (zstd_load32(bytes) == FRAME_MAGIC || zstd_is_skippable(bytes, size));
}

uint64_t zstd_skippable_size(const unsigned char *b, size_t got)
{
    return got >= ZSTD_SKIPPABLE_HEADER && zstd_is_skippable(b, got)
               ? ZSTD_SKIPPABLE_HEADER + (uint64_t)zstd_load32(b + 4)
               : 0;
}

const unsigned char *zstd_view_at(struct zstd_view *view, uint64_t offset, size_t size, size_t *got)
{
    const uint64_t left = view->file->size - offset;

    if (view->map) {
        *got = size < left ? size : (size_t)left;
        return view->map + offset;
    }
    if (offset < view->offset || offset + size > view->offset + view->size) {
        size_t count = left < view->capacity ? (size_t)left : view->capacity;

        if (!zstd_file_read(view->file, view->buffer, count, offset))
            return NULL;
        view->offset = offset;
        view->size = count;
    }
    *got = view->size - (size_t)(offset - view->offset);
    if (*got > size)
        *got = size;
    return view->buffer + (offset - view->offset);
}

void zstd_note_fault(struct zstd_file *file, const struct zstd_fault *fault)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    struct error error;

    switch (fault->kind) {
    case ZSTD_SOUND:
    case ZSTD_READ_FAILURE:
        break;
    case ZSTD_CUT_OFF:
        zstd_note_error(file, ERROR_DATA, fault->frame,
                        "ends at byte %" PRIu64
                        ", inside the zstd frame that begins at byte %" PRIu64,
                        file->size, fault->frame);
        break;
    case ZSTD_NO_FRAME:
        zstd_note_error(file, ERROR_DATA, fault->frame,
                        "byte %" PRIu64 ": no zstd frame begins here", fault->frame);
        break;
    case ZSTD_WINDOW:
        error =
            error_at(ERROR_REQUEST, fault->frame,
                     "byte %" PRIu64 ": zstd frame needs a window larger than %d %s", fault->frame,
                     1 << file->window_log % 10, units[file->window_log / 10 - 1]);
        if (file->window_log < ZSTD_WINDOW_LOG_MOST)
            error.advice.kind = ADVICE_WINDOW;
        zstd_take_error(file, error);
        break;
    case ZSTD_BLOCK_TYPE:
    case ZSTD_BLOCK_SIZE:
        zstd_note_error(
            file, ERROR_DATA, fault->frame,
            "byte %" PRIu64 ": zstd frame is damaged: a block%s at byte %" PRIu64 "%s",
            fault->frame, fault->kind == ZSTD_BLOCK_TYPE ? " of a reserved type" : "", fault->where,
            fault->kind == ZSTD_BLOCK_TYPE ? "" : " that is larger than the frame allows");
        break;
    case ZSTD_TOO_LITTLE:
        zstd_note_error(file, ERROR_DATA, fault->frame,
                        "byte %" PRIu64 ": zstd frame is damaged: its header states %" PRIu64
                        " bytes, more than its %" PRIu64 " blocks can hold",
                        fault->frame, fault->where, fault->count);
        break;
    }
}

bool zstd_read_header(const unsigned char *b, size_t got, uint64_t offset, struct zstd_frame *frame)
{
    static const unsigned dictionary_bytes[4] = {0, 1, 2, 4};
    unsigned descriptor, content_bytes, dictionary, position;
    bool single;

    if (got < 5 || zstd_load32(b) != FRAME_MAGIC)
        return false;
    descriptor = b[4];
    single = descriptor & 0x20;
    content_bytes = descriptor >> 6 ? 1u << (descriptor >> 6) : single;
    dictionary = 5 + !single;
    position = dictionary + dictionary_bytes[descriptor & 3];
    if (got < position + content_bytes)
        return false;
    *frame = (struct zstd_frame){.begin = offset,
                                 .position = offset + position + content_bytes,
                                 .end = ZSTD_UNKNOWN,
                                 .content = content_bytes ? 0 : ZSTD_UNKNOWN,
                                 .checksum = descriptor & 0x04,
                                 .reserved = descriptor & 0x08};
    for (unsigned i = dictionary; i < position; i++)
        frame->dictionary |= (uint32_t)b[i] << 8 * (i - dictionary);
    for (unsigned i = 0; i < content_bytes; i++)
        frame->content |= (uint64_t)b[position + i] << 8 * i;
    if (content_bytes == 2)
        frame->content += 256;
    frame->window =
        single ? frame->content : (((uint64_t)1 << (10 + (b[5] >> 3))) / 8) * (8 + (b[5] & 7));
    frame->block_most =
        frame->window < ZSTD_BLOCK_CONTENT_MAX ? frame->window : ZSTD_BLOCK_CONTENT_MAX;
    return true;
}

struct zstd_frame zstd_first_frame(const unsigned char *bytes, size_t size)
{
    const struct zstd_frame unknown = {.window = ZSTD_UNKNOWN, .content = ZSTD_UNKNOWN};
    struct zstd_frame frame;
    uint64_t skip;

    while ((skip = zstd_skippable_size(bytes, size)) > 0) {
        if (skip >= size)
            return unknown;
        bytes += skip;
        size -= (size_t)skip;
    }
    return zstd_read_header(bytes, size, 0, &frame) ? frame : unknown;
}

bool zstd_window_allowed(const struct zstd_file *file, const struct zstd_frame *frame,
                         struct zstd_fault *fault)
{
    return frame->window <= (uint64_t)1 << file->window_log ||
           zstd_set_fault(fault, ZSTD_WINDOW, frame->begin);
}

bool zstd_header(struct zstd_view *view, uint64_t offset, struct zstd_frame *frame,
                 struct zstd_fault *fault)
{
    size_t got;
    const unsigned char *b = zstd_view_at(view, offset, ZSTD_HEADER_MAX, &got);

    if (!b)
        return zstd_set_fault(fault, ZSTD_READ_FAILURE, offset);
    if (!zstd_read_header(b, got, offset, frame))
        return zstd_set_fault(fault, ZSTD_CUT_OFF, offset);
    return zstd_window_allowed(view->file, frame, fault);
}

bool zstd_next_block(const unsigned char *b, struct zstd_frame *frame, struct zstd_fault *fault)
{
    const uint32_t block = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16, size = block >> 3;
    const unsigned type = block >> 1 & 3;
    /* A run-length block takes one byte, whatever the size it expands to. */
    const uint32_t taken = type == ZSTD_BLOCK_RUN ? 1 : size;

    if (type == ZSTD_BLOCK_RESERVED || size > frame->block_most || taken > frame->block_most) {
        *fault = (struct zstd_fault){.kind = type == ZSTD_BLOCK_RESERVED ? ZSTD_BLOCK_TYPE
                                                                         : ZSTD_BLOCK_SIZE,
                                     .frame = frame->begin,
                                     .where = frame->position};
        return false;
    }
    frame->position += ZSTD_BLOCK_HEADER + taken;
    frame->blocks++;
    frame->block = block;
    if (block & 1)
        frame->end = frame->position + (frame->checksum ? 4 : 0);
    return true;
}

bool zstd_block(struct zstd_view *view, struct zstd_frame *frame, struct zstd_fault *fault)
{
    const uint64_t input_bytes = view->file->size;
    const unsigned char *b;
    size_t got;

    if (frame->position >= input_bytes)
        return zstd_set_fault(fault, ZSTD_CUT_OFF, frame->begin);
    b = zstd_view_at(view, frame->position, ZSTD_BLOCK_HEADER, &got);
    if (!b)
        return zstd_set_fault(fault, ZSTD_READ_FAILURE, frame->begin);
    if (got < ZSTD_BLOCK_HEADER)
        return zstd_set_fault(fault, ZSTD_CUT_OFF, frame->begin);
    if (!zstd_next_block(b, frame, fault))
        return false;
    return frame->end == ZSTD_UNKNOWN || frame->end <= input_bytes ||
           zstd_set_fault(fault, ZSTD_CUT_OFF, frame->begin);
}

bool zstd_all_there(const unsigned char *b, size_t got, struct zstd_frame frame)
{
    struct zstd_fault fault;

    while (frame.end == ZSTD_UNKNOWN) {
        uint64_t at = frame.position - frame.begin;

        if (at + ZSTD_BLOCK_HEADER > got || !zstd_next_block(b + at, &frame, &fault))
            return false;
    }
    return frame.end - frame.begin <= got;
}

bool zstd_walk(struct zstd_view *view, struct zstd_frame *frame, uint64_t blocks,
               struct zstd_fault *fault)
{
    for (uint64_t i = 0; i < blocks && frame->end == ZSTD_UNKNOWN; i++)
        if (!zstd_block(view, frame, fault))
            return false;
    return true;
}
