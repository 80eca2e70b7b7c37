#include "config.h"

#include "source/zstd/frames.h"

#include <inttypes.h>

#define FRAME_MAGIC 0xfd2fb528u
#define SKIPPABLE_MAGIC 0x184d2a50u /* and the fifteen that follow */
#define SKIPPABLE_MASK 0xfffffff0u
#define SKIPPABLE_HEADER 8

/* pzstd's hint: a skippable frame of this magic whose content is the size of the next frame. */
#define HINT_MAGIC 0x184d2a50u
#define HINT_CONTENT 4

/* The seekable format: a skippable frame of this magic at the end of the file. It holds an entry
   for each frame (its size, its content's, and perhaps a checksum), and a footer: how many there
   are, a descriptor (bit 7: with checksums; bits 6 to 2 are reserved), and another magic. */
#define TABLE_MAGIC 0x184d2a5eu
#define TABLE_FOOTER_MAGIC 0x8f92eab1u
#define TABLE_FOOTER 9
#define TABLE_CHECKSUMS 0x80
#define TABLE_RESERVED 0x7c

#define BLOCK_HEADER 3
#define BLOCK_RUN 1
#define BLOCK_RESERVED 3

/* The shortest block: a header, and the byte that a run-length block repeats. An empty raw block is
   shorter, but holds nothing. */
#define BLOCK_BYTES_MIN 4

/* Small frames are dealt out together up to this size: a batch of several thousand of the smallest.
   It is also what the mapped file's pages are released by, which interrupts every core. */
#define BATCH_BYTES ((uint64_t)4 << 20)

/* Towards the end batches shrink, so that all workers end together; not below this. */
#define BATCH_BYTES_MIN ((uint64_t)64 << 10)

/* Frames up to this size are walked in the mapped file: their headers are on every page or two
   anyway. Of larger ones only the pages of headers are read, for 2 us each: a page fault costs the
   same, and would leave its neighbours present. */
#define DENSE_BYTES ((uint64_t)16 << 10)

/* Blocks walked before the finder returns: a fraction of a millisecond. */
#define STINT_BLOCKS 256

static uint32_t load32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static bool is_skippable(uint32_t magic)
{
    return (magic & SKIPPABLE_MASK) == SKIPPABLE_MAGIC;
}

bool zstd_recognise(const void *bytes, size_t size)
{
    uint32_t magic;

    if (size < 4)
        return false;
    magic = load32(bytes);
    return magic == FRAME_MAGIC || is_skippable(magic);
}

uint64_t zstd_skippable(const unsigned char *b, size_t got)
{
    return got >= SKIPPABLE_HEADER && is_skippable(load32(b))
               ? SKIPPABLE_HEADER + (uint64_t)load32(b + 4)
               : 0;
}

const unsigned char *zstd_view_at(struct zstd_view *view, uint64_t offset, size_t size, size_t *got)
{
    struct source *s = view->source;
    uint64_t left = s->info.input_bytes - offset;

    if (view->map) {
        *got = size < left ? size : (size_t)left;
        return view->map + offset;
    }
    if (offset < view->offset || offset + size > view->offset + view->size) {
        size_t count = left < view->capacity ? (size_t)left : view->capacity;
        ptrdiff_t n = source_pread(s, view->buffer, count, s->start + offset);

        if (n < 0)
            return NULL;
        atomic_fetch_sub(&s->input_read, (uint64_t)n);
        view->offset = offset;
        view->size = (size_t)n;
    }
    *got = view->size - (size_t)(offset - view->offset);
    if (*got > size)
        *got = size;
    return view->buffer + (offset - view->offset);
}

