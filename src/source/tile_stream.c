#include "config.h"

#include "source/tile_stream.h"

#include <stdlib.h>

#include "sys/search.h"

bool tile_stream_fits(const struct container_array *a)
{
    return a->tiles && a->tiles->count > 0 && a->tiles->tiles && a->tiles->filter_count == 1 &&
           a->tiles->filters[0].kind == CONTAINER_ZSTD;
}

bool tile_stream_is_ordered(const struct container_array *a)
{
    const uint64_t *sizes = a->tiles->sizes;
    unsigned i = 0;

    while (i < a->dimensions && sizes[i] == 1)
        i++;
    while (++i < a->dimensions)
        if (sizes[i] != a->sizes[i])
            return false;
    return !a->tiles->order;
}

bool tile_stream_open(struct tile_stream *t, const struct container_array *a, uint64_t limit,
                      bool placed)
{
    size_t others;
    uint64_t next = 0;

    *t = (struct tile_stream){.array = a, .placed = placed, .total = (size_t)a->tiles->count};
    t->numbers = malloc(t->total * sizeof *t->numbers);
    t->begins = malloc((t->total + 1) * sizeof *t->begins);
    if (!t->numbers || !t->begins)
        return false;
    others = t->total;
    t->begins[0] = 0;
    for (uint64_t number = 0; number < a->tiles->count; number++) {
        if (!tile_is_whole(a, number, limit)) {
            t->numbers[--others] = number;
            continue;
        }
        t->numbers[t->count] = number;
        t->begins[t->count + 1] = t->begins[t->count] + a->tiles->tiles[number].compressed;
        t->runs += t->count == 0 || tile_stream_position(t, t->count) != next;
        next = tile_stream_position(t, t->count++) + tile_stream_content(t);
    }
    return true;
}

void tile_stream_close(struct tile_stream *t)
{
    free(t->numbers);
    free(t->begins);
}

uint64_t tile_stream_size(const struct tile_stream *t)
{
    return t->begins[t->count];
}

uint64_t tile_stream_content(const struct tile_stream *t)
{
    return t->array->tiles->elements * element_size(t->array->type);
}

uint64_t tile_stream_position(const struct tile_stream *t, size_t i)
{
    return t->placed ? tiles_first(t->array, t->numbers[i]) * element_size(t->array->type)
                     : i * tile_stream_content(t);
}

size_t tile_stream_cut(const struct tile_stream *t, size_t i, uint64_t least,
                       struct zstd_stretch *stretch)
{
    const uint64_t content = tile_stream_content(t), position = tile_stream_position(t, i);
    size_t end = i + 1;

    while (end < t->count && t->begins[end] - t->begins[i] < least &&
           tile_stream_position(t, end) == position + (end - i) * content)
        end++;
    *stretch = (struct zstd_stretch){t->begins[i], t->begins[end], (end - i) * content,
                                     (end - i) * content};
    return end;
}

bool tile_stream_read(struct source *s, const struct tile_stream *t, unsigned char *bytes,
                      size_t size, uint64_t offset)
{
    size_t i = search_begins(t->begins, t->count, offset);

    while (size > 0) {
        const uint64_t left = t->begins[i + 1] - offset;
        const size_t step = left < size ? (size_t)left : size;

        if (!tile_read(s, t->array, t->numbers[i], offset - t->begins[i], bytes, step))
            return false;
        bytes += step;
        offset += step;
        size -= step;
        i++;
    }
    return true;
}
