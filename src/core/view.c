#include "config.h"

#include "core/view.h"

#include <stdlib.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/inline.h"

/* Drops dimensions of one element, and joins those that one stride steps through. */
static void fold(struct view_layout *l)
{
    unsigned rank = 0;

    for (unsigned i = 0; i < l->rank; i++) {
        const uint64_t size = l->sizes[i];
        const int64_t stride = l->strides[i];

        if (size == 1)
            continue;
        if (rank > 0 && (uint64_t)l->strides[rank - 1] == (uint64_t)stride * size) {
            l->sizes[rank - 1] *= size;
            l->strides[rank - 1] = stride;
        } else {
            l->sizes[rank] = size;
            l->strides[rank++] = stride;
        }
    }
    l->rank = rank;
}

/* Sets `contiguous` of a view that is folded. */
static void note_contiguous(struct view *v)
{
    const struct view_layout *l = &v->folded;

    v->contiguous =
        l->rank == 0 || (l->rank == 1 && l->strides[0] == (int64_t)element_size(v->type));
}

/* Computes the number of elements. False if their bytes are too many. */
static bool count_elements(struct view *v, const uint64_t *sizes)
{
    int64_t bytes = (int64_t)element_size(v->type);

    v->elements = 1;
    for (unsigned i = 0; i < v->shaped.rank; i++)
        if (sizes[i] == 0)
            v->elements = 0;
    for (unsigned i = 0; i < v->shaped.rank && v->elements > 0; i++) {
        if (sizes[i] > INT64_MAX || __builtin_mul_overflow(bytes, (int64_t)sizes[i], &bytes))
            return false;
        v->elements *= sizes[i];
    }
    return true;
}

/* Whether addresses of elements can be computed: they are less than 2^63 bytes apart. */
static bool has_addresses(const struct view_layout *l)
{
    int64_t least = 0, most = 0, distance;

    for (unsigned i = 0; i < l->rank; i++) {
        int64_t *const end = l->strides[i] < 0 ? &least : &most;

        if (__builtin_mul_overflow(l->strides[i], (int64_t)l->sizes[i] - 1, &distance) ||
            __builtin_add_overflow(*end, distance, end))
            return false;
    }
    return !__builtin_sub_overflow(most, least, &distance);
}

bool view_set(struct view *v, const void *data, enum element_type type, bool swap, unsigned rank,
              const uint64_t *sizes, const int64_t *strides)
{
    struct view_layout *l = &v->shaped;
    int64_t stride = (int64_t)element_size(type);

    if (rank > VIEW_DIMENSIONS_MAX)
        return false;
    v->type = type;
    v->swap = swap && element_size(type) > 1;
    l->data = data;
    l->rank = rank;
    if (!count_elements(v, sizes))
        return false;
    for (unsigned i = rank; i-- > 0;) {
        l->sizes[i] = sizes[i];
        l->strides[i] = strides ? strides[i] : stride;
        if (v->elements > 0)
            stride *= (int64_t)sizes[i];
    }
    if (v->elements > 0 && !has_addresses(l))
        return false;
    v->folded = *l;
    if (v->elements > 0)
        fold(&v->folded);
    note_contiguous(v);
    v->contiguous = v->contiguous || v->elements == 0;
    return true;
}

bool view_join(struct view *v, unsigned first, unsigned more)
{
    const struct view_layout given = v->shaped;
    struct view_layout joined = {.rank = more + 1}, result = given;
    const size_t behind = given.rank - first - more - 1;

    if (more == 0)
        return true;
    memcpy(joined.sizes, given.sizes + first, (more + 1) * sizeof *given.sizes);
    memcpy(joined.strides, given.strides + first, (more + 1) * sizeof *given.strides);
    result.sizes[first] = 1;
    for (unsigned i = 0; i <= more; i++)
        result.sizes[first] *= joined.sizes[i];
    if (v->elements > 0)
        fold(&joined);
    if (v->elements > 0 && joined.rank > 1)
        return false;
    result.strides[first] = joined.rank > 0 ? joined.strides[0] : (int64_t)element_size(v->type);
    memcpy(result.sizes + first + 1, given.sizes + first + more + 1, behind * sizeof *given.sizes);
    memcpy(result.strides + first + 1, given.strides + first + more + 1,
           behind * sizeof *given.strides);
    return view_set(v, given.data, v->type, v->swap, given.rank - more, result.sizes,
                    result.strides);
}

