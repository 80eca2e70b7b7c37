/*
 * NIfTI-1 and NIfTI-2, of neuroimaging (nifti1.h and nifti2.h of the NIfTI working group): a header of
 * 348 or 540 bytes in either byte order, and an image at an offset that it states. The first dimension
 * changes fastest. In a pair of files, the header is in one of its own.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/scale.h"
#include "source/format/containers.h"
#include "sys/bytes.h"
#include "sys/plural.h"

/* Bytes of the headers. */
#define FIRST 348u
#define SECOND 540u

/* Dimensions of an image. */
#define DIMENSIONS 7u

/* Offsets of the fields of a header, and bytes of numbers: both kinds of headers. */
struct places {
    size_t type, sizes, offset, slope, intercept;
    size_t wide;  /* bytes of a size */
    size_t real;  /* bytes of a slope */
    size_t magic; /* offset of the magic string */
    size_t head;  /* and of its end */
};
static const struct places places[2] = {
    {70, 40, 108, 112, 116, 2, 4, 344, 348},
    {12, 16, 168, 176, 184, 8, 8, 4, 12},
};

/* A data type: `parts` numbers of a type, or one that is not read, and why. */
static const struct type {
    unsigned code, size; /* bytes of an element */
    enum element_type type;
    unsigned parts;
    const char *name, *unreadable;
} types[] = {
    {1, 0, ELEMENT_U8, 0, "BINARY", "single bits"},
    {2, 1, ELEMENT_U8, 1, NULL, NULL},
    {4, 2, ELEMENT_I16, 1, NULL, NULL},
    {8, 4, ELEMENT_I32, 1, NULL, NULL},
    {16, 4, ELEMENT_F32, 1, NULL, NULL},
    {32, 8, ELEMENT_F32, 2, NULL, NULL},
    {64, 8, ELEMENT_F64, 1, NULL, NULL},
    {128, 3, ELEMENT_U8, 0, "RGB24", "colours of three bytes"},
    {256, 1, ELEMENT_I8, 1, NULL, NULL},
    {512, 2, ELEMENT_U16, 1, NULL, NULL},
    {768, 4, ELEMENT_U32, 1, NULL, NULL},
    {1024, 8, ELEMENT_I64, 1, NULL, NULL},
    {1280, 8, ELEMENT_U64, 1, NULL, NULL},
    {1536, 16, ELEMENT_F64, 0, "FLOAT128", "floats of 16 bytes"},
    {1792, 16, ELEMENT_F64, 2, NULL, NULL},
    {2048, 32, ELEMENT_F64, 0, "COMPLEX256", "pairs of floats of 16 bytes"},
    {2304, 4, ELEMENT_U8, 0, "RGBA32", "colours of four bytes"},
};

struct file {
    struct container *container;
    struct container_input *in;
    unsigned char header[SECOND];
    const struct places *places;
    bool big;
    const struct type *type;
    unsigned dimensions;
    uint64_t sizes[DIMENSIONS]; /* in C order */
    uint64_t elements;
    uint64_t offset; /* of the image */
};

/* The places in a header that begins with these bytes, by its length; NULL where it is none. */
static const struct places *find_places(const unsigned char *bytes, size_t size, bool *big)
{
    for (unsigned i = 0; i < 4 && size >= 4; i++) {
        *big = i & 1;
        if (bytes_number(bytes, 4, *big) == (i & 2 ? SECOND : FIRST))
            return &places[i / 2];
    }
    return NULL;
}

static size_t head(const unsigned char *bytes, size_t size)
{
    bool big;
    const struct places *p = find_places(bytes, size, &big);

    return p ? p->head : 0;
}

/* Whether the magic string is that of a file of header and image, 'n', or of a header alone, 'i'. */
static bool has_magic(const unsigned char *bytes, size_t size, char kind)
{
    const char first[] = {'n', kind == 'n' ? '+' : 'i', '1', '\0'};
    const char second[] = {'n', first[1], '2', '\0', '\r', '\n', '\x1a', '\n'};
    bool big;
    const struct places *p = find_places(bytes, size, &big);

    return p && size >= p->head &&
           memcmp(bytes + p->magic, p == places ? first : second, p->head - p->magic) == 0;
}

static bool recognise(const unsigned char *bytes, size_t size)
{
    return has_magic(bytes, size, 'n');
}

bool nifti_is_pair(const unsigned char *bytes, size_t size, bool analyze)
{
    return analyze ? size == FIRST && head(bytes, size) == FIRST && !has_magic(bytes, size, 'i') &&
                         !has_magic(bytes, size, 'n')
                   : has_magic(bytes, size, 'i');
}

/*
 * The header.
 */

/* Bytes of the file that the header is in. */
static uint64_t header_size(const struct container_input *in)
{
    return in->header ? in->header_size : in->size;
}

/* Reads bytes of the header, which are there. */
static bool read_part(struct container_input *in, void *to, size_t size, size_t offset)
{
    if (!in->header)
        return in->read(in, to, size, offset);
    memcpy(to, in->header + offset, size);
    return true;
}

static uint64_t number_at(const struct file *f, size_t offset, size_t size)
{
    return bytes_number(f->header + offset, size, f->big);
}

static double real_at(const struct file *f, size_t offset)
{
    return element_value(f->places->real == 4 ? ELEMENT_F32 : ELEMENT_F64,
                         number_at(f, offset, f->places->real));
}

