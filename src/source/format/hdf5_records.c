#include "config.h"

#include "source/format/hdf5_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "source/format/attributes.h"
#include "source/format/filters.h"
#include "sys/escape.h"

struct reader {
    struct container *container;
    struct container_input *in;
    const unsigned char *at, *end;
    uint64_t bytes; /* of all arrays so far */
};

/* The error for records that make no sense. */
static bool broken(const struct reader *r)
{
    return container_wrong(r->in, ERROR_NO_OFFSET, "libhdf5 returned inconsistent data");
}

/* The next word; UINT64_MAX behind the end, which no valid record has. */
static uint64_t take(struct reader *r)
{
    uint64_t word = UINT64_MAX;

    if ((size_t)(r->end - r->at) < sizeof word)
        return word;
    memcpy(&word, r->at, sizeof word);
    r->at += sizeof word;
    return word;
}

/* The next bytes, aligned to 8, and behind them a zero byte; NULL where there are not so many. */
static const unsigned char *take_bytes(struct reader *r, uint64_t size)
{
    const unsigned char *bytes = r->at;
    const uint64_t left = (uint64_t)(r->end - r->at);

    if (size >= left || (size + 8) / 8 * 8 > left || bytes[size] != 0)
        return NULL;
    r->at += (size + 8) / 8 * 8;
    return bytes;
}

static const char *take_string(struct reader *r)
{
    const uint64_t length = take(r);
    const unsigned char *bytes = take_bytes(r, length);

    return bytes && !memchr(bytes, 0, (size_t)length) ? (const char *)bytes : NULL;
}

/* As many words, where they stand. */
static const uint64_t *take_words(struct reader *r, uint64_t count)
{
    const void *words = r->at;

    if (count > (uint64_t)(r->end - r->at) / 8)
        return NULL;
    r->at += count * 8;
    return words;
}

/* Reads where the tiles are. `bytes`: of one of them, as it was before it was filtered. */
static bool take_places(struct reader *r, struct container_array *a, struct container_tiles *t,
                        uint64_t bytes)
{
    const uint64_t size = take(r), file = r->in->size;
    uint64_t count = 1;

    t->tiles = (const void *)take_bytes(r, size);
    if (!t->tiles || size % sizeof *t->tiles != 0)
        return broken(r);
    for (unsigned i = 0; i < a->dimensions; i++) {
        const uint64_t n = t->sizes[i] ? (a->sizes[i] + t->sizes[i] - 1) / t->sizes[i] : 0;

        if (__builtin_mul_overflow(count, n, &count))
            return broken(r);
    }
    t->count = size / sizeof *t->tiles;
    if (t->count != count &&
        (t->count > 0 || (!r->in->headers_only &&
                          container_wants(r->in->patterns, r->in->pattern_count, a->name, false))))
        return broken(r);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct container_tile *tile = &t->tiles[i];

        if (tile->compressed == 0)
            continue;
        /* Compressed data may be larger than others, but little. */
        if (tile->compressed > file || tile->offset > file - tile->compressed ||
            (tile->compressed > bytes && t->filter_count == 0) ||
            tile->compressed / 2 > bytes + 4096)
            return broken(r);
        if (a->compressed == 0 || tile->offset < a->offset)
            a->offset = tile->offset;
        a->compressed += tile->compressed;
    }
    return true;
}

