/*
 * Published figures of the textbook rungs: four articles on parallel reduction in CUDA, on two
 * GPUs. They are printed beside what is measured here.
 *
 * Constant data and pure functions.
 */
#ifndef GPUREDUCE_BENCH_PUBLISHED_H
#define GPUREDUCE_BENCH_PUBLISHED_H

#include <stddef.h>

/* Common to the figures of one GPU, all of which are of f32. */
struct published_run {
    const char *device;
    double peak; /* of its memory, GB/s */
    const char *data;
};

struct published {
    const struct published_run *run;
    const char *rung; /* or another name, of something that is not a rung here */
    unsigned threads; /* of a block of a batched rung, else 0 */
    double gigabytes; /* GB/s; 0 where a time is given */
    double milliseconds;
};

/* All of them. */
extern const struct published published[];
extern const size_t published_count;

/* The figure of the rung of this name; for a batched rung, with blocks of `threads` threads. NULL
   when there is none. */
const struct published *published_find(const char *rung, unsigned threads);

/* The rate of a figure, in percent of the peak of its GPU. */
double published_percent(const struct published *p);

#endif
