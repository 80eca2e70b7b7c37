/*
 * A frame of zstd decoded by the program's own decoder of blocks, one block after the other: for
 * tests of that decoder alone.
 */
#ifndef TESTS_ZSTD_BLOCKS_H
#define TESTS_ZSTD_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum zstd_blocks_literals {
    ZSTD_BLOCKS_TOGETHER, /* literals and matches go to their places together */
    ZSTD_BLOCKS_APART,    /* literals first */
    ZSTD_BLOCKS_IN_TURNS  /* every other block so */
};

/* Decodes the frame that these bytes begin with, up to `capacity` bytes, by a ring of memory that
   holds a window and `ahead` bytes. Returns the bytes that it takes, 0 where it is refused; *held
   is how many it held. Its checksum is not looked at. */
size_t zstd_blocks_decode(const unsigned char *b, size_t size, enum zstd_blocks_literals literals,
                          size_t ahead, unsigned char *out, size_t capacity, size_t *held);

#endif
