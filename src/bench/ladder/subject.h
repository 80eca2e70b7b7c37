/*
 * Subjects: rungs as they are run on inputs of one kind, with device memory for their results.
 *
 * A subject owns its results and its times. subject_start is asynchronous, on the workbench's
 * stream; so is subject_reset, but for the production rungs.
 */
#ifndef GPUREDUCE_BENCH_SUBJECT_H
#define GPUREDUCE_BENCH_SUBJECT_H

#include "bench/ladder/rung_table.h"
#include "bench/ladder/workbench.h"

/* Launches of a subject whose times do not count. The first ones load the kernel, and bring the
   clocks up; one more is to know how long it takes. */
#define SUBJECT_WARM_UPS 2
#define SUBJECT_TRIALS 1

struct subject {
    const struct rung *rung;
    struct rung_launch launch;
    uint64_t results; /* of one reduction: rows, or 1 */
    size_t size;      /* bytes of them */
    size_t stride;    /* bytes from those of one reduction to the next */
    unsigned slots;   /* reductions that have results of their own */
    unsigned char *memory;
    unsigned next; /* the slot of the next launch */
    uint64_t copy; /* the copy of the input that a rung in place takes next */

    /* Kept by timing_measure. */
    double *times;     /* milliseconds; room for the workbench's `repeat` */
    unsigned timed;    /* how many there are */
    cudaError_t error; /* of the last launch */
};

/* Makes a subject of a rung, for `count` elements of `type` and blocks of `threads` threads. What
   was begun is left to subject_close, whatever comes of it. */
bool subject_open(struct workbench *b, struct subject *s, const struct rung *rung,
                  enum element_type type, uint64_t count, unsigned threads);

/* Takes one that is all zero, too, and leaves it so. */
void subject_close(struct subject *s);

/* Sets the results of the next `slots` reductions to their starting values; the next launch is the
   first of them. */
cudaError_t subject_reset(struct workbench *b, struct subject *s, unsigned slots);

/* Starts a reduction of the elements at `data`, on the device, into the next slot. */
cudaError_t subject_start(struct workbench *b, struct subject *s, unsigned char *data);

/* Result i, copied to the host at `results`, of a subject that is not exact. */
double subject_value(const struct subject *s, const void *results, uint64_t i);

/* Bytes of the input over so long a time, in GB/s. */
double subject_rate(const struct subject *s, double milliseconds);

#endif
