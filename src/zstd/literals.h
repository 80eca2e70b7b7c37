/*
 * Decodes the literals of a block: Huffman codes in one stream or in four at once (RFC 8878,
 * section 4.2), raw bytes, and runs. Prints nothing.
 *
 * Four streams are read in turns, five codes of each between two loads of input, so that the
 * processor always has four independent chains of table look-ups under way.
 */
#ifndef GPUREDUCE_ZSTD_LITERALS_H
#define GPUREDUCE_ZSTD_LITERALS_H

#include <stdbool.h>
#include <stdint.h>

#include "zstd/block.h"

/* The decoding table built last. It belongs to one thread. */
struct zstd_literals_decoder {
    uint64_t tree_number; /* of the tree it is of; 0: of none */
    /* For each value of ZSTD_HUFFMAN_BITS_MAX bits: the length of the code that it begins with, and
       above these eight bits the byte. So one load has both, and a shift that looks at the lowest
       bits alone needs no more. */
    uint16_t table[ZSTD_HUFFMAN_TABLE_MAX];
};

/* Decodes the literals of block `b`, which was parsed as these parts and uses these tables: exactly
   l->size bytes, to `out`. False where the block is not sound; `out` may have been written to. */
bool zstd_literals_decode(struct zstd_literals_decoder *d, const unsigned char *b,
                          const struct zstd_literals *l, const struct zstd_tables *t,
                          unsigned char *out);

#endif