void view_reorder(struct view *v)
{
    struct view_layout *l = &v->folded;

    if (v->contiguous)
        return;
    for (unsigned i = 0; i < l->rank; i++)
        if (l->strides[i] < 0) {
            l->data += l->strides[i] * (int64_t)(l->sizes[i] - 1);
            l->strides[i] = -l->strides[i];
        }
    for (unsigned i = 1; i < l->rank; i++)
        for (unsigned k = i; k > 0 && l->strides[k - 1] < l->strides[k]; k--) {
            const uint64_t size = l->sizes[k];
            const int64_t stride = l->strides[k];

            l->sizes[k] = l->sizes[k - 1];
            l->strides[k] = l->strides[k - 1];
            l->sizes[k - 1] = size;
            l->strides[k - 1] = stride;
        }
    fold(l);
    note_contiguous(v);
}

unsigned view_sort_dimensions(struct view *v, unsigned axis, unsigned places[VIEW_DIMENSIONS_MAX])
{
    const struct view_layout given = v->shaped;
    uint64_t sizes[VIEW_DIMENSIONS_MAX];
    int64_t strides[VIEW_DIMENSIONS_MAX];
    unsigned found = axis;

    for (unsigned i = 0; i < given.rank; i++) {
        unsigned k = i;

        for (; k > 0 && llabs(given.strides[places[k - 1]]) < llabs(given.strides[i]); k--)
            places[k] = places[k - 1];
        places[k] = i;
    }
    for (unsigned i = 0; i < given.rank; i++) {
        sizes[i] = given.sizes[places[i]];
        strides[i] = given.strides[places[i]];
        found = places[i] == axis ? i : found;
    }
    (void)view_set(v, given.data, v->type, v->swap, given.rank, sizes, strides);
    return found;
}

void view_gather(const struct view *v, uint64_t first, size_t count, void *to)
{
    const struct view_layout *l = &v->folded;
    const size_t size = element_size(v->type);
    uint64_t place[VIEW_DIMENSIONS_MAX];
    const unsigned char *row = l->data;
    const unsigned last = l->rank > 0 ? l->rank - 1 : 0;
    unsigned char *out = to;

    if (v->contiguous) {
        if (count > 0)
            memcpy(to, l->data + first * size, count * size);
        return;
    }
    for (unsigned i = l->rank; i-- > 0; first /= l->sizes[i]) {
        place[i] = first % l->sizes[i];
        row += (int64_t)place[i] * l->strides[i];
    }
    while (count > 0) {
        const uint64_t left = l->sizes[last] - place[last];
        const size_t some = left < count ? (size_t)left : count;

        if (l->strides[last] == (int64_t)size)
            memcpy(out, row, some * size);
        else
            bytes_gather(out, row, some, size, l->strides[last]);
        out += some * size;
        count -= some;
        /* The beginning of the next row, if there is one. */
        row -= (int64_t)place[last] * l->strides[last];
        place[last] = 0;
        for (unsigned i = last; i-- > 0;) {
            row += l->strides[i];
            if (++place[i] < l->sizes[i])
                break;
            row -= (int64_t)l->sizes[i] * l->strides[i];
            place[i] = 0;
        }
    }
}

