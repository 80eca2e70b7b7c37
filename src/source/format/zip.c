#include "config.h"

#include "source/format/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/grow.h"
#include "sys/plural.h"
#include "sys/search.h"

/* Parts of an archive, by the signatures that they begin with, and their sizes in bytes without
   what is of variable length. */
#define LOCAL 0x04034b50u
#define LOCAL_SIZE 30
#define ENTRY 0x02014b50u
#define ENTRY_SIZE 46
#define END 0x06054b50u
#define END_SIZE 22
#define END64 0x06064b50u
#define END64_SIZE 56
#define LOCATOR 0x07064b50u
#define LOCATOR_SIZE 20

/* The end of an archive is followed by at most so many bytes: a comment, of 65535 at most, and others. */
#define AFTER_MAX 65536

/* The largest central directory that is read: of a million members or so. */
#define DIRECTORY_MAX ((uint64_t)100000000)

static uint64_t number(const unsigned char *bytes, unsigned size)
{
    return bytes_number(bytes, size, false);
}

const char *zip_first_name(const unsigned char *bytes, size_t size, size_t *length)
{
    for (;;) {
        const char *const name = (const char *)bytes + LOCAL_SIZE;

        if (size < LOCAL_SIZE || number(bytes, 4) != LOCAL)
            return NULL;
        *length = (size_t)number(bytes + 26, 2);
        if (size < LOCAL_SIZE + *length)
            return NULL;
        if (*length == 0 || name[*length - 1] != '/')
            return name;
        const size_t whole = LOCAL_SIZE + *length + (size_t)number(bytes + 28, 2);

        if (size < whole)
            return NULL;
        bytes += whole;
        size -= whole;
    }
}

size_t zip_head(const unsigned char *bytes, size_t size)
{
    if (size < 4 || number(bytes, 4) != LOCAL)
        return 0;
    return LOCAL_SIZE + (size < LOCAL_SIZE ? 0 : (size_t)number(bytes + 26, 2));
}

bool zip_is_empty(const unsigned char *bytes, size_t size)
{
    static const unsigned char none[END_SIZE - 4];

    return size == END_SIZE && number(bytes, 4) == END && memcmp(bytes + 4, none, sizeof none) == 0;
}

/* Whether the end of a central directory is at tail + at, of the `size` bytes at the end of the file,
   which begin at its byte `begin`. The file ends after its comment or, if it `goes_on`, up to 64 KiB after
   it begins; then the directory has to end there. */
static bool is_end(const unsigned char *tail, size_t size, size_t at, uint64_t begin, bool goes_on)
{
    const unsigned char *const end = tail + at;
    const size_t left = size - at - END_SIZE, comment = (size_t)number(end + 20, 2);

    if (number(end, 4) != END || !goes_on)
        return number(end, 4) == END && comment == left;
    return comment < left && left <= AFTER_MAX &&
           (number(end + 12, 4) + number(end + 16, 4) == begin + at ||
            (at >= LOCATOR_SIZE && number(end - LOCATOR_SIZE, 4) == LOCATOR));
}

