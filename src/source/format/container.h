/*
 * Containers: files that hold several arrays, each a range of the file with a type, or pieces of it. A container's
 * format says what arrays there are; it reads headers and no elements, and checks that every array
 * lies within the file. So an array can be read as a part of a raw file.
 *
 * A format is a file here and a row of the table in containers.c. It reads the file through a
 * struct container_input, so that it can be tested and fuzzed on bytes in memory.
 *
 * A container belongs to one thread while it is being read; afterwards it does not change.
 */
#ifndef GPUREDUCE_CONTAINER_H
#define GPUREDUCE_CONTAINER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/array_shape.h"
#include "core/element.h"
#include "core/error.h"
#include "core/missing.h"
#include "core/scale.h"

/* A pattern of the names of arrays. Arrays are wanted whose names match one of some patterns, or
   all where there is none but patterns that exclude arrays; of these, those that no such pattern
   matches. Patterns are matched as a shell matches files, but that * and ? also stand for slashes
   and leading dots. */
struct container_pattern {
    const char *pattern;
    bool exclude;
    bool matched; /* an array has been found that it matches */
    bool useful;  /* and one of those can be reduced, or should be */
};

/* Whether an array is wanted. Notes which patterns it matches; and where it is `useful`, that they
   are. */
bool container_wants(struct container_pattern *patterns, unsigned count, const char *name,
                     bool useful);

/* Room for the name of a type; a longer one is cut. */
#define CONTAINER_TYPE_MAX 24

/* The first bytes of a header in a file of its own that are read, at most. */
#define CONTAINER_PAIR_MAX 540

/* Arrays of more dimensions are refused. */
#define CONTAINER_DIMENSIONS_MAX 64

/* A tile: what HDF5 calls a chunk of an array. Tiles are boxes of one shape that cover the array
   from its first element on. Tiles at an edge may extend beyond the array: these elements are
   stored and mean nothing. Each tile is compressed separately. */
struct container_tile {
    uint64_t offset;     /* in the file, bytes */
    uint32_t compressed; /* bytes in the file; 0: the tile was never written and has the fill
                            value */
    uint32_t mask;       /* bit i: filter i was not applied */
};

/* Filters; filters.c has a row for each. */
enum container_filter_kind {
    CONTAINER_SHUFFLE,
    CONTAINER_DEFLATE, /* in the format of zlib */
    CONTAINER_GZIP,
    CONTAINER_FLETCHER32,
    CONTAINER_ZSTD,
    CONTAINER_LZ4,
    CONTAINER_LZF,
    CONTAINER_CRC32C,
    CONTAINER_DELTA, /* parameters: bytes of an element, and whether it is big-endian */
    CONTAINER_BITSHUFFLE,
    CONTAINER_BLOSC,
    CONTAINER_GGML, /* blocks of quantised numbers; parameter: the number of their type (ggml.h) */
    CONTAINER_SCALEOFFSET,
    CONTAINER_NBIT,
    CONTAINER_FIELDS, /* numbers in some of the bits of an element, which become those of a type of
                         ours; parameters: enum container_fields */
    CONTAINER_FIELD,  /* a field of records; parameters: enum container_field */
    CONTAINER_SZIP,
    CONTAINER_REPEAT, /* a block that follows itself again and again, and is stored once; its
                         parameter: bytes of the block */
    CONTAINER_FILTER_KINDS
};

/* Parameters of a filter, at most. */
#define CONTAINER_FILTER_VALUES 10

