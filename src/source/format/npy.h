/*
 * The header of NumPy's .npy files, versions 1, 2 and 3. Pure: over bytes already read, no I/O.
 *
 * The format: NumPy's documentation of numpy.lib.format.
 */
#ifndef GPUREDUCE_NPY_H
#define GPUREDUCE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

/* Bytes that say how long the whole header is. */
#define NPY_PREFIX_MAX 12

/* The longest header that is read; NumPy's own are some hundred bytes, and NumPy itself refuses
   more than 10000 unless told otherwise. */
#define NPY_HEADER_MAX ((size_t)1 << 20)

/* Room for what is wrong with a header. */
#define NPY_ERROR_MAX 240

/* NumPy 2 allows so many dimensions, NumPy 1 half of them. */
#define NPY_DIMENSIONS_MAX 64

/* Room for the name of a type; longer ones are refused. */
#define NPY_DESCR_MAX 32

struct npy {
    size_t untyped; /* bytes of an element, 1 or 2, where the header does not say its type; or 0 */
    enum element_type type;   /* of what is not untyped */
    enum element_order order; /* of what is untyped */
    bool big_endian;          /* of what is not */
    uint64_t elements;        /* the product of the shape; 1 for a scalar's () */
    unsigned dimensions;      /* of the shape, NPY_DIMENSIONS_MAX at most */
    uint64_t shape[NPY_DIMENSIONS_MAX];
    bool unsupported; /* the type is none that is read: npy_parse fails, but all else is set */
    char descr[NPY_DESCR_MAX];
    size_t descr_offset;  /* bytes from the start of the header to the type */
    bool fortran_order;   /* the first dimension changes fastest */
    uint64_t data_offset; /* bytes from the start of the file to the first element */
};

/* Whether the first `size` bytes of a file are those of a .npy file. Six bytes decide. */
bool npy_recognise(const void *bytes, size_t size);

/* Whether these bytes, which are a whole file, are one cut off within that, before its sixth byte.
 */
bool npy_cut_off(const void *bytes, size_t size);

/* The length of the header in bytes, the magic string included, from the file's first bytes: 0
   when `size` is too small to tell (NPY_PREFIX_MAX is enough). The caller refuses a length beyond
   NPY_HEADER_MAX. For an unknown version it is NPY_PREFIX_MAX, and npy_parse fails. */
uint64_t npy_header_length(const void *bytes, size_t size);

/* Parses a whole header of npy_header_length() bytes. On failure returns false and writes to
   `error` what is wrong, and to *error_offset at which byte. */
bool npy_parse(const void *bytes, size_t size, struct npy *npy, char error[NPY_ERROR_MAX],
               uint64_t *error_offset);

/* Room for the name of a field; longer ones are refused. */
#define NPY_NAME_MAX 256

/* A field of a structured type, or a part of a complex one, that holds no other fields. */
struct npy_field {
    char name[NPY_NAME_MAX];   /* with those of the fields that it lies in, and dots between them */
    char descr[NPY_DESCR_MAX]; /* its type */
    bool known;                /* the type is one that is read */
    enum element_type type;    /* then */
    bool big_endian;
    uint64_t offset;     /* bytes from the begin of a record to its first element */
    unsigned dimensions; /* of the array that the field is in each record; 0: one element */
    uint64_t shape[NPY_DIMENSIONS_MAX];
    uint64_t elements; /* the product of the shape */
    bool scattered;    /* it lies in a field that is an array: its elements are not side by side */
};

/* Whether a file that begins with these bytes has a structured or complex type, as far as they
   tell. */
bool npy_has_fields(const void *bytes, size_t size);

/* Finds the fields of a header that npy_parse has read, and refused for being structured or complex; or,
   if `npy` is NULL, of such a type in JSON, a list or a string, as Zarr has it: calls `take` for each
   until it returns false. *record: bytes of a record. On failure returns false;
   `error` says what is wrong, and *error_offset at which byte, unless `take` failed: then `error` is
   empty. */
bool npy_find_fields(const void *bytes, size_t size, const struct npy *npy,
                     bool (*take)(void *user, const struct npy_field *field), void *user,
                     uint64_t *record, char error[NPY_ERROR_MAX], uint64_t *error_offset);

#endif
