/*
 * Data as measurements and simulations have them: neighbours are alike, so that they compress. Each
 * element depends on the seed and its index alone. Pure functions, of the operations that IEEE 754
 * defines to the last bit.
 *
 * All are made of lattice noise (K. Perlin, "An image synthesizer", 1985): random numbers stand at
 * the points of a lattice, others lie between them, and several lattices, each twice as fine as the
 * one before, add up to a field.
 */
#ifndef GPUREDUCE_BENCH_SMOOTH_H
#define GPUREDUCE_BENCH_SMOOTH_H

#include <stddef.h>
#include <stdint.h>

#include "bench/common/distribution_element.h"

/* The most elements that are made at a time. */
#define SMOOTH_MAX 4096

/* Writes elements [first, first + count) of a distribution to x: DISTRIBUTION_FIELD,
   DISTRIBUTION_STEPS, DISTRIBUTION_SERIES or DISTRIBUTION_IMAGE. `seed` has been mixed; `count` is
   at most SMOOTH_MAX. */
void smooth_numbers(double *x, enum distribution d, uint64_t seed, uint64_t first, size_t count);

#endif