/* Parameters of CONTAINER_FIELDS. Bits are counted from the least significant one of an element. */
enum container_fields {
    FIELDS_SIZE,          /* bytes of an element, 1 to 8 */
    FIELDS_BIG,           /* whether it is big-endian, and so is what it becomes */
    FIELDS_OUT,           /* bytes of what it becomes: 4 or 8 of a float */
    FIELDS_AT,            /* the lowest bit of the integer, or of the fraction of the float */
    FIELDS_BITS,          /* how many it has */
    FIELDS_SIGN,          /* the bit of the sign, of an integer its highest; 64: unsigned */
    FIELDS_EXPONENT_AT,   /* the lowest bit of the exponent */
    FIELDS_EXPONENT_BITS, /* how many it has; 0: it is an integer */
    FIELDS_BIAS           /* the exponent of 1 */
};

/* Parameters of CONTAINER_FIELD. Bytes. */
enum container_field {
    FIELD_RECORD, /* of a record */
    FIELD_AT,     /* of a record before the field */
    FIELD_SIZE    /* of the field, which is one element or several */
};

/* A filter, which is applied to each tile. */
struct container_filter {
    enum container_filter_kind kind;
    uint32_t values[CONTAINER_FILTER_VALUES]; /* its parameters, as HDF5 has them in a file; 0 where
                                                 there are fewer. The first of CONTAINER_SHUFFLE:
                                                 bytes of an element */
};

/* Arrays with more filters are unreadable. */
#define CONTAINER_FILTERS_MAX 8

/* The largest element, in bytes. */
#define CONTAINER_FILL_MAX 16

/* Arrays with more tiles, or larger ones (bytes), are unreadable. */
#define CONTAINER_TILES_MAX ((uint64_t)1 << 24)
#define CONTAINER_TILE_BYTES_MAX ((uint64_t)1 << 30)

/* Files of tiles, of one or several each, whose name has the place of the file in each dimension. */
struct container_files {
    const char *const *paths; /* of each tile, in C order, from the directory on; NULL: names have
                                 the place of a file, as follows */
    const uint64_t *sizes; /* elements of a file in each dimension, a multiple of those of a tile */
    bool several;          /* a file has several tiles, at their offsets */
    const char *prefix;    /* what precedes the places, from the directory on */
    unsigned within; /* so many of the last dimensions have no place: a file has all of them */
    char separator;  /* between the places */
    bool lettered;   /* the prefix ends with a letter, and a separator follows */
};

/* The tiles of an array. They do not change. */
struct container_tiles {
    const uint64_t *sizes;               /* elements of a tile in each dimension */
    const uint64_t *order;               /* the dimensions of the array as a tile has them, from
                                            the one that changes slowest on; NULL: C order */
    uint64_t elements;                   /* elements of a tile, the product of `sizes` */
    uint64_t count;                      /* tiles; 0 if they were not looked up */
    const struct container_tile *tiles;  /* in C order; NULL if `bytes` is the only tile */
    const struct container_files *files; /* where they are files of a directory; else NULL */
    const unsigned char *bytes;          /* the content of the only tile, in memory; else NULL */
    const unsigned char *fill;           /* the fill value, in the byte order of the file */
    const uint64_t *stored;              /* sizes of the array in the file, if it is larger in the
                                           view of netCDF; NULL: it is not */
    const unsigned char *pad;            /* the value of elements outside of `stored`, in the byte
                                           order of the file */
    unsigned filter_count;               /* filters in `filters` */
    struct container_filter filters[CONTAINER_FILTERS_MAX]; /* in the order of their application */
    bool edges_plain; /* tiles that extend beyond the array are stored without filters */
    bool edges_cut;   /* tiles are stored as far as they lie in the array, with no filters but
                         CONTAINER_REPEAT and CONTAINER_FIELD */
    bool dense;       /* the elements of all of them lie one after the other, in `order` */
};

/* An array, or a member of a container that is none. It does not change once the container has been
   read. */
