#include "config.h"

#include "core/merger.h"

#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "sys/grow.h"

void merger_open(struct merger *m)
{
    *m = (struct merger){0};
}

void merger_close(struct merger *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->merged[i].input);
        free(m->merged[i].array);
        free(m->merged[i].pieces);
    }
    free(m->merged);
    free(m->slots);
}

static int compare_names(const struct merged *a, const char *input, const char *array)
{
    const int order = strcmp(a->input, input);

    if (order != 0 || !a->array || !array)
        return order != 0 ? order : (a->array != NULL) - (array != NULL);
    return strcmp(a->array, array);
}

/* The slot of an array, or the free one where it would be. */
static size_t *find_slot(const struct merger *m, const char *input, const char *array)
{
    size_t i = (size_t)name_hash(input, array) & (m->slot_count - 1);

    while (m->slots[i] > 0 && compare_names(&m->merged[m->slots[i] - 1], input, array) != 0)
        i = (i + 1) & (m->slot_count - 1);
    return &m->slots[i];
}

/* Makes room for one more array: slots are a power of two, and at most half of them are used. */
static bool make_room(struct merger *m)
{
    const size_t room = m->room ? 2 * m->room : 8;
    struct merged *merged;
    size_t *slots;

    if (m->count < m->room)
        return true;
    merged = realloc(m->merged, room * sizeof *merged);
    if (!merged)
        return false;
    m->merged = merged;
    slots = calloc(2 * room, sizeof *slots);
    if (!slots)
        return false;
    free(m->slots);
    m->slots = slots;
    m->slot_count = 2 * room;
    m->room = room;
    for (size_t i = 0; i < m->count; i++)
        *find_slot(m, merged[i].input, merged[i].array) = i + 1;
    return true;
}

/* Whether there are none of the elements. */
static bool is_none(uint64_t of, size_t pieces)
{
    return of > 0 && pieces == 0;
}

/* Has an array be what its first part says. */
static void describe(struct merged *a, const struct partial_text *part, struct merger_origin origin)
{
    a->type = part->type;
    a->missing = part->missing;
    a->scale = part->scale;
    a->of = part->of;
    a->holds = part->holds;
    a->first = a->lacks = origin;
}

/* Adds an array, without any part yet. NULL without memory. */
static struct merged *add(struct merger *m, const struct partial_text *part, const char *array,
                          struct merger_origin origin)
{
    struct merged *a;

    if (!make_room(m))
        return NULL;
    a = &m->merged[m->count];
    *a = (struct merged){.input = strdup(part->input), .array = array ? strdup(array) : NULL};
    describe(a, part, origin);
    partial_clear(&a->partial);
    if (!a->input || (array && !a->array)) {
        free(a->input);
        free(a->array);
        return NULL;
    }
    *find_slot(m, a->input, a->array) = ++m->count;
    return a;
}

/* Notes which elements a part is of. False without memory. */
static bool note_pieces(struct merged *a, const struct partial_text *part,
                        struct merger_origin origin)
{
    if (!GROW(a->pieces, a->piece_room, a->piece_count + part->range_count))
        return false;
    for (unsigned i = 0; i < part->range_count; i++)
        a->pieces[a->piece_count++] = (struct merger_piece){part->ranges[i], origin};
    return true;
}

enum merger_verdict merger_take(struct merger *m, const struct partial_text *part,
                                struct merger_origin origin, const struct merged **merged)
{
    const char *array = part->has_array ? part->array : NULL;
    const size_t found = m->count > 0 ? *find_slot(m, part->input, array) : 0;
    struct merged *a = found > 0 ? &m->merged[found - 1] : add(m, part, array, origin);

