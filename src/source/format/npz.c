/*
 * .npz: a zip archive of .npy files (NumPy's numpy.lib.format). The central directory lists the
 * members, and their headers describe the arrays.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "source/format/containers.h"
#include "source/format/inflate.h"
#include "source/format/npy.h"
#include "source/format/zip.h"
#include "sys/plural.h"

/* Archives with more fields of records are refused: a few compressed bytes may have many names. */
#define FIELDS_MAX ((size_t)1 << 20)

/* 32 bits, and as many of the end of the first member's name; or an archive without members. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    size_t length;
    const char *name = zip_first_name(bytes, size, &length);

    return name ? name_ends(name, length, ".npy") : zip_is_empty(bytes, size);
}

/* Reads up to `size` bytes of what a member decompresses to. Returns how many, or -1. */
static ptrdiff_t read_start(const struct zip *z, const struct zip_member *m,
                            const struct zip_content *content, unsigned char *bytes, size_t size)
{
    if (m->method == ZIP_DEFLATED)
        return inflate_start(z->in, content->offset, m->compressed, bytes, size);
    size = size < m->compressed ? size : (size_t)m->compressed;
    if (size <= content->size) {
        memcpy(bytes, content->bytes, size);
        return (ptrdiff_t)size;
    }
    return z->in->read(z->in, bytes, size, content->offset) ? (ptrdiff_t)size : -1;
}

/* Notes that a member cannot be reduced, or, unless it is an array, that it holds no numbers. */
static bool leave_out(struct container_array *array, bool is_array, const char *what)
{
    array->unreadable = what;
    array->not_numeric = !is_array;
    return true;
}

/* Sets the type that a header names. */
static void take_type(struct container_array *array, const struct npy *npy,
                      enum element_type untyped)
{
    array->type = npy->untyped ? untyped : npy->type;
    array->type_open = npy->untyped;
    array->big_endian = npy->untyped ? npy->order == ELEMENT_ORDER_BIG : npy->big_endian;
    container_name_type(array, npy->unsupported ? npy->descr : element_name(array->type));
    if (npy->unsupported) {
        container_refuse_type(array, npy->descr);
    } else if (npy->untyped && element_size(untyped) != npy->untyped) {
        container_name_type(array, npy->untyped == 1 ? "V1" : "V2");
        array->advice = ADVICE_TYPE_OF_BYTES;
        array->unreadable = "of unknown meaning";
    }
}

/* Reads the header of the .npy that a member is, which begins with these bytes, into *npy. A member
   that is not a .npy file by its content is no array, whatever its name, as with numpy.load. */
static bool read_header(const struct zip *z, const struct zip_member *m,
                        const struct zip_content *content, struct container_array *array,
                        struct npy *npy)
{
    const bool named = name_ends(m->name, m->name_length, ".npy");
    unsigned char prefix[NPY_PREFIX_MAX], *header;
    char error[NPY_ERROR_MAX];
    uint64_t length, at;
    ptrdiff_t got = read_start(z, m, content, prefix, sizeof prefix);
    bool good;

    if (got < 0)
        return false;
    if (!npy_recognise(prefix, (size_t)got) && !(named && npy_cut_off(prefix, (size_t)got))) {
        if (named && array->deflated && /* damage may have made it one */
            !inflate_verify(z->in, content->offset, m->compressed, m->checksum))
            return false;
        return leave_out(array, false,
                         named ? "no .npy file, though its name ends in .npy" : "no .npy file");
    }
    length = npy_header_length(prefix, (size_t)got);
    if (length > NPY_HEADER_MAX)
        return container_wrong(z->in, content->offset,
                               "a .npy header of %" PRIu64 " bytes is more than the %zu allowed",
                               length, NPY_HEADER_MAX);
    if (length == 0 || length > m->size)
        return container_wrong(z->in, content->offset, "the .npy header is cut off");
    header = malloc((size_t)length);
    if (!header)
        return container_no_memory(z->in);
    got = read_start(z, m, content, header, (size_t)length);
    good = got >= 0;
    if (good && (uint64_t)got < length)
        good = container_wrong(z->in, content->offset, "the .npy header is cut off");
    if (good && !npy_parse(header, (size_t)length, npy, error, &at) && !npy->unsupported)
        good =
            container_wrong(z->in, content->offset, "byte %" PRIu64 " of this .npy: %s", at, error);
    free(header);
    return good;
}