struct container_array {
    const char
        *name; /* as a rule UTF-8, without U+0000; no two arrays of a container have the same */
    char type_name[CONTAINER_TYPE_MAX]; /* as the container spells it; empty
                                           where it is no array of a type */
    const char *unreadable;  /* why its elements cannot be reduced, a phrase that follows "array
                               NAME: ", or, unless `typed`, "type NAME is not supported: "; NULL
                               where they can. Then `type`, `type_open` and `big_endian` mean
                               nothing */
    enum advice_kind advice; /* what can be done about that */
    bool typed;              /* `unreadable` is about the array, not about its type */
    bool not_numeric; /* `unreadable`, and holds no numbers: strings, references, objects, bytes of
                         unknown meaning, or a member that is no array. It is listed, but neither
                         reduced nor counted, which is no error */
    bool missing;     /* `unreadable`, and an error even if arrays are only listed: an index
                         names it and the file does not hold it, or the disk fails */
    bool type_open;   /* the container does not state the type, which is container_input.type */
    bool big_endian;
    bool order_open;    /* headers do not state the byte order, and `big_endian` means nothing; only
                           with container_input.headers_only */
    bool fortran_order; /* the first index changes fastest */
    bool deflated;      /* the elements are compressed by deflate (RFC 1951) */
    enum element_type type;
    uint64_t elements;   /* the product of the shape; 1 without dimensions. UINT64_MAX where
                            `unreadable`, and the shape is unknown */
    uint64_t offset;     /* of the first byte in the file, compressed or not; of tiles, of the first
                            that was written; 0: there is none, or it is not known */
    uint64_t length;     /* bytes of the elements, decompressed */
    uint64_t compressed; /* bytes in the file, if they are compressed or in tiles */
    uint64_t before;     /* of a deflated array: decompressed bytes before the first element */
    uint32_t checksum;   /* of a deflated array: CRC-32 of the decompressed bytes */
    uint64_t record_elements; /* of an array in records: its elements in each record, which lie one
                                 after the other; 0: all do */
    uint64_t record_stride;   /* then: bytes from its elements in a record to those in the next */
    const struct container_tiles *tiles; /* NULL if the elements are in one place, or in records */
    const uint64_t *pieces; /* of an array in chunks that cannot be read: how it is stored, in words
                               that hdf5_records.h describes; NULL if that is not known */
    const uint64_t *sizes;  /* elements in each dimension */
    unsigned dimensions;    /* 0: it is a single number */
    const struct missing *missing_values; /* those that its attributes name; NULL: none */
    const struct scale *scale;            /* that of its attributes; NULL: none */
    const char *warning;                  /* attributes that are ignored, and why; NULL or empty:
                                             none */
};

/* Whether the elements of an array have to be decompressed. */
static inline bool container_array_compressed(const struct container_array *a)
{
    return a->deflated || (a->tiles && a->tiles->filter_count > 0);
}

/* Whether the elements of an array are not in the file one after the other, so that an element
   can only be read with those before it, or those of its tile. */
static inline bool container_array_whole(const struct container_array *a)
{
    return a->deflated || a->tiles;
}

/* Sets *m to the missing values of elements of a type: those that their array names, and those of
   `values` that the type has. Elements that are no array of a container are of none: `a` is NULL.
   Returns a value that such a type lacks, which is an error; NULL if there is none, and for arrays,
   which need not have all. */
const char *container_find_missing(const struct container_array *a, enum element_type type,
                                   const struct missing_values *values, struct missing *m);

/* Makes the path in the directory of the file that has a tile. False where it is too long. */
bool container_chunk_path(const struct container_array *a, uint64_t number, char path[PATH_MAX]);

/* The scale of an array; not given if it has none. */
static inline struct scale container_scale(const struct container_array *a)
{
    return a->scale ? *a->scale : (struct scale){.given = false};
}

/* The number of bytes, after decompression, before the first element of an array. UINT64_MAX if
   its elements are in tiles or records, or if the place is unknown. */
static inline uint64_t container_array_begin(const struct container_array *a)
{
    return a->tiles || a->record_elements > 0 || a->offset == 0 ? UINT64_MAX
           : a->deflated                                        ? a->before
                                                                : a->offset;
}

