#include "config.h"

#include "zstd/finder.h"

/*
 * The seek table.
 */

/* A skippable frame of this magic at the end of the file. It holds an entry for each frame (its
   size, its content's, and perhaps a checksum), and a footer: how many there are, a descriptor (bit
   7: with checksums; bits 6 to 2 are reserved), and another magic. See contrib/seekable_format in
   the sources of zstd. */
#define TABLE_MAGIC 0x184d2a5eu
#define TABLE_FOOTER_MAGIC 0x8f92eab1u
#define TABLE_FOOTER 9
#define TABLE_CHECKSUMS 0x80
#define TABLE_RESERVED 0x7c

/* The bytes of an entry that are looked at. */
#define ENTRY_READ 8

/* Looks for a table. Whether its entries are true is seen when they are followed. */
static void find_table(struct zstd_seek_table *t, struct zstd_file *file)
{
    uint64_t end = file->size, entries, size;
    const unsigned char *b;
    unsigned entry_bytes;
    size_t got;

    *t = (struct zstd_seek_table){.begin = 0};
    t->view = (struct zstd_view){.file = file, .buffer = t->buffer, .capacity = sizeof t->buffer};
    if (end < ZSTD_SKIPPABLE_HEADER + TABLE_FOOTER)
        return;
    b = zstd_view_at(&t->view, end - TABLE_FOOTER, TABLE_FOOTER, &got);
    if (!b || got < TABLE_FOOTER || zstd_load32(b + 5) != TABLE_FOOTER_MAGIC ||
        b[4] & TABLE_RESERVED)
        return;
    entries = zstd_load32(b);
    entry_bytes = b[4] & TABLE_CHECKSUMS ? 12 : 8;
    size = entries * entry_bytes + TABLE_FOOTER;
    if (size > end - ZSTD_SKIPPABLE_HEADER)
        return;
    b = zstd_view_at(&t->view, end - size - ZSTD_SKIPPABLE_HEADER, ZSTD_SKIPPABLE_HEADER, &got);
    if (!b || got < ZSTD_SKIPPABLE_HEADER || zstd_load32(b) != TABLE_MAGIC ||
        zstd_load32(b + 4) != size)
        return;
    t->begin = end - size - ZSTD_SKIPPABLE_HEADER;
    t->entry = t->begin + ZSTD_SKIPPABLE_HEADER;
    t->entries_end = end - TABLE_FOOTER;
    t->entry_bytes = entry_bytes;
}

bool zstd_seek_table_next(struct zstd_seek_table *t, uint64_t *size, uint64_t *content)
{
    const unsigned char *b = NULL;
    size_t got = 0;

    if (!t->begin)
        return false;
    if (t->entry < t->entries_end)
        b = zstd_view_at(&t->view, t->entry, ENTRY_READ, &got);
    if (!b || got < ENTRY_READ) {
        t->begin = 0;
        return false;
    }
    t->entry += t->entry_bytes;
    *size = zstd_load32(b);
    *content = zstd_load32(b + 4);
    return true;
}

/* pzstd's hint: a skippable frame of this magic whose content is the size of the next frame. */
#define HINT_MAGIC 0x184d2a50u
#define HINT_CONTENT 4

/* The shortest block: a header, and the byte that a run-length block repeats. An empty raw block is
   shorter, but holds nothing. */
#define BLOCK_BYTES_MIN 4

/* Small frames share a batch up to this many compressed bytes: several thousand of the smallest. */
#define BATCH_BYTES ((uint64_t)4 << 20)

/* Towards the end batches shrink, so that all workers end together; not below this. */
#define BATCH_BYTES_MIN ((uint64_t)64 << 10)

/* Frames up to this size are walked in the mapped file: every page or two has a header. For larger
   ones only the pages with headers are read, in 2 us each: a page fault costs the same, and would
   make the pages around it resident, too. Bytes. */
#define DENSE_BYTES ((uint64_t)16 << 10)

/* Blocks walked before zstd_find returns: a fraction of a millisecond. */
#define STINT_BLOCKS 256

/*
 * Hints.
 */

uint64_t zstd_most_of(uint64_t bytes)
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

    if (end < f->frame.position || end > f->view.file->size ||
        (content != ZSTD_UNKNOWN && content > zstd_most_of(size)))
        return false;
    if (end == f->view.file->size)
        return true;
    b = zstd_view_at(&f->view, end, 4, &got);
    return b && zstd_recognise(b, got);
}

/* Takes the frame's content and *size from the seek table. False when its entry is not credible:
   then the table is not followed any more. */
static bool follow_table(struct zstd_finder *f, uint64_t *size)
{
    uint64_t content;

    if (!zstd_seek_table_next(&f->table, size, &content))
        return false;
    if ((f->frame.content != ZSTD_UNKNOWN && f->frame.content != content) ||
        f->frame.begin + *size > f->table.begin || !credible(f, *size, content)) {
        f->table.begin = 0;
        return false;
    }
    f->frame.content = content;
    return true;
}

/* Takes the frame's end from a hint, where there is a credible one: the seek table's, or pzstd's,
   which is `hint` bytes; 0 without one. */
