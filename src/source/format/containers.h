/*
 * The formats of containers: rows of the table in containers.c.
 */
#ifndef GPUREDUCE_CONTAINERS_H
#define GPUREDUCE_CONTAINERS_H

#include "source/format/container.h"

/* The formats. Each has an enumerator of enum source_format, SOURCE_ and the first word, and a struct
   container_format, container_ and the second, which is the name that --format takes: the file that
   defines it describes the format. A file is of the first format that recognises it. */
#define CONTAINER_FORMATS(FORMAT)    \
    FORMAT(SAFETENSORS, safetensors) \
    FORMAT(NPZ, npz)                 \
    FORMAT(GGUF, gguf)               \
    FORMAT(HDF5, hdf5)               \
    FORMAT(NETCDF, netcdf)           \
    FORMAT(FITS, fits)               \
    FORMAT(NIFTI, nifti)             \
    FORMAT(PYTORCH, pytorch)         \
    FORMAT(ZARR, zarr)

#define CONTAINER_COUNT_ONE(id, name) +1
#define CONTAINER_FORMAT_COUNT (0 CONTAINER_FORMATS(CONTAINER_COUNT_ONE))

/* The format of a file that begins with these bytes; NULL where it is no container. CONTAINER_HEAD
   bytes decide: HDF5 may begin at 2048, or further on, where only --format finds it. */
const struct container_format *container_recognise(const unsigned char *bytes, size_t size);

#define CONTAINER_HEAD ((size_t)4096)

/* How many first bytes tell the format of a container that comes in order and begins with these. At
   most CONTAINER_HEAD. */
size_t container_head(const unsigned char *bytes, size_t size);

extern const struct container_format *const container_formats[CONTAINER_FORMAT_COUNT];

#define CONTAINER_DECLARE(id, name) extern const struct container_format container_##name;
CONTAINER_FORMATS(CONTAINER_DECLARE)

/* .npy of NumPy whose elements are records or complex: their fields, or parts. All other .npy files are
   one array, and no container. */
extern const struct container_format container_npy;

/* Adds the arrays of such a .npy file, which lies at byte `begin` of the input, has `size` bytes, and
   begins with this header. `name`: of the file, which with a dot precedes those of its fields; NULL:
   nothing does. False on failure, with the reason in in->error; some may have been added. */
bool npy_add_fields(struct container *c, struct container_input *in, const char *name,
                    uint64_t begin, uint64_t size, const void *header, size_t length);

/* Whether these bytes have the signature of HDF5, of 64 bits: at 0, 512, 1024, 2048 and so on. */
bool hdf5_has_signature(const unsigned char *bytes, size_t size);

/* Whether a file that begins with these bytes is a NIfTI header whose image is in another file; or,
   with `analyze`, a header of ANALYZE 7.5. */
bool nifti_is_pair(const unsigned char *bytes, size_t size, bool analyze);

#endif
