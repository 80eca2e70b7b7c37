#include "config.h"

#include "hdf5/netcdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/attribute.h"

bool hdf5_is_dimension(hid_t dataset)
{
    static const char begins[] = "This is a netCDF dimension but not a netCDF variable";
    char text[sizeof begins];

    return attribute_read_text(dataset, "NAME", text, sizeof text) && strcmp(text, begins) == 0;
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

/* Reads an attribute that is the numbers of so many dimensions. False where it is missing, or others. */
static bool read_numbers(hid_t object, const char *name, int *numbers, int count)
{
    struct attribute a;
    bool good;

    if (!attribute_open(object, name, &a))
        return false;
    good =
        a.class == H5T_INTEGER && a.count == count && H5Aread(a.id, H5T_NATIVE_INT, numbers) >= 0;
    attribute_close(&a);
    for (int i = 0; i < count && good; i++)
        good = numbers[i] >= 0 && numbers[i] < DIMENSIONS_MAX;
    return good;
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

    if (!attribute_open(scale, "REFERENCE_LIST", &a))
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
    attribute_close(&a);
    return good;
}

bool hdf5_is_netcdf(hid_t root)
{
    return H5Aexists(root, "_NCProperties") > 0 || H5Aexists(root, "_nc3_strict") > 0;
}

/* Whether a dimension scale is one of netCDF's. */
static bool is_netcdf_scale(hid_t scale)
{
    return H5Aexists(scale, "_Netcdf4Dimid") > 0 || hdf5_is_dimension(scale);
}

bool hdf5_is_variable(hid_t dataset, bool *is, struct hdf5_trouble *t)
{
    hvl_t lists[CONTAINER_DIMENSIONS_MAX] = {{0, NULL}};
    struct attribute a;
    bool good = true;

    *is = is_netcdf_scale(dataset);
    if (*is || !attribute_open(dataset, "DIMENSION_LIST", &a))
        return true;
    if (a.class == H5T_VLEN && a.count > 0 && a.count <= CONTAINER_DIMENSIONS_MAX)
        good = H5Aread(a.id, a.type, lists) >= 0 || hdf5_wrong(t);
    if (good && lists[0].len > 0) {
        const hid_t scale = H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, lists[0].p);

        *is = scale >= 0 && is_netcdf_scale(scale);
        H5Oclose(scale);
    }
    attribute_close(&a);
    return good;
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
        !read_numbers(dataset, "_Netcdf4Dimid", &number, 1))
        return;
    if (numbered[number] == 0 && H5Iinc_ref(dataset) >= 0)
        numbered[number] = dataset;
    if (count > 1 && read_numbers(dataset, "_Netcdf4Coordinates", numbers, count))
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
    if (get_sizes(scale, sizes, most) > 0 && most[0] == H5S_UNLIMITED && is_netcdf_scale(scale)) {
        s->length = sizes[0];
        if (!see_lengths(scale, &s->length, t))
            return false;
        if (noted && read_numbers(scale, "_Netcdf4Dimid", &number, 1) && noted[number] > s->length)
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
    if (dimensions == 1 || !numbered ||
        !read_numbers(dataset, "_Netcdf4Coordinates", numbers, dimensions))
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
    if (!attribute_open(dataset, "DIMENSION_LIST", &a))
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
    attribute_close(&a);
    return good;
}
