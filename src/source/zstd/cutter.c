#include "config.h"

#include "source/zstd/cutter.h"

#include "source/zstd/cut.h"

void zstd_cutter_init(struct zstd_cutter *c, struct source *s, uint64_t first, unsigned alignment)
{
    zstd_finder_init(&c->finder, s, NULL, SOURCE_UNKNOWN / 2, 1);
    c->finder.uncounted = true;
    c->first = first;
    c->alignment = alignment;
    c->begin = c->position = 0;
}

/* Adds a frame to the stretch. False where what it holds cannot be told. */
static bool add(struct zstd_stretch *stretch, const struct zstd_frame *frame)
{
    const uint64_t position = stretch->position + stretch->content;

    if (frame->content == SOURCE_UNKNOWN || frame->content >= SOURCE_UNKNOWN - position)
        return false;
    stretch->end = frame->end;
    stretch->content += frame->content;
    return true;
}

/* Whether the stretch may end where it does. */
static bool may_end(const struct zstd_cutter *c, const struct zstd_stretch *stretch, uint64_t least)
{
    const uint64_t position = stretch->position + stretch->content;

    return stretch->end - stretch->begin >= least && position >= c->first &&
           (position - c->first) % c->alignment == 0;
}

bool zstd_cutter_next(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch)
{
    const uint64_t input_bytes = c->finder.view.source->info.input_bytes;
    bool known = true, ended = false;

    if (c->begin == input_bytes)
        return false;
    *stretch = (struct zstd_stretch){c->begin, c->begin, c->position, 0};
    while (known && !ended && !may_end(c, stretch, least)) {
        struct zstd_frame frame;

        switch (zstd_find_frame(&c->finder, &frame)) {
        case ZSTD_FOUND:
            known = add(stretch, &frame);
            break;
        case ZSTD_FOUND_NONE:
            known = frame.content != SOURCE_UNKNOWN && !zstd_takes_most(&frame, input_bytes);
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
    if (!known)
        stretch->content = SOURCE_UNKNOWN;
    if (!known || ended)
        stretch->end = input_bytes;
    c->begin = stretch->end;
    c->position = known ? stretch->position + stretch->content : SOURCE_UNKNOWN;
    return true;
}