/* The offset in the file of an element, of `size` bytes, of an array that is neither compressed nor
   in tiles. */
static inline uint64_t container_array_offset(const struct container_array *a, uint64_t index,
                                              size_t size)
{
    uint64_t offset = a->offset;

    if (a->record_elements > 0) {
        offset += index / a->record_elements * a->record_stride;
        index %= a->record_elements;
    }
    return offset + index * size;
}

/* Bytes of the file from the first byte of such an array to behind its last one. */
static inline uint64_t container_array_extent(const struct container_array *a)
{
    return a->record_elements > 0 && a->length > 0
               ? (a->elements / a->record_elements - 1) * a->record_stride +
                     a->length / (a->elements / a->record_elements)
               : a->length;
}

/* The number of such an array's first `elements` elements, of `size` bytes, whose first byte is
   before byte `offset` of the file. */
uint64_t container_elements_before(const struct container_array *a, uint64_t offset, size_t size,
                                   uint64_t elements);

struct container_format;

/* A container that has been read. Only formats change it. */
struct container {
    const struct container_format *format;
    struct container_array *arrays; /* in the order of their offsets; of HDF5, of their names */
    size_t count;                   /* arrays */
    size_t capacity;                /* arrays that there is memory for */

    /* Memory that the arrays point into. */
    char *text;                   /* a part of the file, or names from it */
    uint64_t text_offset;         /* offset of `text` in the file, if it is a part of it */
    size_t text_size, text_room;  /* of container_need: its bytes, and those there is memory for */
    struct container_note *notes; /* what container_keep has copied */

    uint64_t end;        /* offset after the last array, if container_input.endless */
    bool nothing_behind; /* the file has to end there */

    const char *warning; /* about the file as a whole; NULL: none. Set by the format */
};

/* The file that a container is read from, and what is requested of it. The caller sets it. */
struct container_input {
    /* Reads exactly `size` bytes at `offset`, which the file has. False on failure: the reader
       keeps the reason, or has put it into `error`; or, if `endless` was set, the file ends before,
       and `size` is its size from then on and `endless` is false. */
    bool (*read)(struct container_input *in, void *buffer, size_t size, uint64_t offset);
    void *context;          /* of `read` */
    uint64_t size;          /* bytes of the file */
    bool endless;           /* the size is unknown, and `size` is more than it can be. Bytes come in
                               order: only those before the first gap in what is read are kept, and
                               the others can be read once */
    enum element_type type; /* the type of elements of which the file states only the size */
    bool stored;            /* ignore attributes that give stored numbers another meaning */
    bool headers_only;      /* places of tiles in the file are not needed */
    struct container_pattern *patterns; /* of the requested arrays; others need no places of
                                           tiles */
    bool scattered;              /* set by `read`, and by formats whose `in_order` is set: bytes at
                                    any offset are needed, to read headers or elements */
    unsigned pattern_count;      /* patterns */
    int file;                    /* the file's descriptor; less than 0 if there is none */
    uint64_t begin;              /* bytes of the file before the input */
    const unsigned char *header; /* the first bytes of a header in a file of its own, of which the
                                    other file is the image; NULL: it is in this one */
    size_t header_size;          /* of these, at most CONTAINER_PAIR_MAX */

    bool lenient; /* an array is looked at: `read` puts an error of the disk into `error` */
    bool unread;  /* it has done so */

    /* The error that a format found, with its byte in the file; ERROR_NONE if `read` has failed. */
    struct error error;
};

/* A format of containers. */
struct container_format {
    const char *name;    /* the name that --format takes and results show */
    const char *article; /* the name in a sentence, with its article */
    bool in_order; /* its headers are at the beginning, so it can be read from front to back */
    /* How many first bytes tell a file that begins with these `size`; 0: no more than all formats
       need. NULL: never more. */
    size_t (*head)(const unsigned char *bytes, size_t size);
    /* Whether a file that begins with these `size` bytes is a container of this format. */
    bool (*recognise)(const unsigned char *bytes, size_t size);
    /* Reads the headers of the arrays. False on failure, with the reason in in->error. */
    bool (*read)(struct container *c, struct container_input *in);
};

