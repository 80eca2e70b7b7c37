/*
 * Samples: where in the order of an input's elements a quantile is likely to be. A sample is of
 * runs of neighbouring elements, at places that are spread evenly over the input.
 *
 * Keys are those of core/order.h. Nothing here prints.
 */
#ifndef GPUREDUCE_SAMPLE_H
#define GPUREDUCE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

struct sample {
    size_t run_count, run_length;
    uint64_t *runs;   /* keys in their order in the input */
    uint64_t *sorted; /* the keys of numbers, in ascending order */
    size_t numbers;   /* how many these are */
};

/* A cell of keys, both of its ends included. */
struct sample_cell {
    uint64_t low, high;
};

/* Takes `count` runs in the order of the input, of `length` elements each, in the machine's byte
   order. False without memory. */
bool sample_take(struct sample *s, enum element_type type, const void *elements, size_t count,
                 size_t length);
void sample_free(struct sample *s);

/* The cell that the quantile q is in, most likely; twice as wide for each of `widen`. Without
   numbers in the sample it is all there is. */
struct sample_cell sample_suggest(const struct sample *s, enum element_type type, double q,
                                  unsigned widen);

/* The first key of the cell that the sample has at least `often` times, which is not 0. False if
   there is none. */
bool sample_often(const struct sample *s, struct sample_cell cell, size_t often, uint64_t *key);

/* How many numbers of the sample are in the cell, and have keys that it has less often. */
size_t sample_rare(const struct sample *s, struct sample_cell cell, size_t often);

#endif
