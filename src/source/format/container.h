/*
 * Containers: files that hold several arrays, each a range of the file with a type. A container's
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "source/format/pattern.h"

/* Room for the name of an array in an error; a longer one is cut. */
#define CONTAINER_NAME_SHOWN 120

/* Room for the name of a type; a longer one is cut. */
#define CONTAINER_TYPE_MAX 16

/* Arrays of more dimensions are refused. */
#define CONTAINER_DIMENSIONS_MAX 64

/* A part of an array of HDF5 that is stored in chunks; the word chunk means something else here.
   Tiles are boxes of one shape, which cover the array from its first element on. Those at an edge
   may stick out of it: these elements are stored, and mean nothing. Each tile is compressed by
   itself. */
struct container_tile {
    uint64_t offset;     /* bytes in the file */
    uint32_t compressed; /* bytes there; 0 for a tile that is not there: it has the fill value */
    uint32_t mask;       /* bit i: filter i was left out */
};

enum container_filter_kind { CONTAINER_SHUFFLE, CONTAINER_DEFLATE, CONTAINER_FLETCHER32 };

struct container_filter {
    enum container_filter_kind kind;
    uint32_t parameter; /* of a shuffle: bytes of what is shuffled */
};

#define CONTAINER_FILTERS_MAX 8

/* The largest element, in bytes. */
#define CONTAINER_FILL_MAX 16

/* Arrays of more tiles, or of larger ones, are left out. */
#define CONTAINER_TILES_MAX ((uint64_t)1 << 24)
#define CONTAINER_TILE_BYTES_MAX ((uint64_t)1 << 30)

struct container_tiles {
    const uint64_t *sizes;              /* of a tile, in each dimension of the array */
    uint64_t elements;                  /* their product */
    uint64_t count;                     /* of tiles; 0 where they were not looked up */
    const struct container_tile *tiles; /* in C order; NULL where there are only `bytes` */
    const unsigned char *bytes;         /* the one tile, which is in memory; NULL for others */
    const unsigned char *fill;          /* an element, as those in the file */
    const uint64_t *stored;             /* the array's sizes in the file, where what lies beyond
                                           them is `pad`; NULL where that is all of it */
    const unsigned char *pad;           /* an element, as `fill` */
    unsigned filter_count;              /* in the order in which they were applied */
    struct container_filter filters[CONTAINER_FILTERS_MAX];
    bool edges_plain; /* tiles that stick out have not been filtered */
};

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
    bool typed; /* `unreadable` is about the array, and not about its type, which could be reduced
                   or is not known */
    bool not_numeric; /* `unreadable`, and holds no numbers: strings, references, objects, bytes of
                         unknown meaning, or a member that is no array. It is listed, but neither
                         reduced nor counted, which is no error */
    bool missing; /* `unreadable`, and an error even where arrays are only listed: an index names it
                     and the file does not hold it, or the disk fails */
    bool type_open; /* the container leaves the type open, and it is that of container_input */
    bool big_endian;
    bool fortran_order;
    bool deflated; /* it is compressed, as RFC 1951 has it */
    enum element_type type;
    uint64_t elements;       /* the product of the shape; 1 without dimensions */
    uint64_t offset, length; /* bytes in the file; of one that is compressed, the offset of the
                                compressed bytes, and the length of its elements */
    uint64_t compressed;     /* where it is deflated: compressed bytes */
    uint64_t before;         /* decompressed bytes before the first element */
    uint32_t checksum;       /* of the decompressed bytes, CRC-32 */
    const struct container_tiles *tiles; /* the tiles of the array: `offset` is then that of the
                                            first one that is there, and `compressed` the bytes of
                                            all; NULL if the elements are in one place */
    const uint64_t *pieces; /* of an array in chunks that cannot be read: how it is stored, see
                               hdf5_records.h; NULL where it is not known */
    const uint64_t *sizes;
    unsigned dimensions;
};

/* Whether its elements have to be decompressed. */
static inline bool container_array_compressed(const struct container_array *a)
{
    return a->deflated || (a->tiles && a->tiles->filter_count > 0);
}

/* Whether its elements do not lie one after the other in the file, so that none can be had without
   those before it, or those of its tile. */
static inline bool container_array_whole(const struct container_array *a)
{
    return a->deflated || a->tiles;
}

/* The bytes, after decompression, before the first element of an array. UINT64_MAX where it is in
   tiles, or where the container does not say. */
