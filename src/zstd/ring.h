/*
 * The memory of frames' content while it is decoded: a ring that holds a frame's window, the blocks
 * under way, and the parts of finished ones that are still being read.
 *
 * A block lies in one piece, and one after the other in runs. A run ends where the next block does
 * not fit in front of the ring's end, and where a frame does. Places are offsets that only grow: an
 * offset modulo the capacity is where it is in memory, and it overwrites the byte a capacity before
 * it. Pure arithmetic; the owner does the locking.
 */
#ifndef GPUREDUCE_ZSTD_RING_H
#define GPUREDUCE_ZSTD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zstd/execute.h"

/* Bytes in front of each run, for what belongs together with its first ones: of an element that is
   torn by the border of two runs. */
#define ZSTD_RING_FRONT ((size_t)16)

/* The run of a block, the one before it, which a window may reach, and the one after it may be
   known at a time. A power of two. */
#define ZSTD_RING_RUNS 4

struct zstd_run {
    uint64_t position; /* of its first byte, in the stream */
    uint64_t begin;    /* offset of it */
    uint64_t end;      /* offset after its last block so far */
    bool continues;    /* the run before it is of the same frame */
};

struct zstd_ring {
    unsigned char *memory; /* capacity + ZSTD_EXECUTE_BEHIND bytes: its owner's */
    size_t capacity;
    uint64_t run; /* number of the newest one */
    struct zstd_run runs[ZSTD_RING_RUNS];
};

/* The capacity for windows of up to `window` bytes, and `ahead` bytes besides, in blocks. */
size_t zstd_ring_capacity(uint64_t window, size_t ahead);

/* An empty ring in this memory. */
void zstd_ring_init(struct zstd_ring *r, unsigned char *memory, size_t capacity);

/* Begins a frame whose content stands at `position` of the stream. */
void zstd_ring_begin(struct zstd_ring *r, uint64_t position);

/* Places a block of `size` bytes after the ones before it. `oldest`: the offset from which on
   content is still needed. *run: the number of its run. Returns where it is to lie, or NULL when
   there is no room yet. */
unsigned char *zstd_ring_place(struct zstd_ring *r, uint32_t size, uint64_t oldest, uint64_t *run);

/* The position after what has been placed. */
uint64_t zstd_ring_position(const struct zstd_ring *r);

/* The offset of what stands at this position, which is in reach: a window before a block that has
   not been carried out, or later. */
uint64_t zstd_ring_offset(const struct zstd_ring *r, uint64_t position);

/* The address of a position, and the position at which its run ends so far. */
unsigned char *zstd_ring_at(const struct zstd_ring *r, uint64_t position, uint64_t *end);

/* The place of a block in run `run`, as who carries it out needs it. */
struct zstd_place zstd_ring_reach(const struct zstd_ring *r, uint64_t run, unsigned char *out);

#endif
