/*
 * GGUF, of llama.cpp: a header, metadata, descriptions of tensors, and their elements, each at a
 * multiple of an alignment (docs/gguf.md in ggml). Blocks of quantised tensors are decoded, in tiles.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "source/format/containers.h"
#include "source/format/ggml.h"
#include "sys/bytes.h"
#include "sys/plural.h"

/* The most bytes of all descriptions. */
#define TABLE_MAX ((uint64_t)100000000)

/* The least bytes of a description: of a tensor without a name and dimensions. */
#define ENTRY_MIN 24

/* Arrays of metadata that lie in each other, at most. */
#define DEPTH_MAX 64

/* Dimensions of a tensor, as ggml has them at most. */
#define DIMENSIONS_MAX 4

#define ALIGNMENT_DEFAULT 32

/* The types of metadata, by their numbers in the file. */
enum value_type { VALUE_U32 = 4, VALUE_STRING = 8, VALUE_ARRAY = 9, VALUE_TYPES = 13 };

/* Bytes of a value; 0 of strings and arrays. */
static const unsigned char value_sizes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* Types of tensors, by their numbers, that ggml.h does not decode: those whose blocks have one element are
   read as they are. */
static const struct ggml_type kinds[] = {
    [0] = {0, "F32", 1, 4, ELEMENT_F32},         [1] = {1, "F16", 1, 2, ELEMENT_F16},
    [9] = {9, "Q8_1", 32, 36, ELEMENT_F64},      [16] = {16, "IQ2_XXS", 256, 66, ELEMENT_F64},
    [17] = {17, "IQ2_XS", 256, 74, ELEMENT_F64}, [18] = {18, "IQ3_XXS", 256, 98, ELEMENT_F64},
    [19] = {19, "IQ1_S", 256, 50, ELEMENT_F64},  [21] = {21, "IQ3_S", 256, 110, ELEMENT_F64},
    [22] = {22, "IQ2_S", 256, 82, ELEMENT_F64},  [24] = {24, "I8", 1, 1, ELEMENT_I8},
    [25] = {25, "I16", 1, 2, ELEMENT_I16},       [26] = {26, "I32", 1, 4, ELEMENT_I32},
    [27] = {27, "I64", 1, 8, ELEMENT_I64},       [28] = {28, "F64", 1, 8, ELEMENT_F64},
    [29] = {29, "IQ1_M", 256, 56, ELEMENT_F64},  [30] = {30, "BF16", 1, 2, ELEMENT_BF16},
};

#define TYPE_Q8_1 9

#define KINDS (sizeof kinds / sizeof *kinds)

/* Versions that there may be, beyond those that are read. */
#define VERSION_MAX 255

/* 32 bits, and 23 of the version in either byte order. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "GGUF", 4) == 0 &&
           (bytes_number(bytes + 4, 4, false) <= VERSION_MAX ||
            bytes_number(bytes + 4, 4, true) <= VERSION_MAX);
}

/* The file as it is read. */
struct file {
    struct container *container; /* its text is a part of the metadata, then the descriptions */
    struct container_input *in;
    bool big;
    uint64_t at; /* offset of what is read next */
    uint64_t tensors, alignment;
};

/* Steps over bytes that have to be there. */
static bool step(struct file *f, uint64_t size)
{
    if (size > f->in->size - f->at)
        return container_wrong(f->in, f->at, "the file ends within its header");
    f->at += size;
    return true;
}

/* The next number of `size` bytes. */
static bool take(struct file *f, unsigned size, uint64_t *x)
{
    struct container *c = f->container;
    const uint64_t at = f->at;

    if (!step(f, size))
        return false;
    if (f->at > c->text_offset + c->text_size) {
        c->text_offset = at;
        c->text_size = 0;
        if (!container_need(c, f->in, size, f->in->size - at))
            return false;
    }
    *x = bytes_number(c->text + (at - c->text_offset), size, f->big);
    return true;
}

/* Steps over values of a type, which are in so many arrays.
   NOLINTNEXTLINE(misc-no-recursion): `depth` is bounded */
