#include "config.h"

#include "hdf5/netcdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An attribute that is open. */
struct attribute {
    hid_t id, type, space;
    H5T_class_t class;
    hssize_t count; /* of its elements */
};

/* False where there is none. */
static bool open_attribute(hid_t object, const char *name, struct attribute *a)
{
    if (H5Aexists(object, name) <= 0)
        return false;
    a->id = H5Aopen(object, name, H5P_DEFAULT);
    a->type = H5Aget_type(a->id);
    a->space = H5Aget_space(a->id);
    a->class = H5Tget_class(a->type);
    a->count = H5Sget_simple_extent_npoints(a->space);
    return true;
}

static void close_attribute(const struct attribute *a)
{
    H5Sclose(a->space);
    H5Tclose(a->type);
    H5Aclose(a->id);
}

/* Reads an attribute that is one text; what does not fit is cut off. False where there is none. */
static bool read_text(hid_t object, const char *name, char *text, size_t room)
{
    struct attribute a;
    char *buffer = NULL;
    bool good = false;

    if (!open_attribute(object, name, &a))
        return false;
    if (a.class == H5T_STRING && a.count == 1) {
        if (H5Tis_variable_str(a.type) > 0) {
            good = H5Aread(a.id, a.type, &buffer) >= 0 && buffer;
        } else {
            buffer = calloc(H5Tget_size(a.type) + 1, 1);
            good = buffer && H5Aread(a.id, a.type, buffer) >= 0;
        }
    }
    if (good)
        snprintf(text, room, "%s", buffer);
    close_attribute(&a);
    return good;
}

/* Reads an attribute that is one number, of a kind that binary64 tells 0 and 1 from others of. */
static bool read_number(hid_t object, const char *name, double *number)
{
    struct attribute a;
    bool good;

    if (!open_attribute(object, name, &a))
        return false;
    good = (a.class == H5T_INTEGER || a.class == H5T_FLOAT) &&
           H5Tget_size(a.type) <= sizeof *number && a.count == 1 &&
           H5Aread(a.id, H5T_NATIVE_DOUBLE, number) >= 0;
    close_attribute(&a);
    return good;
}

bool hdf5_is_dimension(hid_t dataset)
{
    static const char begins[] = "This is a netCDF dimension but not a netCDF variable";
    char text[sizeof begins];

    return read_text(dataset, "NAME", text, sizeof text) && strcmp(text, begins) == 0;
}

/* Whether it is certain that numbers mean the same with an attribute as without it. */
static bool changes_nothing(hid_t dataset, const char *name, enum element_type type)
{
    char text[8];
    double number;

    if (strcmp(name, "scale_factor") == 0)
        return read_number(dataset, name, &number) && number == 1;
    if (strcmp(name, "add_offset") == 0)
        return read_number(dataset, name, &number) && number == 0;
    if (strcmp(name, "_Unsigned") == 0 && read_text(dataset, name, text, sizeof text))
        return strcasecmp(text, "false") == 0 ||
               (strcasecmp(text, "true") == 0 && element_formats[type].kind == ELEMENT_UNSIGNED);
    return false;
}

bool hdf5_name_attributes(hid_t dataset, enum element_type type, char *text, size_t room,
                          unsigned *found, struct hdf5_trouble *t)
{
    static const char *const names[] = {"_FillValue", "missing_value", "valid_range", "valid_min",
                                        "valid_max",  "scale_factor",  "add_offset",  "_Unsigned"};
    size_t length = 0;

    *found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const htri_t exists = H5Aexists(dataset, names[i]);

        if (exists < 0)
            return hdf5_wrong(t);
        if (exists == 0 || changes_nothing(dataset, names[i], type))
            continue;
        snprintf(text + length, room - length, "%s%s", length > 0 ? ", " : "", names[i]);
        length += strlen(text + length);
        ++*found;
    }
    return true;
}

/*
 * Unlimited dimensions.
 */

/* Dimensions are numbered from 0 on; files with so many have been damaged. */
#define DIMENSIONS_MAX 65536

/* The length of each dimension, as far as coordinate variables of several dimensions tell it: these
   are scales, and the library lets no scale refer to others. */
static hsize_t *noted;

/* Scales by their numbers, open, or 0. */
static hid_t *numbered;

/* Reads an attribute that is as many integers; what they are if they do not fit, nobody knows. False
   where it is missing, or others. */
static bool read_integers(hid_t object, const char *name, int *integers, int count)
{
    struct attribute a;
    bool good;

    if (!open_attribute(object, name, &a))
        return false;
    good =
        a.class == H5T_INTEGER && a.count == count && H5Aread(a.id, H5T_NATIVE_INT, integers) >= 0;
    close_attribute(&a);
    return good;
}

