/*
 * The types of datasets, as libhdf5 tells them, and which of them are ours.
 */
#ifndef GPUREDUCE_HDF5_TYPE_H
#define GPUREDUCE_HDF5_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "hdf5/library.h"

struct hdf5_type {
    const char *name;
    size_t size;            /* bytes of an element */
    const char *unreadable; /* why elements cannot be read; NULL where they can */
    bool not_numeric;       /* they are no numbers, and hold none */
    enum element_type element;
    bool big; /* big-endian */
};

/* Tells what a type is. */
void hdf5_classify(hid_t type, struct hdf5_type *t);

#endif
