/*
 * Attributes that say which numbers of a dataset are missing and what the others stand for:
 * _FillValue, missing_value, valid_range, valid_min, valid_max, scale_factor, add_offset and
 * _Unsigned, by the rules of netCDF4-python; and the default fill values of netCDF files.
 *
 * As hdf5/library.h it runs in a process of its own.
 */
#ifndef GPUREDUCE_HDF5_MEANING_H
#define GPUREDUCE_HDF5_MEANING_H

#include <stdbool.h>

#include "core/missing.h"
#include "core/scale.h"
#include "hdf5/library.h"

/* The meaning of the numbers of a dataset. */
struct hdf5_meaning {
    enum element_type type; /* of the numbers; another than that which is stored by _Unsigned */
    struct missing missing; /* of that type */
    struct scale scale;
    char wrong[160]; /* why numbers cannot be told from it, a phrase; empty if they can */
    char ignored[ERROR_TEXT_MAX]; /* attributes that have no effect, and why; empty for none */
};

/* Finds the meaning of the numbers of a dataset of this type. `netcdf`: it is a variable of a
   netCDF file; `filled`: it states what elements are that were never written. False where the
   library fails. */
bool hdf5_find_meaning(hid_t dataset, enum element_type type, bool netcdf, bool filled,
                       struct hdf5_meaning *m, struct hdf5_trouble *t);

#endif
