/*
 * netCDF's formats of before HDF5: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit data), as "The
 * NetCDF Classic Format Specification" describes them. A header lists dimensions, attributes and
 * variables. Fixed variables lie in one place each. Those along the unlimited dimension are in
 * records, which hold one slab of each such variable and follow one another. Attributes change what numbers
 * mean (attributes.h).
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "source/format/attributes.h"
#include "source/format/containers.h"
#include "sys/bytes.h"
#include "sys/grow.h"
#include "sys/plural.h"

/* The longest header; bytes. */
#define HEADER_MAX ((uint64_t)100000000)

enum tag { TAG_DIMENSION = 10, TAG_VARIABLE = 11, TAG_ATTRIBUTE = 12 };

/* The types, by their numbers in the file; those from `CLASSIC_TYPES` on are CDF-5's. */
enum { TYPE_CHAR = 2, CLASSIC_TYPES = 7 };
static const enum element_type types[] = {
    [1] = ELEMENT_I8,  [TYPE_CHAR] = ELEMENT_U8, [3] = ELEMENT_I16, [4] = ELEMENT_I32,
    [5] = ELEMENT_F32, [6] = ELEMENT_F64,        [7] = ELEMENT_U8,  [8] = ELEMENT_U16,
    [9] = ELEMENT_U32, [10] = ELEMENT_I64,       [11] = ELEMENT_U64};

#define TYPES (sizeof types / sizeof *types)

/* A variable of the header. */
struct variable {
    size_t name, name_length;      /* where its name stands in the header */
    size_t dimensions, attributes; /* and the numbers of its dimensions, and its attributes */
    uint64_t dimension_count, attribute_count;
    unsigned type;
    bool in_records;
    uint64_t begin; /* offset in the file */
    uint64_t slab;  /* bytes of the variable, or of its part of a record */
};

/* The file as it is read. */
struct file {
    struct container *container; /* its text is the header */
    struct container_input *in;
    unsigned version; /* 1, 2 or 5 */
    size_t at;        /* what is read next of the header */

    uint64_t records;     /* their number; RECORDS_STREAMING until the file's size tells it */
    uint64_t *dimensions; /* lengths; 0: the unlimited one */
    size_t dimension_count, dimension_room;
    bool unlimited; /* there is an unlimited dimension */
    struct variable *variables;
    size_t variable_count, variable_room;
    const struct variable *variable;    /* whose attributes are read */
    uint64_t record_begin, record_size; /* bytes, of each record */
};

#define RECORDS_STREAMING UINT64_MAX

/* 24 bits, the version, and, as far as they are there, the tag of the dimensions. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    const size_t tag = size > 3 && bytes[3] == 5 ? 12 : 8;

    if (size < 8 || memcmp(bytes, "CDF", 3) != 0 ||
        (bytes[3] != 1 && bytes[3] != 2 && bytes[3] != 5))
        return false;
    for (size_t i = tag; i < tag + 3 && i < size; i++)
        if (bytes[i] != 0)
            return false;
    return size < tag + 4 || bytes[tag + 3] == 0 || bytes[tag + 3] == TAG_DIMENSION;
}

/*
 * The header.
 */

/* Has the next `size` bytes of the header read. */
static bool need(struct file *f, uint64_t size)
{
    struct container_input *in = f->in;

    if (size > in->size - f->at)
        return container_wrong(in, in->size, "the file ends within its header");
    if (size > f->container->text_size - f->at && (size > HEADER_MAX || f->at + size > HEADER_MAX))
        return container_wrong(in, f->at, "the header has more than 100 MB");
    return container_need(f->container, in, f->at + size, in->size);
}

/* The number at a place of the header, which has been read. */
static uint64_t number_at(const struct file *f, size_t at, size_t size)
{
    return bytes_number(f->container->text + at, size, true);
}

/* The next number. */
static bool take(struct file *f, size_t size, uint64_t *x)
{
    if (!need(f, size))
        return false;
    *x = number_at(f, f->at, size);
    f->at += size;
    return true;
}

/* Bytes of a count. */
static size_t count_size(const struct file *f)
{
    return f->version == 5 ? 8 : 4;
}