/* Reads what array a member is whose local header has been read. */
static bool read_array(struct zip *z, const struct zip_member *m, const struct zip_content *content,
                       struct container_array *array)
{
    struct npy npy = {0};
    uint64_t length;

    if (!read_header(z, m, content, array, &npy))
        return false;
    if (array->unreadable)
        return true;
    _Static_assert(CONTAINER_DIMENSIONS_MAX >= NPY_DIMENSIONS_MAX, "any shape has room");
    if (!container_set_shape(z->container, array, npy.shape, npy.dimensions))
        return container_no_memory(z->in);
    array->fortran_order = npy.fortran_order;
    array->elements = npy.elements;
    array->before = npy.data_offset;
    take_type(array, &npy, z->in->type);
    /* Others are verified when they are read. */
    if (array->deflated && npy.elements == 0 &&
        !inflate_verify(z->in, array->offset, m->compressed, m->checksum))
        return false;
    array->length = m->size - array->before;
    if (!array->deflated)
        array->offset += array->before;
    if (array->unreadable)
        return true;
    if (__builtin_mul_overflow(array->elements, element_size(array->type), &length) ||
        length > array->length)
        return container_wrong(z->in, content->offset,
                               "the shape has more elements than the %" PRIu64
                               " byte%s of this member",
                               m->size, plural(m->size));
    array->length = length;
    return true;
}

/* A member is damaged, or cannot be read: makes an error of the array. Its offset and bytes are
   known if they have been set. False if the file could not be read, or without memory. */
static bool note_damage(struct zip *z, struct container_array *array)
{
    struct container_input *in = z->in;

    if (in->error.kind == ERROR_NONE || in->error.kind == ERROR_MEMORY)
        return false;
    array->type_name[0] = '\0';
    array->missing = in->unread;
    if (!array->deflated) /* it may have been taken to begin after its header */
        array->offset -= array->before;
    array->before = 0;
    array->deflated = false;
    array->length = array->compressed;
    array->dimensions = 0;
    array->elements = 0;
    array->unreadable =
        container_note(z->container, "byte %" PRIu64 ": %s", in->error.offset, in->error.text);
    if (!array->unreadable)
        return container_no_memory(in);
    in->error.kind = ERROR_NONE;
    return true;
}

/* Reads what array a member is. */
static bool read_member(struct zip *z, const struct zip_member *m, struct container_array *array)
{
    const bool named = name_ends(m->name, m->name_length, ".npy");
    struct zip_content content = {.size = 0};

    if (!zip_read_local(z, m, &content))
        return note_damage(z, array);
    array->offset = content.offset;
    array->compressed = array->length = m->compressed;
    array->checksum = m->checksum;
    if (m->flags & 1)
        return leave_out(array, named, "encrypted");
    if (m->method != ZIP_STORED && m->method != ZIP_DEFLATED)
        return leave_out(array, named, "compressed by another method than deflate");
    if (m->method == ZIP_DEFLATED && !inflate_possible)
        return leave_out(array, named, "compressed by deflate, for which this program lacks zlib");
    if (m->method == ZIP_STORED && m->compressed != m->size) {
        (void)container_wrong(z->in, m->at, "%" PRIu64 " byte%s stored as %" PRIu64, m->size,
                              plural(m->size), m->compressed);
        return note_damage(z, array);
    }
    array->deflated = m->method == ZIP_DEFLATED;
    if (array->deflated)
        array->length = m->size;
    return read_array(z, m, &content, array) || note_damage(z, array);
}

/* Names arrays as NumPy does: drops all members of one name but the last, and cuts .npy off, but
   where that would give two members one name. `other_names`: some do not end in .npy. */
static bool finish_names(struct zip *z, bool other_names)
{
    struct container *c = z->container;
    const bool plain = !other_names && container_names_differ(c);
    size_t *cut =
        calloc(c->count + 1, sizeof *cut); /* bytes of names that end in .npy, without it */

    if (!cut)
        return container_no_memory(z->in);
    if (!plain)
        zip_sort(z);
    for (size_t i = 0; i < c->count; i++) {
        const char *name = c->arrays[i].name;
        const size_t length = strlen(name);

        if (!plain && zip_find(z, name, length)->name != name)
            c->arrays[i].name = NULL;
        else if (name_ends(name, length, ".npy") && (plain || !zip_find(z, name, length - 4)))
            cut[i] = length - 4;
    }
    for (size_t i = 0; i < c->count; i++)
        if (cut[i] > 0)
            c->text[c->arrays[i].name - c->text + (ptrdiff_t)cut[i]] = '\0';
    free(cut);
    return true;
}

