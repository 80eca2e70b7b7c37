/*
 * Records that the process that reads an HDF5 file writes for the one that started it: words of 64
 * bits in the machine's order, and text, each after its length and filled up to a whole word. The
 * reader believes nothing of them: a process that read a damaged file may be damaged.
 */
#ifndef GPUREDUCE_HDF5_RECORDS_H
#define GPUREDUCE_HDF5_RECORDS_H

#include <stdint.h>

#include "source/format/container.h"

/* Bytes of all arrays of a file that can be read, at most, so that 64 bits count them. */
#define HDF5_ARRAYS_BYTES_MAX ((uint64_t)1 << 60)

/* The first word. */
enum hdf5_answer {
    HDF5_ARRAYS, /* records of arrays, and HDF5_END */
    HDF5_WRONG,  /* text: what is wrong with the file */
    HDF5_UNREAD, /* the offset and the number of bytes that could not be read */
};

/* The first word of a record: of an array, or of the end. */
enum hdf5_record { HDF5_ARRAY = 0x61727261, HDF5_END = 0x656e6421 };

/* The place of the elements of an array, in its record after its name, its type's name, why it is
   unreadable (empty where it is not), its element type, whether it is of that, whether it holds no
   numbers, whether its attributes make it unreadable, whether it is big-endian, its struct missing
   and struct scale as texts (empty without any), a warning (empty for none), and its sizes. */
enum hdf5_place {
    HDF5_NOWHERE, /* it is unreadable: nothing follows */
    HDF5_STORED,  /* it is unreadable: the offset and the number of its bytes follow */
    HDF5_PIECES,  /* it is unreadable, and in chunks: their number follows, the number of words that
                     say how chunks are stored, these words, and for each chunk HDF5_PIECE words and
                     its place in the array, as many as that has dimensions */
    HDF5_RANGE,   /* the offset of the first follows */
    HDF5_FIELD,   /* in records: the offset of the first follows, the bytes of a record, and the
                     number of elements that lie side by side in each */
    HDF5_HERE,    /* the elements follow, as text */
    HDF5_TILES /* the sizes of a tile, whether those at an edge are filtered, the filters, the fill
                  value as text, whether the array is extended, and if so its sizes in the file and
                  the value after them as text, and the tiles as text follow */
};

/* The words of a chunk before its place: its offset in the file, its bytes there, and the mask of
   filters that it lacks. */
#define HDF5_PIECE 3

/* The arguments of the program that writes them: PACKAGE_VERSION; the bytes before the input in the
   file, and its size; these letters for what struct container_input asks for; and patterns, each
   after one of the letters. */
#define HDF5_ASK_HEADERS "h"
#define HDF5_ASK_STORED "s"
enum hdf5_letter { HDF5_INCLUDE = '+', HDF5_EXCLUDE = '-' };

/* Seconds of processor time that it takes at most; the places of a million chunks take one or
   two. */
#define HDF5_TIME_MAX 600

/* Fills in a container by what that program has written, which the container keeps pointing into:
   `bytes` are aligned to 8. False, with the reason in in->error, if anything is wrong. */
bool hdf5_take(struct container *c, struct container_input *in, const unsigned char *bytes,
               size_t size);

#endif