/* The next count, which is not negative. */
static bool take_count(struct file *f, uint64_t *count)
{
    const size_t size = count_size(f), at = f->at;

    if (!take(f, size, count))
        return false;
    return *count >> (8 * size - 1) == 0 || container_wrong(f->in, at, "a count is negative");
}

/* Steps over so many values of a type, and what fills them up to 4 bytes. */
static bool step(struct file *f, uint64_t count, size_t size)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || bytes > UINT64_MAX - 3)
        return container_wrong(f->in, f->at, "the file ends within its header");
    bytes += -bytes % 4;
    if (!need(f, bytes))
        return false;
    f->at += (size_t)bytes;
    return true;
}

/* Steps over a name. */
static bool step_name(struct file *f, size_t *at, size_t *length)
{
    uint64_t count;

    if (!take_count(f, &count))
        return false;
    *at = f->at;
    *length = (size_t)count;
    if (count == 0)
        return container_wrong(f->in, f->at, "a name is empty");
    if (!step(f, count, 1))
        return false;
    return !memchr(f->container->text + *at, 0, *length) ||
           container_wrong(f->in, *at, "a name has a zero byte");
}

/* Reads the beginning of a list: its tag, or that there is none, and the number of its members. */
static bool take_list(struct file *f, enum tag tag, const char *what, uint64_t *count)
{
    const size_t at = f->at;
    uint64_t found;

    if (!take(f, 4, &found) || !take_count(f, count))
        return false;
    if (found != (uint64_t)tag && (found != 0 || *count != 0))
        return container_wrong(f->in, at, "a list of %s is expected", what);
    return true;
}

/* The next type. */
static bool take_type(struct file *f, unsigned *type)
{
    const size_t at = f->at;
    uint64_t number;

    if (!take(f, 4, &number))
        return false;
    *type = (unsigned)number;
    return (number > 0 && number < (f->version == 5 ? TYPES : CLASSIC_TYPES)) ||
           container_wrong(f->in, at, "type %" PRIu64 " is not one of CDF-%u", number, f->version);
}

static bool read_dimensions(struct file *f)
{
    uint64_t count, length;
    size_t name, name_length;

    if (!take_list(f, TAG_DIMENSION, "dimensions", &count))
        return false;
    for (; count > 0; count--) {
        if (!step_name(f, &name, &name_length) || !take_count(f, &length))
            return false;
        if (length == 0 && f->unlimited)
            return container_wrong(f->in, name, "a second dimension is unlimited");
        f->unlimited = f->unlimited || length == 0;
        if (!GROW(f->dimensions, f->dimension_room, f->dimension_count + 1))
            return container_no_memory(f->in);
        f->dimensions[f->dimension_count++] = length;
    }
    return true;
}

/* The next attribute: its name, its type, and its values, over which it steps. */
struct attribute {
    size_t name, name_length, values;
    unsigned type;
    uint64_t count;
};

static bool take_attribute(struct file *f, struct attribute *a)
{
    if (!step_name(f, &a->name, &a->name_length) || !take_type(f, &a->type) ||
        !take_count(f, &a->count))
        return false;
    a->values = f->at;
    return step(f, a->count, element_size(types[a->type]));
}

/* Steps over a list of attributes. */
static bool step_attributes(struct file *f, size_t *at, uint64_t *count)
{
    struct attribute a;

    if (!take_list(f, TAG_ATTRIBUTE, "attributes", count))
        return false;
    *at = f->at;
    for (uint64_t i = 0; i < *count; i++)
        if (!take_attribute(f, &a))
            return false;
    return true;
}

/* The name of a variable, for errors. */
static const char *name_of(const struct file *f, const struct variable *v,
                           char shown[NAME_ARRAY_MAX])
{
    char name[NAME_ARRAY_MAX];

    snprintf(name, sizeof name, "%.*s", (int)(v->name_length < INT32_MAX ? v->name_length : 0),
             f->container->text + v->name);
    return name_array(shown, name);
}

