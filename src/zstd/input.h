/*
 * The compressed input of the decoders: the mapped file, made present before a decoder reads it and
 * released afterwards, so that what is resident stays small however large the file is. A file that
 * cannot be mapped is read.
 *
 * A span belongs to the thread that decodes it, except that another thread may call
 * zstd_span_wanted and zstd_span_populate meanwhile. Mapped bytes may vanish: whoever reads them
 * does so under mapping_guard.
 */
#ifndef GPUREDUCE_ZSTD_INPUT_H
#define GPUREDUCE_ZSTD_INPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zstd/frames.h"

/* Compressed bytes read at a time, where they are read. */
#define ZSTD_INPUT_BYTES ((size_t)256 << 10)

/* Fixed once the source is open. */
struct zstd_input {
    struct zstd_file *file;
    unsigned char *map; /* NULL where it cannot be mapped */
    size_t map_before;  /* bytes of the mapping before it */
    uint64_t step;      /* bytes made present, and released, at a time; whole pages */
};

/* Maps the input, if that can be. */
void zstd_input_open(struct zstd_input *input, struct zstd_file *file, uint64_t step);
void zstd_input_close(struct zstd_input *input);

/* The bytes of one task. */
struct zstd_span {
    const struct zstd_input *input;
    struct zstd_view view;    /* of the mapping; of a buffer of its own where there is none */
    uint64_t end;             /* offset after what may be needed */
    _Atomic uint64_t next;    /* offset of the next byte to decode */
    _Atomic uint64_t present; /* offset up to which the mapping was made present */
    _Atomic uint64_t
        released; /* offset up to which it was released, from the mapping's beginning */
};

/* Makes it the bytes from `begin` to `end`. */
void zstd_span_begin(struct zstd_span *span, uint64_t begin, uint64_t end);

/* The offset of the next byte to decode. */
static inline uint64_t zstd_span_next(const struct zstd_span *span)
{
    return atomic_load(&span->next);
}

/* The next bytes, `size` of them, fewer (*got) only at the end of the input or of the buffer. NULL
   on failure; the reason has been noted. Releases bytes that were read long enough ago. */
const unsigned char *zstd_span_bytes(struct zstd_span *span, size_t size, size_t *got);

/* Steps over bytes; they have been decoded, and count as read. */
void zstd_span_pass(struct zstd_span *span, size_t size);

/* Releases all whole pages before the next byte, if they are `least` bytes. */
void zstd_span_release(struct zstd_span *span, uint64_t least);

/* Whether bytes that will be needed soon are not present yet. */
bool zstd_span_wanted(const struct zstd_span *span);

/* Makes the next step of it present. False where the kernel refuses. */
bool zstd_span_populate(struct zstd_span *span);

#endif
