/*
 * .npz: a zip archive of .npy files (PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3 for ZIP64;
 * NumPy's numpy.lib.format). The central directory lists the members, and their headers describe
 * the arrays.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/containers.h"
#include "source/format/inflate.h"
#include "source/format/npy.h"
#include "sys/bytes.h"
#include "sys/plural.h"

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

/* A comment at the end of an archive has at most so many bytes. */
#define COMMENT_MAX 65535

/* The largest central directory that is read: of a million members or so. */
#define DIRECTORY_MAX ((uint64_t)100000000)

/* As much of a member is read at first: as a rule its two headers. */
#define HEAD_MAX ((size_t)1024)

enum method { STORED = 0, DEFLATED = 8 };

static uint64_t number(const unsigned char *bytes, unsigned size)
{
    return bytes_number(bytes, size, false);
}

static bool ends_with_npy(const unsigned char *name, size_t length)
{
    return length > 4 && memcmp(name + length - 4, ".npy", 4) == 0;
}

/* 32 bits, and as many of the end of the first member's name; or an archive without members. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    static const unsigned char none[END_SIZE - 4];
    size_t length;

    if (size == END_SIZE && number(bytes, 4) == END)
        return memcmp(bytes + 4, none, sizeof none) == 0;
    if (size < LOCAL_SIZE || number(bytes, 4) != LOCAL)
        return false;
    length = (size_t)number(bytes + 26, 2);
    return size >= LOCAL_SIZE + length && ends_with_npy(bytes + LOCAL_SIZE, length);
}

/* The archive as it is read. */
struct archive {
    struct container *container;
    struct container_input *in;
    uint64_t members, begin, size; /* of the central directory: members, and bytes */
    uint64_t end;                  /* of what lies before it and its end */
    bool other_names;              /* some names do not end in .npy */
};

/* A member, as the central directory has it. */
struct member {
    uint64_t at; /* offset in the file of its entry */
    unsigned flags, method;
    uint32_t checksum;
    uint64_t compressed, size, local;
    const unsigned char *name; /* without a NUL */
    size_t name_length;
};

/* Finds the end of the central directory. */
static bool read_end(struct archive *a)
{
    struct container_input *in = a->in;
    /* Most archives have no comment: no more is read of them than has to be. */
    static const size_t sizes[] = {LOCATOR_SIZE + END_SIZE, END_SIZE + COMMENT_MAX};
    unsigned char *tail, end64[END64_SIZE];
    bool good = true, found = false;
    uint64_t begin = 0;
    size_t at = 0;

    if (in->size < END_SIZE)
        return container_wrong(in, in->size, "the file ends before its central directory");
    tail = malloc(sizes[1]);
    if (!tail)
        return container_no_memory(in);
    for (int i = 0; i < 2 && good && !found; i++) {
        const size_t size = in->size < sizes[i] ? (size_t)in->size : sizes[i];

        begin = in->size - size;
        good = in->read(in, tail, size, begin);
        for (at = size - END_SIZE + 1; good && !found && at-- > 0;)
            found =
                number(tail + at, 4) == END && number(tail + at + 20, 2) == size - at - END_SIZE;
        found = found && (i > 0 || at == LOCATOR_SIZE || size < sizes[0]);
    }
    if (good && !found)
        good = container_wrong(in, in->size, "no central directory ends here: the file is cut off");
    if (good) {
        a->members = number(tail + at + 10, 2);
        a->size = number(tail + at + 12, 4);
        a->begin = number(tail + at + 16, 4);
        a->end = begin + at;
    }
    if (good && (a->members == 0xffff || a->size == 0xffffffff || a->begin == 0xffffffff) &&
        at >= LOCATOR_SIZE && number(tail + at - LOCATOR_SIZE, 4) == LOCATOR) {
        uint64_t offset = number(tail + at - LOCATOR_SIZE + 8, 8);

        a->end -= LOCATOR_SIZE;
        if (a->end < END64_SIZE || offset > a->end - END64_SIZE)
            good = container_wrong(
                in, a->end, "the central directory's end is said to lie at %" PRIu64, offset);
        good = good && in->read(in, end64, sizeof end64, offset);
        if (good && number(end64, 4) != END64)
            good = container_wrong(in, offset, "there is no end of a central directory here");
        if (good) {
            a->end = offset;
            a->members = number(end64 + 32, 8);
            a->size = number(end64 + 40, 8);
            a->begin = number(end64 + 48, 8);
        }
    }
    free(tail);
    return good;
}

