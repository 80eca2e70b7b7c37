/*
 * Errors that a correct rung may have: bounds that are proved, by what is known of the order of its
 * additions. Pure functions.
 */
#ifndef GPUREDUCE_BENCH_BOUND_H
#define GPUREDUCE_BENCH_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/ladder/reference.h"
#include "bench/ladder/rung_table.h"
#include "core/exact.h"

/* What a comparison found, from the best to the worst. */
enum verdict {
    VERDICT_EXACT,    /* every bit is right */
    VERDICT_BOUNDED,  /* within the bound */
    VERDICT_OVERFLOW, /* an infinity or a NaN, where additions in some order overflow */
    VERDICT_WRONG
};

/* As it is printed. */
const char *bound_verdict_name(enum verdict verdict);

/* Judges the sum that a rung, launched like this, computed of n elements that this is the reference
   of: all of the launch, or a row. `exactly`: no addition of these elements can round. */
enum verdict bound_judge(const struct rung *rung, const struct rung_launch *launch, uint64_t n,
                         const struct reference *r, double computed, bool exactly);

/* How far `computed` is from the exact sum, rounded once; infinite when it is no number. */
double bound_distance(const struct exact *exact, double computed);

/* A unit in the last place of x in the type that sums of elements of `type` have: binary64 for f64,
   else binary32. */
double bound_unit(enum element_type type, double x);

#endif
