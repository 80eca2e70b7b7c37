/*
 * Plans the GPU's decoding of zstd: pure bookkeeping on the host, without CUDA.
 *
 * A plan is made for each batch. Its compressed bytes are read in order: zstd_plan_feed walks over
 * headers of frames and blocks, checks all that can be checked without decoding, and writes the
 * jobs of the first stage (jobs.h). zstd_plan_place turns the sizes of blocks, which that stage
 * finds, into the jobs of the second: slices, each as much output as there is memory for symbols.
 *
 * State that goes on from batch to batch is in a zstd_stream, for feeding, and in a zstd_carry, for
 * placing, which comes later. Arrays are the caller's, in pinned memory. A plan, a stream and a
 * carry belong to one thread at a time. Nothing here prints.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_PLAN_H
#define GPUREDUCE_CUDA_ZSTD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/zstd/jobs.h"
#include "zstd/block.h"
#include "zstd/frames.h"

/* The limits of a batch. */
struct zstd_plan_limits {
    uint32_t source; /* bytes of compressed input */
    uint32_t pool;   /* bytes of decoded literals, and 16 a sequence: at least ZSTD_POOL_LEAST,
                        a multiple of 16 */
    uint32_t blocks;
    uint32_t codes, tables;
    uint64_t output;   /* bytes that its blocks may hold at most: up to 32 slices' */
    uint32_t expected; /* bytes after which it is full, as far as blocks like those before tell */
    uint32_t slice;    /* bytes, up to ZSTD_SLICE_MAX, and at least those of a block */
    uint64_t window;   /* the largest of a frame, at most ZSTD_OFFSET_MAX */
    uint32_t unit, wave, one_wave; /* as in struct gpu_tuning */
};

/* A match has 3 bytes at least (RFC 8878, table 17). */
#define ZSTD_BLOCK_SEQUENCES_MAX (((uint32_t)128 << 10) / 3)

/* Literals stand at the begin of the pool, sequences at its end. */
#define ZSTD_POOL_LEAST (((uint32_t)128 << 10) + 16 + 16 * (ZSTD_BLOCK_SEQUENCES_MAX + 1))

/* The most slices of a batch. */
#define ZSTD_SLICES_MAX 64

/* A block of the batch, as the caller may look at it. */
struct zstd_plan_block {
    uint64_t position; /* in the batch's output; known when it is placed */
    uint32_t size;     /* bytes; of one with sequences known when it is placed */
    uint32_t source;   /* where its header is in the batch's bytes */
    uint32_t behind;   /* and where it ends there */
    bool first, last;  /* of its frame */
    uint32_t limit;    /* bytes that it may hold */
    uint32_t place;    /* the rest as in struct zstd_execution */
    uint32_t literals;
    uint32_t literal_count;
    uint32_t sequences;
    uint32_t first_sequence;
    uint32_t job;      /* of its sequences */
    uint32_t window;   /* of its frame */
    uint64_t content;  /* of its frame; ZSTD_UNKNOWN where that is not stated */
    uint64_t frame;    /* offset in the input of its frame's first byte */
    bool checked;      /* its frame has a checksum */
    uint32_t checksum; /* of the frame, if it is its last block and `checked` */
};

/* A slice: a run of blocks that are executed together. */
struct zstd_slice {
    uint32_t first_block, blocks;
    uint32_t first_unit,
        units;         /* in the array of units, which has one more number for each slice */
    uint64_t position; /* in the batch's output */
    uint32_t size;     /* bytes */
    uint32_t largest;  /* bytes of a block */
    uint32_t wave;     /* bytes */
    bool sequences;    /* there are some */
};

/* The caller's arrays. */
struct zstd_plan_arrays {
    struct zstd_literals_job *literals;   /* limits.blocks */
    struct zstd_sequences_job *sequences; /* limits.blocks */
    struct zstd_tree *codes;              /* limits.codes */
    struct zstd_counts *tables;           /* limits.tables */
    struct zstd_plan_block *blocks;       /* limits.blocks */
    struct zstd_execution *executions;    /* limits.blocks */
    uint32_t *units;                      /* limits.blocks + ZSTD_SLICES_MAX + 1 */
};

