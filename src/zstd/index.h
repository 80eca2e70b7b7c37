/*
 * The index: the position of each batch in the decoded stream.
 *
 * Frames need not state how long their content is (pzstd's do not). A batch of such frames is given
 * as much of a provisional position space as its blocks can hold at most, so that what follows can
 * be decoded before its length is known. Chunks are numbered by provisional positions. When all
 * lengths are known, zstd_index_resolve maps these to true ones.
 *
 * Numbering elements so assumes that none is torn across batches of unstated length.
 * zstd_index_resolve checks this; if it does not hold, the input must be read in order.
 *
 * Positions are in bytes of the decoded stream, the header or what --skip leaves out included. The
 * index does no locking: its owner does.
 */
#ifndef GPUREDUCE_ZSTD_INDEX_H
#define GPUREDUCE_ZSTD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a batch whose length was known from the beginning. */
#define ZSTD_INDEX_STATED SIZE_MAX

/* A batch whose frames do not state how long they are. */
struct zstd_unstated {
    uint64_t base;     /* provisional position of its content */
    uint64_t reserved; /* bytes of provisional space that it was given; 0: not known yet */
    uint64_t length;   /* bytes that it turned out to hold */
    uint64_t gap;      /* provisional bytes without content up to its end; set by resolve */
};

struct zstd_index {
    uint64_t data_offset; /* position of the first element */
    size_t element_size;
    uint64_t next; /* provisional position of the content of the next batch */
    uint64_t gap;  /* of the whole stream; set by resolve */
    struct zstd_unstated *unstated;
    size_t count, capacity;
};

/* An empty index of a stream whose elements, of `element_size` bytes, begin at position
   `data_offset`. */
void zstd_index_init(struct zstd_index *x, uint64_t data_offset, size_t element_size);
void zstd_index_free(struct zstd_index *x);

/* Whether position `position` is where an element begins, or lies before them all. */
bool zstd_index_is_boundary(const struct zstd_index *x, uint64_t position);

/* Begins a batch at x->next that holds `content` bytes, ZSTD_UNKNOWN where that is not stated.
 *number is what zstd_index_set_length takes. False without memory; nothing is noted. */
bool zstd_index_begin(struct zstd_index *x, uint64_t content, size_t *number);

/* Ends the batch begun last, of that content and at most `most` bytes: what follows stands after
   it. */
void zstd_index_advance(struct zstd_index *x, uint64_t content, uint64_t most);

/* Says how many bytes a batch turned out to hold. Ignored for ZSTD_INDEX_STATED. */
void zstd_index_set_length(struct zstd_index *x, size_t number, uint64_t length);

/* Finds the true positions, up to provisional position `last`: batches beyond need not have their
   length. False when an element is torn between two batches, or the first element lies after the
   first batch of unstated length: then positions are wrong, and the input must be read in order. */
bool zstd_index_resolve(struct zstd_index *x, uint64_t last);

/* After zstd_index_resolve: the true length of the stream, in bytes. */
uint64_t zstd_index_total(const struct zstd_index *x);

/* After zstd_index_resolve: the true number of the element that has the provisional number
 * `element`.
 */
uint64_t zstd_index_true(const struct zstd_index *x, uint64_t element);

#endif
