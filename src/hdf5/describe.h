#ifndef GPUREDUCE_HDF5_DESCRIBE_H
#define GPUREDUCE_HDF5_DESCRIBE_H

#include "hdf5/library.h"
#include "sys/buffer.h"

/* Puts what is in the file, or why that cannot be told: the answer (hdf5_records.h). Memory is not
   given back, and nothing is printed. */
void hdf5_describe(const struct hdf5_input *in, struct buffer *out);

#endif
