/*
 * The expected quantiles: numbers are sorted, and the oracle interpolates between them.
 */
#ifndef TESTS_REFERENCE_ORDER_H
#define TESTS_REFERENCE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

/* A number as the sum of two binary64, which have the same sign: integers of 64 bits need two. */
#define REFERENCE_PARTS 2
struct reference_number {
    double part[REFERENCE_PARTS];
};

/* Element i, in this machine's byte order. */
struct reference_number reference_number_at(enum element_type type, const void *data, size_t i);

/* Rounded once. */
double reference_rounded(const struct reference_number *x);

/* For qsort: ascending order, -0 before +0. */
int reference_compare_numbers(const void *a, const void *b);

/* Those of n elements that are no NaNs, sorted; *count says how many. The caller frees them. */
struct reference_number *reference_sort(enum element_type type, const void *data, size_t n,
                                        size_t *count);

/* The quantile numerator / denominator of sorted numbers, `count` > 0 of them. The denominator is
   at most REFERENCE_DENOMINATOR_MAX. */
#define REFERENCE_DENOMINATOR_MAX 1000
double reference_quantile(const struct reference_number *x, size_t count, uint64_t numerator,
                          uint64_t denominator);

#endif
