/*
 * The job (job.h) that finds the partial result of elements: sums, extremes, moments and counts.
 * The partial stays on the device and grows with every launch; each slot has a copy of it in pinned
 * memory. Any number of launches may be added to a slot.
 *
 * PARTIAL_SPLIT needs more launches over the same elements, each with a partial of its own, in which
 * those on the other side of the threshold count as missing.
 */
#ifndef GPUREDUCE_CUDA_SUMS_H
#define GPUREDUCE_CUDA_SUMS_H

#include "core/scale.h"
#include "cuda/job.h"
#include "cuda/kernels.h"

/* Launches over a chunk: all elements; and, with PARTIAL_SPLIT, without those that are not below the
   threshold, without those below it, and without those equal to it. */
enum cuda_sums_part {
    CUDA_SUMS_WHOLE,
    CUDA_SUMS_LOWER,
    CUDA_SUMS_UPPER,
    CUDA_SUMS_UNEQUAL,
    CUDA_SUMS_PARTS
};

/* Bytes of a partial; and of pinned memory for each slot, for all parts whether there are any: the
   decoder keeps it for jobs that follow. */
#define CUDA_SUMS_PARTIAL align_up(sizeof(struct partial), CUDA_JOB_ALIGNMENT)
#define CUDA_SUMS_PINNED (CUDA_SUMS_PARTS * CUDA_SUMS_PARTIAL)

struct cuda_sums {
    struct cuda_job job;
    unsigned parts; /* how many of enum cuda_sums_part there are: the first, or all */
    struct cuda_launch launch[CUDA_SUMS_PARTS];
    struct cuda_missing missing[CUDA_SUMS_PARTS]; /* what they point to, with PARTIAL_MISSING */
    unsigned char *sent;                          /* pinned: a copy of the partials for each slot */
    struct partial good;                          /* of all that is known good */
};

/* Makes a job of elements of a type, for `slots` slots, on a device with so many multiprocessors.
   `wants` are partial_want bits; with PARTIAL_MISSING it leaves out what is missing, and with
   PARTIAL_SPLIT `split` is the threshold. The job may not be moved. */
void cuda_sums_init(struct cuda_sums *s, enum element_type type, bool swap, unsigned wants,
                    const struct missing *missing, const struct partial_split *split,
                    int multiprocessors, unsigned slots);

#endif
