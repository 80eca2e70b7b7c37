/*
 * Long headers of safetensors, as far as they are as the format's own library writes them: read
 * piece by piece, and very long ones by several threads.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/container/safetensors_header.h"
#include "sys/escape.h"
#include "sys/team.h"

/* Long headers are read piece by piece, as far as they are as the format's own library writes them:
   a piece stays in the cache of a core, and of all the text only names are kept. Bytes: the
   shortest header that is read so, a piece, and how many of it the next array must have to be
   looked at. An array of more is read as others are. */
#ifndef PIECES_MIN
#    define PIECES_MIN ((size_t)64 << 10)
#    define PIECE_BYTES ((size_t)64 << 10)
#    define PIECE_LEFT ((size_t)4 << 10)
#endif

/* Most arrays take so many bytes of a header, and more. */
#define ARRAY_TEXT 80

bool safetensors_plain_integer(struct safetensors_header *h, uint64_t *x)
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

/* Takes these characters, up to HEADER_ZEROS of them, if they come next. */
static inline bool take_text(struct safetensors_header *h, const char *text, size_t length)
{
    if (memcmp(h->json.at, text, length) != 0)
        return false;
    h->json.at += length;
    return true;
}

#define TAKE(h, literal) take_text(h, literal, sizeof(literal) - 1)

/* Sizes up to the end of a shape, as safetensors_usual_entry takes them. */
static bool read_usual_sizes(struct safetensors_header *h, struct safetensors_entry *e)
{
    e->first_size = h->sizes_count;
    while (*h->json.at != ']') {
        if ((e->dimensions > 0 && !TAKE(h, ",")) || e->dimensions == CONTAINER_DIMENSIONS_MAX ||
            !safetensors_grow_sizes(h) ||
            !safetensors_plain_integer(h, &h->container->sizes[h->sizes_count]))
            return false;
        h->sizes_count++;
        e->dimensions++;
    }
    return true;
}

bool safetensors_usual_entry(struct safetensors_header *h, struct safetensors_entry *e)
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
           TAKE(h, "],\"data_offsets\":[") && safetensors_plain_integer(h, &e->begin) &&
           TAKE(h, ",") && safetensors_plain_integer(h, &e->end) && TAKE(h, "]}");
    if (!good) {
        h->json = before;
        h->sizes_count = sizes_before;
    }
    return good;
}

/* Takes a string in quotes whose characters all stand for themselves, `length` of them. NULL, with
   nothing read, where something else comes next. */
static const char *take_plain(struct safetensors_header *h, size_t *length)
{
    const char *text = h->json.at + 1;

    if (*h->json.at != '"')
        return NULL;
    *length = escape_plain_length(text);
    if (text[*length] != '"')
        return NULL;
    h->json.at = text + *length + 1;
    return text;
}

/* Takes __metadata__ behind its name, as the format's own library writes it. */
static bool take_usual_metadata(struct safetensors_header *h)
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

/* The outcome of a look at the next member of the header. */
enum member { MEMBER_TAKEN, MEMBER_UNUSUAL, MEMBER_WRONG };

/* Reads the next member, with the comma before it, if it is as the format's own library writes it:
   else nothing is read. Its name is copied to *names, which then is the place of the next one. */
static enum member read_usual_member(struct safetensors_header *h, char **names)
{
    static const char metadata[] = "__metadata__";
    const struct json_reader before = h->json;
    const char *name = h->json.first || TAKE(h, ",") ? h->json.at + 1 : NULL;
    size_t length = 0;
    struct safetensors_entry e;
    bool good = name && take_plain(h, &length) && TAKE(h, ":");
    const bool of_file =
        good && length == sizeof metadata - 1 && memcmp(name, metadata, length) == 0;

    e = (struct safetensors_entry){.at = safetensors_place(h)};
    good = good && (of_file ? take_usual_metadata(h) : safetensors_usual_entry(h, &e));
    if (!good) {
        h->json = before;
        return MEMBER_UNUSUAL;
    }
    h->json.first = false;
    if (of_file)
        return MEMBER_TAKEN;
    memcpy(*names, name, length);
    (*names)[length] = '\0';
    if (!safetensors_add(h, *names, &e))
        return MEMBER_WRONG;
    h->container->arrays[h->container->count - 1].name_at =
        (uint32_t)(h->text_at + (uint64_t)(name - 1 - h->text)); /* with its quote */
    *names += length + 1;
    return MEMBER_TAKEN;
}

