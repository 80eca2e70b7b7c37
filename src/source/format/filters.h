/*
 * Filters, which tiles have passed before they were stored, and how they are undone: a row and a function
 * for each.
 */
#ifndef GPUREDUCE_FILTERS_H
#define GPUREDUCE_FILTERS_H

#include "source/format/codec.h"
#include "source/format/container.h"

/* Sizes are bytes. */
struct filter {
    const char *name;
    int number; /* in HDF5; 0 for those that it lacks */
    /* NULL but for a filter that puts a checksum of 4 bytes after the content, and changes nothing. */
    uint32_t (*checksum)(const unsigned char *bytes, size_t size);

    /* Whether undo() allocates memory, which is lost if it is interrupted: `from` must not be mapped. */
    bool allocates;

    /* Whether it gives as many bytes as it takes. NULL: it compresses, or adds a checksum. */
    bool (*keeps_size)(const struct container_filter *f);

    /* Why tiles with these parameters cannot be read; NULL: they can, whatever they are. */
    const char *(*refusal)(const struct container_filter *f);

    /* Undoes it: puts exactly `out` bytes at `to`. Returns NULL, or why that cannot be done, a text
       that is valid until the next call. A checksum follows after `out` bytes, and its `to` is
       NULL. A mapped file may change meanwhile: what it says of sizes and offsets is read once. */
    const char *(*undo)(struct codec_memory *m, const struct container_filter *f,
                        const unsigned char *from, size_t size, unsigned char *to, size_t out);
    enum codec codec; /* of a filter that is nothing else, for undo() */

    /* Finds the partial result, with `wants`, of the elements that undo() gives. False if it cannot;
       *p means nothing then. NULL: it never can. */
    bool (*reduce)(const struct container_filter *f, const unsigned char *from, size_t size,
                   unsigned wants, struct partial *p);
};

const struct filter *filter_of(enum container_filter_kind kind);

/* Finds the filter with this number. False if it is not supported. */
bool filter_find(int number, enum container_filter_kind *kind);

/* Whether a filter gives another number of bytes than it takes, besides a checksum. */
bool filter_compresses(const struct container_filter *f);

/* Why tiles with this filter cannot be read: its row's `refusal`. */
const char *filter_refusal(const struct container_filter *f);

/* Whether a filter is none of the file: it says how numbers lie in what the file calls an element. Then
   it is the first one, and has been applied to all tiles. */
bool filter_is_layout(const struct container_filter *f);

/* Bytes that a filter makes of `bytes`, unless it compresses otherwise than a layout or a repetition
   does. */
uint64_t filter_stored(const struct container_filter *f, uint64_t bytes);

/* The checksum CRC-32C of these bytes. */
uint32_t filter_crc32c(const unsigned char *bytes, size_t size);

#endif
