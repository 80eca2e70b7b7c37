#include "config.h"

#include "source/tiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/format/filters.h"
#include "sys/clock.h"
#include "sys/mapping.h"
#include "sys/search.h"
#include "sys/whole.h"

/* Elements of the fill value that are handed out at a time. Bytes. */
#define FILL_BYTES ((size_t)256 << 10)

/* As many bytes of it are handed out as one chunk of elements that are the same: for fewer, that
   takes longer. */
#define SAME_BYTES ((size_t)16 << 10)

struct tile {
    const struct container_array *array;
    size_t of;                                /* its place among the source's arrays */
    uint64_t number;                          /* of the tile among the array's */
    uint64_t begin[CONTAINER_DIMENSIONS_MAX]; /* of the tile in the array */
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX]; /* of what lies in the array */
    uint64_t count, taken;                    /* elements */
    const unsigned char *elements; /* from the first on; NULL where they are the fill value */
    struct mapping_room space[2];  /* each filter goes from one to the other */
    struct mapping_room fill;
    const unsigned char *filled; /* the value that is in there */
    bool reduced;                /* `partial` is that of the elements, of which there are none */
    struct partial partial;
    struct codec_memory *memory;
};

uint64_t tiles_bytes(const struct container_array *a)
{
    uint64_t bytes = a->tiles->elements * element_size(a->type);

    /* The bytes of a tile that is not there, and may be of any size, do not matter. */
    return bytes > CONTAINER_TILE_BYTES_MAX ? CONTAINER_TILE_BYTES_MAX : bytes ? bytes : 1;
}

/* Sets where a tile begins, and how much of it lies in the array. Returns how many elements. */
static uint64_t locate(const struct container_array *a, uint64_t number, uint64_t *begin,
                       uint64_t *sizes)
{
    uint64_t elements = 1;

    for (unsigned i = a->dimensions; i-- > 0;) {
        const uint64_t size = a->tiles->sizes[i];
        const uint64_t across = (a->sizes[i] + size - 1) / size;

        begin[i] = number % across * size;
        number /= across;
        sizes[i] = a->sizes[i] - begin[i] < size ? a->sizes[i] - begin[i] : size;
        elements *= sizes[i];
    }
    return elements;
}

/* The index in the array of element `i` of a tile. */
static uint64_t index_of(const struct container_array *a, const uint64_t *begin,
                         const uint64_t *sizes, uint64_t i)
{
    uint64_t index = 0, step = 1;

    for (unsigned d = a->dimensions; d-- > 0;) {
        index += (begin[d] + i % sizes[d]) * step;
        i /= sizes[d];
        step *= a->sizes[d];
    }
    return index;
}

static uint64_t place(const void *places, uint64_t i)
{
    const struct tile *t = places;

    return index_of(t->array, t->begin, t->sizes, i);
}

uint64_t tiles_elements(const struct container_array *a, uint64_t number, uint64_t limit)
{
    uint64_t begin[CONTAINER_DIMENSIONS_MAX], sizes[CONTAINER_DIMENSIONS_MAX];
    uint64_t low = 0, high = locate(a, number, begin, sizes);

    if (limit >= a->elements)
        return high;
    SEARCH(low, high, index_of(a, begin, sizes, middle) < limit); /* indices rise */
    return low;
}

/* Notes an error in a tile. Returns false. */
static bool fail(struct source *s, const struct tile *t, const struct container_tile *tile,
                 enum error_kind kind, const char *what)
{
    char path[PATH_MAX];

    if (t->array->tiles->files && container_chunk_path(t->array, t->number, path)) {
        const bool several = t->array->tiles->files->several;
        char offset[40] = "";

        if (several)
            snprintf(offset, sizeof offset, ", from byte %" PRIu64 " on", tile->offset);
        source_note_damage(s, t->of, t->number,
                           error_at(kind, ERROR_NO_OFFSET, "chunk %s%s: %s", path, offset, what));
        return false;
    }
    source_note_damage(s, t->of, t->number,
                       error_at(kind, tile->offset, "byte %" PRIu64 ": %s", tile->offset, what));
    return false;
}

/* Notes what is wrong with a tile. Returns false. */
static bool wrong(struct source *s, const struct tile *t, const struct container_tile *tile,
                  const char *what)
{
    return fail(s, t, tile, error_kind_of(what), what);
}

