/*
 * The numbers that a test program draws, all from one generator.
 */
#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/data_gen.h"

/* To be seeded before anything is drawn. */
static struct rng rng;

/* A number below bound, which is not 0. */
static inline uint64_t below(uint64_t bound)
{
    return rng_below(&rng, bound);
}

/* Whether something happens that does once in so many times. */
static inline bool once_in(uint64_t times)
{
    return below(times) == 0;
}

#endif
