#include "config.h"

#include "hdf5/attribute.h"

#include <stdio.h>
#include <stdlib.h>

bool attribute_open(hid_t object, const char *name, struct attribute *a)
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

void attribute_close(const struct attribute *a)
{
    H5Sclose(a->space);
    H5Tclose(a->type);
    H5Aclose(a->id);
}

bool attribute_read_text(hid_t object, const char *name, char *text, size_t room)
{
    struct attribute a;
    char *buffer = NULL;
    bool good = false;

    if (!attribute_open(object, name, &a))
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
    attribute_close(&a);
    return good;
}

static bool read_floats(const struct attribute *a, struct attributes_number *to)
{
    double values[ATTRIBUTES_NUMBERS_MAX];

    if (H5Aread(a->id, H5T_NATIVE_DOUBLE, values) < 0)
        return false;
    for (hssize_t i = 0; i < a->count; i++)
        to[i] = (struct attributes_number){.real = true, .value = values[i]};
    return true;
}

static bool read_integers(const struct attribute *a, struct attributes_number *to)
{
    const bool is_signed = H5Tget_sign(a->type) == H5T_SGN_2;
    uint64_t values[ATTRIBUTES_NUMBERS_MAX];

    if (H5Aread(a->id, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, values) < 0)
        return false;
    for (hssize_t i = 0; i < a->count; i++)
        to[i] = attributes_integer(values[i], is_signed && values[i] >> 63);
    return true;
}

void attribute_read(void *holder, const char *name, struct attributes_numbers *found)
{
    struct attribute_holder *h = holder;
    struct attribute a;
    bool good = true;

    found->numeric = found->is_text = false;
    found->count = 0;
    found->exists = !h->failed && attribute_open(h->object, name, &a);
    if (!found->exists) {
        good = h->failed || H5Aexists(h->object, name) == 0;
    } else if (a.type < 0 || a.count < 0) {
        good = false;
    } else {
        found->numeric = (a.class == H5T_INTEGER || a.class == H5T_FLOAT || a.class == H5T_ENUM) &&
                         H5Tget_size(a.type) <= sizeof(uint64_t);
        found->count = (size_t)a.count;
        if (found->numeric && a.count > 0 && a.count <= ATTRIBUTES_NUMBERS_MAX)
            good = (a.class == H5T_FLOAT ? read_floats : read_integers)(&a, found->numbers);
        found->is_text = a.class == H5T_STRING &&
                         attribute_read_text(h->object, name, found->text, sizeof found->text);
    }
    if (!good)
        h->failed = !hdf5_wrong(h->trouble);
    if (found->exists)
        attribute_close(&a);
    found->exists = found->exists && good;
}
