#include "config.h"

#include "zstd/cut.h"

#include <stdlib.h>

#include "zstd/finder.h"

/* The frames so far, and what is cut. */
struct cutter {
    uint64_t begin, end; /* asked for */
    bool begun, ended;   /* found */
    struct zstd_cut *part;
    uint64_t boundary; /* where the last frame with content ends */
    uint64_t frames;   /* with content */
    uint64_t content;  /* of all frames */
};

/* A part begins or ends at the first boundary that is not in front of where it was to. */
static void look(struct cutter *c)
{
    if (!c->begun && c->boundary >= c->begin) {
        c->begun = true;
        c->part->begin = c->boundary;
        c->part->content_begin = c->content;
    }
    if (!c->ended && c->boundary >= c->end) {
        c->ended = true;
        c->part->end = c->boundary;
        c->part->content_end = c->content;
    }
}

/* A frame that ends at offset `end`, and holds `content`. False where that cannot be. */
static bool add(struct cutter *c, uint64_t end, uint64_t content)
{
    if (content == 0)
        return true;
    if (content >= ZSTD_UNKNOWN - c->content)
        return false;
    look(c);
    c->boundary = end;
    c->content += content;
    c->frames++;
    return true;
}

/* All frames are known. Whether there is something to cut. */
static bool complete(struct cutter *c, uint64_t input_bytes, bool hinted)
{
    c->begin = c->end = 0; /* a part that has not begun or ended does so at the input's end */
    c->boundary = input_bytes;
    look(c);
    c->part->content = c->content;
    c->part->hinted = hinted;
    return c->frames > 1;
}

/* By a seek table, whose entries come to all that is in front of it. */
static bool cut_by_table(struct cutter *c, struct zstd_seek_table *table, uint64_t input_bytes)
{
    const uint64_t begin = table->begin;
    uint64_t at = 0, size, content;

    while (table->entry < table->entries_end && zstd_seek_table_next(table, &size, &content)) {
        at += size;
        if (!add(c, at, content))
            return false;
    }
    return table->begin > 0 && at == begin && complete(c, input_bytes, true);
}

bool zstd_takes_most(const struct zstd_frame *frame, uint64_t input_bytes)
{
    const double blocks = (double)frame->content / (double)ZSTD_BLOCK_CONTENT_MAX;
    const double each = (double)(frame->position - frame->begin) / (double)frame->blocks;

    return blocks * each > (double)input_bytes / 2;
}

/* By walking. */
static bool cut_by_frames(struct cutter *c, struct zstd_finder *f, uint64_t input_bytes)
{
    struct zstd_frame frame;
    uint64_t headers = 0;

    for (;;) {
        switch (zstd_find_frame(f, &frame)) {
        case ZSTD_FOUND:
            headers += 1 + frame.blocks;
            if (frame.content == ZSTD_UNKNOWN || headers > ZSTD_CUT_HEADERS ||
                !add(c, frame.end, frame.content))
                return false;
            break;
        case ZSTD_FOUND_NONE:
            if (frame.content == ZSTD_UNKNOWN || headers + frame.blocks > ZSTD_CUT_HEADERS ||
                zstd_takes_most(&frame, input_bytes))
                return false;
            break;
        case ZSTD_FOUND_END:
            return complete(c, input_bytes, f->hinted);
        case ZSTD_FOUND_LARGE:
        case ZSTD_FOUND_REST:
        case ZSTD_FOUND_FAULT:
            return false;
        }
    }
}

bool zstd_cut(struct zstd_file *file, uint64_t begin, uint64_t end, struct zstd_cut *part)
{
    const uint64_t input_bytes = file->size;
    struct cutter c = {.begin = begin, .end = end, .part = part}, again = c;
    struct zstd_finder *f = malloc(sizeof *f);
    bool good;

    if (!f)
        return false;
    zstd_finder_init(f, file, NULL, ZSTD_UNKNOWN / 2, 1);
    good = f->table.begin > 0 && cut_by_table(&c, &f->table, input_bytes);
    if (!good) {
        f->table.begin = 0;
        good = cut_by_frames(&again, f, input_bytes);
    }
    free(f);
    return good;
}
