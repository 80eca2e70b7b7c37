#include "config.h"

#include "zstd/cut.h"

#include <stdlib.h>

/* With more headers than this a file is not cut for processes. Each costs a read, 1 to 2 us where it is
   cached. */
#define CUT_HEADERS ((uint64_t)1 << 20)

/* The frames so far, and what is cut. */
struct cutting {
    uint64_t begin, end; /* asked for */
    bool begun, ended;   /* found */
    struct zstd_cut *part;
    uint64_t boundary; /* where the last frame with content ends */
    uint64_t frames;   /* with content */
    uint64_t content;  /* of all frames */
};

/* A part begins or ends at the first boundary that is not in front of where it was to. */
static void look(struct cutting *c)
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
static bool add(struct cutting *c, uint64_t end, uint64_t content)
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
static bool complete(struct cutting *c, uint64_t input_bytes, bool hinted)
{
    c->begin = c->end = 0; /* a part that has not begun or ended does so at the input's end */
    c->boundary = input_bytes;
    look(c);
    c->part->content = c->content;
    c->part->hinted = hinted;
    return c->frames > 1;
}

/* By a seek table, whose entries come to all that is in front of it. */
static bool cut_by_table(struct cutting *c, struct zstd_seek_table *table, uint64_t input_bytes)
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

/* Whether a frame whose end is not known looks so long, as far as it has been walked, that there is
   nothing to be gained by cutting: it takes most of the input. */
static bool takes_most(const struct zstd_frame *frame, uint64_t input_bytes)
{
    const double blocks = (double)frame->content / (double)ZSTD_BLOCK_CONTENT_MAX;
    const double each = (double)(frame->position - frame->begin) / (double)frame->blocks;

    return blocks * each > (double)input_bytes / 2;
}

/* By walking. */
static bool cut_by_frames(struct cutting *c, struct zstd_finder *f, uint64_t input_bytes)
{
    struct zstd_frame frame;
    uint64_t headers = 0;

    for (;;) {
        const enum zstd_found found = zstd_find_frame(f, &frame);
        const bool whole = found == ZSTD_FOUND;

        if (found == ZSTD_FOUND_END)
            return complete(c, input_bytes, f->hinted);
        if (found == ZSTD_FOUND_FAULT || frame.content == ZSTD_UNKNOWN ||
            headers + whole + frame.blocks > CUT_HEADERS ||
            (whole ? !add(c, frame.end, frame.content) : takes_most(&frame, input_bytes)))
            return false;
        headers += whole ? 1 + frame.blocks : 0;
    }
}

bool zstd_cut(struct zstd_file *file, uint64_t begin, uint64_t end, struct zstd_cut *part)
{
    const uint64_t input_bytes = file->size;
    struct cutting c = {.begin = begin, .end = end, .part = part}, again = c;
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

/*
 * Stretches for several decoders.
 */

/* The length of a frame that does not state its content is found by walking through it only. A
   frame of more than this part of the input is not worth that. */
#define WALKED_MOST 8

/* Positions are less than this, so that they can be added. */
#define POSITION_MAX ((uint64_t)1 << 62)

void zstd_cutter_init(struct zstd_cutter *c, struct zstd_file *file, uint64_t first,
                      unsigned alignment)
{
    zstd_finder_init(&c->finder, file, NULL, ZSTD_UNKNOWN / 2, 1);
    c->finder.uncounted = true;
    c->first = first;
    c->alignment = alignment;
    c->begin = c->position = c->most = 0;
}

/* Adds a frame to the stretch. False where it says that it holds more than anything can. */
static bool extend(const struct zstd_cutter *c, struct zstd_stretch *stretch,
                   const struct zstd_frame *frame)
{
    const uint64_t most =
        frame->content != ZSTD_UNKNOWN ? frame->content : zstd_most_of(frame->end - frame->begin);

    if (most >= POSITION_MAX - (c->most + stretch->most))
        return false;
    stretch->end = frame->end;
    stretch->most += most;
    if (frame->content == ZSTD_UNKNOWN)
        stretch->content = ZSTD_UNKNOWN;
    if (stretch->content != ZSTD_UNKNOWN)
        stretch->content += frame->content;
    return true;
}

/* Whether the stretch may end where it does. If nobody can tell, the next one is assumed to begin
   with an element. */
static bool may_end(const struct zstd_cutter *c, const struct zstd_stretch *stretch, uint64_t least)
{
    const uint64_t position = c->position + stretch->content;

    return stretch->end - stretch->begin >= least &&
           (stretch->content == ZSTD_UNKNOWN ||
            (position >= c->first && (position - c->first) % c->alignment == 0));
}

/* Whether it is worth it to look for the end of a frame that takes long. */
static bool goes_on(const struct zstd_frame *frame, uint64_t input_bytes)
{
    return frame->content != ZSTD_UNKNOWN
               ? !takes_most(frame, input_bytes)
               : frame->position - frame->begin < input_bytes / WALKED_MOST;
}

/* Goes on behind a stretch, which the next one begins behind. */
static void pass(struct zstd_cutter *c, const struct zstd_stretch *stretch)
{
    c->begin = stretch->end;
    c->most += stretch->most;
    if (stretch->content != ZSTD_UNKNOWN)
        c->position += stretch->content;
    else /* the first byte of an element: which one it is does not matter */
        c->position = c->first;
}

bool zstd_cutter_next(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch)
{
    const uint64_t input_bytes = c->finder.view.file->size;
    bool known = true, ended = false;

    if (c->begin == input_bytes)
        return false;
    *stretch = (struct zstd_stretch){.begin = c->begin, .end = c->begin};
    while (known && !ended && !may_end(c, stretch, least)) {
        struct zstd_frame frame;
        const enum zstd_found found = zstd_find_frame(&c->finder, &frame);

        ended = found == ZSTD_FOUND_END;
        known = ended || (found == ZSTD_FOUND && extend(c, stretch, &frame)) ||
                (found == ZSTD_FOUND_NONE && goes_on(&frame, input_bytes));
    }
    if (!known) {
        stretch->content = ZSTD_UNKNOWN;
        stretch->most = zstd_most_of(input_bytes - stretch->begin);
    }
    if (!known || ended)
        stretch->end = input_bytes;
    pass(c, stretch);
    return true;
}
