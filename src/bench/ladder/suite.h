/*
 * gpureduce-bench ladder --suite: the production kernel compared with CUB, over types,
 * distributions and sizes.
 */
#ifndef GPUREDUCE_BENCH_SUITE_H
#define GPUREDUCE_BENCH_SUITE_H

#include "bench/common/arguments.h"
#include "bench/ladder/workbench.h"

/* Runs the suite on an open workbench and prints its table, as `json` says, and its errors. `type`
   and `d` choose workloads, ELEMENT_TYPES and DISTRIBUTIONS standing for all. A workload has up to
   `most` elements or, if that is 0, as many as the device has memory for. */
void suite_run(struct workbench *b, enum element_type type, enum distribution d, uint64_t most,
               const struct argument_json *json);

#endif