    *merged = a;
    if (!a)
        return MERGER_MEMORY;
    if (found > 0 && is_none(part->of, part->range_count))
        return MERGER_TAKEN;
    if (is_none(a->of, a->piece_count))
        describe(a, part, origin);
    if (a->type != part->type)
        return MERGER_TYPE;
    if (!missing_same(&a->missing, &part->missing))
        return MERGER_MISSING;
    if (!scale_same(&a->scale, &part->scale))
        return MERGER_SCALE;
    if (a->of != part->of)
        return MERGER_LENGTH;
    if (!note_pieces(a, part, origin))
        return MERGER_MEMORY;
    if (a->holds & ~part->holds)
        a->lacks = origin;
    a->holds &= part->holds;
    partial_merge(&a->partial, &part->partial);
    return MERGER_TAKEN;
}

static int compare_merged(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;

    return compare_names(x, y->input, y->array);
}

static int compare_pieces(const void *a, const void *b)
{
    const struct merger_piece *x = a, *y = b;

    if (x->range.begin != y->range.begin)
        return x->range.begin < y->range.begin ? -1 : 1;
    if (x->origin.file != y->origin.file)
        return x->origin.file < y->origin.file ? -1 : 1;
    return x->origin.line < y->origin.line ? -1 : x->origin.line > y->origin.line;
}

void merger_finish(struct merger *m)
{
    if (m->count > 0)
        qsort(m->merged, m->count, sizeof *m->merged, compare_merged);
    for (size_t i = 0; i < m->count; i++) {
        struct merged *a = &m->merged[i];

        partial_text_forget(&a->partial, a->holds); /* some parts may hold more */
        if (a->piece_count > 0)
            qsort(a->pieces, a->piece_count, sizeof *a->pieces, compare_pieces);
    }
}

bool merged_overlap(const struct merged *a, const struct merger_piece **one,
                    const struct merger_piece **other)
{
    for (size_t i = 1; i < a->piece_count; i++) {
        if (a->pieces[i].range.begin < a->pieces[i - 1].range.end) {
            *one = &a->pieces[i - 1];
            *other = &a->pieces[i];
            return true;
        }
    }
    return false;
}

bool merged_gap(const struct merged *a, struct partial_range *gap)
{
    gap->begin = 0;
    for (size_t i = 0; i < a->piece_count && a->pieces[i].range.begin == gap->begin; i++)
        gap->begin = a->pieces[i].range.end;
    if (gap->begin == a->of)
        return false;
    gap->end = a->of;
    for (size_t i = a->piece_count; i > 0 && a->pieces[i - 1].range.begin > gap->begin; i--)
        gap->end = a->pieces[i - 1].range.begin;
    return true;
}

/* Adds a range behind those that there are, with which it may be one. False where there is no room.
 */
static bool add_range(struct partial_text *text, struct partial_range range)
{
    if (text->range_count > 0 && text->ranges[text->range_count - 1].end == range.begin) {
        text->ranges[text->range_count - 1].end = range.end;
        return true;
    }
    if (text->range_count == PARTIAL_TEXT_RANGES_MAX)
        return false;
    text->ranges[text->range_count++] = range;
    return true;
}

bool merged_text(const struct merged *a, struct partial_text *text)
{
    text->type = a->type;
    text->missing = a->missing;
    text->scale = a->scale;
    text->holds = a->holds;
    text->of = a->of;
    text->partial = a->partial;
    text->range_count = 0;
    for (size_t i = 0; i < a->piece_count; i++)
        if (!add_range(text, a->pieces[i].range))
            return false;
    return true;
}

bool merged_append(struct partial_text *total, const struct merged *a)
{
    struct partial_text longer = *total;

    if (total->of > (uint64_t)INT64_MAX - a->of)
        return false;
    longer.type = a->type;
    missing_join(&longer.missing, &a->missing, true);
    longer.scale = a->scale;
    longer.of += a->of;
    for (size_t i = 0; i < a->piece_count; i++)
        if (!add_range(&longer, (struct partial_range){a->pieces[i].range.begin + total->of,
                                                       a->pieces[i].range.end + total->of}))
            return false;
    partial_append(&longer.partial, &a->partial, total->of);
    *total = longer;
    return true;
}