/* How many elements of a tile the file has in a dimension. */
static uint64_t stored_size(const struct tile *t, unsigned dimension)
{
    const struct container_tiles *tiles = t->array->tiles;
    const uint64_t begin = t->begin[dimension];
    const uint64_t end = tiles->stored ? tiles->stored[dimension] : begin + t->sizes[dimension];
    const uint64_t size = end > begin ? end - begin : 0;

    return size < t->sizes[dimension] ? size : t->sizes[dimension];
}

/* Whether the file has so many elements of a tile, which lie in the array, in each dimension. */
static bool is_stored(const struct tile *t, const uint64_t *sizes)
{
    for (unsigned i = 0; i < t->array->dimensions; i++)
        if (stored_size(t, i) < sizes[i])
            return false;
    return true;
}

/* Which filters have been applied to a tile, as a mask of them. */
static uint32_t applied(const struct tile *t, const struct container_tile *tile)
{
    const struct container_tiles *tiles = t->array->tiles;

    if (tiles->edges_plain && !is_stored(t, tiles->sizes))
        return tiles->filter_count > 0 && filter_is_layout(&tiles->filters[0]);
    return ~tile->mask & ((UINT32_C(1) << tiles->filter_count) - 1);
}

/* The memory of a tile that does not have these bytes. */
static struct mapping_room *other_space(struct tile *t, const unsigned char *bytes)
{
    return &t->space[bytes == t->space[0].bytes];
}

/* Undoes a filter: of *size bytes at *bytes, which become *size at *bytes. `out`: how many they are
   before a compression. Returns NULL, or what is wrong. */
static const char *undo(struct tile *t, const struct container_filter *f,
                        const unsigned char **bytes, size_t *size, size_t out)
{
    const struct filter *filter = filter_of(f->kind);
    const size_t added = filter->checksum ? sizeof(uint32_t) : 0;
    struct mapping_room *const to = filter->checksum ? NULL : other_space(t, *bytes);
    const char *what;

    if (!filter_compresses(f)) {
        if (*size < added)
            return "a chunk is shorter than it should be";
        out = *size - added;
    }
    if (!t->memory)
        t->memory = codec_open();
    if (!t->memory || (to && !mapping_room_take(to, out)))
        return error_no_memory;
    what = filter->undo(t->memory, f, *bytes, *size, to ? to->bytes : NULL, out);
    if (to)
        *bytes = to->bytes;
    *size = out;
    return what;
}

/* Bytes that a tile of `bytes` has behind the first `count` filters: checksums are added, elements
   may have another size, and what is compressed is not asked. */
static size_t filtered_size(const struct container_tiles *tiles, uint32_t mask, unsigned count,
                            size_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        if (mask >> i & 1)
            bytes = (size_t)filter_stored(&tiles->filters[i], bytes);
    return bytes;
}