static bool skip_values(struct file *f, uint64_t type, uint64_t count, unsigned depth)
{
    uint64_t length, inner;

    if (type >= VALUE_TYPES)
        return container_wrong(f->in, f->at, "unknown type %" PRIu64 " of metadata", type);
    if (depth > DEPTH_MAX)
        return container_wrong(f->in, f->at, "metadata are nested more than %d deep", DEPTH_MAX);
    if (type != VALUE_STRING && type != VALUE_ARRAY) {
        if (count > f->in->size / value_sizes[type])
            return container_wrong(f->in, f->at, "the file ends within its header");
        return step(f, count * value_sizes[type]);
    }
    for (; count > 0; count--) {
        if (type == VALUE_STRING && !(take(f, 8, &length) && step(f, length)))
            return false;
        if (type == VALUE_ARRAY && !(take(f, 4, &inner) && take(f, 8, &length) &&
                                     skip_values(f, inner, length, depth + 1)))
            return false;
    }
    return true;
}

/* Steps over one of the metadata, but for the alignment. */
static bool read_metadata(struct file *f)
{
    static const char key[] = "general.alignment";
    unsigned char name[sizeof key - 1];
    uint64_t length, type;
    const uint64_t at = f->at;
    bool alignment = false;

    if (!take(f, 8, &length) || !step(f, length))
        return false;
    if (length == sizeof name) {
        if (!f->in->read(f->in, name, sizeof name, at + 8))
            return false;
        alignment = memcmp(name, key, sizeof name) == 0;
    }
    if (!take(f, 4, &type))
        return false;
    if (alignment) {
        if (type != VALUE_U32 || !take(f, 4, &f->alignment) || f->alignment == 0 ||
            (f->alignment & (f->alignment - 1)) != 0)
            return container_wrong(f->in, at, "general.alignment is not a power of two below 2^32");
        return true;
    }
    return skip_values(f, type, 1, 0);
}

/* Sets the type, and how many bytes the elements have. */
static bool take_type(const struct file *f, struct container_array *a, uint64_t type, uint64_t at)
{
    const struct ggml_type *const blocks = ggml_find((uint32_t)type), *kind = blocks;
    char name[CONTAINER_TYPE_MAX], shown[NAME_ARRAY_MAX];

    if (!kind && type < KINDS && kinds[type].name)
        kind = &kinds[type];
    if (!kind) {
        snprintf(name, sizeof name, "%" PRIu64, type);
        container_name_type(a, name);
        a->unreadable = "not known to this program";
        return true;
    }
    container_name_type(a, kind->name);
    a->type = kind->type;
    a->big_endian = f->big;
    if (kind->elements > 1)
        a->unreadable =
            type == TYPE_Q8_1
                ? "of intermediate results, whose blocks have another size in some programs"
            : !blocks ? "quantised by codebooks, which llama.cpp's llama-quantize decodes to F32"
            : f->big
                ? "quantised, in a big-endian file; 'gguf-convert-endian FILE little' converts some"
                : NULL;
    if (!container_product(a, &a->elements) ||
        __builtin_mul_overflow(a->elements, kind->bytes, &a->length))
        return container_wrong(f->in, at, "array %s: the shape has more elements than any file",
                               name_array(shown, a->name));
    if ((a->dimensions > 0 ? a->sizes[a->dimensions - 1] : 1) % kind->elements != 0)
        return container_wrong(f->in, at,
                               "array %s: rows of %" PRIu64 " elements are not whole blocks of %u",
                               name_array(shown, a->name),
                               a->dimensions > 0 ? a->sizes[a->dimensions - 1] : 1, kind->elements);
    if (kind->elements > 1 && !a->unreadable) {
        const struct container_tiles t = {
            .filter_count = 1, .filters = {{.kind = CONTAINER_GGML, .values = {(uint32_t)type}}}};

        if (!container_set_tiles(f->container, a, &t)) /* the rest of them: see divide */
            return container_no_memory(f->in);
        f->in->scattered = true;
        a->big_endian = element_host_is_big();
    }
    a->length /= kind->elements;
    return true;
}

/* Has the first `size` bytes of the descriptions read, which begin at c->text_offset. */
static bool need(struct file *f, uint64_t size)
{
    struct container *c = f->container;
    const uint64_t left = f->in->size - c->text_offset, most = left < TABLE_MAX ? left : TABLE_MAX;

    return size <= most
               ? container_need(c, f->in, size, most)
               : container_wrong(f->in, c->text_offset + most,
                                 "the file ends within its header, or that has more than 100 MB");
}

