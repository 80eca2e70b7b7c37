/*
 * safetensors, of Hugging Face: the length of a header, the header, which is JSON, and the elements. Files are
 * refused that its own library refuses (Metadata::validate and read_metadata in safetensors/src/tensor.rs),
 * and a name that two arrays have, of which the library drops one.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/name.h"
#include "source/format/containers.h"
#include "sys/bytes.h"
#include "sys/json.h"
#include "sys/plural.h"

/* The header's length stands in so many bytes. */
#define HEADER_PREFIX 8

/* The longest header that the format's own library takes; bytes. */
#define HEADER_MAX ((uint64_t)100000000)

/* Most arrays take so many bytes of a header, and more. */
#define ARRAY_TEXT 80

/* A header as it is read. */
struct header {
    struct container *container; /* its text is the header */
    struct container_input *in;
    struct json_reader json;
    size_t length;                            /* bytes of the header */
    bool metadata;                            /* __metadata__ has been read */
    uint64_t data;                            /* offset in the file behind the header */
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX]; /* of the array that is read */
};

/* The description of an array. */
struct entry {
    uint64_t at; /* offset in the file of its description */
    bool has_shape, has_offsets;
    const char *type;    /* its name, in the header's text */
    uint64_t begin, end; /* from `data` on */
    unsigned dimensions; /* of header.sizes */
};

