/*
 * Bench cases: a rung as it runs on inputs of one type and size, with device memory for its
 * results.
 *
 * A case owns its results and its times. bench_case_start is asynchronous, on the workbench's
 * stream. So is bench_case_reset, except for the production rungs. Functions that return false have
 * printed why; functions that return a cudaError_t print nothing.
 */
#ifndef GPUREDUCE_BENCH_CASE_H
#define GPUREDUCE_BENCH_CASE_H

#include "bench/ladder/rung_table.h"
#include "bench/ladder/workbench.h"

/* Launches before those whose times count. The warm-ups load the kernel and raise the clocks. The
   trial tells how long a launch takes, and so how many fit the time. */
#define CASE_WARM_UPS 2
#define CASE_TRIALS 1

struct bench_case {
    const struct rung *rung;
    struct rung_launch launch;
    uint64_t results; /* of one reduction: rows, or 1 */
    size_t size;      /* bytes of the results */
    size_t stride;    /* from the results of one reduction to those of the next, bytes */
    unsigned slots;   /* reductions that have results of their own */
    unsigned char *memory;
    unsigned next; /* the slot of the next launch */
    uint64_t copy; /* the copy of the input that a rung in place takes next */

    /* Set by timing_measure. */
    double *times;     /* milliseconds; its capacity is the workbench's `repeat` */
    unsigned timed;    /* how many of them are set */
    cudaError_t error; /* of the last launch */
};

/* Makes a case of a rung, for `count` elements of `type` and blocks of `threads` threads. Call
   bench_case_close afterwards, even after a failure. */
bool bench_case_open(struct workbench *b, struct bench_case *c, const struct rung *rung,
                     enum element_type type, uint64_t count, unsigned threads);

/* Frees what the case owns, and clears it. A cleared case may be closed, too. */
void bench_case_close(struct bench_case *c);

/* Sets the results of the next `slots` reductions to their starting values; the next launch is the
   first of them. */
cudaError_t bench_case_reset(struct workbench *b, struct bench_case *c, unsigned slots);

/* Starts a reduction of the elements at `data`, on the device, into the next slot. */
cudaError_t bench_case_start(struct workbench *b, struct bench_case *c, unsigned char *data);

/* Result i of `results`, on the host, which were copied from a case whose rung is not exact. */
double bench_case_value(const struct bench_case *c, const void *results, uint64_t i);

/* The rate, in GB/s, at which the input was read if a reduction took so many milliseconds. */
double bench_case_rate(const struct bench_case *c, double milliseconds);

#endif