/* Opens the file of a tile, whose name is put into `path`. */
static int open_chunk(const struct source *s, const struct container_array *a, uint64_t number,
                      char path[PATH_MAX])
{
    if (!container_chunk_path(a, number, path)) {

        errno = ENAMETOOLONG;
        return -1;
    }
    return openat(s->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Reads a part of a tile, from its byte `from` on, from its file. */
static bool read_chunk(struct source *s, const struct tile *t, const struct container_tile *tile,
                       uint64_t from, unsigned char *bytes, size_t size)
{
    const uint64_t begun = clock_now();
    char path[PATH_MAX], what[ERROR_TEXT_MAX];
    const bool alone = !t->array->tiles->files->several;
    struct stat status = {.st_size = 0};
    uint64_t done = from, held;
    int fd, error;

    fd = open_chunk(s, t->array, t->number, path);
    error = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;
    if (!error)
        done += pread_whole(fd, bytes, size, tile->offset + from, 1, &error);
    if (fd >= 0)
        close(fd);
    source_count(s, done - from, clock_between(begun, clock_now()));
    held = alone ? (uint64_t)status.st_size : tile->compressed;
    if (error)
        snprintf(what, sizeof what, "byte %" PRIu64 ": read error: %s", done, strerror(error));
    else if (done < from + size || held < tile->compressed)
        snprintf(what, sizeof what, "ends at byte %" PRIu64 ": it became shorter while it was read",
                 held < tile->compressed ? held : done);
    else if (held > tile->compressed)
        snprintf(what, sizeof what, "it became longer while it was read");
    else
        return true;
    return fail(s, t, tile, error ? ERROR_READ : ERROR_CHANGED, what);
}

/* Reads a part of a tile, from its byte `from` on, as it is stored. */
static bool read_stored(struct source *s, const struct tile *t, const struct container_tile *tile,
                        uint64_t from, unsigned char *bytes, size_t size)
{
    return t->array->tiles->files ? read_chunk(s, t, tile, from, bytes, size)
                                  : source_pread_array(s, t->of, t->number, bytes, size,
                                                       s->start + tile->offset + from);
}

uint64_t tiles_stored(const struct container_array *a, uint64_t number, uint64_t *offset)
{
    const struct container_tiles *tiles = a->tiles;

    if (!tiles->tiles || tiles->files || tiles->filter_count == 0)
        return 0;
    for (unsigned i = 0; i < tiles->filter_count; i++)
        if (filter_of(tiles->filters[i].kind)->allocates)
            return 0;
    *offset = tiles->tiles[number].offset;
    return tiles->tiles[number].compressed;
}

/* A tile that is decoded. */
struct decoding {
    struct tile *tile;
    uint32_t mask;              /* of the filters that were applied */
    unsigned wants;             /* as of tile_begin */
    const unsigned char *bytes; /* as they are stored, then what they become */
    size_t size, out;           /* their number; how many they become */
    const char *what;           /* why that failed; NULL: it did not */
};

/* Finds the partial result of all elements of a tile as it is stored. False if there is none with
   d->wants. */
static bool reduce_tile(const struct decoding *d)
{
    struct tile *t = d->tile;
    const struct container_tiles *tiles = t->array->tiles;
    const struct filter *filter =
        tiles->filter_count == 1 ? filter_of(tiles->filters[0].kind) : NULL;

    t->reduced = d->wants > 0 && filter && filter->reduce &&
                 filter->reduce(tiles->filters, d->bytes, d->size, d->wants, &t->partial) &&
                 t->partial.count == t->count;
    return t->reduced;
}

/* Undoes the filters of a tile, or finds its partial result. */
static void decode(void *argument)
{
    struct decoding *d = argument;
    struct tile *t = d->tile;
    const struct container_tiles *tiles = t->array->tiles;

    if (reduce_tile(d))
        return;
    for (unsigned i = tiles->filter_count; i-- > 0 && !d->what;)
        if (d->mask >> i & 1)
            d->what = undo(t, &tiles->filters[i], &d->bytes, &d->size,
                           filtered_size(tiles, d->mask, i, d->out));
    if (!d->what && d->size != d->out)
        d->what = d->size < d->out ? "a chunk is shorter than it should be"
                                   : "a chunk is longer than it should be";
    if (d->what || d->bytes == t->space[0].bytes || d->bytes == t->space[1].bytes)
        return; /* if not, they are in a mapped file */
    if (mapping_room_take(&t->space[0], d->size))
        d->bytes = memcpy(t->space[0].bytes, d->bytes, d->size);
    else
        d->what = error_no_memory;
}

/* Reads a tile, and undoes its filters, or finds its partial result: from `mapped`, unless that is NULL
   or vanishes. Returns its bytes, of which there are `bytes`, and which mean nothing if it is reduced;
   NULL on failure. */
static unsigned char *read_tile(struct source *s, struct tile *t, const struct container_tile *tile,
                                size_t bytes, const unsigned char *mapped, unsigned wants)
{
    const size_t size = tile->compressed;
    const struct decoding stored = {t, applied(t, tile), wants, mapped, size, bytes, NULL};
    struct decoding d = stored;

    if (!mapped || !mapping_guard(decode, &d)) {
        d = stored;
        if (!mapping_room_take(&t->space[0], size)) {
            (void)wrong(s, t, tile, error_no_memory);
            return NULL;
        }
        if (!read_stored(s, t, tile, 0, t->space[0].bytes, size))
            return NULL;
        d.bytes = t->space[0].bytes;
        decode(&d);
    }
    if (d.what)
        (void)wrong(s, t, tile, d.what);
    return d.what ? NULL : (unsigned char *)(uintptr_t)d.bytes;
}

/* Copies a block of `rows` times `columns` elements, whose rows lie `from_row` elements apart and
   become columns, which lie `to_column` elements apart. */
static void transpose(unsigned char *restrict to, const unsigned char *restrict from, size_t size,
                      size_t rows, size_t columns, size_t from_row, size_t to_column)
{
#define TRANSPOSE(bytes)                  \
    for (size_t i = 0; i < columns; i++)  \
        for (size_t k = 0; k < rows; k++) \
    memcpy(to + (i * to_column + k) * (bytes), from + (k * from_row + i) * (bytes), bytes)

    switch (size) { /* with a size that is known, compilers call nothing */
    case 1:
        TRANSPOSE(1);
        break;
    case 2:
        TRANSPOSE(2);
        break;
    case 4:
        TRANSPOSE(4);
        break;
    default:
        TRANSPOSE(8);
        break;
    }
#undef TRANSPOSE
}

/* Elements of a row of a block that is transposed: so many rows fit into a cache. */
#define BLOCK ((size_t)32)

/* Puts the elements of a tile, which has its dimensions in another order, into C order: from one of
   t->space to the other. NULL without memory. */
static unsigned char *reorder(struct tile *t, const unsigned char *bytes)
{
    const struct container_tiles *tiles = t->array->tiles;
    const uint64_t *sizes = tiles->edges_cut ? t->sizes : tiles->sizes;
    const unsigned last = t->array->dimensions - 1, inner = (unsigned)tiles->order[last];
    const size_t size = element_size(t->array->type);
    struct mapping_room *space = other_space(t, bytes);
    size_t from[CONTAINER_DIMENSIONS_MAX], to[CONTAINER_DIMENSIONS_MAX], in = 0, out = 0;
    uint64_t at[CONTAINER_DIMENSIONS_MAX] = {0};
    size_t step = 1;
    unsigned d;

    if (!mapping_room_take(space, (size_t)tiles->elements * size))
        return NULL;
    for (d = last + 1; d-- > 0; step *= (size_t)sizes[tiles->order[d]])
        from[tiles->order[d]] = step;
    for (step = 1, d = last + 1; d-- > 0; step *= (size_t)sizes[d])
        to[d] = step;
    do {
        const size_t columns = inner == last ? 1 : (size_t)sizes[inner];
        const size_t rows = (size_t)sizes[last];

        /* Elements of `last` are together afterwards, and those of `inner` are now. */
        for (size_t i = 0; i < columns; i += BLOCK)
            for (size_t k = 0; k < rows; k += BLOCK)
                transpose(space->bytes + (out + i * to[inner] + k) * size,
                          bytes + (in + i + k * from[last]) * size, size,
                          rows - k < BLOCK ? rows - k : BLOCK,
                          columns - i < BLOCK ? columns - i : BLOCK, from[last], to[inner]);
        for (d = last + 1; d-- > 0;) {
            if (d == last || d == inner)
                continue;
            in += from[d];
            out += to[d];
            if (++at[d] < sizes[d])
                break;
            in -= from[d] * at[d];
            out -= to[d] * at[d];
            at[d] = 0;
        }
    } while (d < last + 1);
    return space->bytes;
}

/* Goes to the next row of a tile, in its first `d` dimensions: *place moves by their steps. False after the
   last. */
static bool next_row(const struct tile *t, unsigned d, uint64_t *at, const uint64_t *steps,
                     uint64_t *place)
{
    while (d-- > 0) {
        *place += steps[d];
        if (++at[d] < t->sizes[d])
            return true;
        *place -= steps[d] * at[d];
        at[d] = 0;
    }
    return false;
}

/* Moves what lies in the array to the front: rows of it, in C order. */
static void cut(const struct tile *t, unsigned char *bytes)
{
    const struct container_array *a = t->array;
    const uint64_t *whole = a->tiles->sizes;
    uint64_t at[CONTAINER_DIMENSIONS_MAX] = {0}, steps[CONTAINER_DIMENSIONS_MAX];
    uint64_t row = element_size(a->type), from = 0, to = 0;
    unsigned d = a->dimensions;

    while (d > 0 && t->sizes[d - 1] == whole[d - 1])
        row *= whole[--d];
    if (d == 0) /* all of it does */
        return;
    /* A row is what lies together, to the first dimension that is cut. */
    d--;
    for (uint64_t i = d, step = row * whole[d]; i-- > 0; step *= whole[i])
        steps[i] = step;
    row *= t->sizes[d];
    do {
        memmove(bytes + to, bytes + from, (size_t)row);
        to += row;
    } while (next_row(t, d, at, steps, &from));
}

/* Puts the value behind the sizes in the file over what a tile has there: `bytes` are those of the
   tile that lie in the array, in C order. */
static void pad(const struct tile *t, unsigned char *bytes)
{
    const struct container_array *a = t->array;
    const size_t size = element_size(a->type);
    uint64_t at[CONTAINER_DIMENSIONS_MAX] = {0}, elements = 1;

    for (unsigned i = 0; i < a->dimensions; i++)
        elements *= t->sizes[i];
    for (uint64_t k = 0; k < elements; k++) {
        bool stored = true;

        for (unsigned i = 0; i < a->dimensions; i++)
            stored = stored && t->begin[i] + at[i] < a->tiles->stored[i];
        if (!stored)
            memcpy(bytes + k * size, a->tiles->pad, size);
        for (unsigned i = a->dimensions; i-- > 0 && ++at[i] == t->sizes[i];)
            at[i] = 0;
    }
}

/* Makes elements of one value. False without memory. */
static bool make_fill(struct tile *t, const unsigned char *value)
{
    const size_t size = element_size(t->array->type);

    if (t->filled == value)
        return true;
    if (!mapping_room_take(&t->fill, FILL_BYTES))
        return false;
    for (size_t i = 0; i + size <= FILL_BYTES; i += size)
        memcpy(t->fill.bytes + i, value, size);
    t->filled = value;
    return true;
}

/* Makes the elements of a tile that is not there, which may lie beyond the sizes in the file. False
   without memory. */
static bool make_tile(struct tile *t)
{
    const struct container_tiles *tiles = t->array->tiles;
    const size_t size = element_size(t->array->type);
    bool none = false;

    for (unsigned i = 0; i < t->array->dimensions; i++)
        none = none || stored_size(t, i) == 0;
    if (none || is_stored(t, t->sizes) || memcmp(tiles->fill, tiles->pad, size) == 0)
        return make_fill(t, none ? tiles->pad : tiles->fill);
    if (!mapping_room_take(&t->space[0], (size_t)tiles->elements * size))
        return false;
    for (uint64_t i = 0; i < tiles->elements; i++)
        memcpy(t->space[0].bytes + i * size, tiles->fill, size);
    pad(t, t->space[0].bytes);
    t->elements = t->space[0].bytes;
    return true;
}

uint64_t tiles_first(const struct container_array *a, uint64_t number)
{
    uint64_t begin[CONTAINER_DIMENSIONS_MAX], sizes[CONTAINER_DIMENSIONS_MAX];

    (void)locate(a, number, begin, sizes);
    return index_of(a, begin, sizes, 0);
}

bool tile_is_whole(const struct container_array *a, uint64_t number, uint64_t limit)
{
    const struct container_tiles *tiles = a->tiles;
    const struct container_tile *place = tiles->tiles ? &tiles->tiles[number] : NULL;
    struct tile t = {.array = a, .number = number};

    if (!place || place->compressed == 0 || tiles_elements(a, number, limit) < tiles->elements)
        return false;
    (void)locate(a, number, t.begin, t.sizes);
    return is_stored(&t, t.sizes) && applied(&t, place) == (UINT32_C(1) << tiles->filter_count) - 1;
}

bool tile_read(struct source *s, const struct container_array *a, uint64_t number, uint64_t from,
               unsigned char *bytes, size_t size)
{
    const struct tile t = {.array = a, .number = number};

    return read_stored(s, &t, &a->tiles->tiles[number], from, bytes, size);
}

/* Whether the page cache has the page of a file with this byte, or does not tell. */
static bool is_cached(int fd, uint64_t offset)
{
    const size_t page = mapping_page();
    unsigned char *map = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)(offset / page * page));
    bool cached;

    if (map == MAP_FAILED)
        return true;
    cached = source_uncached(map, 0, page, 2) == 0;
    munmap(map, page);
    return cached;
}

