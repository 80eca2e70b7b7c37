/*
 * The oracle for squares, norms and moments: what exact arithmetic gives, rounded once, by means
 * that share nothing with the program. Integers of thousands of bits are added up by hand, and
 * nothing is ever divided and no root is drawn: the result is the binary64 number that lies nearest
 * by definition, found by bisection over all there are, with products alone.
 */
#ifndef TESTS_ORACLE_MOMENTS_H
#define TESTS_ORACLE_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

/* Sets what moments_finish sets in a result: of n values of the type, none of them NaN. */
void oracle_moments(enum element_type type, const double *x, size_t n, uint64_t ddof,
                    struct result *result);

#endif