/* Reads one that is the number of a dimension. */
static bool read_dimension(hid_t object, int *number)
{
    return read_integers(object, "_Netcdf4Dimid", number, 1) && *number >= 0 &&
           *number < DIMENSIONS_MAX;
}

/* Reads the numbers of the dimensions of a coordinate variable of several. */
static bool read_numbers(hid_t dataset, int *numbers, int count)
{
    if (!read_integers(dataset, "_Netcdf4Coordinates", numbers, count))
        return false;
    for (int i = 0; i < count; i++)
        if (numbers[i] < 0 || numbers[i] >= DIMENSIONS_MAX)
            return false;
    return true;
}

/* The datasets that a dimension scale says are along it: REFERENCE_LIST, as the library's
   high-level part writes it. */
struct scale_reference {
    hobj_ref_t dataset;
    unsigned dimension;
};

/* A dimension that has been seen; the length is 0 where it is not unlimited, or not netCDF's. */
struct dimension_scale {
    struct dimension_scale *next;
    unsigned char address[HDF5_ADDRESS_BYTES];
    hsize_t length;
};

static struct dimension_scale *scales;

/* The sizes of an open dataset. Returns how many there are; less than 0 where the library fails. */
static int get_sizes(hid_t dataset, hsize_t *sizes, hsize_t *most)
{
    const hid_t space = H5Dget_space(dataset);
    int count = H5Sget_simple_extent_ndims(space);

    if (count > CONTAINER_DIMENSIONS_MAX || H5Sget_simple_extent_dims(space, sizes, most) < 0)
        count = -1;
    H5Sclose(space);
    return count;
}

/* How long the dimension `number` of what is referred to is, if that is more than *length. */
static bool see_length(hid_t from, const struct scale_reference *reference, hsize_t *length)
{
    const hid_t dataset = H5Rdereference2(from, H5P_DEFAULT, H5R_OBJECT, &reference->dataset);
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX];
    const int count = get_sizes(dataset, sizes, NULL);

    H5Oclose(dataset);
    if (count < 0)
        return false;
    if (reference->dimension < (unsigned)count && sizes[reference->dimension] > *length)
        *length = sizes[reference->dimension];
    return true;
}

/* Sees how long all that is along a scale is. */
static bool see_lengths(hid_t scale, hsize_t *length, struct hdf5_trouble *t)
{
    struct scale_reference *references = NULL;
    struct attribute a;
    hssize_t count;
    hid_t native;
    bool good = true;

    if (!open_attribute(scale, "REFERENCE_LIST", &a))
        return true;
    native = H5Tget_native_type(a.type, H5T_DIR_ASCEND);
    count = a.count;
    /* Other lists are not netCDF's. */
    if (H5Tget_class(native) != H5T_COMPOUND || H5Tget_nmembers(native) != 2 ||
        H5Tget_size(native) != sizeof *references ||
        H5Tget_member_offset(native, 1) != offsetof(struct scale_reference, dimension))
        count = 0;
    else if (count > 0)
        references = calloc((size_t)count, sizeof *references);
    if (count > 0 && (!references || H5Aread(a.id, native, references) < 0))
        good = hdf5_wrong(t);
    for (hssize_t i = 0; i < count && good; i++)
        good = see_length(scale, &references[i], length) || hdf5_wrong(t);
    free(references);
    H5Tclose(native);
    close_attribute(&a);
    return good;
}

bool hdf5_is_netcdf(hid_t root)
{
    return H5Aexists(root, "_NCProperties") > 0;
}

void hdf5_note_lengths(hid_t dataset)
{
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX], most[CONTAINER_DIMENSIONS_MAX];
    int numbers[CONTAINER_DIMENSIONS_MAX], number;
    const int count = get_sizes(dataset, sizes, most);

    if (!noted)
        noted = calloc(DIMENSIONS_MAX, sizeof *noted);
    if (!numbered)
        numbered = calloc(DIMENSIONS_MAX, sizeof *numbered);
    if (count < 1 || !noted || !numbered || H5Aexists(dataset, "DIMENSION_LIST") != 0 ||
        !read_dimension(dataset, &number))
        return;
    if (numbered[number] == 0 && H5Iinc_ref(dataset) >= 0)
        numbered[number] = dataset;
    if (count > 1 && read_numbers(dataset, numbers, count))
        for (int i = 0; i < count; i++)
            if (sizes[i] > noted[numbers[i]])
                noted[numbers[i]] = sizes[i];
}

