/*
 * Decodes a task that is one large frame: piece by piece, straight into the buffers of those who
 * want elements. libzstd keeps a window of its own.
 */
#ifndef GPUREDUCE_ZSTD_LARGE_H
#define GPUREDUCE_ZSTD_LARGE_H

#include "zstd/decoder.h"

enum zstd_large_status {
    ZSTD_LARGE_FILLED,   /* the chunk, and there is more of the frame */
    ZSTD_LARGE_ENDED,    /* the frame has; the chunk may be empty */
    ZSTD_LARGE_UNWANTED, /* the rest of the frame is not wanted; the chunk is empty */
    ZSTD_LARGE_FAILED    /* the chunk is not to be looked at */
};

/* Fills the request's buffer with the next elements of d's task, which was begun with stable =
   false. Bytes outside the elements (a header, data after the array of a .npy) are decoded, and
   dropped. */
enum zstd_large_status zstd_large_fill(struct zstd_decoder *d, const struct chunk_request *request,
                                       struct chunk *chunk);

#endif
