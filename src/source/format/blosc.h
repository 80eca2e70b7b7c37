/*
 * Chunks of Blosc, version 2 of their format, which Blosc 1 writes: blocks of shuffled bytes or bits, each
 * compressed as a whole or one place of the elements' bytes after the other.
 */
#ifndef GPUREDUCE_BLOSC_H
#define GPUREDUCE_BLOSC_H

#include <stddef.h>

#include "source/format/codec.h"

/* Decompresses the chunk that these `size` bytes begin with, which must come to exactly `out` bytes
   at `to`. Returns NULL, or why that cannot be done: a text that is valid until the next call.
   Takes codec_room. */
const char *blosc_decode(struct codec_memory *m, const unsigned char *from, size_t size,
                         unsigned char *to, size_t out);

#endif
