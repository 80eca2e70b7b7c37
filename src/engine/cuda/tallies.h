/*
 * The tallies of a feeder (core/tally.h): what its GPU counts beside the partial result.
 *
 * Counts stay on the device and grow with every chunk, as the partial result does, and a copy of
 * them follows each chunk to one of the mirrors in pinned memory. There is one mirror more than
 * there are chunks on their way, so that the one of the last chunk that is known good is never
 * written to. Elements that are kept come back by themselves, once their chunk is done: on the
 * device each slot has room for all elements of a chunk, so nothing can be lost there, and what to
 * do when they become too many is the tally's to decide, as on the CPU. Only when they are here
 * does their chunk count as good.
 *
 * All is the feeder's thread's. Functions that fail leave the reason.
 */
#ifndef GPUREDUCE_CUDA_TALLIES_H
#define GPUREDUCE_CUDA_TALLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tally.h"
#include "engine/cuda/pinned.h"
#include "engine/cuda/tally_launch.h"
#include "engine/engine.h"

#define TALLIES_SLOTS ENGINE_PENDING_MAX
#define TALLIES_MIRRORS (TALLIES_SLOTS + 1)

struct cuda_tallies {
    struct tally_set *set; /* the caller's; NULL where nothing is tallied */
    struct pinned_arena *arena;
    size_t element_size;   /* bytes */
    cudaStream_t back;     /* on which elements come back */
    unsigned char *device; /* all device memory */
    uint64_t *counts;      /* in it, of all tallies */
    size_t count_bytes;    /* of these */
    struct pinned_piece mirrors;
    struct cuda_tally_launch launch[TALLY_PLANS_MAX];
    void *kept[TALLY_PLANS_MAX][TALLIES_SLOTS]; /* in the device memory; NULL where none are */
    struct cuda_tally_cells cells;              /* on its way to the device */
    unsigned taken;                             /* chunks */
    unsigned mirror[TALLIES_SLOTS];
    int good; /* the mirror of the last chunk that is known good; negative before the first */
};

/* Fills in what of a launch follows from a plan. */
void cuda_tallies_describe(struct cuda_tally_launch *launch, const struct tally_plan *plan);

/* Makes ready for chunks of up to `chunk_bytes`. `set` may be NULL, or hold nothing. Until `stream`
   has been waited for, nothing may be taken. False on failure; it has to be closed then, too. */
bool cuda_tallies_open(struct cuda_tallies *t, const struct engine_setup *setup,
                       int multiprocessors, int shared, size_t chunk_bytes,
                       struct pinned_arena *arena, cudaStream_t stream,
                       char reason[ENGINE_REASON_MAX]);

/* Takes one that is all zero, too. */
void cuda_tallies_close(struct cuda_tallies *t);

/* Queues the tallying of `count` elements of a slot, at `data` on the device. */
bool cuda_tallies_take(struct cuda_tallies *t, unsigned slot, const void *data, size_t count,
                       cudaStream_t stream, char reason[ENGINE_REASON_MAX]);

/* What was queued for the slot is done: fetches the elements that were kept. Then the chunk counts,
   with all before it. When it has failed it may be tried again. */
bool cuda_tallies_collect(struct cuda_tallies *t, unsigned slot, size_t count,
                          char reason[ENGINE_REASON_MAX]);

/* Adds the counts of all chunks that count to the set, which has to be ended by the caller. */
void cuda_tallies_finish(struct cuda_tallies *t);

#endif
