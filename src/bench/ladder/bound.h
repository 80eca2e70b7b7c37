/*
 * How large the error of a correct rung may be: proven bounds, which follow from what is known of
 * the order of its additions. Pure functions.
 */
#ifndef GPUREDUCE_BENCH_BOUND_H
#define GPUREDUCE_BENCH_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/ladder/reference.h"
#include "bench/ladder/rung_table.h"
#include "core/exact.h"

/* How good a result is, from the best to the worst. */
enum verdict {
    VERDICT_EXACT,    /* every bit is right */
    VERDICT_BOUNDED,  /* the error is within the bound */
    VERDICT_OVERFLOW, /* an infinity or a NaN, where additions overflow in some order */
    VERDICT_WRONG     /* none of these */
};

/* The verdict as it is printed. */
const char *bound_verdict_name(enum verdict verdict);

/* Judges the sum `computed` by a rung in this launch. r is the reference of the n elements that it
   is of: all of the launch, or a row. `exactly`: no addition of these elements can round. */
enum verdict bound_judge(const struct rung *rung, const struct rung_launch *launch, uint64_t n,
                         const struct reference *r, double computed, bool exactly);

/* The distance of `computed` from the exact sum, rounded once; infinite if it is an infinity or a
   NaN. */
double bound_distance(const struct exact *exact, double computed);

/* A unit in the last place of x, in the type in which elements of `type` are summed: binary64 for
   f64, else binary32. */
double bound_unit(enum element_type type, double x);

#endif
