/*
 * Scaled numbers for oracles: exact, by natural numbers, and rounded once.
 */
#ifndef TESTS_REAL_H
#define TESTS_REAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/scale.h"
#include "lib/natural.h"
#include "lib/reference_element.h"

/* The units of scaled numbers. */
#define REAL_UNIT (-2148)

/* m 2^REAL_UNIT, or its negative. */
struct real {
    struct natural m;
    bool negative;
};

/* a += b, of naturals. */
void real_add_naturals(struct natural *a, const struct natural *b);

/* a + b */
struct real real_add(struct real a, const struct real *b);

/* a x, where x is finite. */
struct real real_multiply(struct real a, uint64_t x);

/* A finite binary64. */
struct real real_of(double x);

/* Below 0, 0 or above 0: the sign of a, and how a and b compare. */
int real_sign(const struct real *a);
int real_compare(const struct real *a, const struct real *b);

/* a / by, rounded once; an exact zero is +0. */
double real_quotient(const struct real *a, uint64_t by);

/* The element at `bytes`, of any type; x of an integer is 0. */
struct reference_value real_stored(enum element_type type, const void *bytes);

/* The number that a finite element stands for. */
struct real real_scaled(enum element_type type, const void *bytes, const struct scale *scale);

#endif