size_t tile_peek(const struct source *s, const struct container_array *a, uint64_t number,
                 void *bytes, size_t size, bool *cached)
{
    const struct container_tile *tile = &a->tiles->tiles[number];
    const bool apart = a->tiles->files != NULL;
    const uint64_t offset = (apart ? 0 : s->start) + tile->offset;
    char path[PATH_MAX];
    const int fd = apart ? open_chunk(s, a, number, path) : s->fd;
    ssize_t got;

    *cached = fd < 0 || is_cached(fd, offset);
    size = size < tile->compressed ? size : tile->compressed;
    got = fd < 0 ? 0 : pread(fd, bytes, size, (off_t)offset);
    if (apart && fd >= 0)
        close(fd);
    return got > 0 ? (size_t)got : 0;
}

bool tile_begin(struct tile **tile, struct source *s, size_t of, const struct container_array *a,
                uint64_t number, uint64_t count, const unsigned char *mapped, unsigned wants)
{
    const struct container_tiles *tiles = a->tiles;
    const struct container_tile *place = tiles->tiles ? &tiles->tiles[number] : NULL;
    const struct container_tile none = {0};
    const uint64_t begun = clock_now(), read_before = atomic_load(&s->read_time);
    struct tile *t = *tile ? *tile : calloc(1, sizeof *t);
    unsigned char *bytes;
    uint64_t inside;

    *tile = t;
    if (!t)
        return source_no_memory(s);
    t->array = a;
    t->of = of;
    t->number = number;
    t->count = count;
    t->taken = 0;
    inside = locate(a, number, t->begin, t->sizes);
    t->elements = tiles->bytes;
    t->reduced = false;
    if (tiles->bytes)
        return true;
    if (!place || place->compressed == 0)
        return make_tile(t) || wrong(s, t, &none, error_no_memory);
    bytes = read_tile(s, t, place,
                      (size_t)(tiles->edges_cut ? inside : tiles->elements) * element_size(a->type),
                      mapped, wants);
    if (!bytes)
        return false;
    if (!t->reduced) {
        if (tiles->order && !(bytes = reorder(t, bytes)))
            return wrong(s, t, place, error_no_memory);
        if (!tiles->edges_cut)
            cut(t, bytes);
        if (!is_stored(t, t->sizes))
            pad(t, bytes);
        t->elements = bytes;
    }
    /* Reading has been counted; other workers read, too, so that this is about right. */
    if (tiles->filter_count > 0)
        atomic_fetch_add_explicit(&s->decode_time,
                                  clock_between(atomic_load(&s->read_time) - read_before,
                                                clock_between(begun, clock_now())),
                                  memory_order_relaxed);
    return true;
}