/* Drops the arrays without a name, and puts the others in order. */
static void sort(struct container *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->arrays[i].name)
            c->arrays[count++] = c->arrays[i];
    c->count = count;
    container_sort(c);
}

/* Adds the fields of an array that is unreadable by its type, if that has some, and drops its name. If
   they are malformed, that is why it is unreadable. */
static bool add_fields(struct zip *z, size_t number)
{
    struct container *c = z->container;
    struct container_input *in = z->in;
    const struct container_array a = c->arrays[number];
    const uint64_t begin = a.deflated ? 0 : a.offset - a.before; /* of what it decompresses to */
    const size_t first = c->count;
    unsigned char *const header = malloc((size_t)a.before);
    ptrdiff_t got = (ptrdiff_t)a.before;
    bool good;

    if (!header)
        return container_no_memory(in);
    if (a.deflated)
        got = inflate_start(in, a.offset, a.compressed, header, (size_t)a.before);
    else if (!in->read(in, header, (size_t)a.before, begin))
        got = -1;
    good = got >= 0;
    if (got == (ptrdiff_t)a.before && npy_has_fields(header, (size_t)a.before)) {
        if (npy_add_fields(c, in, a.name, begin, a.before + a.length, header, (size_t)a.before)) {
            c->arrays[number].name = NULL;
            for (size_t i = first; i < c->count && a.deflated; i++) {
                c->arrays[i].before = c->arrays[i].offset;
                c->arrays[i].offset = a.offset;
                c->arrays[i].compressed = a.compressed;
                c->arrays[i].checksum = a.checksum;
                c->arrays[i].deflated = true;
            }
        } else {
            c->count = first;
            good = in->error.kind == ERROR_DATA &&
                   container_refuse(&c->arrays[number],
                                    container_note(c, "byte %" PRIu64 " of this .npy: %s",
                                                   in->error.offset - begin, in->error.text));
            in->error.kind = good ? ERROR_NONE : in->error.kind;
        }
    }
    free(header);
    return good;
}

/* Puts the arrays in order, sees to it that they do not overlap, and divides those of records. */
static bool finish(struct zip *z, bool other_names)
{
    struct container *c = z->container;
    size_t members;
    uint64_t end = 0;

    if (!finish_names(z, other_names))
        return false;
    sort(c);
    for (size_t i = 0; i < c->count; i++) {
        const struct container_array *array = &c->arrays[i];

        if (array->offset < end)
            return container_wrong(z->in, array->offset, "two members overlap here");
        end = array->offset + (array->deflated ? array->compressed : array->length);
    }
    members = c->count;
    for (size_t i = 0; i < members; i++) {
        const struct container_array *array = &c->arrays[i];

        if (array->unreadable && *array->type_name && array->before > 0 && !add_fields(z, i))
            return false;
        if (c->count - members > FIELDS_MAX)
            return container_wrong(z->in, ERROR_NO_OFFSET, "more than %zu fields", FIELDS_MAX);
    }
    sort(c);
    return container_number_names(c, z->in);
}

/* Adds the arrays that the members are. */
static bool read_members(struct zip *z)
{
    bool other_names = false;

    z->in->lenient = true;
    for (size_t i = 0; i < z->count; i++) {
        const struct zip_member *m = &z->members[i];
        struct container_array *array;

        if (m->name_length > 0 && m->name[m->name_length - 1] == '/') /* a directory */
            continue;
        array = container_add(z->container, m->name);
        if (!array)
            return container_no_memory(z->in);
        z->in->unread = false;
        if (!read_member(z, m, array))
            return false;
        other_names = other_names || !name_ends(m->name, m->name_length, ".npy");
    }
    if (z->listed != z->size)
        return container_wrong(z->in, z->begin + z->listed,
                               "the central directory has more than %" PRIu64 " members",
                               z->entries);
    return finish(z, other_names);
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct zip z = {.container = c, .in = in};
    const bool good = zip_read_members(&z) && read_members(&z);

    free(z.members);
    return good;
}

const struct container_format container_npz = {
    .name = "npz",
    .article = "a .npz file",
    .head = zip_head, /* also of other formats that are archives */
    .recognise = recognise,
    .read = read_file,
};