/* Sets *length to that of the dimension that a scale is, if it is netCDF's and unlimited. */
static bool measure(hid_t scale, hsize_t *length, struct hdf5_trouble *t)
{
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX], most[CONTAINER_DIMENSIONS_MAX];
    hdf5_object_info info;
    struct dimension_scale *s;
    int number;

    if (scale < 0 || HDF5_INFO(scale, &info, H5O_INFO_BASIC) < 0)
        return hdf5_wrong(t);
    for (s = scales; s; s = s->next) {
        if (memcmp(s->address, &info.HDF5_ADDRESS, sizeof s->address) == 0) {
            *length = s->length;
            return true;
        }
    }
    s = calloc(1, sizeof *s);
    if (!s)
        return hdf5_fails(t, "out of memory");
    if (get_sizes(scale, sizes, most) > 0 && most[0] == H5S_UNLIMITED &&
        (H5Aexists(scale, "_Netcdf4Dimid") > 0 || hdf5_is_dimension(scale))) {
        s->length = sizes[0];
        if (!see_lengths(scale, &s->length, t))
            return false;
        if (noted && read_dimension(scale, &number) && noted[number] > s->length)
            s->length = noted[number];
    }
    memcpy(s->address, &info.HDF5_ADDRESS, sizeof s->address);
    s->next = scales;
    scales = s;
    *length = s->length;
    return true;
}

/* Makes a size that of the dimension that the scale is, where that is longer. */
static bool extend_one(hid_t scale, hsize_t *size, struct hdf5_trouble *t)
{
    hsize_t length;

    if (!measure(scale, &length, t))
        return false;
    if (length > *size)
        *size = length;
    return true;
}

/* Extends a dataset that is a scale itself, if it is one of netCDF's: as a rule it is its own first
   dimension. */
static bool extend_scale(hid_t dataset, int dimensions, hsize_t *sizes, const hsize_t *most,
                         struct hdf5_trouble *t)
{
    int numbers[CONTAINER_DIMENSIONS_MAX];

    if (H5Aexists(dataset, "_Netcdf4Dimid") <= 0)
        return true;
    if (dimensions == 1 || !numbered || !read_numbers(dataset, numbers, dimensions))
        return most[0] != H5S_UNLIMITED || extend_one(dataset, &sizes[0], t);
    for (int i = 0; i < dimensions; i++)
        if (most[i] == H5S_UNLIMITED && numbered[numbers[i]] != 0 &&
            !extend_one(numbered[numbers[i]], &sizes[i], t))
            return false;
    return true;
}

bool hdf5_extend(hid_t dataset, int dimensions, hsize_t *sizes, const hsize_t *most,
                 struct hdf5_trouble *t)
{
    hvl_t lists[CONTAINER_DIMENSIONS_MAX] = {{0, NULL}};
    const htri_t listed = H5Aexists(dataset, "DIMENSION_LIST");
    struct attribute a;
    bool good = true;

    if (listed == 0)
        return extend_scale(dataset, dimensions, sizes, most, t);
    if (!open_attribute(dataset, "DIMENSION_LIST", &a))
        return hdf5_wrong(t);
    if (a.class != H5T_VLEN || a.count != dimensions || H5Aread(a.id, a.type, lists) < 0)
        good = hdf5_wrong(t);
    for (int i = 0; i < dimensions && good; i++) {
        hid_t scale;

        if (most[i] != H5S_UNLIMITED || lists[i].len == 0)
            continue;
        scale = H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, lists[i].p);
        good = extend_one(scale, &sizes[i], t);
        H5Oclose(scale);
    }
    close_attribute(&a);
    return good;
}

bool hdf5_default_fill(enum element_type type, bool big_endian, unsigned char *value)
{
    const size_t size = element_size(type);
    uint64_t bits;

    if (type == ELEMENT_F64)
        bits = UINT64_C(0x479e000000000000); /* 15 * 2^119, about 9.97e36 */
    else if (type == ELEMENT_F32)
        bits = UINT32_C(0x7cf00000); /* the same number */
    else if (element_formats[type].kind ==
             ELEMENT_UNSIGNED) /* the greatest; of 64 bits, the next */
        bits = size == 8 ? UINT64_MAX - 1 : UINT64_MAX >> (64 - 8 * size);
    else if (element_formats[type].kind == ELEMENT_SIGNED) /* the second to the least; likewise */
        bits = (UINT64_MAX << (8 * size - 1)) + (size == 8 ? 2 : 1);
    else
        return false;
    for (size_t i = 0; i < size; i++)
        value[i] = (unsigned char)(bits >> 8 * (big_endian ? size - 1 - i : i));
    return true;
}