void zstd_fault_say(struct source *s, const struct zstd_fault *fault)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};

    switch (fault->kind) {
    case ZSTD_SOUND:
    case ZSTD_READ_FAILURE:
        break;
    case ZSTD_CUT_OFF:
        source_error(s,
                     "ends at byte %" PRIu64 ", inside the zstd frame that begins at byte %" PRIu64,
                     s->info.input_bytes, fault->frame);
        break;
    case ZSTD_NO_FRAME:
        source_error(s, "byte %" PRIu64 ": no zstd frame begins here", fault->frame);
        break;
    case ZSTD_WINDOW:
        source_error(s, "byte %" PRIu64 ": zstd frame needs a window larger than %d %s%s",
                     fault->frame, 1 << s->window_log % 10, units[s->window_log / 10 - 1],
                     s->window_log < SOURCE_WINDOW_LOG_MAX ? "; --long=31 takes up to 2 GiB" : "");
        break;
    case ZSTD_BLOCK_TYPE:
        source_error(s,
                     "byte %" PRIu64
                     ": zstd frame is damaged: a block of a reserved type at byte %" PRIu64,
                     fault->frame, fault->where);
        break;
    case ZSTD_BLOCK_SIZE:
        source_error(s,
                     "byte %" PRIu64 ": zstd frame is damaged: a block at byte %" PRIu64
                     " that is larger than the frame allows",
                     fault->frame, fault->where);
        break;
    case ZSTD_TOO_LITTLE:
        source_error(s,
                     "byte %" PRIu64 ": zstd frame says it holds %" PRIu64
                     " bytes, more than its %" PRIu64 " blocks can",
                     fault->frame, fault->where, fault->count);
        break;
    }
}

static bool cut_off(struct zstd_fault *fault, uint64_t frame)
{
    *fault = (struct zstd_fault){.kind = ZSTD_CUT_OFF, .frame = frame};
    return false;
}

static bool read_failure(struct zstd_fault *fault, uint64_t frame)
{
    *fault = (struct zstd_fault){.kind = ZSTD_READ_FAILURE, .frame = frame};
    return false;
}

