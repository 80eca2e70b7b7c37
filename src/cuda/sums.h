/*
 * The job (job.h) that finds the partial result of elements: sums, extremes, moments and counts.
 * The partial stays on the device and grows with every launch; each slot has a copy of it in pinned
 * memory. Any number of launches may be added to a slot.
 */
#ifndef GPUREDUCE_CUDA_SUMS_H
#define GPUREDUCE_CUDA_SUMS_H

#include "cuda/job.h"
#include "cuda/kernels.h"

/* Bytes of pinned memory for each slot. */
#define CUDA_SUMS_PINNED align_up(sizeof(struct partial), CUDA_JOB_ALIGNMENT)

struct cuda_sums {
    struct cuda_job job;
    struct cuda_launch launch;
    struct cuda_missing missing; /* what the launch points to, with PARTIAL_MISSING */
    unsigned char *sent;         /* pinned: a copy of the partial for each slot */
    struct partial good;         /* of all that is known good */
};

/* Makes a job of elements of a type, for `slots` slots, on a device with so many multiprocessors.
   `wants` are partial_want bits; with PARTIAL_MISSING it leaves out what is missing. The job may not
   be moved. */
void cuda_sums_init(struct cuda_sums *s, enum element_type type, bool swap, unsigned wants,
                    const struct missing *missing, int multiprocessors, unsigned slots);

#endif