/* Reads how the tiles are stored. */
static bool take_tiles(struct reader *r, struct container_array *a)
{
    struct container_tiles t = {.elements = 1};
    uint64_t bytes, plain, count, extended;

    t.sizes = take_words(r, a->dimensions);
    plain = take(r);
    count = take(r);
    if (!t.sizes || plain > 1 || count > CONTAINER_FILTERS_MAX)
        return broken(r);
    t.edges_plain = plain;
    t.filter_count = (unsigned)count;
    for (unsigned i = 0; i < count; i++) {
        struct container_filter *filter = &t.filters[i];
        const uint64_t kind = take(r);

        if (kind >= CONTAINER_FILTER_KINDS)
            return broken(r);
        filter->kind = (enum container_filter_kind)kind;
        for (unsigned j = 0; j < CONTAINER_FILTER_VALUES; j++) {
            const uint64_t value = take(r);

            if (value > UINT32_MAX)
                return broken(r);
            filter->values[j] = (uint32_t)value;
        }
        if (filter_refusal(filter))
            return broken(r);
    }
    for (unsigned i = 0; i < a->dimensions; i++)
        if (__builtin_mul_overflow(t.elements, t.sizes[i], &t.elements))
            return broken(r);
    if (__builtin_mul_overflow(t.elements, element_size(a->type), &bytes) ||
        (bytes > CONTAINER_TILE_BYTES_MAX && t.filter_count > 0) ||
        take(r) != element_size(a->type))
        return broken(r);
    if (count > 0 && filter_is_layout(&t.filters[0])) {
        bytes = filter_stored(&t.filters[0], bytes);
        if (bytes > CONTAINER_TILE_BYTES_MAX)
            return broken(r);
    }
    t.fill = take_bytes(r, element_size(a->type));
    extended = take(r);
    if (!t.fill || extended > 1)
        return broken(r);
    if (extended) {
        t.stored = take_words(r, a->dimensions);
        for (unsigned i = 0; t.stored && i < a->dimensions; i++)
            if (t.stored[i] > a->sizes[i])
                return broken(r);
        if (!t.stored || take(r) != element_size(a->type))
            return broken(r);
        t.pad = take_bytes(r, element_size(a->type));
        if (!t.pad)
            return broken(r);
    }
    return take_places(r, a, &t, bytes) &&
           (container_set_tiles(r->container, a, &t) || container_no_memory(r->in));
}

/* Elements in the records are a tile, which is all of the array. */
static bool take_here(struct reader *r, struct container_array *a)
{
    struct container_tiles t = {
        .sizes = a->sizes, .elements = a->elements, .count = a->elements > 0};

    if (take(r) != a->length)
        return broken(r);
    t.fill = t.bytes = take_bytes(r, a->length);
    if (!t.bytes)
        return broken(r);
    return container_set_tiles(r->container, a, &t) || container_no_memory(r->in);
}

/* A field of records. */
static bool take_field(struct reader *r, struct container_array *a)
{
    const uint64_t offset = take(r), record = take(r), here = take(r);
    uint64_t size, end;

    if (here == 0 || a->elements == 0 || a->elements % here != 0 ||
        __builtin_mul_overflow(here, element_size(a->type), &size) || record < size ||
        __builtin_mul_overflow(a->elements / here - 1, record, &end) ||
        __builtin_add_overflow(end, size, &end) || end > r->in->size || offset > r->in->size - end)
        return broken(r);
    a->offset = offset;
    if (size < record && a->elements > here) {
        a->record_elements = here;
        a->record_stride = record;
    }
    return true;
}

/* Chunks that cannot be decoded. */
static bool take_pieces(struct reader *r, struct container_array *a)
{
    const uint64_t *const begin = (const void *)r->at;
    const uint64_t count = take(r), head = take(r), words = HDF5_PIECE + (uint64_t)a->dimensions;
    const uint64_t *piece;

    if (!a->unreadable || !take_words(r, head) || count > (uint64_t)(r->end - r->at) / (8 * words))
        return broken(r);
    piece = take_words(r, count * words);
    for (uint64_t i = 0; i < count; i++, piece += words)
        if (piece[1] > r->in->size || piece[0] > r->in->size - piece[1])
            return broken(r);
    a->pieces = begin;
    return true;
}

/* Reads where the elements are. */
static bool take_place(struct reader *r, struct container_array *a)
{
    switch (take(r)) {
    case HDF5_NOWHERE:
        return a->unreadable || broken(r);
    case HDF5_STORED:
        a->offset = take(r);
        a->length = take(r);
        return (a->unreadable && a->length <= r->in->size &&
                a->offset <= r->in->size - a->length) ||
               broken(r);
    case HDF5_PIECES:
        return take_pieces(r, a);
    case HDF5_RANGE:
        a->offset = take(r);
        return (a->length <= r->in->size && a->offset <= r->in->size - a->length) || broken(r);
    case HDF5_FIELD:
        return take_field(r, a);
    case HDF5_HERE:
        return take_here(r, a);
    case HDF5_TILES:
        return take_tiles(r, a);
    default:
        return broken(r);
    }
}

/* Whether missing values are ranges of keys of the type in ascending order, which have all NaNs or
   none. */
static bool is_sound(const struct missing *m, enum element_type type)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type),
                   end = order_sign(type) | (order_sign(type) - 1);
    const unsigned char first_byte = *(const unsigned char *)m;

    _Static_assert(offsetof(struct missing, differ) == 0, "it is the first byte");
    if (first_byte != 0 || m->count == 0 || m->count > ATTRIBUTES_MISSING_MAX)
        return false;
    for (unsigned i = 0; i < m->count; i++) {
        const struct missing_range *range = &m->ranges[i];

        if (range->first > range->last || range->last > end ||
            (i > 0 && (range->first <= range[-1].last || range->first - range[-1].last == 1)) ||
            (range->first > 0 && range->first < least) ||
            (range->first > greatest && range->first - greatest > 1) ||
            (range->last < least && least - range->last > 1) ||
            (range->last > greatest && range->last < end))
            return false;
    }
    return missing_has(m, 0) == missing_has(m, end) || element_is_integer(type);
}

