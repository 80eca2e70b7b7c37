/*
 * Decodes a task of small frames, or of one frame that is not large: into memory of its own, a few
 * blocks at a time, so that what is handed out is still in the worker's level-2 cache when it is
 * reduced. Whole frames are decoded in one call where enough of their input may be present.
 *
 * A struct zstd_small belongs to one worker.
 */
#ifndef GPUREDUCE_ZSTD_SMALL_H
#define GPUREDUCE_ZSTD_SMALL_H

#include "zstd/decoder.h"

/* Memory after the content of a frame. libzstd puts literals there, and decodes 2 % faster than
   where it has to put them elsewhere. Bytes. */
#define ZSTD_SMALL_BEHIND ((size_t)256 << 10)

enum zstd_small_state {
    ZSTD_SMALL_FREE,     /* it has no task */
    ZSTD_SMALL_DECODING, /* not all of its task is decoded */
    ZSTD_SMALL_DECODED   /* all of it is; not all need be handed out */
};

struct zstd_small {
    enum zstd_small_state state;
    struct zstd_decoder decoder;
    uint64_t extra;         /* bytes of input that may be present beyond two steps */
    struct zstd_frame walk; /* the frame under way, as far as it is decoded */
    ZSTD_outBuffer out;     /* of the frame under way */

    unsigned char *memory; /* where content is decoded */
    size_t capacity;
    size_t ready, filled; /* memory[ready .. filled) is to be handed out */
    uint64_t from;        /* provisional position of its first byte */
};

/* Gives a free one a task, none of whose frames is large. `extra`: see above. False without
   memory; that has been noted. */
bool zstd_small_begin(struct zstd_small *z, const struct zstd_task *task, uint64_t extra);

/* The task's next chunk: where it lies, for a request that borrows; others get a copy. False when
   there is none (ZSTD_SMALL_DECODED), and on failure. */
bool zstd_small_next(struct zstd_small *z, const struct chunk_request *request,
                     struct chunk *chunk);

#endif