/* The place in the file of what is read next, or of what is wrong. */
static uint64_t place(const struct header *h)
{
    return HEADER_PREFIX + (uint64_t)(h->json.at - h->container->text);
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* 37 bits of the length, and 14 or more of how the header begins. It has no NUL, as small integers of 64 bits
   do, which may have such a length. Blanks before the { are an error later. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    size_t at = HEADER_PREFIX;
    uint64_t length;

    while (at < size && is_blank(bytes[at]))
        at++;
    if (at + 2 > size || bytes[at++] != '{')
        return false;
    while (at < size && is_blank(bytes[at]))
        at++;
    length = bytes_number(bytes, HEADER_PREFIX, false);
    return length >= 2 && length <= HEADER_MAX &&
           (at == size || bytes[at] == '"' || bytes[at] == '}') &&
           (at + 1 >= size || at + 1 >= HEADER_PREFIX + length || bytes[at + 1] != '\0');
}

/* Notes the error, if the reader of JSON does not: that something else stands there. */
static bool malformed(struct header *h, const char *expected)
{
    h->json.failed = true;
    return container_wrong(h->in, place(h), "the header is malformed: %s", expected);
}

/* An integer from 0 to 2^64 - 1. */
static bool read_integer(struct header *h, uint64_t *x)
{
    return json_read_integer(&h->json, x) || malformed(h, "an integer below 2^64 is expected");
}

static bool read_shape(struct header *h, struct entry *e)
{
    if (!json_read_begin(&h->json, '['))
        return malformed(h, "a shape is expected, [...]");
    while (json_read_more(&h->json, ']')) {
        if (e->dimensions == CONTAINER_DIMENSIONS_MAX)
            return container_wrong(h->in, place(h), "the shape has more than 64 dimensions");
        if (!read_integer(h, &h->sizes[e->dimensions]))
            return false;
        e->dimensions++;
    }
    _Static_assert(CONTAINER_DIMENSIONS_MAX == 64, "as the message says");
    return !h->json.failed || malformed(h, "a shape ends with ]");
}

static bool read_offsets(struct header *h, struct entry *e)
{
    static const char expected[] = "two offsets are expected, [BEGIN, END]";

    if (!json_read_begin(&h->json, '[') || !json_read_more(&h->json, ']'))
        return malformed(h, expected);
    if (!read_integer(h, &e->begin))
        return false;
    if (!json_read_more(&h->json, ']'))
        return malformed(h, expected);
    if (!read_integer(h, &e->end))
        return false;
    if (json_read_more(&h->json, ']') || h->json.failed)
        return malformed(h, expected);
    return true;
}

/* Takes a member of an array's description that may be there once. */
static bool once(struct header *h, bool *has, const char *key)
{
    if (*has)
        return container_wrong(h->in, place(h), "%s appears twice", key);
    *has = true;
    return true;
}

/* The description of an array: an object with a type, a shape and where it lies. */
static bool read_entry(struct header *h, struct entry *e)
{
    const char *key;

    json_read_space(&h->json);
    *e = (struct entry){.at = place(h)};
    if (!json_read_begin(&h->json, '{'))
        return malformed(h, "an array's description is expected, {...}");
    while (json_read_more(&h->json, '}')) {
        bool good, has_type = e->type;

        key = json_read_key_here(&h->json);
        if (!key)
            return malformed(h, "a name is expected");
        if (strcmp(key, "dtype") == 0) {
            good = once(h, &has_type, key);
            json_read_space(&h->json);
            if (good && !(e->type = json_read_string_here(&h->json)))
                return container_wrong(h->in, place(h), "the name of a type is expected");
        } else if (strcmp(key, "shape") == 0) {
            good = once(h, &e->has_shape, key) && read_shape(h, e);
        } else if (strcmp(key, "data_offsets") == 0) {
            good = once(h, &e->has_offsets, key) && read_offsets(h, e);
        } else {
            good =
                json_read_skip(&h->json) || malformed(h, "this is not JSON, or nested too deeply");
        }
        if (!good)
            return false;
    }
    if (h->json.failed)
        return malformed(h, "a name is expected, or }");
    if (!e->type || !e->has_shape || !e->has_offsets)
        return container_wrong(h->in, e->at, "dtype, shape or data_offsets is missing");
    return true;
}

/* Reads the metadata of the file: strings by name, or null. */
static bool read_metadata(struct header *h)
{
    if (json_read_null(&h->json))
        return true;
    if (!json_read_begin(&h->json, '{'))
        return malformed(h, "__metadata__ is an object");
    while (json_read_more(&h->json, '}')) {
        if (!json_read_key_here(&h->json))
            return malformed(h, "a name is expected");
        json_read_space(&h->json);
        if (*h->json.at != '"' || !json_read_skip(&h->json))
            return malformed(h, "__metadata__ holds strings");
    }
    return !h->json.failed || malformed(h, "a name is expected, or }");
}

/* Types of the format that are none of ours. */
static const struct {
    const char *name;
    unsigned bits;
    const char *what;
} foreign_types[] = {
    {"F4", 4, "a float of 4 bits"},
    {"F6_E2M3", 6, "a float of 6 bits"},
    {"F6_E3M2", 6, "a float of 6 bits"},
    {"F8_E8M0", 8, "a scale: an exponent alone"},
    {"F8_E4M3FNUZ", 8, "another float of 8 bits than F8_E4M3"},
    {"F8_E5M2FNUZ", 8, "another float of 8 bits than F8_E5M2"},
    {"C64", 64, "a complex number"},
};

/* Sets the type, and the bits of an element. */
static bool find_type(const char *type, struct container_array *a, unsigned *bits)
{
    *bits = 0;
    for (int i = 0; i < ELEMENT_TYPES && *bits == 0; i++)
        if (strcmp(type, element_names[i].safetensors) == 0) {
            a->type = (enum element_type)i;
            *bits = 8 * (unsigned)element_formats[i].size;
        }
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types && *bits == 0; i++)
        if (strcmp(type, foreign_types[i].name) == 0) {
            a->unreadable = foreign_types[i].what;
            *bits = foreign_types[i].bits;
        }
    container_name_type(a, type);
    return *bits > 0;
}

/* Adds an array whose description has been read, and that is consistent in itself. Else says what is
   wrong. */
static bool add(struct header *h, const char *name, const struct entry *e)
{
    struct container_array *a = container_add(h->container, name);
    char shown[NAME_ARRAY_MAX];
    unsigned bits;
    uint64_t length;

    if (!a || !container_set_shape(h->container, a, h->sizes, e->dimensions))
        return container_no_memory(h->in);
    if (!find_type(e->type, a, &bits)) {
        char type[NAME_ARRAY_MAX];

        return container_wrong(h->in, e->at, "array %s: %s is not a type of safetensors",
                               name_array(shown, name), name_array(type, e->type));
    }
    if (!container_product(a, &a->elements) ||
        __builtin_mul_overflow(a->elements, (uint64_t)bits, &length))
        return container_wrong(h->in, e->at, "array %s: the shape has more elements than any file",
                               name_array(shown, name));
    if (length % 8 != 0)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " element%s of %u bits must have whole bytes",
                               name_array(shown, name), a->elements, plural(a->elements), bits);
    length /= 8;
    if (e->end < e->begin || e->end - e->begin != length)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " element%s of %s: %" PRIu64
                               " byte%s, but the offsets are %" PRIu64 " and %" PRIu64,
                               name_array(shown, name), a->elements, plural(a->elements),
                               a->type_name, length, plural(length), e->begin, e->end);
    a->offset = e->begin; /* from the end of the header on: see finish */
    a->length = length;
    return true;
}