/* Copies `count` elements of the tile from the one number `from` on. */
static void put_row(const struct tile *t, uint64_t from, uint64_t count, unsigned char *to)
{
    const size_t size = element_size(t->array->type);

    if (t->elements) {
        memcpy(to, t->elements + from * size, (size_t)count * size);
        return;
    }
    while (count > 0) {
        const uint64_t some = count < FILL_BYTES / size ? count : FILL_BYTES / size;

        memcpy(to, t->fill.bytes, (size_t)some * size);
        to += some * size;
        count -= some;
    }
}

void tile_take(struct tile *t, const struct chunk_request *request, struct chunk *chunk)
{
    const size_t size = element_size(t->array->type);
    const uint64_t left = t->count - t->taken;
    unsigned char *to = request->borrow ? NULL : request->buffer;
    uint64_t most = t->elements ? left : FILL_BYTES / size;

    chunk->place = place;
    chunk->places = t;
    chunk->index = t->taken;
    if (t->reduced) {
        chunk->found = &t->partial;
        chunk->count = (size_t)left;
        t->taken = t->count;
        return;
    }
    chunk->same = !t->elements && request->borrow && left > SAME_BYTES / size;
    if (chunk->same)
        most = SIZE_MAX / 2 / size;
    if (!request->borrow && request->size / size < most)
        most = request->size / size;
    chunk->count = (size_t)(left < most ? left : most);
    chunk->data = to ? to : t->elements ? t->elements + t->taken * size : t->fill.bytes;
    if (to)
        put_row(t, t->taken, chunk->count, to);
    t->taken += chunk->count;
}