bool zstd_read_header(const unsigned char *b, size_t got, uint64_t offset, struct zstd_frame *frame)
{
    static const unsigned dictionary_bytes[4] = {0, 1, 2, 4};
    unsigned descriptor, content_bytes, position;
    bool single;

    if (got < 5 || load32(b) != FRAME_MAGIC)
        return false;
    descriptor = b[4];
    single = descriptor & 0x20;
    content_bytes = descriptor >> 6 ? 1u << (descriptor >> 6) : single;
    position = 5 + !single + dictionary_bytes[descriptor & 3];
    if (got < position + content_bytes)
        return false;
    *frame = (struct zstd_frame){.begin = offset,
                                 .position = offset + position + content_bytes,
                                 .end = SOURCE_UNKNOWN,
                                 .content = content_bytes ? 0 : SOURCE_UNKNOWN,
                                 .checksum = descriptor & 0x04};
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

bool zstd_window_allowed(const struct source *s, const struct zstd_frame *frame,
                         struct zstd_fault *fault)
{
    if (frame->window <= (uint64_t)1 << s->window_log)
        return true;
    *fault = (struct zstd_fault){.kind = ZSTD_WINDOW, .frame = frame->begin};
    return false;
}

bool zstd_header(struct zstd_view *view, uint64_t offset, struct zstd_frame *frame,
                 struct zstd_fault *fault)
{
    size_t got;
    const unsigned char *b = zstd_view_at(view, offset, ZSTD_HEADER_MAX, &got);

    if (!b)
        return read_failure(fault, offset);
    if (!zstd_read_header(b, got, offset, frame))
        return cut_off(fault, offset);
    return zstd_window_allowed(view->source, frame, fault);
}

/* Passes the block whose header is at `b`. False with *fault. */
static bool pass_block(const unsigned char *b, struct zstd_frame *frame, struct zstd_fault *fault)
{
    uint32_t block = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
    unsigned type = block >> 1 & 3;
    /* A run-length block takes one byte, whatever the size it expands to. */
    uint32_t size = block >> 3, taken = type == BLOCK_RUN ? 1 : size;

    if (type == BLOCK_RESERVED || size > frame->block_most || taken > frame->block_most) {
        *fault =
            (struct zstd_fault){.kind = type == BLOCK_RESERVED ? ZSTD_BLOCK_TYPE : ZSTD_BLOCK_SIZE,
                                .frame = frame->begin,
                                .where = frame->position};
        return false;
    }
    frame->position += BLOCK_HEADER + taken;
    frame->blocks++;
    if (block & 1)
        frame->end = frame->position + (frame->checksum ? 4 : 0);
    return true;
}

bool zstd_block(struct zstd_view *view, struct zstd_frame *frame, struct zstd_fault *fault)
{
    const uint64_t input_bytes = view->source->info.input_bytes;
    const unsigned char *b;
    size_t got;

    if (frame->position >= input_bytes)
        return cut_off(fault, frame->begin);
    b = zstd_view_at(view, frame->position, BLOCK_HEADER, &got);
    if (!b)
        return read_failure(fault, frame->begin);
    if (got < BLOCK_HEADER)
        return cut_off(fault, frame->begin);
    if (!pass_block(b, frame, fault))
        return false;
    return frame->end == SOURCE_UNKNOWN || frame->end <= input_bytes ||
           cut_off(fault, frame->begin);
}

bool zstd_all_there(const unsigned char *b, size_t got, struct zstd_frame frame)
{
    struct zstd_fault fault;

    while (frame.end == SOURCE_UNKNOWN) {
        uint64_t at = frame.position - frame.begin;

        if (at + BLOCK_HEADER > got || !pass_block(b + at, &frame, &fault))
            return false;
    }
    return frame.end - frame.begin <= got;
}

bool zstd_walk(struct zstd_view *view, struct zstd_frame *frame, uint64_t blocks,
               struct zstd_fault *fault)
{
    for (uint64_t i = 0; i < blocks && frame->end == SOURCE_UNKNOWN; i++)
        if (!zstd_block(view, frame, fault))
            return false;
    return true;
}

/*
 * Hints.
 */

/* Looks for a seek table. Whether its entries are true is seen when they are followed. */
static void find_table(struct zstd_finder *f)
{
    uint64_t end = f->view.source->info.input_bytes, entries, size;
    const unsigned char *b;
    unsigned entry_bytes;
    size_t got;

    if (end < SKIPPABLE_HEADER + TABLE_FOOTER)
        return;
    b = zstd_view_at(&f->view, end - TABLE_FOOTER, TABLE_FOOTER, &got);
    if (!b || got < TABLE_FOOTER || load32(b + 5) != TABLE_FOOTER_MAGIC || b[4] & TABLE_RESERVED)
        return;
    entries = load32(b);
    entry_bytes = b[4] & TABLE_CHECKSUMS ? 12 : 8;
    size = entries * entry_bytes + TABLE_FOOTER;
    if (size > end - SKIPPABLE_HEADER)
        return;
    b = zstd_view_at(&f->view, end - size - SKIPPABLE_HEADER, SKIPPABLE_HEADER, &got);
    if (!b || got < SKIPPABLE_HEADER || load32(b) != TABLE_MAGIC || load32(b + 4) != size)
        return;
    f->table = end - size - SKIPPABLE_HEADER;
    f->entry = f->table + SKIPPABLE_HEADER;
    f->entries_end = end - TABLE_FOOTER;
    f->entry_bytes = entry_bytes;
}

/* The next entry of the table. False when there is none. */
static bool next_entry(struct zstd_finder *f, uint64_t *size, uint64_t *content)
{
    unsigned char b[8];
    struct source *s = f->view.source;

    if (!f->table)
        return false;
    if (f->entry == f->entries_end ||
        source_pread(s, b, sizeof b, s->start + f->entry) != sizeof b) {
        f->table = 0;
        return false;
    }
    atomic_fetch_sub(&s->input_read, sizeof b);
    f->entry += f->entry_bytes;
    *size = load32(b);
    *content = load32(b + 4);
    return true;
}

/* What blocks can hold at most that take this many bytes. */
static uint64_t most_of(uint64_t bytes)
{
    return (bytes / BLOCK_BYTES_MIN + 1) * ZSTD_BLOCK_CONTENT_MAX;
}

/* Whether the frame may be `size` bytes and hold `content`: it fits, and where it ends the input
   does too, or another frame begins. */
static bool credible(struct zstd_finder *f, uint64_t size, uint64_t content)
{
    uint64_t end = f->frame.begin + size;
    const unsigned char *b;
    size_t got;

    if (end < f->frame.position || end > f->view.source->info.input_bytes ||
        (content != SOURCE_UNKNOWN && content > most_of(size)))
        return false;
    if (end == f->view.source->info.input_bytes)
        return true;
    b = zstd_view_at(&f->view, end, 4, &got);
    return b && zstd_recognise(b, got);
}

/* Takes the frame's end, and perhaps its content, from a hint, when there is a credible one.
   `size` is pzstd's, 0 without one. */
static void follow_hint(struct zstd_finder *f, uint64_t size)
{
    uint64_t table_size, content;

    bool by_hint = false;

    if (next_entry(f, &table_size, &content)) {
        if ((f->frame.content == SOURCE_UNKNOWN || f->frame.content == content) &&
            f->frame.begin + table_size <= f->table && credible(f, table_size, content)) {
            f->frame.content = content;
            size = table_size;
            by_hint = true;
        } else {
            f->table = 0;
        }
    }
    if (!by_hint)
        by_hint = size > 0 && credible(f, size, f->frame.content);
    if (by_hint) {
        f->frame.end = f->frame.begin + size;
        f->hinted = true;
    }
}

/* A skippable frame is being left behind: the table has to know it. */
static void pass_entry(struct zstd_finder *f, uint64_t skippable)
{
    uint64_t size, content;

    if (f->table && f->next < f->table && next_entry(f, &size, &content) &&
        (size != skippable || content != 0))
        f->table = 0;
}

/*
 * Finding.
 */

void zstd_finder_init(struct zstd_finder *f, struct source *s, const unsigned char *map,
                      uint64_t large, unsigned workers)
{
    *f = (struct zstd_finder){
        .map = map, .large = large, .workers = workers, .last_size = SOURCE_UNKNOWN};
    f->view = (struct zstd_view){.source = s, .buffer = f->buffer, .capacity = sizeof f->buffer};
    find_table(f);
}

/* Steps over skippable frames and begins the next frame. False at the end of the input, or with
   f->fault. */
static bool begin_frame(struct zstd_finder *f)
{
    struct source *s = f->view.source;
    uint64_t hint = 0;

    while (f->next < s->info.input_bytes) {
        size_t got;
        const unsigned char *b =
            zstd_view_at(&f->view, f->next, SKIPPABLE_HEADER + HINT_CONTENT, &got);
        uint64_t skippable;

        if (!b)
            return read_failure(&f->fault, f->next);
        if (!zstd_recognise(b, got)) {
            f->fault = (struct zstd_fault){.kind = ZSTD_NO_FRAME, .frame = f->next};
            return false;
        }
        if (!is_skippable(load32(b))) {
            if (!zstd_header(&f->view, f->next, &f->frame, &f->fault))
                return false;
            follow_hint(f, hint);
            f->in_frame = true;
            f->announced = false;
            return true;
        }
        skippable = zstd_skippable(b, got);
        if (skippable == 0 || skippable > s->info.input_bytes - f->next)
            return cut_off(&f->fault, f->next);
        hint = load32(b) == HINT_MAGIC && skippable == SKIPPABLE_HEADER + HINT_CONTENT
                   ? load32(b + SKIPPABLE_HEADER)
                   : 0;
        pass_entry(f, skippable);
        atomic_fetch_add(&s->input_read, skippable);
        f->next += skippable;
    }
    return false;
}

/* What the frame, whose end is known, can hold at most. */
static uint64_t frame_most(const struct zstd_frame *frame)
{
    if (frame->content != SOURCE_UNKNOWN)
        return frame->content;
    return frame->blocks > 0 ? frame->blocks * ZSTD_BLOCK_CONTENT_MAX
                             : most_of(frame->end - frame->position); /* not walked, for a hint */
}

/* Compressed bytes to put into one batch. */
static uint64_t batch_bytes(const struct zstd_finder *f)
{
    uint64_t bytes = (f->view.source->info.input_bytes - f->next) / 4 / f->workers;

    return bytes > BATCH_BYTES ? BATCH_BYTES : bytes < BATCH_BYTES_MIN ? BATCH_BYTES_MIN : bytes;
}

/* Whether the frame, which is complete, can join the batch: all small, and all of them say how long
   they are, or none does. */
static bool joins(const struct zstd_finder *f, const struct zstd_batch *batch)
{
    return (batch->content == SOURCE_UNKNOWN) == (f->frame.content == SOURCE_UNKNOWN) &&
           f->frame.end - batch->begin <= batch_bytes(f) && frame_most(&f->frame) <= f->large;
}

static void add_frame(struct zstd_finder *f, struct zstd_batch *batch)
{
    uint64_t most = frame_most(&f->frame);

    if (batch->frames++ == 0) {
        batch->begin = f->frame.begin;
        batch->content = batch->most = batch->frame_most = 0;
    }
    batch->end = f->frame.end;
    batch->content =
        f->frame.content == SOURCE_UNKNOWN ? SOURCE_UNKNOWN : batch->content + f->frame.content;
    batch->most += most;
    if (batch->frame_most < most)
        batch->frame_most = most;
    batch->window = f->frame.window;
    batch->walked = f->frame.blocks > 0;
    batch->hinted = f->hinted;
    f->last_size = f->frame.end - f->frame.begin;
    f->next = f->frame.end;
    f->in_frame = false;
}

/* Walks the frame on, until all of it, that it is large, or enough for once is known. */
static bool walk_on(struct zstd_finder *f)
{
    uint64_t blocks = STINT_BLOCKS, large = f->large / ZSTD_BLOCK_CONTENT_MAX + 1;

    if (!f->announced && f->frame.blocks < large && blocks > large - f->frame.blocks)
        blocks = large - f->frame.blocks;
    if (!zstd_walk(&f->view, &f->frame, blocks, &f->fault))
        return false;
    if (f->frame.end != SOURCE_UNKNOWN && f->frame.content != SOURCE_UNKNOWN &&
        f->frame.content > f->frame.blocks * ZSTD_BLOCK_CONTENT_MAX) {
        f->fault = (struct zstd_fault){.kind = ZSTD_TOO_LITTLE,
                                       .frame = f->frame.begin,
                                       .where = f->frame.content,
                                       .count = f->frame.blocks};
        return false;
    }
    return true;
}

enum zstd_found zstd_find(struct zstd_finder *f, struct zstd_batch *batch)
{
    *batch = (struct zstd_batch){.frames = 0};
    f->view.map = f->last_size <= DENSE_BYTES ? f->map : NULL;
    for (;;) {
        if (f->fault.kind == ZSTD_SOUND && (f->in_frame || begin_frame(f)) &&
            f->frame.end == SOURCE_UNKNOWN)
            (void)walk_on(f);
        /* What stands before a fault is sound. */
        if (batch->frames > 0 && (f->fault.kind != ZSTD_SOUND || !f->in_frame ||
                                  f->frame.end == SOURCE_UNKNOWN || !joins(f, batch)))
            return ZSTD_FOUND;
        if (f->fault.kind != ZSTD_SOUND)
            return ZSTD_FOUND_FAULT;
        if (!f->in_frame)
            return ZSTD_FOUND_END;
        if (f->frame.end == SOURCE_UNKNOWN) {
            if (f->announced || f->frame.blocks * ZSTD_BLOCK_CONTENT_MAX <= f->large)
                return ZSTD_FOUND_NONE;
            f->announced = true;
            *batch = (struct zstd_batch){.begin = f->frame.begin,
                                         .end = SOURCE_UNKNOWN,
                                         .content = f->frame.content,
                                         .most = SOURCE_UNKNOWN,
                                         .frame_most = SOURCE_UNKNOWN,
                                         .window = f->frame.window,
                                         .frames = 1,
                                         .walked = true,
                                         .hinted = f->hinted};
            return ZSTD_FOUND_LARGE;
        }
        add_frame(f, batch);
        if (f->announced)
            return ZSTD_FOUND_REST;
        if (batch->frame_most > f->large || f->next - batch->begin >= batch_bytes(f))
            return ZSTD_FOUND;
    }
}