static inline uint64_t container_array_begin(const struct container_array *a)
{
    return a->deflated ? a->before : a->tiles || a->offset == 0 ? UINT64_MAX : a->offset;
}

struct container_format;

struct container {
    const struct container_format *format;
    struct container_array *arrays; /* by their offsets in the file; of HDF5, by their names */
    size_t count;
    size_t capacity;

    /* The memory of names and sizes. It is a part of the file, or names out of it. */
    char *text;
    uint64_t text_offset;
    uint64_t *sizes;
    size_t sizes_count, sizes_room;
    struct container_tiles *tiles;
    struct container_note *notes; /* texts that container_note has kept */

    uint64_t end;        /* after the last array, if it was read as endless */
    bool nothing_behind; /* the file has to end there */
};

/* The file that a container is read from. */
struct container_input {
    /* Reads exactly `size` bytes, which are there, at `offset`. False on failure: whoever reads
       knows why, or has put it into `error`. */
    bool (*read)(struct container_input *in, void *buffer, size_t size, uint64_t offset);
    void *context;
    uint64_t size;          /* bytes of the file */
    bool endless;           /* it is not known how many: `size` is more than there can be */
    enum element_type type; /* the user's type for elements of which the file states only the number
                               of bytes */
    bool stored;       /* numbers are wanted as they are stored, whatever attributes say of them */
    bool headers_only; /* it does not matter where tiles are */
    struct container_pattern *patterns; /* of which arrays it matters: those that are wanted */
    unsigned pattern_count;
    int file;       /* the descriptor of the file; less than 0 where there is none */
    uint64_t begin; /* bytes of the file before the input */

    bool lenient; /* an array is looked at: `read` puts an error of the disk into `error` */
    bool unread;  /* it has done so */

    /* The error that a format found, with its byte in the file; ERROR_NONE if `read` has failed. */
    struct error error;
};

struct container_format {
    const char *name;    /* as --format takes it and results show it */
    const char *article; /* the name in a sentence, with its article */
    const char *inside;  /* the name of compressed ones. NULL where what says what there is does not
                            come first, so that the file cannot be read from front to back */
    /* Whether a file that begins with these bytes is one. */
    bool (*recognise)(const unsigned char *bytes, size_t size);
    /* Reads what arrays there are. On failure says what is wrong in `in`. */
    bool (*read)(struct container *c, struct container_input *in);
};

/* Reads what arrays the file holds. NULL on failure: then in->error says what is wrong, or is
   ERROR_NONE where in->read has failed. */
struct container *container_open(const struct container_format *format, struct container_input *in);

void container_close(struct container *c);

/*
 * For the formats.
 */

/* Says what is wrong at a byte of the file. Returns false. */
#define container_wrong(in, ...) container_fail(in, error_at(ERROR_DATA, __VA_ARGS__))
bool container_fail(struct container_input *in, struct error error);

/* Fails for want of memory. */
bool container_no_memory(struct container_input *in);

/* Adds an array, all zeros but for its name. NULL without memory; the pointer is good until the
   next one is added. */
struct container_array *container_add(struct container *c, const char *name);

/* Makes room for so many arrays in all, if there is memory for them. Large tables have huge pages;
   of others, what is not used is not touched. */
void container_expect(struct container *c, size_t count);

/* Adds a size to those of the arrays. False without memory. */
bool container_add_size(struct container *c, uint64_t size);

/* Gives the arrays their sizes, which have been added array by array. */
void container_settle_sizes(struct container *c);

/* Sets what the container calls the type. */
void container_name_type(struct container_array *a, const char *name);

/* Why the elements of an array cannot be read, which is so. */
struct error container_why(const struct container_array *a);

/* Makes `name` fit to be part of an error: control and invisible characters become octal escapes,
   and what is too long is cut. Returns `shown`. */
const char *container_show_name(char shown[CONTAINER_NAME_SHOWN], const char *name);

/* Keeps a text for an array, such as why it is unreadable. NULL without memory. */
const char *container_note(struct container *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether no two arrays have the same name; false also where that could not be told quickly. */
bool container_names_differ(const struct container *c);

/* Sorts the arrays by their offsets, those of one offset by their lengths, and then by the places
   of their names in the text. As a rule they are in this order. */
void container_sort(struct container *c);

/* The product of an array's shape. False if it is more than 64 bits count: taken from left to
   right, so that a later zero does not help. */
bool container_product(const struct container_array *a, uint64_t *product);

#endif
