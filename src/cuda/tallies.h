/*
 * The job (job.h) that tallies elements (core/tally.h).
 *
 * Counts stay on the device and grow with every chunk. There is one copy of them in pinned memory
 * more than there are slots, so that the one of the last chunk that is known good is never written
 * to. Elements that are kept come back by themselves, once their chunk is done: on the device each
 * slot has room for all elements of a chunk, so nothing can be lost there, and what to do when they
 * become too many is the tally's to decide, as on the CPU. Only when they are here does their chunk
 * count as good. A slot is given one chunk at a time.
 */
#ifndef GPUREDUCE_CUDA_TALLIES_H
#define GPUREDUCE_CUDA_TALLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tally.h"
#include "cuda/job.h"
#include "cuda/tally_launch.h"
#include "engine/engine.h"

#define TALLIES_SLOTS ENGINE_PENDING_MAX
#define TALLIES_MIRRORS (TALLIES_SLOTS + 1)

struct cuda_tallies {
    struct cuda_job job;
    struct tally_set *set; /* the caller's */
    size_t element_size;   /* bytes */
    cudaStream_t back;     /* on which elements come back */
    unsigned char *device; /* all device memory; first the counts of all tallies */
    size_t count_bytes;    /* of these */
    size_t kept_bytes;     /* room for elements that a slot keeps */
    unsigned slots;        /* that have such room in the device memory */
    unsigned char *sent;   /* pinned: copies of the counts, and behind them the tables of plans, on
                              their way to the device */
    struct cuda_tally_launch launch[TALLY_PLANS_MAX];
    void *kept[TALLY_PLANS_MAX][TALLIES_SLOTS]; /* in the device memory; NULL where none are */
    struct cuda_missing missing;                /* what launches point to, if anything is missing */
    bool appends;   /* elements of all chunks are kept one after the other, in slot 0, and stay on
                       the device: set by the caller */
    unsigned taken; /* chunks */
    unsigned mirror[TALLIES_SLOTS]; /* the copy that a slot's counts go to */
    size_t count[TALLIES_SLOTS];    /* elements of a slot's chunk */
    int good; /* the copy of the last chunk that is known good; negative before the first */
};

/* Fills in what of a launch follows from a plan. */
void cuda_tallies_describe(struct cuda_tally_launch *launch, const struct tally_plan *plan);

/* Fills in the table of a plan of cells. */
void cuda_tallies_fill(struct cuda_tally_cells *cells, const struct tally_plan *plan);

/* Makes a job that adds to a set, which holds at least one tally, at its end; the caller then ends
   the set. Missing elements are left out; NULL: there are none. `shared` is what struct
   feeder_device has. Its device memory has room for `slots` slots to keep `kept_bytes` of elements
   each; without any, the caller sets kept[i][0] before it adds a chunk. The job may not be moved. */
void cuda_tallies_init(struct cuda_tallies *t, struct tally_set *set, enum element_type type,
                       bool swap, const struct missing *missing, int multiprocessors, int shared,
                       unsigned slots, size_t kept_bytes);

/* How many elements tally i has kept, or was to keep, in what was sent for a slot. */
uint64_t cuda_tallies_kept(const struct cuda_tallies *t, unsigned i, unsigned slot);

#endif
