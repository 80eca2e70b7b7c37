/*
 * The expected results of reductions of integers, truth values and floats of one byte: values from
 * the definitions of the types, sums by schoolbook arithmetic.
 */
#ifndef TESTS_REFERENCE_ELEMENT_H
#define TESTS_REFERENCE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "lib/reference.h"

/* An element: a float, or a sign and a magnitude. */
struct reference_value {
    bool is_float, negative;
    uint64_t magnitude;
    double x;
};

/* The value of element i, in this machine's byte order. */
struct reference_value reference_value(enum element_type type, const void *data, size_t i);

/* Below 0 as a comes before b, of one type; no NaN. */
int reference_compare(const struct reference_value *a, const struct reference_value *b);

/* reference_reduce for these types. */
void reference_reduce_element(struct reference *e, enum element_type type, const void *data,
                              size_t n, uint64_t index);

/* Sets what moments_finish sets in a result of these types, without their NaNs; but for integers in
   full, which are the same numbers. */
void reference_moments_element(struct result *r, enum element_type type, const void *data, size_t n,
                               uint64_t ddof);

#endif
