/*
 * The attributes of an object. As hdf5/library.h it runs in a process of its own: memory that the
 * library has allocated is not given back.
 */
#ifndef GPUREDUCE_HDF5_ATTRIBUTE_H
#define GPUREDUCE_HDF5_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "hdf5/library.h"
#include "source/format/attributes.h"

/* An attribute that is open. */
struct attribute {
    hid_t id, type, space;
    H5T_class_t class;
    hssize_t count; /* of its elements */
};

/* False where there is none. */
bool attribute_open(hid_t object, const char *name, struct attribute *a);

void attribute_close(const struct attribute *a);

/* An object whose attributes are read by the functions of struct attributes_reader, and where to note that
   the library fails. */
struct attribute_holder {
    hid_t object;
    struct hdf5_trouble *trouble;
};

bool attribute_read_text(void *holder, const char *name, char *text, size_t room);

/* Reads the numbers of an attribute, of any shape. */
bool attribute_read_numbers(void *holder, const char *name, struct attributes_numbers *found);

#endif