/* Finds the end of the central directory. */
static bool read_end(struct zip *z)
{
    struct container_input *in = z->in;
    /* Most archives have no comment: no more is read of them than has to be. */
    static const size_t sizes[] = {LOCATOR_SIZE + END_SIZE, LOCATOR_SIZE + END_SIZE + AFTER_MAX};
    unsigned char *tail, end64[END64_SIZE];
    bool good = true, found = false;
    uint64_t begin = 0, left = 0;
    size_t at = 0;

    if (in->size < END_SIZE)
        return container_wrong(in, in->size, "the file ends before its central directory");
    tail = malloc(sizes[1]);
    if (!tail)
        return container_no_memory(in);
    for (int i = 0; i < 3 && good && !found; i++) {
        const size_t size = in->size < sizes[i > 0] ? (size_t)in->size : sizes[i > 0];

        begin = in->size - size;
        good = in->read(in, tail, size, begin);
        for (size_t before = size - END_SIZE + 1; good && !found && before > 0; before = at) {
            const unsigned char *const p = memrchr(tail, END & 0xff, before);

            at = p ? (size_t)(p - tail) : 0;
            found = is_end(tail, size, at, begin, i == 2);
        }
        found = found && (i > 0 || at == LOCATOR_SIZE || size < sizes[0]);
    }
    if (good && !found)
        good = container_wrong(in, in->size,
                               "no central directory ends here: the file is cut off, or goes on "
                               "after the archive");
    if (good) {
        left = in->size - begin - at - END_SIZE - number(tail + at + 20, 2);
        z->entries = number(tail + at + 10, 2);
        z->size = number(tail + at + 12, 4);
        z->begin = number(tail + at + 16, 4);
        z->end = begin + at;
    }
    /* Some writers, torch's for one, have these 64-bit records in every archive. */
    if (good && at >= LOCATOR_SIZE && number(tail + at - LOCATOR_SIZE, 4) == LOCATOR) {
        uint64_t offset = number(tail + at - LOCATOR_SIZE + 8, 8);

        z->end -= LOCATOR_SIZE;
        if (z->end < END64_SIZE || offset > z->end - END64_SIZE)
            good = container_wrong(
                in, z->end, "the central directory's end is said to lie at %" PRIu64, offset);
        good = good && in->read(in, end64, sizeof end64, offset);
        if (good && number(end64, 4) != END64)
            good = container_wrong(in, offset, "there is no end of a central directory here");
        if (good) {
            z->end = offset;
            z->entries = number(end64 + 32, 8);
            z->size = number(end64 + 40, 8);
            z->begin = number(end64 + 48, 8);
        }
    }
    free(tail);
    if (good && left > 0)
        z->container->warning = container_note(
            z->container, "ignored %" PRIu64 " byte%s after the archive", left, plural(left));
    return good && (left == 0 || z->container->warning || container_no_memory(in));
}

/* Reads the central directory into the container's text. */
static bool read_directory(struct zip *z)
{
    struct container *c = z->container;

    if (!read_end(z))
        return false;
    if (z->size > z->end || z->begin != z->end - z->size)
        return container_wrong(z->in, z->end,
                               "a central directory of %" PRIu64 " bytes at %" PRIu64
                               " does not end here",
                               z->size, z->begin);
    if (z->size > DIRECTORY_MAX)
        return container_wrong(z->in, z->begin,
                               "a central directory of %" PRIu64 " bytes is more than the %" PRIu64
                               " allowed",
                               z->size, DIRECTORY_MAX);
    if (z->entries > z->size / ENTRY_SIZE)
        return container_wrong(z->in, z->begin,
                               "%" PRIu64 " members do not fit in %" PRIu64 " bytes", z->entries,
                               z->size);
    c->text = malloc((size_t)z->size + 1);
    if (!c->text)
        return container_no_memory(z->in);
    c->text_offset = z->begin;
    return z->in->read(z->in, c->text, (size_t)z->size, z->begin);
}

/* Takes the sizes and the place of a member from its ZIP64 field, where the entry has no room for
   them. */
static bool read_wide(const struct zip *z, struct zip_member *m, const unsigned char *extra,
                      size_t length)
{
    uint64_t *const values[] = {&m->size, &m->compressed, &m->local};
    bool wanted = false;

    for (size_t i = 0; i < 3; i++)
        wanted = wanted || *values[i] == 0xffffffff;
    while (wanted && length >= 4) {
        const size_t size = (size_t)number(extra + 2, 2);
        const bool wide = number(extra, 2) == 1;
        size_t at = 0;

        extra += 4;
        length -= 4;
        if (size > length)
            break;
        for (size_t i = 0; wide && i < 3; i++) {
            if (*values[i] != 0xffffffff)
                continue;
            if (at + 8 > size)
                return container_wrong(z->in, m->at, "the ZIP64 field of this member is cut off");
            *values[i] = number(extra + at, 8);
            at += 8;
        }
        if (wide)
            return true;
        extra += size;
        length -= size;
    }
    return true;
}

/* Reads the entry at byte *at of the directory, which begins at 0, and moves *at after it. The name has
   no end. */
static bool read_entry(const struct zip *z, size_t *at, struct zip_member *m)
{
    const unsigned char *entry = (const unsigned char *)z->container->text + *at;
    const size_t left = (size_t)z->size - *at;
    size_t name, extra, comment;

    m->at = z->begin + *at;
    if (left < ENTRY_SIZE || number(entry, 4) != ENTRY)
        return container_wrong(z->in, m->at, "an entry of the central directory is expected");
    name = (size_t)number(entry + 28, 2);
    extra = (size_t)number(entry + 30, 2);
    comment = (size_t)number(entry + 32, 2);
    if (left - ENTRY_SIZE < name + extra + comment)
        return container_wrong(z->in, m->at, "this entry of the central directory is cut off");
    m->flags = (unsigned)number(entry + 8, 2);
    m->method = (unsigned)number(entry + 10, 2);
    m->checksum = (uint32_t)number(entry + 16, 4);
    m->compressed = number(entry + 20, 4);
    m->size = number(entry + 24, 4);
    m->local = number(entry + 42, 4);
    m->offset = 0;
    m->name = (const char *)entry + ENTRY_SIZE;
    m->name_length = name;
    *at += ENTRY_SIZE + name + extra + comment;
    if (memchr(m->name, 0, name))
        return container_wrong(z->in, m->at, "the name of this member has a zero byte");
    return read_wide(z, m, entry + ENTRY_SIZE + name, extra);
}

