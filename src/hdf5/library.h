/*
 * libhdf5, which reads the file through a driver of ours. So it locks nothing, sees the file from
 * where the input begins, and tells where chunks are: asked for one, it looks up its place, and the
 * driver notes that in place of reading it. H5Dget_chunk_info goes through all chunks before the
 * one asked for, and H5Dchunk_iter came with version 1.14.
 *
 * This program has one thread, and one file is open.
 */
#ifndef GPUREDUCE_HDF5_LIBRARY_H
#define GPUREDUCE_HDF5_LIBRARY_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "source/format/container.h"

#if H5_VERSION_GE(1, 12, 0)
#    define HDF5_ITERATE H5Literate2
#    define HDF5_INFO H5Oget_info3
#    define HDF5_INFO_BY_NAME H5Oget_info_by_name3
#    define HDF5_ADDRESS token
#    define HDF5_OPEN H5Oopen_by_token
typedef H5O_info2_t hdf5_object_info;
typedef H5L_info2_t hdf5_link_info;
#else
#    define HDF5_ITERATE H5Literate
#    define HDF5_INFO H5Oget_info2
#    define HDF5_INFO_BY_NAME H5Oget_info_by_name2
#    define HDF5_ADDRESS addr
#    define HDF5_OPEN H5Oopen_by_addr
typedef H5O_info_t hdf5_object_info;
typedef H5L_info_t hdf5_link_info;
#endif
#if H5_VERSION_GE(2, 0, 0)
#    define HDF5_READ_CHUNK H5Dread_chunk1
#else
#    define HDF5_READ_CHUNK H5Dread_chunk
#endif

#define HDF5_ADDRESS_BYTES sizeof(((hdf5_object_info *)0)->HDF5_ADDRESS)

/* The file, and what is asked of it. */
struct hdf5_input {
    int fd;
    uint64_t begin, size; /* bytes of the file that come before the input, and that it has */
    bool headers_only;    /* it does not matter where chunks are */
    bool stored; /* numbers are wanted as they are stored, whatever attributes say of them */
    struct container_pattern *patterns; /* which arrays are wanted */
    unsigned pattern_count;
};

/* Opens the file; negative where the library fails. */
hid_t hdf5_open(const struct hdf5_input *in);

/* Finds the place in the file of the chunk of a dataset that begins at `begin`, and the filters
   that were left out; size is 0 if the library finds none. */
void hdf5_find_chunk(hid_t dataset, const hsize_t *begin, uint64_t *offset, uint64_t *size,
                     uint32_t *mask);

/* The place and the number of the bytes of the file that could not be read; NULL if all could. */
const uint64_t *hdf5_unread(void);

/* An error. */
struct hdf5_trouble {
    char text[ERROR_TEXT_MAX];
};

/* Sets what the library found wrong. Returns false. */
bool hdf5_wrong(struct hdf5_trouble *t);

/* Sets what else is wrong. Returns false. */
bool hdf5_fails(struct hdf5_trouble *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
