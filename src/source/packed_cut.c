#include "config.h"

#include <stdlib.h>

#include "source/packed.h"
#include "source/packed_state.h"
#include "source/zstd/decoder.h"

static bool add_part_locked(struct source *s, struct packed_ring *r,
                            const struct zstd_stretch *stretch) REQUIRES(source_role);

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

/* Adds a part to a ring. False without memory. */
static bool add_part_locked(struct source *s, struct packed_ring *r,
                            const struct zstd_stretch *stretch)
{
    struct packed_state *p = s->state;
    struct packed_part part = {.offset = r->known,
                               .position = p->index.next,
                               .provisional = p->index.count > 0,
                               .begin = stretch->begin,
                               .content = stretch->content,
                               .most = stretch->most,
                               .last = stretch->end == s->info.input_bytes};

    if (!zstd_index_begin(&p->index, stretch->content, &part.number)) {
        source_error(s, "out of memory");
        return false;
    }
    zstd_index_advance(&p->index, stretch->content, stretch->most);
    r->parts[r->part_count++] = part;
    r->known += stretch->end - stretch->begin;
    return true;
}

void packed_cut_locked(struct source *s, struct packed_ring *r)
{
    struct packed_state *p = s->state;
    struct zstd_stretch stretch;
    bool found;

    p->cutting = true;
    waiters_unlock(&p->waiters);
    found = zstd_cutter_next(p->cutter, p->part_least, &stretch);
    waiters_lock(&p->waiters);
    p->cutting = false;
    if (!found || !add_part_locked(s, r, &stretch))
        r->end = r->known;
}

bool packed_pass_part(struct source *s, unsigned ring, uint64_t content)
{
    struct packed_state *p = s->state;
    struct packed_ring *r = &p->rings[ring];
    const struct packed_part *part;
    uint64_t end;
    bool good;

    waiters_lock(&p->waiters);
    part = &r->parts[r->parts_done++];
    end = part->position + content;
    zstd_index_set_length(&p->index, part->number, content);
    if (content > part->most || (part->content != SOURCE_UNKNOWN && part->content != content))
        p->refused = true;
    else if (part->content == SOURCE_UNKNOWN && !part->last &&
             (end < s->data_offset || !zstd_index_is_boundary(&p->index, end)))
        p->torn = true;
    good = !p->refused && !p->torn;
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

/* Cuts the first part of each of so many rings; fewer are left where there are fewer parts. False
   without memory. */
UNCHECKED static bool cut_first_parts(struct source *s, unsigned rings)
{
    struct packed_state *p = s->state;
    struct zstd_stretch stretch;
    unsigned i = 0;

    p->part_least = choose_part(s, rings);
    p->cutter = malloc(sizeof *p->cutter);
    if (!p->cutter ||
        !packed_rings_make(s, rings, (size_t)(s->info.input_bytes / p->part_least) + 2))
        return false;
    zstd_cutter_init(p->cutter, s, s->data_offset, (unsigned)s->info.element_size);
    zstd_index_init(&p->index, s->data_offset, s->info.element_size);
    while (i < p->ring_count && zstd_cutter_next(p->cutter, p->part_least, &stretch)) {
        struct packed_ring *r = &p->rings[i++];

        r->end = SOURCE_UNKNOWN;
        if (!add_part_locked(s, r, &stretch))
            return false;
    }
    for (; p->ring_count > i; p->ring_count--)
        free(p->rings[p->ring_count - 1].parts);
    return true;
}

UNCHECKED unsigned packed_cut(struct source *s, unsigned rings)
{
    struct packed_state *p = s->state;
    const bool all = s->info.elements == s->promised;

    if (rings == p->ring_count || p->pipe ||
        (rings > 1 &&
         (!all || s->info.input_bytes < 2 * PACKED_PART_LEAST ||
          s->info.input_bytes > ZSTD_CUTTER_INPUT_MAX || s->data_offset > SOURCE_UNKNOWN / 4)))
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