/* Adds the error that a variable is wrong at an offset. Returns false. */
__attribute__((format(printf, 4, 5))) static bool
wrong(const struct file *f, const struct variable *v, uint64_t offset, const char *format, ...)
{
    char text[ERROR_TEXT_MAX], shown[NAME_ARRAY_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return container_wrong(f->in, offset, "variable %s: %s", name_of(f, v, shown), text);
}

/* Finds the length of a dimension of a variable. */
static bool find_length(struct file *f, const struct variable *v, unsigned i, uint64_t *length)
{
    const size_t at = v->dimensions + i * count_size(f);
    const uint64_t number = number_at(f, at, count_size(f));

    if (number >= f->dimension_count)
        return wrong(f, v, at, "there is no dimension number %" PRIu64, number);
    *length = f->dimensions[number];
    return *length > 0 || i == 0 || wrong(f, v, at, "the unlimited dimension is not its first");
}

/* Finds out how many bytes a variable, or its part of a record, has. */
static bool find_slab(struct file *f, struct variable *v)
{
    uint64_t length;

    v->slab = element_size(types[v->type]);
    for (unsigned i = 0; i < v->dimension_count; i++) {
        if (!find_length(f, v, i, &length))
            return false;
        v->in_records = v->in_records || length == 0;
        if (length > 0 && __builtin_mul_overflow(v->slab, length, &v->slab))
            return wrong(f, v, v->dimensions, "more elements than any file has");
    }
    return v->slab <= INT64_MAX || wrong(f, v, v->dimensions, "more elements than any file has");
}

static bool read_variables(struct file *f)
{
    uint64_t count, size;

    if (!take_list(f, TAG_VARIABLE, "variables", &count))
        return false;
    for (; count > 0; count--) {
        struct variable v = {.in_records = false};

        if (!step_name(f, &v.name, &v.name_length) || !take_count(f, &v.dimension_count))
            return false;
        if (v.dimension_count > CONTAINER_DIMENSIONS_MAX)
            return wrong(f, &v, f->at, "it has more than 64 dimensions");
        _Static_assert(CONTAINER_DIMENSIONS_MAX == 64, "as the message says");
        v.dimensions = f->at;
        /* The size that the header states is left alone: it is too small for large variables. */
        if (!step(f, v.dimension_count, count_size(f)) ||
            !step_attributes(f, &v.attributes, &v.attribute_count) || !take_type(f, &v.type) ||
            !take(f, count_size(f), &size) || !take(f, f->version == 1 ? 4 : 8, &v.begin) ||
            !find_slab(f, &v))
            return false;
        if (!GROW(f->variables, f->variable_room, f->variable_count + 1))
            return container_no_memory(f->in);
        f->variables[f->variable_count++] = v;
    }
    return true;
}

static bool read_header(struct file *f)
{
    uint64_t count;
    size_t at;

    if (!need(f, 8))
        return false;
    if (!recognise((const unsigned char *)f->container->text, f->container->text_size))
        return container_wrong(f->in, 0, "it does not begin as CDF-1, CDF-2 or CDF-5");
    f->version = (unsigned char)f->container->text[3];
    f->at = 4;
    if (!take(f, count_size(f), &f->records))
        return false;
    if (f->version != 5 && f->records == UINT32_MAX)
        f->records = RECORDS_STREAMING;
    if (f->records != RECORDS_STREAMING && f->records >> (8 * count_size(f) - 1) != 0)
        return container_wrong(f->in, 4, "the number of records is negative");
    return read_dimensions(f) && step_attributes(f, &at, &count) && read_variables(f);
}

/*
 * The places of variables.
 */

/* Whether a variable has elements. */
static bool has_elements(const struct file *f, const struct variable *v)
{
    return !v->in_records || f->records > 0;
}

static int compare_variables(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->slab != y->slab)
        return x->slab < y->slab ? -1 : 1;
    return x->name < y->name ? -1 : 1;
}

/* Finds how many bytes a record has, which are filled up to 4 for each variable unless it has only
   one. */
