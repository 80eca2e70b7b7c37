#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/container/formats.h"
#include "sys/json.h"
#include "sys/mapping.h"
#include "sys/side_by_side.h"

/* The header's length stands in so many bytes. */
#define PREFIX 8

/* The longest header that the format's own library takes; bytes. */
#define HEADER_MAX ((uint64_t)100000000)

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

static const size_t foreign_type_count = sizeof foreign_types / sizeof *foreign_types;

/* The longest name of a type, and a byte that tells longer ones from it. */
#define TYPE_NAME_MAX 16

/* 37 bits of the length, and 16 of how the header begins. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    uint64_t length = 0;

    for (unsigned i = 0; i < PREFIX && i < size; i++)
        length |= (uint64_t)bytes[i] << 8 * i;
    return size >= PREFIX + 2 && length >= 2 && length <= HEADER_MAX && bytes[PREFIX] == '{' &&
           (bytes[PREFIX + 1] == '"' || bytes[PREFIX + 1] == '}' || bytes[PREFIX + 1] == ' ');
}

/* Long headers are read piece by piece, as far as they are as the format's own library writes them:
   a piece stays in the cache of a core, and of all the text only names are kept. Bytes: the
   shortest header that is read so, a piece, and how many of it the next array must have to be
   looked at. An array of more is read as others are. */
#ifndef PIECES_MIN
#    define PIECES_MIN ((size_t)64 << 10)
#    define PIECE_BYTES ((size_t)64 << 10)
#    define PIECE_LEFT ((size_t)4 << 10)
#endif

/* Zeros behind a text: it ends there, and words are compared without a look at its end. */
#define ZEROS 32

/* Most arrays take so many bytes of a header, and more. */
#define ARRAY_TEXT 80

/* A header as it is read. */
struct header {
    struct container *container;
    struct container_input *in;
    struct json_reader json;
    const char *text;   /* what the reader stands in: a piece, or container->text */
    uint64_t text_at;   /* where that begins in the header */
    size_t length;      /* bytes of the header */
    bool metadata;      /* __metadata__ has been read */
    uint64_t data;      /* offset in the file behind the header */
    size_t sizes_count; /* of container->sizes in use */
    size_t sizes_room;
};

/* What has been read of an array. */
struct entry {
    uint64_t at; /* offset in the file of its description */
    bool has_type, has_shape, has_offsets;
    char type[TYPE_NAME_MAX];
    uint64_t begin, end; /* from `data` on */
    size_t first_size;   /* where its shape stands in container->sizes */
    unsigned dimensions;
};

/* The place in the file of what is read next, or of what is wrong. */
static uint64_t place(const struct header *h)
{
    return PREFIX + h->text_at + (uint64_t)(h->json.at - h->text);
}

/* What is wrong, where the reader of JSON does not say it: that there is something else. */
static bool malformed(struct header *h, const char *expected)
{
    h->json.failed = true;
    return container_wrong(h->in, place(h), "the header is malformed: %s", expected);
}

static bool seek_value(struct header *h)
{
    while (*h->json.at == ' ' || *h->json.at == '\t' || *h->json.at == '\n' || *h->json.at == '\r')
        h->json.at++;
    return true;
}

/* Reads an integer of up to 18 digits, as most are. False, with nothing read, for all else. */
static bool read_plain_integer(struct header *h, uint64_t *x)
{
    const char *p = h->json.at, *const begin = p;
    uint64_t value = 0;

    if (h->json.failed)
        return false;
    while (*p >= '0' && *p <= '9' && p - begin < 18)
        value = value * 10 + (uint64_t)(*p++ - '0');
    if (p == begin || (*begin == '0' && p - begin > 1) || (*p != ',' && *p != ']'))
        return false;
    h->json.at = p;
    *x = value;
    return true;
}

