/*
 * How two results differ, for what verifies them: measurements, and tests.
 */
#ifndef GPUREDUCE_BENCH_COMMON_DIFFERENCE_H
#define GPUREDUCE_BENCH_COMMON_DIFFERENCE_H

#include "core/moments.h"
#include "core/partial.h"

/* Says in words the first difference between two results: in the counts, and in what `wants` asks
   for (partial_want bits). Numbers are equal if all their bits are, or if both are NaN; integers
   are compared in full. NULL if nothing differs. */
const char *result_difference(const struct result *a, const struct result *b, unsigned wants);

/* Says in words the first difference between two results in members that moments_finish sets, and
   that `wants` asked for; NULL if nothing differs. */
const char *moments_difference(const struct result *a, const struct result *b, unsigned wants);

#endif