/* Reads the header, whose names are decoded where they stand. */
static bool read_members(struct header *h)
{
    json_read(&h->json, h->container->text);
    if (*h->container->text != '{' || !json_read_begin(&h->json, '{'))
        return malformed(h, "it begins with {");
    while (json_read_more(&h->json, '}')) {
        const char *name = json_read_key_here(&h->json);
        struct entry e;
        bool good;

        if (!name)
            return malformed(h, "the name of an array is expected");
        if (strcmp(name, "__metadata__") == 0)
            good = once(h, &h->metadata, name) && read_metadata(h);
        else
            good = read_entry(h, &e) && add(h, name, &e);
        if (!good)
            return false;
    }
    if (h->json.failed)
        return malformed(h, "the name of an array is expected, or }");
    if (!json_read_end(&h->json))
        return malformed(h, "something follows its end");
    return true;
}

/* Makes offsets those in the file, and sees to it that the arrays lie one behind the other, to the
   end of the file. */
static bool finish(struct header *h)
{
    struct container *c = h->container;
    char shown[NAME_ARRAY_MAX];
    uint64_t end = 0;

    container_sort(c);
    for (size_t i = 0; i < c->count; i++) {
        struct container_array *a = &c->arrays[i];

        if (a->offset != end) {
            /* The file may end before the arrays in front do. */
            const uint64_t room = h->in->size - h->data;

            return container_wrong(h->in, h->data + (end < room ? end : room),
                                   "array %s %s %" PRIu64 ", not at %" PRIu64,
                                   name_array(shown, a->name),
                                   a->offset > end ? "leaves a hole: it begins at offset"
                                                   : "overlaps another: it begins at offset",
                                   a->offset, end);
        }
        end += a->length; /* all offsets are below 2^64 */
        a->offset += h->data;
    }
    if (end > h->in->size - h->data) {
        const uint64_t missing = end - (h->in->size - h->data);

        return container_wrong(h->in, h->in->size,
                               "the file ends here, %" PRIu64 " byte%s before the arrays do",
                               missing, plural(missing));
    }
    c->end = h->data + end;
    c->nothing_behind = true;
    if (end < h->in->size - h->data && !h->in->endless)
        return container_wrong(h->in, h->data + end,
                               "the arrays end here, %" PRIu64 " byte%s before the file does",
                               h->in->size - h->data - end, plural(h->in->size - h->data - end));
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct header h = {.container = c, .in = in};
    unsigned char prefix[HEADER_PREFIX];
    uint64_t length;

    if (in->size < HEADER_PREFIX)
        return container_wrong(in, in->size, "the file ends within the length of the header");
    if (!in->read(in, prefix, HEADER_PREFIX, 0))
        return false;
    length = bytes_number(prefix, HEADER_PREFIX, false);
    if (length > HEADER_MAX)
        return container_wrong(in, 0,
                               "a header of %" PRIu64 " bytes is more than the %" PRIu64 " allowed",
                               length, HEADER_MAX);
    if (length > in->size - HEADER_PREFIX)
        return container_wrong(in, in->size, "the file ends within the header of %" PRIu64 " bytes",
                               length);
    h.length = (size_t)length;
    h.data = HEADER_PREFIX + length;
    c->text_offset = HEADER_PREFIX;
    if (!container_need(c, in, length, length))
        return false;
    c->text[length] = '\0';
    container_expect(c, h.length / ARRAY_TEXT);
    if (!read_members(&h))
        return false;
    if (place(&h) != h.data)
        return malformed(&h, "it holds a zero byte");
    return finish(&h);
}

const struct container_format container_safetensors = {
    .name = "safetensors",
    .article = "a safetensors file",
    .in_order = true,
    .recognise = recognise,
    .read = read_file,
};
