#include "config.h"

#include "zstd/cutter.h"

#include "zstd/cut.h"

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
static bool add(const struct zstd_cutter *c, struct zstd_stretch *stretch,
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
               ? !zstd_takes_most(frame, input_bytes)
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

        switch (zstd_find_frame(&c->finder, &frame)) {
        case ZSTD_FOUND:
            known = add(c, stretch, &frame);
            break;
        case ZSTD_FOUND_NONE:
            known = goes_on(&frame, input_bytes);
            break;
        case ZSTD_FOUND_END:
            ended = true;
            break;
        case ZSTD_FOUND_LARGE:
        case ZSTD_FOUND_REST:
        case ZSTD_FOUND_FAULT:
            known = false;
            break;
        }
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