static void follow_hint(struct zstd_finder *f, uint64_t hint)
{
    uint64_t size;

    if (!follow_table(f, &size)) {
        if (hint == 0 || !credible(f, hint, f->frame.content))
            return;
        size = hint;
    }
    f->frame.end = f->frame.begin + size;
    f->hinted = true;
}

/* Steps over the table's entry for a skippable frame of this size. A table without it is wrong. */
static void pass_entry(struct zstd_finder *f, uint64_t skippable)
{
    uint64_t size, content;

    if (f->next < f->table.begin && zstd_seek_table_next(&f->table, &size, &content) &&
        (size != skippable || content != 0))
        f->table.begin = 0;
}

/*
 * Finding.
 */

void zstd_finder_init(struct zstd_finder *f, struct zstd_file *file, const unsigned char *map,
                      uint64_t small_max, unsigned workers)
{
    *f = (struct zstd_finder){.map = map,
                              .small_max = small_max,
                              .workers = workers,
                              .last_size = ZSTD_UNKNOWN,
                              .state = ZSTD_FINDER_BETWEEN};
    f->view = (struct zstd_view){.file = file, .buffer = f->buffer, .capacity = sizeof f->buffer};
    find_table(&f->table, file);
}

void zstd_finder_start(struct zstd_finder *f, const struct zstd_cut *part)
{
    const uint64_t begin = part->begin;
    uint64_t at = 0, size, content;

    f->next = begin;
    f->cut = part->end;
    f->hinted = part->hinted;
    while (at < begin && zstd_seek_table_next(&f->table, &size, &content))
        at += size;
    if (at != begin)
        f->table.begin = 0;
}

void zstd_finder_note_end(struct zstd_finder *f, uint64_t begin, uint64_t end, uint64_t content)
{
    if (f->state != ZSTD_FINDER_LARGE || f->frame.begin != begin)
        return;
    f->frame.end = end;
    f->frame.blocks = content / ZSTD_BLOCK_CONTENT_MAX + 1;
}

/* Steps over the skippable frame at f->next, of which the first `got` bytes are `b`. *hint is the
   size of the next frame, where this one is pzstd's hint; otherwise 0. */
static void skip_frame(struct zstd_finder *f, const unsigned char *b, size_t got, uint64_t *hint)
{
    struct zstd_file *file = f->view.file;
    uint64_t size = zstd_skippable_size(b, got);

    if (size == 0 || size > file->size - f->next) {
        zstd_set_fault(&f->fault, ZSTD_CUT_OFF, f->next);
        return;
    }
    *hint = zstd_load32(b) == HINT_MAGIC && size == ZSTD_SKIPPABLE_HEADER + HINT_CONTENT
                ? zstd_load32(b + ZSTD_SKIPPABLE_HEADER)
                : 0;
    pass_entry(f, size);
    if (!f->uncounted)
        atomic_fetch_add(&file->input_read, size);
    f->next += size;
}

/* Steps over skippable frames, and begins the next frame. Between frames it stays at the end of the
   input, and at a fault. */
static void begin_frame(struct zstd_finder *f)
{
    uint64_t hint = 0;

    while (f->fault.kind == ZSTD_SOUND && f->next < f->view.file->size) {
        size_t got;
        const unsigned char *b =
            zstd_view_at(&f->view, f->next, ZSTD_SKIPPABLE_HEADER + HINT_CONTENT, &got);

        if (!b) {
            zstd_set_fault(&f->fault, ZSTD_READ_FAILURE, f->next);
        } else if (!zstd_recognise(b, got)) {
            zstd_set_fault(&f->fault, ZSTD_NO_FRAME, f->next);
        } else if (zstd_is_skippable(b, got)) {
            skip_frame(f, b, got, &hint);
        } else if (zstd_header(&f->view, f->next, &f->frame, &f->fault)) {
            follow_hint(f, hint);
            f->state = ZSTD_FINDER_FRAME;
            return;
        }
    }
}

/* Blocks that a small frame may have without being able to hold more than f->small_max. */
static uint64_t small_blocks(const struct zstd_finder *f)
{
    return f->small_max / ZSTD_BLOCK_CONTENT_MAX;
}

/* Walks the frame's blocks until its end is known, or that it is large, or it takes too long. */
static void walk_on(struct zstd_finder *f)
{
    uint64_t blocks = STINT_BLOCKS, large = small_blocks(f) + 1;

    if (f->state == ZSTD_FINDER_FRAME && f->frame.blocks < large &&
        blocks > large - f->frame.blocks)
        blocks = large - f->frame.blocks;
    if (!zstd_walk(&f->view, &f->frame, blocks, &f->fault))
        return;
    if (f->frame.end != ZSTD_UNKNOWN && f->frame.content != ZSTD_UNKNOWN &&
        f->frame.content > f->frame.blocks * ZSTD_BLOCK_CONTENT_MAX)
        f->fault = (struct zstd_fault){.kind = ZSTD_TOO_LITTLE,
                                       .frame = f->frame.begin,
                                       .where = f->frame.content,
                                       .count = f->frame.blocks};
}

