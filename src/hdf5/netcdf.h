/*
 * Additions of netCDF-4 to HDF5: datasets that are only dimensions, and unlimited
 * dimensions, along which all variables are as long as the longest.
 *
 * As library.h it runs in a process of its own: objects that are opened here stay open.
 */
#ifndef GPUREDUCE_HDF5_NETCDF_H
#define GPUREDUCE_HDF5_NETCDF_H

#include <stdbool.h>
#include <stddef.h>

#include "hdf5/library.h"

/* Whether a dataset is only a dimension: netCDF shows no variable of that name. */
bool hdf5_is_dimension(hid_t dataset);

/* Whether the file, whose root group this is, says that it is a netCDF file, as those written since
   2016 do. */
bool hdf5_is_netcdf(hid_t root);

/* Finds whether a dataset is a variable of netCDF by its dimensions, whatever its file says of itself.
   False if the library fails. */
bool hdf5_is_variable(hid_t dataset, bool *is, struct hdf5_trouble *t);

/* Notes how long dimensions are by a dataset that is a coordinate variable of several dimensions,
   which netCDF numbers: all are noted before hdf5_extend is called. */
void hdf5_note_lengths(hid_t dataset);

/* Makes sizes[i] of a dataset, those that are stored, the lengths of its dimensions in netCDF,
   where most[i] is H5S_UNLIMITED. False where the library fails. */
bool hdf5_extend(hid_t dataset, int dimensions, hsize_t *sizes, const hsize_t *most,
                 struct hdf5_trouble *t);

#endif
