/*
 * A compressed block of zstd, without decoding it: where its literals, its tables and its sequences
 * lie, and what they are (RFC 8878, section 3.1.1.3). Pure functions of bytes; nothing is printed.
 *
 * Blocks of a frame are parsed in order, since a block may use the tree and the tables of one in
 * front of it. Parsing a block also finds the tables that it uses, so that the blocks of a frame
 * can then be decoded in any order.
 *
 * A block that parses is in bounds: every place lies in the block, every size is what the format
 * allows, every distribution is sound, every code exists. Everything that RFC 8878 or libzstd
 * refuses there is refused. Some of what libzstd takes is refused, too: blocks that the format
 * forbids. libzstd judges refused blocks.
 */
#ifndef GPUREDUCE_ZSTD_BLOCK_H
#define GPUREDUCE_ZSTD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zstd/entropy.h"

enum zstd_literals_type {
    ZSTD_LITERALS_RAW,
    ZSTD_LITERALS_RUN,     /* one byte, repeated */
    ZSTD_LITERALS_TREE,    /* Huffman codes, and the tree they are of */
    ZSTD_LITERALS_TREELESS /* Huffman codes of the tree in front of them */
};

/* The beginning of each stream of literals, as an offset in the block, followed by the end of the
   last one; and the number of literals of each. */
#define ZSTD_STREAMS_MAX 4

struct zstd_literals {
    enum zstd_literals_type type;
    uint32_t size;    /* literals */
    uint32_t begin;   /* offset in the block of the bytes, of the byte, or of the tree */
    unsigned streams; /* 1 or 4 of Huffman codes, 0 of others */
    uint32_t stream[ZSTD_STREAMS_MAX + 1];
};

/* The literals that stream `i` of them holds. */
static inline uint32_t zstd_stream_literals(const struct zstd_literals *l, unsigned i)
{
    uint32_t each = l->streams == 4 ? (l->size + 3) / 4 : l->size;

    return i + 1 < l->streams ? each : l->size - i * each;
}

/* The distribution of a part's codes. */
struct zstd_distribution {
    bool run;        /* `code` is the only one, and takes no bits */
    uint8_t code;    /* of a run */
    uint8_t codes;   /* that have counts */
    uint8_t log;     /* of the sum of the counts */
    uint64_t number; /* equal in two blocks of a frame where the distribution is; from 1 on */
    int16_t counts[ZSTD_CODES_MAX];
};

/* State that the blocks of a frame hand on to later ones. */
struct zstd_tables {
    uint64_t numbers;     /* given so far */
    uint64_t tree_number; /* equal in two blocks of a frame where the tree is; 0: there is none */
    uint32_t tree_size;
    unsigned char tree[ZSTD_TREE_BYTES_MAX]; /* its description */
    bool trees_unread; /* set by the caller: it reads and checks trees itself */
    bool distributed;  /* there are distributions */
    struct zstd_distribution parts[ZSTD_PARTS];
};

struct zstd_block_parts {
    struct zstd_literals literals;
    uint32_t sequences; /* how many there are */
    uint32_t stream;    /* offset in the block of their bits, up to its end; the end if none */
};

/* Begins a frame without a dictionary. */
void zstd_tables_begin(struct zstd_tables *t);

/* Finds the bytes of a compressed block that zstd_block_parse is going to read, as far as its first
   bytes tell: offsets of at most ZSTD_PLACES bytes, the first of which is the beginning of its
   sequences. Returns how many. They are for fetching ahead, and are only checked to be in the
   block. */
#define ZSTD_PLACES 5
unsigned zstd_block_places(const unsigned char *b, size_t size, uint32_t places[ZSTD_PLACES]);

/* Parses the block of `size` bytes, which may hold up to `most`. On success *t is what this block
   uses, and hands on: distributions only where it has sequences, the tree only where its literals
   have codes. False where it is not sound; then *t is not to be used again. */
bool zstd_block_parse(const unsigned char *b, size_t size, size_t most, struct zstd_tables *t,
                      struct zstd_block_parts *parts);

#endif
