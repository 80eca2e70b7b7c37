/*
 * Timing: how long single reductions take, by events of the GPU.
 *
 * Between two events is one launch and nothing else. Results get their starting values beforehand.
 * Copies for rungs that overwrite their input are made before the first event. A gate holds the
 * stream back until a whole batch is queued, so no delay of the host is timed either.
 */
#ifndef GPUREDUCE_BENCH_TIMING_H
#define GPUREDUCE_BENCH_TIMING_H

#include "bench/ladder/bench_case.h"
#include "bench/ladder/inputs.h"
#include "bench/ladder/workbench.h"

/* A case is timed at most so many times. */
#define TIMING_REPEAT_MAX 10000

/* Times `count` cases (1 to WORKBENCH_BATCH) on the inputs, which take turns: first some launches
   to warm up, then as many as the workbench's `repeat` says or as a second allows, but three at
   least. Leaves the times with the cases. On failure returns false and prints nothing; the case
   that failed has the error. */
bool timing_measure(struct workbench *b, struct inputs *in, struct bench_case *cases,
                    unsigned count);

#endif