/* Reads what the numbers of an array mean. */
static bool take_meaning(struct reader *r, struct container_array *a)
{
    const uint64_t missing_size = take(r);
    const void *const missing = take_bytes(r, missing_size);
    const uint64_t scale_size = missing ? take(r) : 0;
    const void *const scale = missing ? take_bytes(r, scale_size) : NULL;

    if (!scale || (missing_size > 0 && missing_size != sizeof *a->missing_values) ||
        (scale_size > 0 && scale_size != sizeof *a->scale))
        return broken(r);
    if (missing_size > 0) {
        if (!is_sound(missing, a->type))
            return broken(r);
        a->missing_values = missing;
    }
    if (scale_size > 0) {
        _Static_assert(offsetof(struct scale, given) == 0, "it is the first byte");
        if (*(const unsigned char *)scale != 1)
            return broken(r);
        a->scale = scale;
        if (scale_refusal(a->scale))
            return broken(r);
    }
    a->warning = take_string(r);
    return a->warning || broken(r);
}

/* Reads the record of an array. */
static bool take_array(struct reader *r)
{
    const char *name = take_string(r), *type_name = take_string(r), *unreadable = take_string(r);
    const uint64_t type = take(r), typed = take(r), not_numeric = take(r);
    const uint64_t by_attributes = take(r), big = take(r);
    struct container_array *a;
    uint64_t dimensions;

    if (!name || !type_name || !unreadable || type >= ELEMENT_TYPES || typed > 1 ||
        not_numeric > 1 || by_attributes > 1 || big > 1)
        return broken(r);
    a = container_add(r->container, name);
    if (!a)
        return container_no_memory(r->in);
    container_name_type(a, type_name);
    a->unreadable = *unreadable ? unreadable : NULL;
    a->typed = typed;
    a->not_numeric = not_numeric;
    a->advice = by_attributes ? ADVICE_STORED : ADVICE_NONE;
    a->type = (enum element_type)type;
    a->big_endian = big;
    if (!take_meaning(r, a))
        return false;
    dimensions = take(r);
    if (dimensions > CONTAINER_DIMENSIONS_MAX)
        return broken(r);
    a->dimensions = (unsigned)dimensions;
    a->sizes = take_words(r, dimensions);
    if (!a->sizes || !container_product(a, &a->elements))
        return broken(r);
    if (!a->unreadable && (__builtin_mul_overflow(a->elements, element_size(a->type), &a->length) ||
                           __builtin_add_overflow(r->bytes, a->length, &r->bytes) ||
                           r->bytes > HDF5_ARRAYS_BYTES_MAX))
        return broken(r);
    return take_place(r, a);
}

/* Reads once more what the process could not read, which says why. */
static bool read_again(const struct reader *r, uint64_t offset, uint64_t size)
{
    struct container_input *in = r->in;
    unsigned char *bytes;
    bool good;

    if (size > in->size || offset > in->size - size)
        return broken(r);
    bytes = malloc((size_t)size + 1);
    good = !bytes || in->read(in, bytes, (size_t)size, offset);
    free(bytes);
    return good && container_wrong(in, offset, "%" PRIu64 " bytes could not be read", size);
}

bool hdf5_take(struct container *c, struct container_input *in, const unsigned char *bytes,
               size_t size)
{
    struct reader r = {.container = c, .in = in, .at = bytes, .end = bytes + size};
    char shown[ESCAPE_QUOTE_MAX];
    const char *text;
    uint64_t word, offset;

    switch (take(&r)) {
    case HDF5_ARRAYS:
        while ((word = take(&r)) == HDF5_ARRAY)
            if (!take_array(&r))
                return false;
        return word == HDF5_END || broken(&r);
    case HDF5_WRONG:
        text = take_string(&r);
        return text ? container_wrong(in, ERROR_NO_OFFSET, "%s", escape_quote(shown, text))
                    : broken(&r);
    case HDF5_UNREAD:
        offset = take(&r);
        return read_again(&r, offset, take(&r));
    default:
        return broken(&r);
    }
}