/* The number of `size` bytes at a place of the descriptions. */
static uint64_t number_at(const struct file *f, size_t at, size_t size)
{
    return bytes_number(f->container->text + at, size, f->big);
}

/* Reads the description at *at, and moves that after it. The names of arrays may move while more is
   read: a->before is where this one is. */
static bool read_entry(struct file *f, size_t *at)
{
    struct container *c = f->container;
    const uint64_t place = c->text_offset + *at;
    const size_t name = *at + 8;
    struct container_array *a;
    uint64_t dimensions, length, sizes[DIMENSIONS_MAX];
    size_t end;

    if (!need(f, name))
        return false;
    length = number_at(f, *at, 8);
    if (!need(f, length < TABLE_MAX ? name + length + 4 : UINT64_MAX))
        return false;
    end = name + (size_t)length;
    dimensions = number_at(f, end, 4);
    if (dimensions > DIMENSIONS_MAX)
        return container_wrong(
            f->in, place, "a tensor has %" PRIu64 " dimensions; at most 4 are allowed", dimensions);
    _Static_assert(DIMENSIONS_MAX == 4, "as the message says");
    if (!need(f, end + 8 * dimensions + 16))
        return false;
    if (memchr(c->text + name, 0, (size_t)length))
        return container_wrong(f->in, place, "the name of a tensor has a zero byte");
    c->text[end] = '\0'; /* the name ends: what followed has been read */
    end += 4;
    for (uint64_t i = 0; i < dimensions; i++, end += 8) /* the fastest one comes first */
        sizes[dimensions - 1 - i] = number_at(f, end, 8);
    a = container_add(c, c->text + name);
    if (!a || !container_set_shape(c, a, sizes, (unsigned)dimensions))
        return container_no_memory(f->in);
    a->before = name;
    a->offset = number_at(f, end + 4, 8); /* see finish */
    *at = end + 12;
    return take_type(f, a, number_at(f, end, 4), place);
}

/* Bytes of the numbers of a tile, at most: the cache of a core holds them until they are reduced. */
#define TILE_BYTES ((uint64_t)256 << 10)

static const unsigned char zero[sizeof(double)];

/* Divides a tensor, whose blocks lie at a->offset, into tiles whose blocks are consecutive: all of the
   last dimensions, and a part of the one before. False without memory. */
static bool divide(struct file *f, struct container_array *a)
{
    struct container *c = f->container;
    struct container_tiles t = *a->tiles;
    const struct ggml_type *type = ggml_find(t.filters[0].values[0]);
    const uint64_t most = TILE_BYTES / element_size(a->type); /* elements of a tile */
    uint64_t sizes[DIMENSIONS_MAX] = {1, 1, 1, 1}, inner = 1, row = 1, across = 1;
    struct container_tile *tiles;
    unsigned d = a->dimensions;

    a->compressed = a->length;
    a->length = 0;
    t.elements = 1;
    t.fill = zero;
    if (a->elements > 0) {
        const unsigned last = d - 1; /* a number alone is no block */
        uint64_t parts;

        while (d > 1 && inner * a->sizes[d - 1] <= most) {
            d--;
            inner *= sizes[d] = a->sizes[d];
        }
        d--;
        row = a->sizes[d];
        parts = (inner * row - 1) / most + 1;
        sizes[d] = (row - 1) / parts + 1;
        if (d == last)
            sizes[d] += (type->elements - sizes[d] % type->elements) % type->elements;
        across = (row - 1) / sizes[d] + 1;
        t.elements = inner * sizes[d];
        t.count = a->elements / (inner * row) * across;
    }
    if (t.count > CONTAINER_TILES_MAX) {
        a->tiles = NULL;
        a->unreadable = "more than 2^39 elements";
        return true;
    }
    a->length = a->elements * element_size(a->type);
    t.sizes = container_keep(c, sizes, sizeof sizes);
    t.count = f->in->headers_only ? 0 : t.count;
    tiles = malloc((size_t)(t.count + 1) * sizeof *tiles);
    for (uint64_t i = 0; tiles && i < t.count; i++) {
        const uint64_t from = i % across * sizes[d];
        const uint64_t count = row - from < sizes[d] ? row - from : sizes[d];
        const uint64_t before = (i / across * row + from) * inner / type->elements;

        tiles[i] = (struct container_tile){
            .offset = a->offset + before * type->bytes,
            .compressed = (uint32_t)(count * inner / type->elements * type->bytes)};
    }
    t.tiles = tiles ? container_keep(c, tiles, (size_t)t.count * sizeof *tiles) : NULL;
    free(tiles);
    return t.sizes && t.tiles && container_set_tiles(c, a, &t);
}