/* Reads the sizes of the dimensions. */
static bool read_sizes(struct file *f)
{
    const struct places *p = f->places;
    const uint64_t count = number_at(f, p->sizes, p->wide);
    const uint64_t most = p == places ? INT16_MAX : INT64_MAX;

    if (count < 1 || count > DIMENSIONS)
        return container_wrong(f->in, p->sizes, "the number of dimensions is not from 1 to 7");
    _Static_assert(DIMENSIONS == 7, "as the message says");
    f->dimensions = (unsigned)count;
    f->elements = 1;
    for (unsigned i = 0; i < f->dimensions; i++) {
        const size_t at = p->sizes + (i + 1) * p->wide;
        const uint64_t size = number_at(f, at, p->wide);

        if (size > most)
            return container_wrong(f->in, at, "the size of dimension %u is negative", i + 1);
        f->sizes[f->dimensions - 1 - i] = size;
        if (__builtin_mul_overflow(f->elements, size, &f->elements))
            return container_wrong(f->in, at, "more elements than any file has");
    }
    return true;
}

/* Finds where the image begins, and that the file has all of it. */
static bool find_image(struct file *f)
{
    const struct places *p = f->places;
    const uint64_t header = f->in->header ? 0 : p == places ? FIRST : SECOND;
    uint64_t length;

    if (p == places) {
        const double offset = real_at(f, p->offset);

        f->offset = offset >= 0 && offset < 0x1p62 ? (uint64_t)offset : 0;
        if ((double)f->offset != offset)
            f->offset = UINT64_MAX;
    } else {
        f->offset = number_at(f, p->offset, 8);
    }
    if (f->offset < header || f->offset >> 62 != 0)
        return container_wrong(f->in, p->offset,
                               "the offset of the image is not a number of bytes after the header");
    if (__builtin_mul_overflow(f->elements, (uint64_t)f->type->size, &length) || length >> 62 != 0)
        return container_wrong(f->in, p->sizes, "more elements than any file has");
    if (f->offset > f->in->size || length > f->in->size - f->offset)
        return container_wrong(f->in, f->in->size,
                               "truncated: the %" PRIu64 " byte%s of the image begin at offset "
                               "%" PRIu64 "%s",
                               length, plural(length), f->offset,
                               f->in->header ? " of the .img file" : "");
    f->container->end = f->offset + length;
    return true;
}

/* Finds the scale: none if the slope is 0 or not finite. An intercept of complex numbers may be one of
   their real parts alone. False without memory. */
static bool find_scale(const struct file *f, struct container_array *a)
{
    const struct scale scale = {.given = true,
                                .factor = real_at(f, f->places->slope),
                                .offset = real_at(f, f->places->intercept)};

    if (f->in->stored || a->unreadable || scale.factor == 0 || !isfinite(scale.factor) ||
        (scale.factor == 1 && scale.offset == 0))
        return true;
    if (scale_refusal(&scale) || (f->type->parts == 2 && scale.offset != 0)) {
        a->advice = ADVICE_STORED;
        return container_refuse(a, scale_refusal(&scale) ? "its scl_inter is not finite"
                                                         : "its complex numbers have a scl_inter");
    }

    a->scale = container_keep(f->container, &scale, sizeof scale);
    return a->scale;
}

/* Adds the image, or a part of its complex numbers. */
static bool add_array(struct file *f, unsigned part)
{
    static const char *const names[] = {"image.re", "image.im"};
    const struct type *type = f->type;
    const bool complex = type->parts == 2;
    struct container_array *a = container_add(f->container, complex ? names[part] : "image");

    if (!a || !container_set_shape(f->container, a, f->sizes, f->dimensions))
        return container_no_memory(f->in);
    a->elements = f->elements;
    a->type = type->type;
    a->big_endian = f->big;
    a->offset = f->offset + (a->elements > 0 ? part * element_size(type->type) : 0);
    container_name_type(a, type->name ? type->name : element_name(type->type));
    a->unreadable = type->unreadable;
    f->in->scattered = complex;
    if (!a->unreadable)
        a->length = a->elements * element_size(a->type);
    if (complex && a->elements > 1) {
        a->record_elements = 1;
        a->record_stride = type->size;
    }
    return find_scale(f, a) || container_no_memory(f->in);
}

static bool read_header(struct file *f)
{
    struct container_input *in = f->in;
    const struct places *found;
    unsigned code;

    if (header_size(in) < FIRST)
        return container_wrong(in, header_size(in), "the file ends within the header");
    if (!read_part(in, f->header, FIRST, 0))
        return false;
    found = find_places(f->header, FIRST, &f->big);
    if (!found)
        return container_wrong(in, 0, "the length of the header is neither 348 nor 540");
    f->places = found;
    if (f->places != places && header_size(in) < SECOND)
        return container_wrong(in, header_size(in), "the file ends within the header");
    if (f->places != places && !read_part(in, f->header + FIRST, SECOND - FIRST, FIRST))
        return false;
    _Static_assert(SECOND == CONTAINER_PAIR_MAX, "all of a header in a file of its own is read");
    if (!in->header && has_magic(f->header, SECOND, 'i'))
        return container_wrong(in, f->places->magic, "the image is in another file, of type .img");
    if (!in->header && !has_magic(f->header, SECOND, 'n'))
        return container_wrong(in, f->places->magic, "the magic string is missing");
    code = (unsigned)number_at(f, f->places->type, 2);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        f->type = &types[i];
        if (types[i].code == code)
            return true;
    }
    return container_wrong(in, f->places->type, "unknown data type %u", code);
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct file f = {.container = c, .in = in, .places = places, .type = types};
    bool good = read_header(&f) && read_sizes(&f) && find_image(&f);

    for (unsigned part = 0; good && (part == 0 || part < f.type->parts); part++)
        good = add_array(&f, part);
    return good;
}

const struct container_format container_nifti = {
    .name = "nifti",
    .article = "a NIfTI file",
    .in_order = true,
    .head = head,
    .recognise = recognise,
    .read = read_file,
};