/* Reads the central directory to container->text. */
static bool read_directory(struct archive *a)
{
    struct container *c = a->container;

    if (!read_end(a))
        return false;
    if (a->size > a->end || a->begin != a->end - a->size)
        return container_wrong(a->in, a->end,
                               "a central directory of %" PRIu64 " bytes at %" PRIu64
                               " does not end here",
                               a->size, a->begin);
    if (a->size > DIRECTORY_MAX)
        return container_wrong(a->in, a->begin,
                               "a central directory of %" PRIu64 " bytes is more than the %" PRIu64
                               " allowed",
                               a->size, DIRECTORY_MAX);
    if (a->members > a->size / ENTRY_SIZE)
        return container_wrong(a->in, a->begin,
                               "%" PRIu64 " members do not fit in %" PRIu64 " bytes", a->members,
                               a->size);
    c->text = malloc((size_t)a->size + 1);
    if (!c->text)
        return container_no_memory(a->in);
    c->text_offset = a->begin;
    return a->in->read(a->in, c->text, (size_t)a->size, a->begin);
}

/* Takes the sizes and the place of a member from its ZIP64 field, where the entry has no room for
   them. */
static bool read_wide(const struct archive *a, struct member *m, const unsigned char *extra,
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
                return container_wrong(a->in, m->at, "the ZIP64 field of this member is cut off");
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

/* Reads the entry at *at of the directory, and moves behind it. */
static bool read_entry(const struct archive *a, size_t *at, struct member *m)
{
    const unsigned char *entry = (const unsigned char *)a->container->text + *at;
    const size_t left = (size_t)a->size - *at;
    size_t name, extra, comment;

    m->at = a->begin + *at;
    if (left < ENTRY_SIZE || number(entry, 4) != ENTRY)
        return container_wrong(a->in, m->at, "an entry of the central directory is expected");
    name = (size_t)number(entry + 28, 2);
    extra = (size_t)number(entry + 30, 2);
    comment = (size_t)number(entry + 32, 2);
    if (left - ENTRY_SIZE < name + extra + comment)
        return container_wrong(a->in, m->at, "this entry of the central directory is cut off");
    m->flags = (unsigned)number(entry + 8, 2);
    m->method = (unsigned)number(entry + 10, 2);
    m->checksum = (uint32_t)number(entry + 16, 4);
    m->compressed = number(entry + 20, 4);
    m->size = number(entry + 24, 4);
    m->local = number(entry + 42, 4);
    m->name = entry + ENTRY_SIZE;
    m->name_length = name;
    *at += ENTRY_SIZE + name + extra + comment;
    if (memchr(m->name, 0, name))
        return container_wrong(a->in, m->at, "the name of this member has a zero byte");
    return read_wide(a, m, m->name + name, extra);
}

/* The first bytes of a member, and what follows them of it. */
struct content {
    unsigned char bytes[HEAD_MAX];
    size_t size;
    uint64_t offset; /* in the file, of the first of its bytes, compressed or not */
};

/* Reads a member's local header, and the bytes behind it. */
static bool read_local(const struct archive *a, const struct member *m, struct content *content)
{
    struct container_input *in = a->in;
    unsigned char *bytes = content->bytes;
    size_t size, name, before;

    if (m->local > a->begin || a->begin - m->local < LOCAL_SIZE)
        return container_wrong(in, m->at,
                               "this member is said to begin at byte %" PRIu64
                               ", which is not before the directory",
                               m->local);
    size = a->begin - m->local < HEAD_MAX ? (size_t)(a->begin - m->local) : HEAD_MAX;
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
    if (content->offset > a->begin || m->compressed > a->begin - content->offset)
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

/* Reads up to `size` bytes of what a member decompresses to. Returns how many, or -1. */
static ptrdiff_t read_start(const struct archive *a, const struct member *m,
                            const struct content *content, unsigned char *bytes, size_t size)
{
    if (m->method == DEFLATED)
        return inflate_start(a->in, content->offset, m->compressed, bytes, size);
    size = size < m->compressed ? size : (size_t)m->compressed;
    if (size <= content->size) {
        memcpy(bytes, content->bytes, size);
        return (ptrdiff_t)size;
    }
    return a->in->read(a->in, bytes, size, content->offset) ? (ptrdiff_t)size : -1;
}

/* Notes that the member is an array that cannot be reduced. */
static bool leave_out(struct container_array *array, const char *type, const char *what)
{
    container_name_type(array, type);
    array->unreadable = what;
    return true;
}

/* Notes that the member holds no numbers. */
static bool leave_out_other(struct container_array *array, const char *type, const char *what)
{
    array->not_numeric = true;
    return leave_out(array, type, what);
}

static const char *const void_names[] = {"V1", "V2"};

/* Sets the properties that a header states. Its type has been examined. */
static bool take_header(struct archive *a, struct container_array *array, const struct npy *npy)
{
    _Static_assert(CONTAINER_DIMENSIONS_MAX >= NPY_DIMENSIONS_MAX, "any shape has room");
    for (unsigned i = 0; i < npy->dimensions; i++)
        if (!container_add_size(a->container, npy->shape[i]))
            return container_no_memory(a->in);
    array->dimensions = npy->dimensions;
    array->fortran_order = npy->fortran_order;
    array->elements = npy->elements;
    array->before = npy->data_offset;
    return true;
}

/* Sets the type that a header names. */
static bool take_type(const struct archive *a, struct container_array *array, const struct npy *npy)
{
    array->type = npy->type;
    array->big_endian = npy->big_endian;
    if (npy->unsupported) {
        const struct element_foreign *foreign = element_find_foreign(npy->descr);

        return (foreign && foreign->not_numeric ? leave_out_other : leave_out)(
            array, npy->descr,
            foreign ? foreign->what
                    : "neither a float nor an integer; save a field of records alone, as numpy's "
                      "x['field']");
    }
    if (!npy->untyped) {
        container_name_type(array, element_name(npy->type));
        return true;
    }
    if (element_size(a->in->type) != npy->untyped) {
        array->advice = ADVICE_TYPE_OF_BYTES;
        return leave_out(array, void_names[npy->untyped - 1], "of unknown meaning");
    }
    array->type = a->in->type;
    array->type_open = true;
    container_name_type(array, element_name(array->type));
    array->big_endian = npy->order == ELEMENT_ORDER_BIG;
    return true;
}

/* Reads the header of the .npy that a member is, which begins with these bytes, into *npy. A member
   that is not a .npy file by its content is no array, whatever its name, as with numpy.load. */
static bool read_header(const struct archive *a, const struct member *m,
                        const struct content *content, struct container_array *array,
                        struct npy *npy)
{
    const bool named = ends_with_npy(m->name, m->name_length);
    unsigned char prefix[NPY_PREFIX_MAX], *header;
    char error[NPY_ERROR_MAX];
    uint64_t length, at;
    ptrdiff_t got = read_start(a, m, content, prefix, sizeof prefix);
    bool good;

    if (got < 0)
        return false;
    if (!npy_recognise(prefix, (size_t)got) && !(named && npy_cut_off(prefix, (size_t)got)))
        return leave_out_other(
            array, "", named ? "no .npy file, though its name ends in .npy" : "no .npy file");
    length = npy_header_length(prefix, (size_t)got);
    if (length > NPY_HEADER_MAX)
        return container_wrong(a->in, content->offset,
                               "a .npy header of %" PRIu64 " bytes is more than the %zu allowed",
                               length, NPY_HEADER_MAX);
    if (length == 0 || length > m->size)
        return container_wrong(a->in, content->offset, "the .npy header is cut off");
    header = malloc((size_t)length);
    if (!header)
        return container_no_memory(a->in);
    got = read_start(a, m, content, header, (size_t)length);
    good = got >= 0;
    if (good && (uint64_t)got < length)
        good = container_wrong(a->in, content->offset, "the .npy header is cut off");
    if (good && !npy_parse(header, (size_t)length, npy, error, &at) && !npy->unsupported)
        good =
            container_wrong(a->in, content->offset, "byte %" PRIu64 " of this .npy: %s", at, error);
    free(header);
    return good;
}

/* Reads what array a member is whose local header has been read. */
static bool read_array(struct archive *a, const struct member *m, const struct content *content,
                       struct container_array *array)
{
    struct npy npy = {0};
    uint64_t length;

    if (!read_header(a, m, content, array, &npy))
        return false;
    if (array->unreadable)
        return true;
    if (!take_header(a, array, &npy) || !take_type(a, array, &npy))
        return false;
    array->length = m->size - array->before;
    if (!array->deflated)
        array->offset += array->before;
    if (array->unreadable)
        return true;
    if (__builtin_mul_overflow(array->elements, element_size(array->type), &length) ||
        length > array->length)
        return container_wrong(a->in, content->offset,
                               "the shape has more elements than the %" PRIu64
                               " byte%s of this member",
                               m->size, plural(m->size));
    array->length = length;
    return true;
}

/* A member is damaged, or cannot be read: makes an error of the array. Its offset and bytes are
   known if they have been set. False if the file could not be read, or without memory. */
static bool note_damage(struct archive *a, struct container_array *array)
{
    struct container_input *in = a->in;

    if (in->error.kind == ERROR_NONE || in->error.kind == ERROR_MEMORY)
        return false;
    a->container->sizes_count -= array->dimensions;
    array->type_name[0] = '\0';
    array->missing = in->unread;
    array->deflated = false;
    array->length = array->compressed;
    array->dimensions = 0;
    array->elements = 0;
    array->unreadable =
        container_note(a->container, "byte %" PRIu64 ": %s", in->error.offset, in->error.text);
    if (!array->unreadable)
        return container_no_memory(in);
    in->error.kind = ERROR_NONE;
    return true;
}

/* Reads what array a member is. */
static bool read_member(struct archive *a, const struct member *m, struct container_array *array)
{
    const bool named = ends_with_npy(m->name, m->name_length);
    struct content content = {.size = 0};

    if (!read_local(a, m, &content))
        return note_damage(a, array);
    array->offset = content.offset;
    array->compressed = array->length = m->compressed;
    array->checksum = m->checksum;
    if (m->flags & 1)
        return (named ? leave_out : leave_out_other)(array, "", "encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return (named ? leave_out : leave_out_other)(array, "",
                                                     "compressed by another method than deflate");
    if (m->method == DEFLATED && !inflate_possible())
        return (named ? leave_out : leave_out_other)(
            array, "", "compressed by deflate, for which this program lacks zlib");
    if (m->method == STORED && m->compressed != m->size) {
        (void)container_wrong(a->in, m->at, "%" PRIu64 " byte%s stored as %" PRIu64, m->size,
                              plural(m->size), m->compressed);
        return note_damage(a, array);
    }
    array->deflated = m->method == DEFLATED;
    if (array->deflated)
        array->length = m->size;
    return read_array(a, m, &content, array) || note_damage(a, array);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct container_array *x = a, *y = b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* A member's name as the archive has it, and the array that it is. */
struct full_name {
    const char *name;
    size_t length; /* without .npy, for a search */
    struct container_array *array;
};

/* Members of one name are in the order of the directory. */
static int compare_names(const void *a, const void *b)
{
    const struct full_name *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order ? order : x->array < y->array ? -1 : x->array > y->array;
}

static int compare_start(const void *key, const void *element)
{
    const struct full_name *x = key, *y = element;
    const int order = strncmp(x->name, y->name, x->length);

    return order ? order : y->name[x->length] ? -1 : 0;
}

/* Names arrays as NumPy does: drops all members of one name but the last, and cuts .npy off, but
   where that would give two members one name. */
static bool finish_names(struct archive *a)
{
    struct container *c = a->container;
    const bool plain = !a->other_names && container_names_differ(c);
    struct full_name *names = malloc((c->count + 1) * sizeof *names);
    size_t count = 0;

    if (!names)
        return container_no_memory(a->in);
    for (size_t i = 0; i < c->count; i++) {
        const char *name = c->arrays[i].name;
        const size_t length = strlen(name);

        names[i] = (struct full_name){
            name, ends_with_npy((const unsigned char *)name, length) ? length - 4 : length,
            &c->arrays[i]};
    }
    if (!plain)
        qsort(names, c->count, sizeof *names, compare_names);
    for (size_t i = 0; i < c->count; i++) {
        if (!plain && i + 1 < c->count && strcmp(names[i].name, names[i + 1].name) == 0)
            names[i].array->name = NULL;
        else
            names[count++] = names[i];
    }
    for (size_t i = 0; i < count; i++)
        if (!plain && bsearch(&names[i], names, count, sizeof *names, compare_start))
            names[i].array = NULL;
    for (size_t i = 0; i < count; i++)
        if (names[i].array)
            c->text[names[i].name - c->text + (ptrdiff_t)names[i].length] = '\0';
    free(names);
    count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->arrays[i].name)
            c->arrays[count++] = c->arrays[i];
    c->count = count;
    return true;
}

/* Puts the arrays in order, and sees to it that they do not overlap. */
static bool finish(struct archive *a)
{
    struct container *c = a->container;
    uint64_t end = 0;

    container_finish_sizes(c);
    if (!finish_names(a))
        return false;
    if (c->count > 0)
        qsort(c->arrays, c->count, sizeof *c->arrays, compare_offsets);
    for (size_t i = 0; i < c->count; i++) {
        const struct container_array *array = &c->arrays[i];

        if (array->offset < end)
            return container_wrong(a->in, array->offset, "two members overlap here");
        end = array->offset + (array->deflated ? array->compressed : array->length);
    }
    return true;
}

static bool is_directory(const struct member *m)
{
    return m->name_length > 0 && m->name[m->name_length - 1] == '/';
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct archive a = {.container = c, .in = in};
    struct member m = {.name = (const unsigned char *)""}, last = {.name = NULL};
    size_t at = 0;

    if (!read_directory(&a))
        return false;
    for (uint64_t i = 0; i < a.members; i++) {
        struct container_array *array;

        if (!read_entry(&a, &at, &m))
            return false;
        /* Names are ended where they stand, once what follows has been read. */
        if (last.name)
            c->text[(const char *)last.name - c->text + last.name_length] = '\0';
        last = m;
        if (is_directory(&m))
            continue;
        array = container_add(c, (const char *)m.name);
        if (!array)
            return container_no_memory(in);
        in->lenient = true;
        in->unread = false;
        if (!read_member(&a, &m, array))
            return false;
        a.other_names = a.other_names || !ends_with_npy(m.name, m.name_length);
    }
    if (last.name)
        c->text[(const char *)last.name - c->text + last.name_length] = '\0';
    if (at != a.size)
        return container_wrong(
            in, a.begin + at, "the central directory has more than %" PRIu64 " members", a.members);
    return finish(&a);
}

const struct container_format container_npz = {
    .name = "npz",
    .article = "a .npz file",
    .recognise = recognise,
    .read = read_file,
};
