/*
 * Shards divide files among processes that do not communicate: each process computes the same plan
 * from the sizes of the files, and reduces its part.
 *
 * All files, one after the other, are cut into units of SHARD_UNIT bytes, and a shard is a range of
 * units. So a shard begins at a multiple of a page and of a stripe of a file; large files are
 * divided by size, and each small file belongs to one shard. A compressed file is cut at the next
 * frame after the beginning of a unit, if its frames are known (source_cut).
 */
#ifndef GPUREDUCE_RUN_SHARD_H
#define GPUREDUCE_RUN_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include "source/source.h"

/* Bytes of a unit: the size of huge pages and of the ranges that workers claim, and a multiple
   of the usual stripes of file systems. */
#define SHARD_UNIT ((uint64_t)2 << 20)

#define SHARDS_MAX ((uint64_t)1 << 20)

/* A shard. */
struct shard {
    uint64_t number; /* from 1 to `of` */
    uint64_t of;     /* shards in all */
};

/* The part of a file that a shard has. */
struct shard_part {
    bool any;  /* the shard has a part of the file */
    int error; /* an errno: the size of the file is unknown, and processes that know it may have
                  divided the files differently; 0: the size is known */
    uint64_t units;          /* units of the whole file; 1 if it cannot be divided */
    bool compressed;         /* the file may be cut, between frames */
    struct source_part part; /* the part, if `any` */
};

/* The number of units of a file of `bytes` bytes; 1 if it is empty. */
uint64_t shard_units(uint64_t bytes);

/* The range of units, of `units` in all, that belong to a shard: returns the first, and sets
   *end to the one after the last. `units` is less than 2^60. */
uint64_t shard_range(const struct shard *shard, uint64_t units, uint64_t *end);

/* Computes the shard's parts of `count` files. A file whose size is unknown belongs to one
   shard, and has an `error` in all shards. False if an input cannot be divided or read: the
   reason is in *error, and *failed is the input's path, or NULL if it is not about an input. */
bool shard_plan(const struct shard *shard, char *const *paths, int count,
                const struct source_options *options, struct shard_part *parts, const char **failed,
                struct error *error);

#endif
