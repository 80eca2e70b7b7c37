/*
 * The interface between the host and the kernels of the zstd decoder (RFC 8878). Plain data: the
 * host fills it in (plan.h), copies it to the device, and the kernels take it as checked. The
 * kernels check the bit streams and their decoded values, which only the device can see.
 *
 * A batch is a run of consecutive blocks, of one frame or of several. Its compressed bytes lie in
 * one device buffer; sources are offsets in it. Decoding has two stages.
 *
 * First all literals and all sequences of the batch are decoded, each block on its own. Sequences
 * carry their offsets symbolically where they repeat one from before the block. This tells the host
 * how large each block is.
 *
 * Then the host knows where each block goes and which offsets it may repeat, and sequences are
 * executed. The output is a ring in device memory, which holds the windows of frames across
 * batches.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_JOBS_H
#define GPUREDUCE_CUDA_ZSTD_JOBS_H

#include <stdint.h>

#include "zstd/entropy.h"

/* The description of a Huffman tree (4.2.1). It is the device that reads it: that takes 2
   microseconds of the host's time a block. */
struct zstd_tree {
    uint8_t bytes[ZSTD_TREE_BYTES_MAX + 1];
    uint16_t size;
};

/* A table of finite state entropy (4.1), as normalised counts of its symbols: a count of -1 stands
   for "less than 1", and they add up to the table's size. */
struct zstd_counts {
    int16_t count[ZSTD_CODES_MAX];
    uint8_t symbols;
    uint8_t bits; /* of a state; 0: all are one symbol, and `symbols` is that */
};

/* The literals of a block that are Huffman coded. */
#define ZSTD_JOB_STREAMS 4
struct zstd_literals_job {
    uint32_t stream[ZSTD_JOB_STREAMS + 1]; /* where each begins, and the last one ends */
    uint32_t streams;                      /* 1 or 4 */
    uint32_t target;                       /* offset in the buffer of literals */
    uint32_t count;                        /* of literals */
    uint32_t code;                         /* index of the tree */
    uint32_t block;
};

/* The sequences of a block; at least one. */
struct zstd_sequences_job {
    uint32_t source; /* of the bit stream */
    uint32_t size;
    uint32_t count;
    uint32_t first;             /* index in the buffer of sequences */
    uint32_t literals;          /* of the block */
    uint32_t limit;             /* bytes that the block may hold */
    uint32_t table[ZSTD_PARTS]; /* indices */
    uint32_t block;
};

/* The result of decoding blocks. */
#define ZSTD_REFUSED UINT32_MAX
struct zstd_sequences_result {
    uint32_t size;               /* of the block; ZSTD_REFUSED when something is wrong with it */
    struct zstd_history history; /* after it, as symbols */
};

/* A sequence, in four words:
     x  where in the block its literals go (18 bits), and the low 14 bits of its end
     y  where its match goes (18 bits), and the other bits of its end
     z  what to add to the former for the place of its literals among those of the block
     w  the offset, or a symbol of one (entropy.h)
   Its end is where the next one begins. */
#define ZSTD_POSITION_BITS 18
#define ZSTD_POSITION_MASK ((1U << ZSTD_POSITION_BITS) - 1)
#define ZSTD_END_LOW_BITS (32 - ZSTD_POSITION_BITS)

/* A block whose size and place are known. A raw one, or one of a repeated byte, is one of literals
   only. */
enum zstd_literals_place {
    ZSTD_IN_SOURCE,   /* `literals` is an offset in the compressed bytes */
    ZSTD_IN_LITERALS, /* in the buffer of literals */
    ZSTD_ONE_BYTE     /* it is the value of all of them */
};
struct zstd_execution {
    uint32_t position; /* where its first byte goes, from the slice's */
    uint32_t size;     /* bytes */
    uint32_t place;    /* enum zstd_literals_place */
    uint32_t literals;
    uint32_t literal_count;
    uint32_t sequences;          /* how many; 0: none */
    uint32_t first;              /* index of the first */
    struct zstd_history history; /* before it */
    uint32_t produced; /* bytes of the frame before it, as far as matches may reach them */
    uint32_t window;   /* of the frame; at most ZSTD_OFFSET_MAX */
    uint32_t block;
    uint32_t unused[3];
};

/*
 * Symbols, one for each byte of output of a slice of a batch, which is executed at a time. The byte
 * itself is ZSTD_BYTE | value. Anything below ZSTD_LOCAL is where the byte comes from: that
 * position in the slice, with ZSTD_BIAS added, so that what stands before the slice is below
 * ZSTD_BIAS. From ZSTD_LOCAL on it is a place in the tile that is being made; none such is left
 * when it is done.
 */
#define ZSTD_BYTE 0xffffff00U
#define ZSTD_LOCAL 0xf0000000U
#define ZSTD_BIAS 0x80000000U
/* The most bytes of a slice. */
#define ZSTD_SLICE_MAX (1U << 30)

/* The compressed bytes of a batch begin at this offset of their buffer, and there is room for
   ZSTD_SOURCE_BEHIND bytes after them: streams are read ahead, in chunks of 16 bytes, down to
   ZSTD_SOURCE_AHEAD before their first byte. The same holds after literals. */
#define ZSTD_SOURCE_BEFORE 1024
#define ZSTD_SOURCE_AHEAD 512
#define ZSTD_SOURCE_BEHIND 64

/* Device memory of a batch. */
struct zstd_device_batch {
    const uint8_t *source;
    uint8_t *pool;     /* literals, and sequences of 16 bytes each */
    uint32_t *refused; /* the least block that is */
};

/* A frame whose content is in the ring, and what that is to come to. */
struct zstd_hash_job {
    uint64_t begin; /* in the ring, around whose end it may go */
    uint64_t size;  /* bytes, less than the ring's */
    uint32_t checksum;
};

/* The output of a slice: `size` bytes from `begin` on in a ring, around whose end it may go. */
struct zstd_ring_slice {
    uint8_t *ring;
    uint64_t ring_size;
    uint64_t begin;
    uint32_t size;
};

/*
 * The parameters of kernels: all pointers are to device memory.
 */

struct zstd_literals_launch {
    struct zstd_device_batch batch;
    const struct zstd_literals_job *jobs;
    uint32_t count;
    const struct zstd_tree *codes;
};

struct zstd_sequences_launch {
    struct zstd_device_batch batch;
    const struct zstd_sequences_job *jobs;
    uint32_t count;
    const struct zstd_counts *tables;
    struct zstd_sequences_result *results; /* of each job */
};

struct zstd_execute_launch {
    struct zstd_device_batch batch;
    const struct zstd_execution *blocks;
    const uint32_t *units; /* first block of each; after the last one the end */
    uint32_t unit_count;
    uint32_t *symbols; /* of the slice */
};

/* Blocks without sequences. */
struct zstd_copy_launch {
    struct zstd_device_batch batch;
    const struct zstd_execution *blocks;
    uint32_t count, largest; /* of the blocks; bytes that each has at most */
    struct zstd_ring_slice to;
};

struct zstd_hash_launch {
    const uint8_t *ring; /* aligned to 8 */
    uint64_t ring_size;  /* bytes, a multiple of 8 */
    const struct zstd_hash_job *jobs;
    uint32_t count;
    uint32_t
        *wrong; /* becomes the least number of a job whose checksum is wrong, if that is less */
};

#endif
