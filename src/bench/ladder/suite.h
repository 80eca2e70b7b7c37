/*
 * gpureduce-bench ladder --suite: the production kernel against CUB, over types, distributions and
 * sizes.
 */
#ifndef GPUREDUCE_BENCH_SUITE_H
#define GPUREDUCE_BENCH_SUITE_H

#include "bench/common/arguments.h"
#include "bench/ladder/workbench.h"

/* Runs the suite on an open workbench and prints its table, as `json` says. `type` and `d` choose
   cases, unless they are ELEMENT_TYPES and DISTRIBUTIONS; there are up to `most` elements at a
   time, of any type, or where that is 0 as many as the device has memory for. Errors have been
   said. */
void suite_run(struct workbench *b, enum element_type type, enum distribution d, uint64_t most,
               const struct argument_json *json);

#endif