bool zip_read_members(struct zip *z)
{
    char *text;
    size_t at = 0;

    if (!read_directory(z))
        return false;
    while (z->count < z->entries) {
        if (!GROW(z->members, z->room, z->count + 1))
            return container_no_memory(z->in);
        if (!read_entry(z, &at, &z->members[z->count]))
            return false;
        z->count++;
    }
    z->listed = at;
    /* Names are ended where they stand, once what follows them has been read. */
    text = z->container->text;
    for (size_t i = 0; i < z->count; i++)
        text[z->members[i].name - text + (ptrdiff_t)z->members[i].name_length] = '\0';
    return true;
}

/* Members of one name are in the order of the directory. */
static int compare_members(const void *a, const void *b)
{
    const struct zip_member *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

void zip_sort(struct zip *z)
{
    const size_t all = z->count;

    if (all > 0)
        qsort(z->members, all, sizeof *z->members, compare_members);
    z->count = 0;
    for (size_t i = 0; i < all; i++)
        if (i + 1 == all || strcmp(z->members[i].name, z->members[i + 1].name) != 0)
            z->members[z->count++] = z->members[i];
}

struct zip_member *zip_find(const struct zip *z, const char *name, size_t length)
{
    size_t low = 0, high = z->count;

    SEARCH(low, high, strncmp(z->members[middle].name, name, length) < 0);
    if (low == z->count || strncmp(z->members[low].name, name, length) != 0 ||
        z->members[low].name[length])
        return NULL;
    return &z->members[low];
}

bool zip_is_plain(const struct zip_member *m)
{
    return m->method == ZIP_STORED && (m->flags & 1) == 0 && m->compressed == m->size;
}

bool zip_place(const struct zip *z, struct zip_member *m)
{
    struct zip_content content;

    if (m->offset > 0)
        return true;
    if (!zip_read_local(z, m, &content))
        return false;
    m->offset = content.offset;
    return true;
}

bool zip_read_local(const struct zip *z, const struct zip_member *m, struct zip_content *content)
{
    struct container_input *in = z->in;
    unsigned char *bytes = content->bytes;
    size_t size, name, before;

    if (m->local > z->begin || z->begin - m->local < LOCAL_SIZE)
        return container_wrong(in, m->at,
                               "this member is said to begin at byte %" PRIu64
                               ", which is not before the directory",
                               m->local);
    size = z->begin - m->local < ZIP_HEAD_MAX ? (size_t)(z->begin - m->local) : ZIP_HEAD_MAX;
    if (!in->read(in, bytes, size, m->local)) {
        if (in->error.kind == ERROR_NONE)
            return false;
        in->error.kind = ERROR_NONE; /* perhaps of another member */
        size = LOCAL_SIZE + m->name_length < size ? LOCAL_SIZE + m->name_length : size;
        if (!in->read(in, bytes, size, m->local))
            return false;
    }
    if (number(bytes, 4) != LOCAL)
        return container_wrong(in, m->local, "a member is expected here");
    name = (size_t)number(bytes + 26, 2);
    before = LOCAL_SIZE + name + (size_t)number(bytes + 28, 2);
    content->offset = m->local + before;
    if (content->offset > z->begin || m->compressed > z->begin - content->offset)
        return container_wrong(in, m->local,
                               "%" PRIu64 " byte%s of this member must lie before the directory",
                               m->compressed, plural(m->compressed));
    if (name != m->name_length || LOCAL_SIZE + name > size ||
        memcmp(bytes + LOCAL_SIZE, m->name, name) != 0)
        return container_wrong(in, m->local, "this member has another name in the directory");
    content->size = size > before ? size - before : 0;
    if (content->size > m->compressed)
        content->size = (size_t)m->compressed;
    memmove(bytes, bytes + (before < size ? before : size), content->size);
    return true;
}
