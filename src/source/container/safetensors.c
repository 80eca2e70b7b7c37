#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/container/formats.h"
#include "source/container/safetensors_header.h"

/* 37 bits of the length, and 16 of how the header begins. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    uint64_t length = 0;

    for (unsigned i = 0; i < HEADER_PREFIX && i < size; i++)
        length |= (uint64_t)bytes[i] << 8 * i;
    return size >= HEADER_PREFIX + 2 && length >= 2 && length <= HEADER_MAX &&
           bytes[HEADER_PREFIX] == '{' &&
           (bytes[HEADER_PREFIX + 1] == '"' || bytes[HEADER_PREFIX + 1] == '}' ||
            bytes[HEADER_PREFIX + 1] == ' ');
}

/* Notes the error, if the reader of JSON does not: that something else stands there. */
static bool malformed(struct safetensors_header *h, const char *expected)
{
    h->json.failed = true;
    return container_wrong(h->in, safetensors_place(h), "the header is malformed: %s", expected);
}

static bool seek_value(struct safetensors_header *h)
{
    while (*h->json.at == ' ' || *h->json.at == '\t' || *h->json.at == '\n' || *h->json.at == '\r')
        h->json.at++;
    return true;
}

/* An integer from 0 to 2^64 - 1, as JSON has it: without a sign, a fraction and an exponent. */
static bool read_integer(struct safetensors_header *h, uint64_t *x)
{
    static const char expected[] = "an integer below 2^64 is expected";
    const char *digit;
    char text[24];

    seek_value(h);
    digit = h->json.at;
    if (safetensors_plain_integer(h, x))
        return true;
    if (!json_read_number_text(&h->json, text, sizeof text))
        return malformed(h, expected);
    *x = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(*x, UINT64_C(10), x) ||
            __builtin_add_overflow(*x, (uint64_t)(*p - '0'), x)) {
            h->json.at = digit;
            return malformed(h, expected);
        }
    }
    return true;
}

static bool read_shape(struct safetensors_header *h, struct safetensors_entry *e)
{
    e->first_size = h->sizes_count;
    if (!json_read_begin(&h->json, '['))
        return malformed(h, "a shape is expected, [...]");
    while (json_read_more(&h->json, ']')) {
        if (e->dimensions == CONTAINER_DIMENSIONS_MAX)
            return container_wrong(h->in, safetensors_place(h),
                                   "the shape has more than 64 dimensions");
        if (!safetensors_grow_sizes(h) || !read_integer(h, &h->container->sizes[h->sizes_count]))
            return false;
        h->sizes_count++;
        e->dimensions++;
    }
    _Static_assert(CONTAINER_DIMENSIONS_MAX == 64, "as the message says");
    return !h->json.failed || malformed(h, "a shape ends with ]");
}

static bool read_offsets(struct safetensors_header *h, struct safetensors_entry *e)
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

/* A value that is left out. */
static bool skip(struct safetensors_header *h)
{
    return json_read_skip(&h->json) || malformed(h, "this is no JSON, or nested too deeply");
}

/* Takes a member of an array's description that may be there once. */
static bool once(struct safetensors_header *h, bool *has, const char *key)
{
    if (*has)
        return container_wrong(h->in, safetensors_place(h), "%s appears twice", key);
    *has = true;
    return true;
}

/* The description of an array: an object with a type, a shape and where it lies. */
static bool read_entry(struct safetensors_header *h, struct safetensors_entry *e)
{
    seek_value(h);
    *e = (struct safetensors_entry){.at = safetensors_place(h)};
    if (safetensors_usual_entry(h, e))
        return true;
    *e = (struct safetensors_entry){.at = safetensors_place(h)};
    if (!json_read_begin(&h->json, '{'))
        return malformed(h, "an array's description is expected, {...}");
    while (json_read_more(&h->json, '}')) {
        char key[TYPE_NAME_MAX];
        bool good;

        if (!json_read_key(&h->json, key, sizeof key))
            return malformed(h, "a name is expected");
        if (strcmp(key, "dtype") == 0) {
            good = once(h, &e->has_type, key);
            seek_value(h);
            if (good && !json_read_string(&h->json, e->type, sizeof e->type))
                return container_wrong(h->in, safetensors_place(h),
                                       "the name of a type is expected");
        } else if (strcmp(key, "shape") == 0) {
            good = once(h, &e->has_shape, key) && read_shape(h, e);
        } else if (strcmp(key, "data_offsets") == 0) {
            good = once(h, &e->has_offsets, key) && read_offsets(h, e);
        } else {
            good = skip(h);
        }
        if (!good)
            return false;
    }
    if (h->json.failed)
        return malformed(h, "a name is expected, or }");
    if (!e->has_type || !e->has_shape || !e->has_offsets)
        return container_wrong(h->in, e->at, "dtype, shape or data_offsets is missing");
    return true;
}