/* Reads the headers of a container. NULL on failure, with the reason in in->error, which is
   ERROR_NONE if in->read has failed. */
struct container *container_open(const struct container_format *format, struct container_input *in);

/* Frees a container. NULL is allowed. */
void container_close(struct container *c);

/*
 * Functions for the formats.
 */

/* Sets in->error: what is wrong at byte `offset` of the file. Returns false. */
#define container_wrong(in, ...) container_fail(in, error_at(ERROR_DATA, __VA_ARGS__))
bool container_fail(struct container_input *in, struct error error);

/* Sets in->error because memory is lacking. Returns false. */
bool container_no_memory(struct container_input *in);

/* Has at least `size` bytes of the file in c->text, from c->text_offset on: as many more as a header
   may have, up to `most` in all, and room for another byte. Those of a stream are read step by step,
   since it may end long before a size that it states. The bytes may move. False on failure. */
bool container_need(struct container *c, struct container_input *in, uint64_t size, uint64_t most);

/* Adds an array with this name, whose other fields are zero. NULL without memory. The pointer is
   valid until the next array is added. */
struct container_array *container_add(struct container *c, const char *name);

/* Allocates memory for `count` arrays in all, if possible; memory that is not used is not
   touched. */
void container_expect(struct container *c, size_t count);

/* Gives an array its shape, of which the container keeps a copy. False without memory. */
bool container_set_shape(struct container *c, struct container_array *a, const uint64_t *sizes,
                         unsigned dimensions);

/* Gives an array its tiles, of which the container keeps a copy. False without memory. */
bool container_set_tiles(struct container *c, struct container_array *a,
                         const struct container_tiles *tiles);

/* Sets the type's name in the container; a longer one is cut. */
void container_name_type(struct container_array *a, const char *name);

/* Makes an array unreadable by its type, which NumPy calls so, and none of ours is. */
void container_refuse_type(struct container_array *a, const char *descr);

/* Makes an array unreadable for a reason that is not its type. False if `why` is NULL: the caller had no
   memory for it. */
bool container_refuse(struct container_array *a, const char *why);

/* The error of an unreadable array. */
struct error container_why(const struct container_array *a);

/* Makes a copy of so many bytes, which are aligned to 8, that lives as long as the container. NULL
   without memory. */
const void *container_keep(struct container *c, const void *bytes, size_t size);

/* Makes a text that lives as long as the container. NULL without memory. */
const char *container_note(struct container *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether all names are known to be different; false if that cannot be found out quickly. */
bool container_names_differ(const struct container *c);

/* Tells arrays of one name apart: in the order of their addition, the second is NAME#2, or NAME#3 if another
   is called so. False without memory. */
bool container_number_names(struct container *c, struct container_input *in);

/* Sorts the arrays by their offsets, in the file and in a member that is deflated, then their lengths,
   then the places of their names in `text`. */
void container_sort(struct container *c);

/* Computes the product of an array's shape. False if it, or the product of the first dimensions, is
   more than 64 bits can hold. */
bool container_product(const struct container_array *a, uint64_t *product);

/* Sets *shape to that of an array. */
static inline void container_shape(const struct container_array *a, struct array_shape *shape)
{
    _Static_assert(ARRAY_DIMENSIONS_MAX >= CONTAINER_DIMENSIONS_MAX, "any shape has room");

    shape->known = true;
    shape->fortran_order = a->fortran_order;
    shape->dimensions = a->dimensions;
    for (unsigned i = 0; i < a->dimensions; i++)
        shape->sizes[i] = a->sizes[i];
}

#endif