static bool find_record_size(struct file *f)
{
    const struct variable *only = NULL;

    for (size_t i = 0; i < f->variable_count; i++) {
        const struct variable *v = &f->variables[i];

        if (!v->in_records)
            continue;
        only = f->record_size == 0 ? v : NULL;
        if (__builtin_add_overflow(f->record_size, v->slab + -v->slab % 4, &f->record_size))
            return wrong(f, v, v->dimensions, "records have more bytes than any file");
    }
    if (only)
        f->record_size = only->slab;
    return true;
}

/* Finds how many records a file has whose header does not say so: those that are whole. */
static bool count_records(struct file *f)
{
    uint64_t end = 0; /* of the first record */

    if (f->in->endless && f->record_size > 0) {
        f->in->scattered = true;
        return container_wrong(f->in, 4, "the number of records is unknown before the end");
    }
    f->record_begin = UINT64_MAX;
    for (size_t i = 0; i < f->variable_count; i++) {
        const struct variable *v = &f->variables[i];
        uint64_t behind;

        if (!v->in_records)
            continue;
        if (__builtin_add_overflow(v->begin, v->slab, &behind))
            return wrong(f, v, v->dimensions, "it begins at offset %" PRIu64, v->begin);
        f->record_begin = v->begin < f->record_begin ? v->begin : f->record_begin;
        end = behind > end ? behind : end;
    }
    f->records =
        f->record_size > 0 && end <= f->in->size ? (f->in->size - end) / f->record_size + 1 : 0;
    return true;
}

/* Sees to it that a variable lies in the file. */
static bool check_place(struct file *f, const struct variable *v)
{
    const uint64_t size = f->in->size, last = v->in_records ? f->records - 1 : 0;
    uint64_t behind;

    if (!__builtin_mul_overflow(last, f->record_size, &behind) &&
        !__builtin_add_overflow(behind, v->begin, &behind) &&
        !__builtin_add_overflow(behind, v->slab, &behind) && behind <= size)
        return true;
    if (v->begin > size || v->slab > size - v->begin)
        return wrong(f, v, size, "truncated: its %" PRIu64 " byte%s begin at offset %" PRIu64,
                     v->slab, plural(v->slab), v->begin);
    return wrong(f, v, size,
                 "truncated inside record %" PRIu64 " of %" PRIu64 ", each of %" PRIu64 " bytes",
                 (size - v->begin - v->slab) / f->record_size + 1, f->records, f->record_size);
}

/* Sorts the variables by their places, and sees to it that they lie in the file, and apart: records
   after all else. */
static bool check_places(struct file *f)
{
    const struct variable *before = NULL, *v;
    uint64_t end = f->at;

    f->container->end = f->at;
    for (size_t i = 0; i < f->variable_count; i++)
        if (!has_elements(f, &f->variables[i])) { /* nothing is where the header says */
            f->variables[i].begin = f->at;
            f->variables[i].slab = 0;
        }
    if (f->variable_count > 0)
        qsort(f->variables, f->variable_count, sizeof *f->variables, compare_variables);
    for (size_t i = 0; i < f->variable_count; i++) {
        v = &f->variables[i];
        if (!has_elements(f, v))
            continue;
        if (!check_place(f, v))
            return false;
        if (v->begin < end)
            return wrong(f, v, v->begin, before ? "it overlaps another" : "it overlaps the header");
        if (before && before->in_records && !v->in_records)
            return wrong(f, v, v->begin, "it lies between records");
        if (v->in_records && !(before && before->in_records))
            f->record_begin = v->begin;
        end = v->begin + v->slab;
        f->container->end = end + (v->in_records ? (f->records - 1) * f->record_size : 0);
        before = v;
    }
    if (before && before->in_records && f->records > 1 && end - f->record_begin > f->record_size)
        return wrong(f, before, before->begin,
                     "it overlaps the next record, %" PRIu64 " bytes after the first one",
                     f->record_size);
    return true;
}

/*
 * Attributes.
 */

/* Finds an attribute of f->variable: the first of that name. */
static bool find_attribute(struct file *f, const char *name, struct attribute *a)
{
    f->at = f->variable->attributes;
    for (uint64_t i = 0; i < f->variable->attribute_count; i++)
        if (take_attribute(f, a) && a->name_length == strlen(name) &&
            memcmp(f->container->text + a->name, name, a->name_length) == 0)
            return true;
    return false;
}

