/*
 * Shards: files shared out among processes, none of which has to know of the others. Each works out
 * the same plan from the sizes of the files, and takes its part of it.
 *
 * Files are cut into units of SHARD_UNIT bytes, all files one after the other, and a shard has a
 * run of units. So shards begin at whole pages and stripes of a file, large files are shared out by
 * size, and small ones go to one shard each. A compressed file is cut at the next frame after the
 * beginning of a unit, where that can be told (source_cut).
 */
#ifndef GPUREDUCE_RUN_SHARD_H
#define GPUREDUCE_RUN_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include "source/source.h"

/* Bytes. As large as huge pages and the ranges of workers, and a multiple of the stripes of file
   systems that have any. */
#define SHARD_UNIT ((uint64_t)2 << 20)

#define SHARDS_MAX ((uint64_t)1 << 20)

struct shard {
    uint64_t number, of; /* the shard `number`, from 1 up to `of` */
};

/* The part of a file that a shard has. */
struct shard_part {
    bool any;
    int error; /* why it is not known how long the file is, as errno; 0 where it is. To others, who
                  see it, other parts may be the shard's */
    uint64_t units;          /* of the whole file, as shared out */
    struct source_part part; /* if there is any */
};

/* The units of a file of so many bytes; an empty one has one, too. */
uint64_t shard_units(uint64_t bytes);

/* Which of so many units are the shard's: from the first of *end up to, and without, *end. Returns
   the first. `units` is below 2^60. */
uint64_t shard_range(const struct shard *shard, uint64_t units, uint64_t *end);

/* Plans which parts of the files are the shard's. One that cannot be had is in the parts of one
   shard, as if it were short, and has an `error` in all. False where an input has no parts, or
   cannot be read: *error says why, and *failed is the path of that input, NULL where it is none's
   fault. */
bool shard_plan(const struct shard *shard, char *const *paths, int count,
                const struct source_options *options, struct shard_part *parts, const char **failed,
                struct error *error);

#endif
