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

/* Reads an attribute that is one text; the part that does not fit is cut off. False if it is not one
   text. */
bool attribute_read_text(hid_t object, const char *name, char *text, size_t room);

/* An object whose attributes are read, and where to note that the library fails. */
struct attribute_holder {
    hid_t object;
    struct hdf5_trouble *trouble;
    bool failed; /* it has failed, and nothing more is read */
};

/* Reads an attribute, of any shape: struct attributes_reader. */
void attribute_read(void *holder, const char *name, struct attributes_numbers *found);

#endif
