/*
 * Carries out the sequences of a block: puts its content together from literals and from what the
 * frame has held before (RFC 8878, section 3.1.1.4). Every match is checked. Prints nothing.
 *
 * Content lies in a ring of memory: the newest of it in one run, and what is older at the end of
 * another, which ends where the ring does.
 */
#ifndef GPUREDUCE_ZSTD_EXECUTE_H
#define GPUREDUCE_ZSTD_EXECUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zstd/sequences.h"

/* The bytes that matches may reach, and the place of a block. */
struct zstd_place {
    unsigned char *out;             /* of the block */
    const unsigned char *run;       /* from here to `out` lies content of the frame */
    const unsigned char *older_end; /* where what comes before that ends */
    size_t older;                   /* bytes of it */
};

/* Bytes that may be read after the literals of a block, and after content. */
#define ZSTD_EXECUTE_BEHIND 64

/* Puts the literals of a block where they belong, and leaves out its matches: which needs nothing
   of what comes before it. `content`: bytes of the block. */
void zstd_place_literals(unsigned char *out, uint32_t content, const unsigned char *literals,
                         uint32_t literals_size, const struct zstd_sequence *sequences,
                         uint32_t count);

/* Carries out the sequences of a block of `content` bytes, and nothing after it is touched.
   `before`: the history in front of the block. `placed`: its literals are where they belong.
   False where a match reaches further than `window`, or what there is of the frame. */
bool zstd_execute(const struct zstd_place *place, uint32_t content, const unsigned char *literals,
                  uint32_t literals_size, const struct zstd_sequence *sequences, uint32_t count,
                  const struct zstd_history *before, uint64_t window, bool placed);

#endif