_Static_assert(HEADER_MAX <= UINT32_MAX, "the place of a name has 32 bits");

/* Sees to it that the piece, which has `size` bytes, has enough of the header before it is read on.
   False where it could not be read. */
static bool fill_piece(struct safetensors_header *h, char *piece, size_t *size)
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
    memset(piece + *size, 0, HEADER_ZEROS);
    return h->in->read(h->in, piece + left, more, HEADER_PREFIX + h->text_at + left);
}

/* Reads what is usual of the header, from its beginning on, and sets *at to where that ends. The
   reader then stands there in a piece that is gone. False on failure. */
static bool read_pieces(struct safetensors_header *h, size_t *at)
{
    char *piece = malloc(PIECE_BYTES + HEADER_ZEROS), *names = h->container->text;
    enum member member = MEMBER_TAKEN;
    size_t size = 0;
    bool good = true;

    if (!piece)
        return true;
    memset(piece, 0, HEADER_ZEROS);
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
    *at = (size_t)(safetensors_place(h) - HEADER_PREFIX);
    free(piece);
    return good && member != MEMBER_WRONG;
}

/*
 * Very long headers, by several threads: each reads a part of the usual text, from about its place
 * on. A part begins where a description seems to end: if every part ends just where the next one
 * begins, then they do, since the first part begins at the beginning. If they do not fit together,
 * or anything is unusual or wrong, the header is read by one thread as if nobody had.
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
    struct safetensors_header header;
    struct container container; /* what the part has of it: a range of its table of arrays */
    struct container_input in;
    size_t from, until; /* it ends where a member does, at this byte of the header or behind it */
    size_t begin, end;  /* bytes of the header, as it turned out */
    bool good;
};

/* Has a reader stand in the piece where the part begins. */
static bool find_part(struct part *p, char *piece, size_t *size)
{
    struct safetensors_header *h = &p->header;
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
    p->begin = (size_t)(safetensors_place(h) - HEADER_PREFIX);
    return true;
}

static void read_part(void *parts, unsigned number)
{
    struct part *p = (struct part *)parts + number;
    struct safetensors_header *h = &p->header;
    char *piece = malloc(PIECE_BYTES + HEADER_ZEROS), *names;
    enum member member = MEMBER_TAKEN;
    size_t size = 0;

    if (!piece)
        return;
    memset(piece, 0, HEADER_ZEROS);
    p->good = safetensors_grow_sizes(h) && find_part(p, piece, &size);
    names = p->container.text + p->begin;
    while (p->good && member == MEMBER_TAKEN && safetensors_place(h) - HEADER_PREFIX < p->until) {
        p->good = p->container.count < p->container.capacity && fill_piece(h, piece, &size);
        member = p->good ? read_usual_member(h, &names) : MEMBER_WRONG;
    }
    p->end = (size_t)(safetensors_place(h) - HEADER_PREFIX);
    /* An unusual member may be the end of the header. */
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
static bool join_parts(struct safetensors_header *h, const struct part *parts, size_t count)
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
static bool read_parts(struct safetensors_header *h, size_t *at)
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
        p->header = (struct safetensors_header){
            .container = &p->container, .in = &p->in, .length = h->length};
    }
    team_call((unsigned)count, read_part, parts);
    if (parts_fit(parts, count)) {
        *at = parts[count - 1].end;
        good = join_parts(h, parts, count);
    }
    for (size_t i = 0; i < count; i++)
        free(parts[i].container.sizes);
    return good;
}

bool safetensors_usual(struct safetensors_header *h, size_t *at)
{
    *at = 0;
    if (h->length >= 2 * PART_BYTES && h->in->any_thread && !read_parts(h, at))
        return false;
    return *at > 0 || h->length < PIECES_MIN || read_pieces(h, at);
}