/* Begins a frame unless there is one, and looks for its end. */
static void go_on(struct zstd_finder *f)
{
    if (f->state == ZSTD_FINDER_BETWEEN)
        begin_frame(f);
    if (f->state != ZSTD_FINDER_BETWEEN && f->fault.kind == ZSTD_SOUND &&
        f->frame.end == ZSTD_UNKNOWN)
        walk_on(f);
}

/*
 * Batches.
 */

/* The most bytes that the frame, whose end is known, can hold. */
static uint64_t frame_most(const struct zstd_frame *frame)
{
    if (frame->content != ZSTD_UNKNOWN)
        return frame->content;
    return frame->blocks > 0
               ? frame->blocks * ZSTD_BLOCK_CONTENT_MAX
               : zstd_most_of(frame->end - frame->position); /* not walked, for a hint */
}

/* Compressed bytes to put into one batch. */
static uint64_t batch_bytes(const struct zstd_finder *f)
{
    uint64_t bytes = (f->view.file->size - f->next) / 4 / f->workers;

    return bytes > BATCH_BYTES ? BATCH_BYTES : bytes < BATCH_BYTES_MIN ? BATCH_BYTES_MIN : bytes;
}

/* Whether the finder has a whole, sound frame that can join the batch: all of them are small, and
   either all of them state what they hold or none does. */
static bool joins(const struct zstd_finder *f, const struct zstd_batch *batch)
{
    return f->fault.kind == ZSTD_SOUND && f->state != ZSTD_FINDER_BETWEEN &&
           f->frame.end != ZSTD_UNKNOWN &&
           (batch->content == ZSTD_UNKNOWN) == (f->frame.content == ZSTD_UNKNOWN) &&
           (batch->begin < f->cut) == (f->frame.begin < f->cut) &&
           f->frame.end - batch->begin <= batch_bytes(f) && frame_most(&f->frame) <= f->small_max;
}

/* Adds the finder's frame, which is complete, to the batch. */
static void add_frame(struct zstd_finder *f, struct zstd_batch *batch)
{
    uint64_t most = frame_most(&f->frame);

    if (batch->frames++ == 0) {
        batch->begin = f->frame.begin;
        batch->content = batch->most = batch->frame_most = 0;
    }
    batch->end = f->frame.end;
    batch->content =
        f->frame.content == ZSTD_UNKNOWN ? ZSTD_UNKNOWN : batch->content + f->frame.content;
    batch->most += most;
    if (batch->frame_most < most)
        batch->frame_most = most;
    batch->window = f->frame.window;
    batch->walked = f->frame.blocks > 0;
    batch->hinted = f->hinted;
    f->last_size = f->frame.end - f->frame.begin;
    f->next = f->frame.end;
    f->state = ZSTD_FINDER_BETWEEN;
}

/* Hands the finder's frame out as a large one, before its end is known. */
static void announce(struct zstd_finder *f, struct zstd_batch *batch)
{
    f->state = ZSTD_FINDER_LARGE;
    *batch = (struct zstd_batch){.begin = f->frame.begin,
                                 .end = ZSTD_UNKNOWN,
                                 .content = f->frame.content,
                                 .most = ZSTD_UNKNOWN,
                                 .frame_most = ZSTD_UNKNOWN,
                                 .window = f->frame.window,
                                 .frames = 1,
                                 .walked = true,
                                 .hinted = f->hinted};
}

enum zstd_found zstd_find(struct zstd_finder *f, struct zstd_batch *batch)
{
    *batch = (struct zstd_batch){.frames = 0};
    f->view.map = f->last_size <= DENSE_BYTES ? f->map : NULL;
    for (;;) {
        bool large = f->state == ZSTD_FINDER_LARGE;

        go_on(f);
        /* The data before a fault are sound, and are handed out first. */
        if (batch->frames > 0 && !joins(f, batch))
            return ZSTD_FOUND;
        if (f->fault.kind != ZSTD_SOUND)
            return ZSTD_FOUND_FAULT;
        if (f->state == ZSTD_FINDER_BETWEEN)
            return ZSTD_FOUND_END;
        if (f->frame.end == ZSTD_UNKNOWN) {
            if (large || f->frame.blocks <= small_blocks(f))
                return ZSTD_FOUND_NONE;
            announce(f, batch);
            return ZSTD_FOUND_LARGE;
        }
        add_frame(f, batch);
        if (large)
            return ZSTD_FOUND_REST;
        if (batch->frame_most > f->small_max || f->next - batch->begin >= batch_bytes(f))
            return ZSTD_FOUND;
    }
}

enum zstd_found zstd_find_frame(struct zstd_finder *f, struct zstd_frame *frame)
{
    go_on(f);
    if (f->fault.kind != ZSTD_SOUND)
        return ZSTD_FOUND_FAULT;
    if (f->state == ZSTD_FINDER_BETWEEN)
        return ZSTD_FOUND_END;
    *frame = f->frame;
    if (f->frame.end == ZSTD_UNKNOWN)
        return ZSTD_FOUND_NONE;
    f->next = f->frame.end;
    f->state = ZSTD_FINDER_BETWEEN;
    return ZSTD_FOUND;
}
