/*
 * The expected result of a reduction of some elements: sums from the oracle, all else from a plain
 * loop.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

/* The results under both NaN policies. */
struct reference {
    struct result policy[2]; /* propagate, skip */
};

/* Works out what n elements in this machine's byte order give, the first of which has `index`. */
void reference_reduce(struct reference *e, enum element_type type, const void *data, size_t n,
                      uint64_t index);

/* Which types reference_moments takes: those whose values are binary64. Integers of 64 bits are left
   to tests/cli/types.sh. */
bool reference_moments_is_known(enum element_type type);

/* Adds what moments_finish is to say of them. */
void reference_moments(struct reference *e, enum element_type type, const void *data, size_t n,
                       uint64_t ddof);

/* Takes n elements one by one into a partial: what kernels are compared with where the oracle would
   take too long. test_moments compares that with the oracle. */
void reference_take(struct partial *p, enum element_type type, const void *data, size_t n,
                    uint64_t index);

/* Adds n numbers and their squares up exactly, in 2 numbers and in `terms`, which begin as 0. False if they
   need more, or may have squares that are out of range. */
bool reference_sums(enum element_type type, const void *data, size_t n, double sum[2],
                    double *squares, int terms);

/* The first difference, in words, between the members of two partials for moments.h that `wants`
   asks for; NULL if there is none. */
const char *reference_moments_differs(const struct partial *a, const struct partial *b,
                                      unsigned wants);

/* Whether two results are the same to the bit in all that was wanted (partial_want bits). */
bool reference_same(const struct result *a, const struct result *b, unsigned wants);

/* A result as text; the text of the last two calls stays. */
const char *reference_show(const struct result *r);

#endif