/* Returns how many of `count` elements from number `first` on are not missing by the mask. */
static size_t count_present(const struct view *v, uint64_t first, size_t count)
{
    uint64_t at = v->mask_offset + first;
    size_t nonzero = 0;

    switch (v->mask_form) {
    case VIEW_MASK_NONE:
        return count;
    case VIEW_MASK_MISSING_BYTES:
    case VIEW_MASK_VALID_BYTES:
        for (size_t i = 0; i < count; i++)
            nonzero += v->mask[at + i] != 0;
        return v->mask_form == VIEW_MASK_VALID_BYTES ? nonzero : count - nonzero;
    case VIEW_MASK_VALID_BITS:
        for (; count > 0 && at % 8 != 0; at++, count--)
            nonzero += v->mask[at / 8] >> at % 8 & 1;
        for (; count >= 8; at += 8, count -= 8)
            nonzero += (size_t)__builtin_popcount(v->mask[at / 8]);
        for (; count > 0; at++, count--)
            nonzero += v->mask[at / 8] >> at % 8 & 1;
        break;
    }
    return nonzero;
}

/* Copies elements of `size` bytes; that and the form of the mask are constants. */
static ALWAYS_INLINE size_t copy_present(const struct view *v, uint64_t first, size_t count,
                                         const unsigned char *from, unsigned char *to, size_t size,
                                         bool bits)
{
    const unsigned char *mask = v->mask;
    const uint64_t begin = v->mask_offset + first;
    const bool missing = v->mask_form == VIEW_MASK_MISSING_BYTES;
    size_t present = 0;

    for (size_t i = 0; i < count; i++) {
        const uint64_t at = begin + i;
        unsigned char element[sizeof(uint64_t)];

        /* It is replaced by the next one if it is missing. */
        memcpy(element, from + i * size, size);
        memcpy(to + present * size, element, size);
        present += bits ? mask[at / 8] >> at % 8 & 1 : (mask[at] == 0) == missing;
    }
    return present;
}

/* Copies those of `count` elements from number `first` on, which lie at `from`, that are not
   missing by the mask to `to`, one after the other. Both may be the same place. Returns how many
   they are. */
static size_t leave_out(const struct view *v, uint64_t first, size_t count, const void *from,
                        void *to)
{
    const bool bits = v->mask_form == VIEW_MASK_VALID_BITS;

    switch (element_size(v->type)) {
    case 8:
        return bits ? copy_present(v, first, count, from, to, 8, true)
                    : copy_present(v, first, count, from, to, 8, false);
    case 4:
        return bits ? copy_present(v, first, count, from, to, 4, true)
                    : copy_present(v, first, count, from, to, 4, false);
    case 2:
        return bits ? copy_present(v, first, count, from, to, 2, true)
                    : copy_present(v, first, count, from, to, 2, false);
    default:
        return bits ? copy_present(v, first, count, from, to, 1, true)
                    : copy_present(v, first, count, from, to, 1, false);
    }
}

#define FIND_STEP ((size_t)512)

/* The number of the element that is number `n`, from 0, of those of the chunk that are not missing
   by the mask; there is one. */
static uint64_t find_place(const void *argument, uint64_t n)
{
    const struct view_places *places = argument;
    uint64_t first = places->first;

    for (;;) {
        /* It is the last one of the next n + 1 elements, or lies after them. */
        const size_t some = n < FIND_STEP ? (size_t)n + 1 : FIND_STEP;
        const size_t present = count_present(places->view, first, some);

        if (present == n + 1)
            return places->start + first + n;
        first += some;
        n -= present;
    }
}

size_t view_make_chunk(const struct view *v, uint64_t first, size_t count,
                       const struct chunk_request *request, struct view_places *places,
                       struct chunk *chunk)
{
    const size_t present = count_present(v, first, count);
    const bool in_place = v->contiguous && (request->borrow || present < count);

    if (present == 0)
        return count;
    *chunk = (struct chunk){.index = first, .count = present, .data = request->buffer};
    if (in_place)
        chunk->data = v->folded.data + first * element_size(v->type);
    else
        view_gather(v, first, count, request->buffer);
    if (present < count) {
        (void)leave_out(v, first, count, chunk->data, request->buffer);
        *places = (struct view_places){.view = v, .first = first};
        chunk->index = 0;
        chunk->data = request->buffer;
        chunk->place = find_place;
        chunk->places = places;
    }
    return count - present;
}