/* Makes offsets those in the file, and sees to it that the tensors lie in it, and apart. */
static bool finish(struct file *f, uint64_t end)
{
    const uint64_t header = end;
    const uint64_t begin = end + (f->alignment - end % f->alignment) % f->alignment;
    struct container *c = f->container;
    char shown[NAME_ARRAY_MAX];

    container_sort(c);
    end = begin;
    for (size_t i = 0; i < c->count; i++) {
        struct container_array *a = &c->arrays[i];

        if (a->offset % f->alignment != 0)
            return container_wrong(f->in, header,
                                   "array %s: its offset %" PRIu64 " is not a multiple of %" PRIu64,
                                   name_array(shown, a->name), a->offset, f->alignment);
        if (begin > f->in->size || a->offset > f->in->size - begin ||
            a->length > f->in->size - begin - a->offset)
            return container_wrong(f->in, f->in->size,
                                   "truncated inside array %s: %" PRIu64
                                   " bytes at offset %" PRIu64,
                                   name_array(shown, a->name), a->length, a->offset);
        a->offset += begin;
        if (a->offset < end)
            return container_wrong(f->in, a->offset, "array %s overlaps another",
                                   name_array(shown, a->name));
        end = a->offset + a->length;
        if (a->tiles && !divide(f, a))
            return container_no_memory(f->in);
    }
    c->end = end;
    return true;
}

/* Reads the descriptions, which begin at f->at. */
static bool read_tensors(struct file *f)
{
    const uint64_t left = f->in->size - f->at, most = left < TABLE_MAX ? left : TABLE_MAX;
    struct container *c = f->container;
    size_t at = 0;

    if (f->tensors > most / ENTRY_MIN)
        return container_wrong(f->in, f->at,
                               "no room for %" PRIu64 " tensor%s in %" PRIu64 " byte%s", f->tensors,
                               plural(f->tensors), most, plural(most));
    c->text_offset = f->at;
    c->text_size = 0;
    for (uint64_t i = 0; i < f->tensors; i++)
        if (!read_entry(f, &at))
            return false;
    for (size_t i = 0; i < c->count; i++) {
        c->arrays[i].name = c->text + c->arrays[i].before;
        c->arrays[i].before = 0;
    }
    return finish(f, c->text_offset + at);
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct file f = {.container = c, .in = in, .alignment = ALIGNMENT_DEFAULT};
    unsigned char head[8];
    uint64_t metadata = 0, version;
    bool good;

    if (in->size < sizeof head)
        return container_wrong(in, in->size, "the file ends within its header");
    if (!in->read(in, head, sizeof head, 0))
        return false;
    if (!recognise(head, sizeof head))
        return container_wrong(in, 0, "it does not begin as GGUF of version 2 or 3");
    version = bytes_number(head + 4, 4, false);
    f.big = version > VERSION_MAX;
    if (f.big)
        version = bytes_number(head + 4, 4, true);
    if (version != 2 && version != 3) /* lengths of the first have 32 bits */
        return container_wrong(in, 4,
                               "version %" PRIu64
                               " is not supported, versions 2 and 3 are: convert "
                               "it, with llama.cpp's current convert_hf_to_gguf.py from the "
                               "original model",
                               version);
    f.at = sizeof head;
    good = take(&f, 8, &f.tensors) && take(&f, 8, &metadata);
    while (good && metadata-- > 0)
        good = read_metadata(&f);
    return good && read_tensors(&f);
}

const struct container_format container_gguf = {
    .name = "gguf",
    .article = "a GGUF file",
    .in_order = true,
    .recognise = recognise,
    .read = read_file,
};