/* An integer from 0 to 2^64 - 1, as JSON has it: without a sign, a fraction and an exponent. */
static bool read_integer(struct header *h, uint64_t *x)
{
    static const char expected[] = "an integer below 2^64 is expected";
    const char *digit;
    char text[24];

    seek_value(h);
    digit = h->json.at;
    if (read_plain_integer(h, x))
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

/* Room for one more size. */
static bool grow_sizes(struct header *h)
{
    size_t room = h->sizes_room ? 2 * h->sizes_room : 256;
    uint64_t *sizes;

    if (h->sizes_count < h->sizes_room)
        return true;
    sizes = realloc(h->container->sizes, room * sizeof *sizes);
    if (!sizes)
        return container_no_memory(h->in);
    h->container->sizes = sizes;
    h->sizes_room = room;
    return true;
}

static bool read_shape(struct header *h, struct entry *e)
{
    e->first_size = h->sizes_count;
    if (!json_read_begin(&h->json, '['))
        return malformed(h, "a shape is expected, [...]");
    while (json_read_more(&h->json, ']')) {
        if (e->dimensions == CONTAINER_DIMENSIONS_MAX)
            return container_wrong(h->in, place(h), "the shape has more than 64 dimensions");
        if (!grow_sizes(h) || !read_integer(h, &h->container->sizes[h->sizes_count]))
            return false;
        h->sizes_count++;
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

/* A value that is left out. */
static bool skip(struct header *h)
{
    return json_read_skip(&h->json) || malformed(h, "this is no JSON, or nested too deeply");
}

/* Takes a member of an array's description that may be there once. */
static bool once(struct header *h, bool *has, const char *key)
{
    if (*has)
        return container_wrong(h->in, place(h), "%s stands there twice", key);
    *has = true;
    return true;
}

/* Takes these characters, up to ZEROS of them, if they come next. */
static inline bool take_text(struct header *h, const char *text, size_t length)
{
    if (memcmp(h->json.at, text, length) != 0)
        return false;
    h->json.at += length;
    return true;
}

#define TAKE(h, literal) take_text(h, literal, sizeof(literal) - 1)

/* Sizes up to the end of a shape, as read_usual takes them. */
static bool read_usual_sizes(struct header *h, struct entry *e)
{
    e->first_size = h->sizes_count;
    while (*h->json.at != ']') {
        if ((e->dimensions > 0 && !TAKE(h, ",")) || e->dimensions == CONTAINER_DIMENSIONS_MAX ||
            !grow_sizes(h) || !read_plain_integer(h, &h->container->sizes[h->sizes_count]))
            return false;
        h->sizes_count++;
        e->dimensions++;
    }
    return true;
}

/* Reads a description as the format's own library writes it: without space, and with its members in
   this order. False, with nothing read, for all else, be it right or wrong. */
static bool read_usual(struct header *h, struct entry *e)
{
    const struct json_reader before = h->json;
    const size_t sizes_before = h->sizes_count;
    size_t length = 0;
    bool good = !h->json.failed && TAKE(h, "{\"dtype\":\"");

    while (good && length < sizeof e->type - 1 &&
           ((*h->json.at >= 'A' && *h->json.at <= 'Z') || *h->json.at == '_' ||
            (*h->json.at >= '0' && *h->json.at <= '9')))
        e->type[length++] = *h->json.at++;
    e->type[length] = '\0';
    good = good && TAKE(h, "\",\"shape\":[") && read_usual_sizes(h, e) &&
           TAKE(h, "],\"data_offsets\":[") && read_plain_integer(h, &e->begin) && TAKE(h, ",") &&
           read_plain_integer(h, &e->end) && TAKE(h, "]}");
    if (!good) {
        h->json = before;
        h->sizes_count = sizes_before;
    }
    return good;
}

/* The description of an array: an object with a type, a shape and where it lies. */
static bool read_entry(struct header *h, struct entry *e)
{
    seek_value(h);
    *e = (struct entry){.at = place(h)};
    if (read_usual(h, e))
        return true;
    *e = (struct entry){.at = place(h)};
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
                return container_wrong(h->in, place(h), "the name of a type is expected");
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

_Static_assert(TYPE_NAME_MAX == CONTAINER_TYPE_MAX, "names of types are compared as a whole");

/* Sets the type, and the bits of an element. Most arrays have that of the one before them, if there
   is one. */
static bool find_type(const struct entry *e, const struct container_array *before,
                      struct container_array *a, unsigned *bits)
{
    if (before && !before->unreadable &&
        memcmp(before->type_name, e->type, sizeof e->type) == 0) { /* with zeros behind them */
        a->type = before->type;
        memcpy(a->type_name, e->type, sizeof e->type);
        *bits = 8 * (unsigned)element_formats[a->type].size;
        return true;
    }
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        if (strcmp(e->type, element_names[i].safetensors) == 0) {
            a->type = (enum element_type)i;
            container_name_type(a, element_names[i].safetensors);
            *bits = 8 * (unsigned)element_formats[i].size;
            return true;
        }
    }
    for (size_t i = 0; i < foreign_type_count; i++) {
        if (strcmp(e->type, foreign_types[i].name) == 0) {
            a->unreadable = foreign_types[i].what;
            container_name_type(a, foreign_types[i].name);
            *bits = foreign_types[i].bits;
            return true;
        }
    }
    return false;
}

/* Adds an array whose description has been read, and that is consistent in itself. */
static bool add(struct header *h, const char *name, const struct entry *e)
{
    struct container_array *a = container_add(h->container, name);
    char shown[CONTAINER_NAME_SHOWN];
    unsigned bits;
    uint64_t length;

    if (!a)
        return container_no_memory(h->in);
    if (!find_type(e, h->container->count > 1 ? a - 1 : NULL, a, &bits)) {
        char type[CONTAINER_NAME_SHOWN];

        return container_wrong(h->in, e->at, "array %s: %s is no type of safetensors",
                               container_show_name(shown, name),
                               container_show_name(type, e->type));
    }
    a->dimensions = e->dimensions;
    a->sizes = h->container->sizes + e->first_size; /* until more are read: see settle */
    if (!container_product(a, &a->elements) ||
        __builtin_mul_overflow(a->elements, (uint64_t)bits, &length))
        return container_wrong(h->in, e->at, "array %s: the shape has more elements than any file",
                               container_show_name(shown, name));
    if (length % 8 != 0)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " elements of %u bits are no whole bytes",
                               container_show_name(shown, name), a->elements, bits);
    length /= 8;
    if (e->end < e->begin || e->end - e->begin != length)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " elements of %s have %" PRIu64
                               " bytes, and the offsets are %" PRIu64 " and %" PRIu64,
                               container_show_name(shown, name), a->elements, a->type_name, length,
                               e->begin, e->end);
    a->offset = e->begin; /* from the end of the header on: see settle */
    a->length = length;
    return true;
}

/* What is known of the file as a whole: strings by name, or null. */
static bool read_metadata(struct header *h)
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

/* Takes a string in quotes whose characters all stand for themselves, `length` of them. NULL, with
   nothing read, where something else comes next. */
static const char *take_plain(struct header *h, size_t *length)
{
    const char *text = h->json.at + 1;

    if (*h->json.at != '"')
        return NULL;
    *length = json_plain_length(text);
    if (text[*length] != '"')
        return NULL;
    h->json.at = text + *length + 1;
    return text;
}

/* Takes __metadata__ behind its name, as the format's own library writes it. */
static bool take_usual_metadata(struct header *h)
{
    size_t length;

    if (h->metadata || !TAKE(h, "{"))
        return false;
    for (bool first = true; !TAKE(h, "}"); first = false)
        if ((!first && !TAKE(h, ",")) || !take_plain(h, &length) || !TAKE(h, ":") ||
            !take_plain(h, &length))
            return false;
    h->metadata = true;
    return true;
}

/* What came of a look at the next member of the header. */
enum member { MEMBER_TAKEN, MEMBER_UNUSUAL, MEMBER_WRONG };

/* Reads the next member, with the comma before it, if it is as the format's own library writes it:
   else nothing is read. Its name is copied to *names, which then is the place of the next one. */
static enum member read_usual_member(struct header *h, char **names)
{
    static const char metadata[] = "__metadata__";
    const struct json_reader before = h->json;
    const char *name = h->json.first || TAKE(h, ",") ? h->json.at + 1 : NULL;
    size_t length = 0;
    struct entry e;
    bool good = name && take_plain(h, &length) && TAKE(h, ":");
    const bool of_file =
        good && length == sizeof metadata - 1 && memcmp(name, metadata, length) == 0;

    e = (struct entry){.at = place(h)};
    good = good && (of_file ? take_usual_metadata(h) : read_usual(h, &e));
    if (!good) {
        h->json = before;
        return MEMBER_UNUSUAL;
    }
    h->json.first = false;
    if (of_file)
        return MEMBER_TAKEN;
    memcpy(*names, name, length);
    (*names)[length] = '\0';
    if (!add(h, *names, &e))
        return MEMBER_WRONG;
    h->container->arrays[h->container->count - 1].name_at =
        (uint32_t)(h->text_at + (uint64_t)(name - 1 - h->text)); /* with its quote */
    *names += length + 1;
    return MEMBER_TAKEN;
}

_Static_assert(HEADER_MAX <= UINT32_MAX, "the place of a name has 32 bits");

/* Sees to it that the piece, which has `size` bytes, has enough of the header before it is read on.
   False where it could not be read. */
static bool fill_piece(struct header *h, char *piece, size_t *size)
{
    const size_t left = *size - (size_t)(h->json.at - piece);
    const size_t behind = h->length - (size_t)h->text_at - *size;
    size_t more = PIECE_BYTES - left;

    if (left >= PIECE_LEFT || behind == 0)
        return true;
    more = more < behind ? more : behind;
    memmove(piece, h->json.at, left);
    h->text_at += *size - left;
    h->json.at = piece;
    *size = left + more;
    memset(piece + *size, 0, ZEROS);
    return h->in->read(h->in, piece + left, more, PREFIX + h->text_at + left);
}

/* Reads what is usual of the header, from its beginning on, and sets *at to where that ends. The
   reader then stands there in a piece that is gone. False on failure. */
static bool read_pieces(struct header *h, size_t *at)
{
    char *piece = malloc(PIECE_BYTES + ZEROS), *names = h->container->text;
    enum member member = MEMBER_TAKEN;
    size_t size = 0;
    bool good = true;

    if (!piece)
        return true;
    memset(piece, 0, ZEROS);
    container_expect(h->container, h->length / ARRAY_TEXT);
    json_read(&h->json, piece);
    h->text = piece;
    while (good && member == MEMBER_TAKEN) {
        good = fill_piece(h, piece, &size);
        if (good && h->json.depth == 0)
            member =
                *piece == '{' && json_read_begin(&h->json, '{') ? MEMBER_TAKEN : MEMBER_UNUSUAL;
        else if (good)
            member = read_usual_member(h, &names);
    }
    *at = (size_t)(place(h) - PREFIX);
    free(piece);
    return good && member != MEMBER_WRONG;
}

/*
 * Very long headers, by several threads: each reads a part of what is usual, from about its place
 * on. A part begins where a description seems to end: if every part ends just where the next one
 * begins, then they do, since the first part begins at the beginning. Where they do not fit
 * together, or anything is unusual or wrong, the header is read by one thread as if nobody had.
 */

/* Bytes of the header that a thread reads, at least, and how many of them there are at most. */
#ifndef PART_BYTES
#    define PART_BYTES ((size_t)256 << 10)
#endif
#define PARTS_MOST ((size_t)4)

/* Few arrays take less of a header than this: a part with more than it has room for is left. */
#define ARRAY_TEXT_LEAST ((size_t)60)

/* How a description ends before another member. */
static const char description_end[] = "]},\"";
#define COMMA ((size_t)2) /* of these characters */

struct part {
    struct header header;
    struct container container; /* what the part has of it: a range of its table of arrays */
    struct container_input in;
    size_t from, until; /* it ends where a member does, at this byte of the header or behind it */
    size_t begin, end;  /* bytes of the header, as it turned out */
    bool good;
};

/* Has a reader stand in the piece where the part begins. */
static bool find_part(struct part *p, char *piece, size_t *size)
{
    struct header *h = &p->header;
    const char *at = piece;

    json_read(&h->json, piece);
    h->text = piece;
    if (p->from > 0)
        h->text_at = p->from - COMMA; /* the comma may stand at `from` */
    if (!fill_piece(h, piece, size))
        return false;
    if (p->from == 0)
        return *piece == '{' && json_read_begin(&h->json, '{');
    at = strstr(piece, description_end);
    if (!at)
        return false;
    h->json = (struct json_reader){.at = at + COMMA, .depth = 1};
    p->begin = (size_t)(place(h) - PREFIX);
    return true;
}

static void read_part(void *parts, unsigned number)
{
    struct part *p = (struct part *)parts + number;
    struct header *h = &p->header;
    char *piece = malloc(PIECE_BYTES + ZEROS), *names;
    enum member member = MEMBER_TAKEN;
    size_t size = 0;

    if (!piece)
        return;
    memset(piece, 0, ZEROS);
    p->good = grow_sizes(h) && find_part(p, piece, &size);
    names = p->container.text + p->begin;
    while (p->good && member == MEMBER_TAKEN && place(h) - PREFIX < p->until) {
        p->good = p->container.count < p->container.capacity && fill_piece(h, piece, &size);
        member = p->good ? read_usual_member(h, &names) : MEMBER_WRONG;
    }
    p->end = (size_t)(place(h) - PREFIX);
    /* What is unusual may be the end of the header. */
    p->good =
        p->good && (member == MEMBER_TAKEN || (member == MEMBER_UNUSUAL && p->until == h->length));
    free(piece);
}

/* Whether parts fit together. */
static bool parts_fit(const struct part *parts, size_t count)
{
    bool good = parts[0].good;

    for (size_t i = 1; i < count && good; i++)
        good = parts[i].good && parts[i].begin == parts[i - 1].end && !parts[i].header.metadata;
    return good;
}

/* Adds what the parts hold to the container. False without memory. */
static bool join_parts(struct header *h, const struct part *parts, size_t count)
{
    struct container *c = h->container;
    size_t sizes = 0;
    uint64_t *all;

    for (size_t i = 0; i < count; i++)
        sizes += parts[i].header.sizes_count;
    all = realloc(c->sizes, (sizes + 1) * sizeof *all);
    if (!all)
        return container_no_memory(h->in);
    c->sizes = all;
    h->sizes_room = sizes + 1;
    for (size_t i = 0; i < count; i++) {
        const struct container *own = &parts[i].container;

        memmove(c->arrays + c->count, own->arrays, own->count * sizeof *own->arrays);
        memcpy(c->sizes + h->sizes_count, own->sizes, parts[i].header.sizes_count * sizeof *all);
        c->count += own->count;
        h->sizes_count += parts[i].header.sizes_count;
    }
    h->metadata = parts[0].header.metadata;
    h->json = parts[count - 1].header.json;
    return true;
}

/* Reads what is usual of the header, as read_pieces does, by several threads; or leaves it all.
   False without memory. */
static bool read_parts(struct header *h, size_t *at)
{
    struct part parts[PARTS_MOST];
    struct container *c = h->container;
    const size_t most = h->length / PART_BYTES, count = most < PARTS_MOST ? most : PARTS_MOST;
    const size_t room = h->length / count / ARRAY_TEXT_LEAST;
    bool good = true;

    container_expect(c, count * room);
    if (c->capacity < count * room)
        return true;
    for (size_t i = 0; i < count; i++) {
        struct part *p = &parts[i];

        *p = (struct part){
            .in = *h->in,
            .container = {.text = c->text, .arrays = c->arrays + i * room, .capacity = room},
            .from = h->length / count * i,
            .until = i + 1 < count ? h->length / count * (i + 1) : h->length};
        p->header = (struct header){.container = &p->container, .in = &p->in, .length = h->length};
    }
    mapping_share_heap(); /* these threads are to leave no heaps behind */
    side_by_side(read_part, parts, (unsigned)count);
    if (parts_fit(parts, count)) {
        *at = parts[count - 1].end;
        good = join_parts(h, parts, count);
    }
    for (size_t i = 0; i < count; i++)
        free(parts[i].container.sizes);
    return good;
}

/* Reads the members from the reader's place on, which is in container->text. Names are decoded to
   where they stand: they get no longer. */
static bool read_members(struct header *h)
{
    char *text = h->container->text;
    const char *end = h->json.at + strlen(h->json.at);

    while (json_read_more(&h->json, '}')) {
        char *name = text + (h->json.at - text);
        struct entry e;
        bool good;

        if (!json_read_key(&h->json, name, (size_t)(end - name) + 1))
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

/* The whole header. */
static bool read_entries(struct header *h)
{
    char *text = h->container->text;
    size_t at = 0;

    json_read(&h->json, text);
    if (h->length >= 2 * PART_BYTES && h->in->any_thread && !read_parts(h, &at))
        return false;
    if (at == 0 && h->length >= PIECES_MIN && !read_pieces(h, &at))
        return false;
    /* Names that have been copied take less than what they stood in. */
    if (!h->in->read(h->in, text + at, h->length - at, PREFIX + at))
        return false;
    memset(text + h->length, 0, ZEROS);
    h->text = text;
    h->text_at = 0;
    h->json.at = text + at;
    if (h->json.depth == 0 && (*text != '{' || !json_read_begin(&h->json, '{')))
        return malformed(h, "it begins with {");
    return read_members(h);
}

/* Makes offsets those in the file, and sees to it that the arrays lie one behind the other, to the
   end of the file. */
static bool settle(struct header *h)
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
                               "the file ends here, and the arrays %" PRIu64 " bytes behind it",
                               end - (h->in->size - h->data));
    c->end = h->data + end;
    c->nothing_behind = true;
    if (end < h->in->size - h->data && !h->in->endless)
        return container_wrong(h->in, h->data + end,
                               "the arrays end here, and the file %" PRIu64 " bytes behind them",
                               h->in->size - h->data - end);
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct header h = {.container = c, .in = in};
    unsigned char prefix[PREFIX];
    uint64_t length = 0;

    if (in->size < PREFIX)
        return container_wrong(in, in->size, "the file ends within the length of the header");
    if (!in->read(in, prefix, PREFIX, 0))
        return false;
    for (unsigned i = 0; i < PREFIX; i++)
        length |= (uint64_t)prefix[i] << 8 * i;
    if (length > HEADER_MAX)
        return container_wrong(in, 0,
                               "a header of %" PRIu64 " bytes is more than the %" PRIu64 " allowed",
                               length, HEADER_MAX);
    if (length > in->size - PREFIX)
        return container_wrong(in, in->size, "the file ends within the header of %" PRIu64 " bytes",
                               length);
    c->text = malloc((size_t)length + ZEROS);
    if (!c->text)
        return container_no_memory(in);
    c->text_offset = PREFIX;
    h.length = (size_t)length;
    h.data = PREFIX + length;
    if (!grow_sizes(&h) || !read_entries(&h))
        return false;
    if (place(&h) != h.data)
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
