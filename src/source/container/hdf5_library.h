/*
 * libhdf5, which is loaded when the first file of its is met: it brings dozens of libraries, and
 * every start of the program would wait for them.
 *
 * The library reads the file through a driver of our own. So it locks nothing, sees the file from
 * where the input begins, and tells where chunks are: asked for one, it looks up its place, and the
 * driver notes that in place of reading it. H5Dget_chunk_info goes through all chunks before the
 * one asked for, and H5Dchunk_iter came with version 1.14.
 *
 * All of this runs in a process of its own (hdf5.c), so there are no locks, and there is one file.
 */
#ifndef GPUREDUCE_HDF5_LIBRARY_H
#define GPUREDUCE_HDF5_LIBRARY_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "source/container/container.h"

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

/* Constants that would call the library first. */
#undef H5OPEN
#undef H5CHECK
#define H5OPEN
#define H5CHECK

/* The functions that are called. */
#define HDF5_FUNCTIONS(F)           \
    F(H5open)                       \
    F(H5Eset_auto2)                 \
    F(H5Ewalk2)                     \
    F(H5FDregister)                 \
    F(H5Fopen)                      \
    F(H5Gopen2)                     \
    F(HDF5_ITERATE)                 \
    F(HDF5_INFO)                    \
    F(HDF5_INFO_BY_NAME)            \
    F(HDF5_OPEN)                    \
    F(H5Oclose)                     \
    F(H5Rdereference2)              \
    F(H5Aexists)                    \
    F(H5Aopen)                      \
    F(H5Aread)                      \
    F(H5Aget_type)                  \
    F(H5Aget_space)                 \
    F(H5Aclose)                     \
    F(H5Dget_space)                 \
    F(H5Dget_type)                  \
    F(H5Dget_create_plist)          \
    F(H5Dget_offset)                \
    F(H5Dget_storage_size)          \
    F(H5Dget_num_chunks)            \
    F(HDF5_READ_CHUNK)              \
    F(H5Dread)                      \
    F(H5Sget_simple_extent_type)    \
    F(H5Sget_simple_extent_ndims)   \
    F(H5Sget_simple_extent_dims)    \
    F(H5Sget_simple_extent_npoints) \
    F(H5Sclose)                     \
    F(H5Tget_class)                 \
    F(H5Tdetect_class)              \
    F(H5Tget_size)                  \
    F(H5Tget_order)                 \
    F(H5Tget_precision)             \
    F(H5Tget_offset)                \
    F(H5Tget_sign)                  \
    F(H5Tget_fields)                \
    F(H5Tget_ebias)                 \
    F(H5Tget_norm)                  \
    F(H5Tget_nmembers)              \
    F(H5Tget_member_name)           \
    F(H5Tget_member_type)           \
    F(H5Tget_member_offset)         \
    F(H5Tget_native_type)           \
    F(H5Tis_variable_str)           \
    F(H5Tget_super)                 \
    F(H5Tclose)                     \
    F(H5Pcreate)                    \
    F(H5Pset_driver)                \
    F(H5Pget_layout)                \
    F(H5Pget_chunk)                 \
    F(H5Pget_chunk_opts)            \
    F(H5Pget_nfilters)              \
    F(H5Pget_filter2)               \
    F(H5Pget_external_count)        \
    F(H5Pfill_value_defined)        \
    F(H5Pget_fill_time)             \
    F(H5Pget_fill_value)            \
    F(H5Pclose)

#define HDF5_MEMBER(name) __typeof__(name) *name;

/* The functions, once they have been loaded: hdf5.H5Fopen and so on. */
struct hdf5_functions {
    HDF5_FUNCTIONS(HDF5_MEMBER)
};
extern struct hdf5_functions hdf5;

/* Loads the library. Returns why it cannot be had, or NULL. */
const char *hdf5_load(void);

/* The type of a double. */
hid_t hdf5_native_double(void);

/* Opens the file; negative where the library fails. */
hid_t hdf5_open(struct container_input *in);

/* Finds the place in the file of the chunk of a dataset that begins at `begin`, and the filters that
   were left out; size is 0 if the library finds none. */
void hdf5_find_chunk(hid_t dataset, const hsize_t *begin, uint64_t *offset, uint64_t *size,
                     uint32_t *mask);

/* Whether reading the file has failed, and where. */
bool hdf5_unread(uint64_t *offset, uint64_t *size);

/* An error. */
struct hdf5_trouble {
    char text[CONTAINER_ERROR_MAX];
};

/* Sets what the library found wrong. Returns false. */
bool hdf5_wrong(struct hdf5_trouble *t);

/* Sets what else is wrong. Returns false. */
bool hdf5_fails(struct hdf5_trouble *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
