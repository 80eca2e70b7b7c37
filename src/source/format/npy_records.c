/*
 * .npy files of a structured or complex type, by themselves or in a .npz: each field, or part, is an
 * array whose elements lie as far from one another as records are long.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/containers.h"
#include "source/format/npy.h"
#include "sys/plural.h"

struct file {
    struct container *container;
    struct container_input *in;
    const char *name;     /* precedes those of fields; NULL: nothing does */
    uint64_t begin, size; /* where it lies in the input, bytes */
    struct npy npy;
};

static bool recognise(const unsigned char *bytes, size_t size)
{
    return npy_has_fields(bytes, size);
}

/* Adds a field's array, but for where it lies between records, which is known after the last. */
static bool take_field(void *user, const struct npy_field *field)
{
    struct file *f = user;
    const struct npy *npy = &f->npy;
    struct container *c = f->container;
    const char *const name =
        container_note(c, "%s%s%s", f->name ? f->name : "", f->name ? "." : "", field->name);
    struct container_array *a = name ? container_add(c, name) : NULL;
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX];

    if (npy->dimensions + field->dimensions > CONTAINER_DIMENSIONS_MAX)
        return container_wrong(f->in, f->begin + npy->descr_offset,
                               "a field has more than 64 dimensions");
    memcpy(sizes, npy->shape, npy->dimensions * sizeof *sizes);
    memcpy(sizes + npy->dimensions, field->shape, field->dimensions * sizeof *sizes);
    if (!a || !container_set_shape(c, a, sizes, npy->dimensions + field->dimensions))
        return container_no_memory(f->in);
    container_name_type(a, field->known ? element_name(field->type) : field->descr);
    a->type = field->type;
    a->big_endian = field->big_endian;
    a->fortran_order = npy->fortran_order;
    a->offset = f->begin + npy->data_offset + field->offset;
    a->record_elements = field->elements;
    if (!field->known)
        container_refuse_type(a, field->descr);
    else if (field->scattered ||
             (field->dimensions > 0 && npy->fortran_order && npy->dimensions > 1))
        return container_refuse(
            a, "its elements are neither side by side nor equally far apart; in Python, "
               "numpy.save('x.npy', numpy.load('FILE')['FIELD']) writes it alone");
    return true;
}

/* Gives the arrays from number `first` on their places: records of so many bytes. */
static bool place(struct file *f, size_t first, uint64_t record)
{
    const struct npy *npy = &f->npy;
    const uint64_t size = f->size - npy->data_offset;
    struct container *c = f->container;

    if (record > 0 && npy->elements > size / record)
        return container_wrong(f->in, f->begin + f->size,
                               "truncated: %" PRIu64 " byte%s after the header, which promises "
                               "%" PRIu64 " record%s of %" PRIu64 " bytes",
                               size, plural(size), npy->elements, plural(npy->elements), record);
    for (size_t i = first; i < c->count; i++) {
        struct container_array *a = &c->arrays[i];
        const uint64_t here = a->record_elements;

        a->record_elements = 0;
        a->elements = npy->elements * here;
        if (npy->elements == 0) /* the file may end where the first record would begin */
            a->offset = f->begin + npy->data_offset;
        if (a->unreadable)
            continue;
        a->length = a->elements * element_size(a->type);
        if (here * element_size(a->type) < record && npy->elements > 1 && here > 0) {
            a->record_elements = here;
            a->record_stride = record;
        }
    }
    c->end = f->begin + npy->data_offset + npy->elements * record;
    return true;
}

bool npy_add_fields(struct container *c, struct container_input *in, const char *name,
                    uint64_t begin, uint64_t size, const void *header, size_t length)
{
    struct file f = {.container = c, .in = in, .name = name, .begin = begin, .size = size};
    const size_t first = c->count;
    char error[NPY_ERROR_MAX];
    uint64_t at, record;

    if (npy_parse(header, length, &f.npy, error, &at))
        return container_wrong(in, begin + f.npy.descr_offset, "the type has no fields");
    if (!f.npy.unsupported)
        return container_wrong(in, begin + at, "%s",
                               at == f.npy.descr_offset
                                   ? "the type, or what follows it in the header, is malformed"
                                   : error);
    if (!npy_find_fields(header, length, &f.npy, take_field, &f, &record, error, &at))
        return *error ? container_wrong(in, begin + at, "%s", error) : false;
    return place(&f, first, record);
}

static bool read_file(struct container *c, struct container_input *in)
{
    unsigned char prefix[NPY_PREFIX_MAX], *header;
    uint64_t length;
    bool good;

    if (in->size < sizeof prefix)
        return container_wrong(in, in->size, "the header is cut off");
    if (!in->read(in, prefix, sizeof prefix, 0))
        return false;
    if (!npy_recognise(prefix, sizeof prefix))
        return container_wrong(in, 0, "it does not begin as .npy");
    length = npy_header_length(prefix, sizeof prefix);
    if (length > NPY_HEADER_MAX)
        return container_wrong(in, 8, "a header of %" PRIu64 " bytes is more than the %zu allowed",
                               length, NPY_HEADER_MAX);
    if (length > in->size)
        return container_wrong(in, in->size, "the header is cut off");
    header = malloc((size_t)length + 1);
    if (!header)
        return container_no_memory(in);
    good = in->read(in, header, (size_t)length, 0) &&
           npy_add_fields(c, in, NULL, 0, in->size, header, (size_t)length) &&
           container_number_names(c, in);
    free(header);
    return good;
}

const struct container_format container_npy = {
    .name = "npy",
    .article = "a .npy file",
    .recognise = recognise,
    .read = read_file,
};