/* The number at a place of the header. */
static struct attributes_number read_number(const struct file *f, size_t at, enum element_type type)
{
    const size_t size = element_size(type);
    uint64_t bits = number_at(f, at, size);
    const bool negative =
        element_formats[type].kind == ELEMENT_SIGNED && bits >> (8 * size - 1) != 0;

    if (element_is_integer(type))
        return attributes_integer(negative && size < 8 ? bits | UINT64_MAX << 8 * size : bits,
                                  negative);
    return (struct attributes_number){.real = true, .value = element_value(type, bits)};
}

static void read_attribute(void *user, const char *name, struct attributes_numbers *found)
{
    struct file *f = user;
    struct attribute a;

    found->exists = find_attribute(f, name, &a);
    found->numeric = found->exists && a.type != TYPE_CHAR;
    found->is_text = found->exists && a.type == TYPE_CHAR;
    found->count = found->exists ? (size_t)a.count : 0;
    for (size_t i = 0; found->numeric && i < found->count && i < ATTRIBUTES_NUMBERS_MAX; i++)
        found->numbers[i] =
            read_number(f, a.values + i * element_size(types[a.type]), types[a.type]);
    if (found->is_text)
        snprintf(found->text, sizeof found->text, "%.*s",
                 (int)(a.count < sizeof found->text ? a.count : sizeof found->text),
                 f->container->text + a.values);
}

/* Finds what the numbers of a variable mean. False without memory. */
static bool find_meaning(struct file *f, const struct variable *v, struct container_array *a)
{
    const struct attributes_reader reader = {.read = read_attribute, .user = f};
    struct attributes_meaning m;

    f->variable = v;
    /* netCDF4-python takes the default fill value of bytes for missing, too, in these files. */
    attributes_find(&reader, a->type, true, true, &m);
    return attributes_apply(f->container, a, &m);
}

/*
 * Arrays.
 */

static bool add_array(struct file *f, const struct variable *v)
{
    struct container *c = f->container;
    struct container_array *a = container_add(c, c->text + v->name);
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX] = {0};

    for (unsigned i = 0; i < v->dimension_count; i++) {
        (void)find_length(f, v, i, &sizes[i]); /* it has been checked */
        sizes[i] = sizes[i] > 0 ? sizes[i] : f->records;
    }
    if (!a || !container_set_shape(c, a, sizes, (unsigned)v->dimension_count))
        return container_no_memory(f->in);
    a->type = types[v->type];
    a->big_endian = true;
    a->offset = v->begin;
    a->length = v->in_records ? v->slab * f->records : v->slab;
    a->elements = a->length / element_size(a->type);
    container_name_type(a, v->type == TYPE_CHAR ? "char" : element_name(a->type));
    if (v->type == TYPE_CHAR) {
        a->unreadable = "text";
        a->not_numeric = true;
    } else if (!f->in->stored && !find_meaning(f, v, a)) {
        return container_no_memory(f->in);
    }
    if (v->in_records && f->records > 1 && f->record_size != v->slab) {
        a->record_elements = v->slab / element_size(a->type);
        a->record_stride = f->record_size;
    }
    return true;
}

static bool add_arrays(struct file *f)
{
    const size_t end = f->at;

    container_expect(f->container, f->variable_count);
    for (size_t i = 0; i < f->variable_count; i++) {
        f->at = end;
        if (!add_array(f, &f->variables[i]))
            return false;
    }
    /* The bytes after names have been read. */
    for (size_t i = 0; i < f->variable_count; i++)
        f->container->text[f->variables[i].name + f->variables[i].name_length] = '\0';
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct file f = {.container = c, .in = in};
    bool good = read_header(&f) && find_record_size(&f);

    if (good && f.records == RECORDS_STREAMING)
        good = count_records(&f);
    good = good && check_places(&f) && add_arrays(&f);
    free(f.dimensions);
    free(f.variables);
    return good;
}

const struct container_format container_netcdf = {
    .name = "netcdf",
    .article = "a netCDF file",
    .in_order = true,
    .recognise = recognise,
    .read = read_file,
};
