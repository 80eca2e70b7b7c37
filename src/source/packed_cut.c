#include "config.h"

#include <stdlib.h>

#include "source/packed.h"
#include "source/packed_state.h"
#include "source/zstd/decoder.h"

bool packed_rings_make(struct source *s, unsigned count, size_t parts)
{
    struct packed_state *p = s->state;

    p->rings = calloc(count, sizeof *p->rings);
    if (!p->rings)
        return false;
    for (p->ring_count = 0; p->ring_count < count; p->ring_count++) {
        struct packed_ring *r = &p->rings[p->ring_count];

        r->parts = calloc(parts, sizeof *r->parts);
        if (!r->parts)
            return false;
        r->moved = SOURCE_UNKNOWN;
    }
    return true;
}

UNCHECKED void packed_rings_free(struct packed_state *p)
{
    for (unsigned i = 0; i < p->ring_count; i++) {
        free(p->rings[i].read);
        free(p->rings[i].parts);
    }
    free(p->rings);
    free(p->cutter);
    zstd_index_free(&p->index);
    p->index = (struct zstd_index){0};
    p->parts_cut = p->parts_noted = 0;
    p->rings = NULL;
    p->cutter = NULL;
    p->ring_count = 0;
}

UNCHECKED void packed_take_all(struct source *s)
{
    struct packed_ring *r = &((struct packed_state *)s->state)->rings[0];

    r->part_count = 1;
    r->known = r->end = s->info.input_bytes;
}

bool packed_cut_part_locked(struct source *s, uint64_t least, struct packed_part *part)
{
    struct packed_state *p = s->state;
    struct zstd_stretch stretch;
    bool found;

    p->cutting = true;
    waiters_unlock(&p->waiters);
    found = zstd_cutter_next(p->cutter, least, &stretch);
    waiters_lock(&p->waiters);
    p->cutting = false;
    if (!found)
        return false;
    *part = (struct packed_part){.begin = stretch.begin,
                                 .end = stretch.end,
                                 .position = p->index.next,
                                 .provisional = p->index.count > 0,
                                 .last = stretch.end == s->info.input_bytes,
                                 .content = stretch.content,
                                 .most = stretch.most};
    if (!zstd_index_begin(&p->index, stretch.content, &part->number)) {
        source_error(s, "out of memory");
        return false;
    }
    zstd_index_advance(&p->index, stretch.content, stretch.most);
    p->parts_cut++;
    return true;
}

void packed_cut_locked(struct source *s, struct packed_ring *r)
{
    struct packed_state *p = s->state;
    struct packed_part part;

    if (p->refused || p->torn || !packed_cut_part_locked(s, p->part_least, &part)) {
        r->end = r->known;
        return;
    }
    part.offset = r->known;
    r->parts[r->part_count++] = part;
    r->known += part.end - part.begin;
}

bool packed_note_content_locked(struct source *s, const struct packed_part *part, uint64_t content)
{
    struct packed_state *p = s->state;
    const uint64_t end = part->position + content;

    p->parts_noted++;
    p->noted_input += part->end - part->begin;
    p->noted_content += content;
    zstd_index_set_length(&p->index, part->number, content);
    if (content > part->most || (part->content != SOURCE_UNKNOWN && part->content != content))
        p->refused = true;
    else if (part->content == SOURCE_UNKNOWN && !part->last &&
             (end < s->data_offset || !zstd_index_is_boundary(&p->index, end)))
        p->torn = true;
    return !p->refused && !p->torn;
}

bool packed_pass_part(struct source *s, unsigned ring, uint64_t content)
{
    struct packed_state *p = s->state;
    struct packed_ring *r = &p->rings[ring];
    bool good;

    waiters_lock(&p->waiters);
    good = packed_note_content_locked(s, &r->parts[r->parts_done++], content);
    waiters_unlock(&p->waiters);
    return good;
}

/* Bytes of a part, of which each of `rings` rings is to have several. */
static uint64_t choose_part(const struct source *s, unsigned rings)
{
    const uint64_t bytes = s->info.input_bytes / rings / PACKED_PARTS;

    return bytes > PACKED_PART_MOST    ? PACKED_PART_MOST
           : bytes < PACKED_PART_LEAST ? PACKED_PART_LEAST
                                       : bytes;
}

/* Makes rings whose parts are cut as they are asked for. False without memory. */
UNCHECKED static bool make_rings(struct source *s, unsigned rings, unsigned sharers)
{
    struct packed_state *p = s->state;

    p->part_least = choose_part(s, sharers);
    p->cutter = malloc(sizeof *p->cutter);
    if (!p->cutter ||
        !packed_rings_make(s, rings, (size_t)(s->info.input_bytes / p->part_least) + 2))
        return false;
    zstd_cutter_init(p->cutter, s, s->data_offset, (unsigned)s->info.element_size);
    zstd_index_init(&p->index, s->data_offset, s->info.element_size);
    for (unsigned i = 0; i < rings; i++)
        p->rings[i].end = SOURCE_UNKNOWN;
    return true;
}

bool packed_cut_ring(struct source *s)
{
    return make_rings(s, 1, 2);
}

/* Cuts the first part of each of so many rings; fewer are left where there are fewer parts. False
   without memory. */
UNCHECKED static bool cut_first_parts(struct source *s, unsigned rings)
{
    struct packed_state *p = s->state;
    unsigned i = 0;

    if (!make_rings(s, rings, rings))
        return false;
    waiters_lock(&p->waiters);
    while (i < rings && p->rings[i].end == SOURCE_UNKNOWN) {
        packed_cut_locked(s, &p->rings[i]);
        i += p->rings[i].part_count;
    }
    waiters_unlock(&p->waiters);
    for (; p->ring_count > i; p->ring_count--)
        free(p->rings[p->ring_count - 1].parts);
    return true;
}

bool packed_can_cut(const struct source *s)
{
    return s->info.elements == s->promised && s->info.input_bytes >= 2 * PACKED_PART_LEAST &&
           s->info.input_bytes <= ZSTD_CUTTER_INPUT_MAX && s->data_offset <= SOURCE_UNKNOWN / 4;
}

UNCHECKED unsigned packed_cut(struct source *s, unsigned rings)
{
    struct packed_state *p = s->state;

    if (rings == p->ring_count || p->pipe || (rings > 1 && !packed_can_cut(s)))
        return p->ring_count;
    packed_rings_free(p);
    if (rings > 1 && cut_first_parts(s, rings) && p->ring_count > 1)
        return p->ring_count;
    packed_rings_free(p);
    if (!packed_rings_make(s, 1, 1)) {
        source_error(s, "out of memory");
        return 0;
    }
    packed_take_all(s);
    return 1;
}