void tile_put(const struct tile *t, unsigned char *to, uint64_t first)
{
    const struct container_array *a = t->array;
    const size_t size = element_size(a->type);
    uint64_t at[CONTAINER_DIMENSIONS_MAX] = {0}, steps[CONTAINER_DIMENSIONS_MAX] = {0};
    uint64_t row = 1, step = 1, done = 0, index;
    unsigned d = a->dimensions;

    for (unsigned i = d; i-- > 0; step *= a->sizes[i])
        steps[i] = step;
    /* A row is what lies together in the array, too. */
    while (d > 0 && t->sizes[d - 1] == a->sizes[d - 1])
        row *= t->sizes[--d];
    if (d > 0)
        row *= t->sizes[--d];
    index = index_of(a, t->begin, t->sizes, 0) - first;
    do {
        put_row(t, done, row, to + index * size);
        done += row;
    } while (next_row(t, d, at, steps, &index));
}

void tile_empty(struct tile *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < 2; i++)
        free(t->space[i].bytes);
    free(t->fill.bytes);
    codec_close(t->memory);
    t->space[0] = t->space[1] = t->fill = (struct mapping_room){0};
    t->filled = NULL;
    t->memory = NULL;
}

void tile_close(struct tile *t)
{
    tile_empty(t);
    free(t);
}