struct zstd_plan {
    struct zstd_plan_limits limits;
    struct zstd_plan_arrays arrays;
    uint32_t base; /* offset in the batch of the first byte that zstd_plan_feed is given: 0, or the
                      caller's to set where a batch has its bytes from several places */
    /* All that is planned; and what was before the first block of the frame that was begun last. */
    struct zstd_plan_total {
        uint32_t blocks, literals_jobs, sequences_jobs, codes, tables;
        uint32_t literals;  /* bytes */
        uint32_t sequences; /* how many */
        uint64_t output;    /* bytes that the blocks may hold at most */
        uint64_t expected;  /* bytes that they may be expected to hold */
    } total, mark;
    bool marked; /* the batch has begun a frame */
    /* The number in its frame (block.h) and the index of the code and the tables used last. */
    uint64_t code_number, table_number[ZSTD_PARTS];
    uint32_t code, table[ZSTD_PARTS];
    struct zstd_slice slices[ZSTD_SLICES_MAX];
    uint32_t slice_count, unit_numbers;
};

/* The position of feeding in the compressed bytes. */
struct zstd_stream {
    enum zstd_stream_state {
        ZSTD_BEFORE_FRAME,
        ZSTD_BEFORE_BLOCK,
        ZSTD_SKIPPING,  /* a skippable frame */
        ZSTD_AT_REFUSED /* what is not planned */
    } state;
    struct zstd_frame frame;
    struct zstd_tables tables;
    uint64_t origin; /* offset in the input of the first byte that is fed: the caller's to set */
    uint64_t frame_begin;
    bool first;           /* no block of it has been planned */
    uint64_t size;        /* bytes that its blocks so far may be expected to hold */
    uint64_t size_before; /* of the frame before; 0 of the first */
    uint64_t skip;        /* bytes that are left to skip */
    uint32_t measured;    /* bytes that a block with sequences held of late, on average */
};

/* The state of placing. */
struct zstd_carry {
    struct zstd_history history;
    uint64_t produced; /* bytes of the frame */
};

enum zstd_plan_status {
    ZSTD_PLAN_STARVED, /* it needs more bytes */
    ZSTD_PLAN_FULL,
    ZSTD_PLAN_REFUSED /* what comes next is not sound, or not for this decoder */
};

void zstd_stream_begin(struct zstd_stream *stream);

/* Empties a plan for the next batch. */
void zstd_plan_begin(struct zstd_plan *plan, const struct zstd_plan_limits *limits,
                     const struct zstd_plan_arrays *arrays);

/* Walks over the bytes from offset `at` on, as far as blocks are whole, and plans them. `source`
   and `size` are of the batch from plan->base on: jobs hold offsets in the batch, with
   ZSTD_SOURCE_BEFORE added. Returns why it stopped, and in *at the offset of what was not taken: a
   header of a frame or of a block. plan->base + size is at most limits.source. */
enum zstd_plan_status zstd_plan_feed(struct zstd_plan *plan, struct zstd_stream *stream,
                                     const unsigned char *source, size_t size, size_t *at);

/* Whether a batch that ended here would cut off a frame that it began and that is short beside it.
 */
bool zstd_plan_cuts_frame(const struct zstd_plan *plan, const struct zstd_stream *stream);

/* Whether the frame that was begun last is not the first one of the batch, and could be moved. */
bool zstd_plan_can_split(const struct zstd_plan *plan);

/* Moves the frame that was begun last to `next`, which is empty and has the same pool. Returns the
   offset in the batch's bytes that is offset 0 in those of `next`: a multiple of 16. The bytes from
   there up to plan->base are the caller's to copy; next->base is after them. */
uint32_t zstd_plan_split(struct zstd_plan *plan, struct zstd_plan *next);

/* Places the first `count` blocks, whose sequences gave `results`, into slices. Returns how many
   are sound: from there on none was placed. */
uint32_t zstd_plan_place(struct zstd_plan *plan, uint32_t count,
                         const struct zstd_sequences_result *results, struct zstd_carry *carry);

/* Notes how large blocks of late are: of a plan all of whose blocks are placed. */
void zstd_stream_measure(struct zstd_stream *stream, const struct zstd_plan *plan);

/* Bytes that the plan's slices hold. */
uint64_t zstd_plan_size(const struct zstd_plan *plan);

#endif