/* Reads the metadata of the file: strings by name, or null. */
static bool read_metadata(struct safetensors_header *h)
{
    if (json_read_null(&h->json))
        return true;
    if (!json_read_begin(&h->json, '{'))
        return malformed(h, "__metadata__ is an object");
    while (json_read_more(&h->json, '}')) {
        char none[1];

        if (!json_read_key(&h->json, none, sizeof none))
            return malformed(h, "a name is expected");
        seek_value(h);
        if (*h->json.at != '"' || !json_read_skip(&h->json))
            return malformed(h, "__metadata__ holds strings");
    }
    return !h->json.failed || malformed(h, "a name is expected, or }");
}

/* Reads the members from the reader's place on, which is in container->text. Names are decoded to
   where they stand: they get no longer. */
static bool read_members(struct safetensors_header *h)
{
    char *text = h->container->text;
    const char *end = h->json.at + strlen(h->json.at);

    while (json_read_more(&h->json, '}')) {
        char *name = text + (h->json.at - text);
        struct safetensors_entry e;
        bool good;

        if (!json_read_key(&h->json, name, (size_t)(end - name) + 1))
            return malformed(h, "the name of an array is expected");
        if (strcmp(name, "__metadata__") == 0)
            good = once(h, &h->metadata, name) && read_metadata(h);
        else
            good = read_entry(h, &e) && safetensors_add(h, name, &e);
        if (!good)
            return false;
    }
    if (h->json.failed)
        return malformed(h, "the name of an array is expected, or }");
    if (!json_read_end(&h->json))
        return malformed(h, "something follows its end");
    return true;
}

/* The whole header. */
static bool read_entries(struct safetensors_header *h)
{
    char *text = h->container->text;
    size_t at = 0;

    json_read(&h->json, text);
    if (!safetensors_usual(h, &at))
        return false;
    /* Names that have been copied take less than what they stood in. */
    if (!h->in->read(h->in, text + at, h->length - at, HEADER_PREFIX + at))
        return false;
    memset(text + h->length, 0, HEADER_ZEROS);
    h->text = text;
    h->text_at = 0;
    h->json.at = text + at;
    if (h->json.depth == 0 && (*text != '{' || !json_read_begin(&h->json, '{')))
        return malformed(h, "it begins with {");
    return read_members(h);
}

/* Makes offsets those in the file, and sees to it that the arrays lie one behind the other, to the
   end of the file. */
static bool settle(struct safetensors_header *h)
{
    struct container *c = h->container;
    char shown[CONTAINER_NAME_SHOWN];
    const uint64_t *sizes = c->sizes;
    uint64_t end = 0;

    for (size_t i = 0; i < c->count; i++) { /* they stand in the same order */
        c->arrays[i].sizes = sizes;
        sizes += c->arrays[i].dimensions;
    }
    container_sort(c);
    for (size_t i = 0; i < c->count; i++) {
        struct container_array *a = &c->arrays[i];

        if (a->offset != end) {
            /* The file may end before the arrays in front do. */
            const uint64_t room = h->in->size - h->data;

            return container_wrong(h->in, h->data + (end < room ? end : room),
                                   "array %s %s %" PRIu64 ", not at %" PRIu64,
                                   container_show_name(shown, a->name),
                                   a->offset > end ? "leaves a hole: it begins at offset"
                                                   : "overlaps another: it begins at offset",
                                   a->offset, end);
        }
        end += a->length; /* all offsets are below 2^64 */
        a->offset += h->data;
    }
    if (end > h->in->size - h->data)
        return container_wrong(h->in, h->in->size,
                               "the file ends here, %" PRIu64 " bytes before the arrays do",
                               end - (h->in->size - h->data));
    c->end = h->data + end;
    c->nothing_behind = true;
    if (end < h->in->size - h->data && !h->in->endless)
        return container_wrong(h->in, h->data + end,
                               "the arrays end here, %" PRIu64 " bytes before the file does",
                               h->in->size - h->data - end);
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct safetensors_header h = {.container = c, .in = in};
    unsigned char prefix[HEADER_PREFIX];
    uint64_t length = 0;

    if (in->size < HEADER_PREFIX)
        return container_wrong(in, in->size, "the file ends within the length of the header");
    if (!in->read(in, prefix, HEADER_PREFIX, 0))
        return false;
    for (unsigned i = 0; i < HEADER_PREFIX; i++)
        length |= (uint64_t)prefix[i] << 8 * i;
    if (length > HEADER_MAX)
        return container_wrong(in, 0,
                               "a header of %" PRIu64 " bytes is more than the %" PRIu64 " allowed",
                               length, HEADER_MAX);
    if (length > in->size - HEADER_PREFIX)
        return container_wrong(in, in->size, "the file ends within the header of %" PRIu64 " bytes",
                               length);
    c->text = malloc((size_t)length + HEADER_ZEROS);
    if (!c->text)
        return container_no_memory(in);
    c->text_offset = HEADER_PREFIX;
    h.length = (size_t)length;
    h.data = HEADER_PREFIX + length;
    if (!safetensors_grow_sizes(&h) || !read_entries(&h))
        return false;
    if (safetensors_place(&h) != h.data)
        return malformed(&h, "it holds a zero byte");
    return settle(&h);
}

const struct container_format container_safetensors = {
    .name = "safetensors",
    .article = "a safetensors file",
    .inside = "safetensors+zstd",
    .recognise = recognise,
    .read = read_file,
};
