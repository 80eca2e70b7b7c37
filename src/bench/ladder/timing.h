/*
 * Timing: how long single reductions take, by events of the GPU.
 *
 * What is between two events is one launch and nothing else. Results are set to their starting
 * values beforehand; copies for rungs that overwrite their input are made before the first of the
 * two; and a gate holds the stream back until a batch is queued, so that no delay of the host is
 * timed either.
 */
#ifndef GPUREDUCE_BENCH_TIMING_H
#define GPUREDUCE_BENCH_TIMING_H

#include "bench/ladder/inputs.h"
#include "bench/ladder/subject.h"
#include "bench/ladder/workbench.h"

/* Timings of a subject, at most. */
#define TIMING_REPEAT_MAX 10000

/* Runs `count` subjects (1 to WORKBENCH_BATCH) on the inputs, taking turns, after some launches to
   warm up, as often as the workbench's `repeat` says or as a second allows, three times at least,
   and leaves their times with them. On failure returns false and has said nothing: a subject that
   failed has the error. */
bool timing_measure(struct workbench *b, struct inputs *in, struct subject *subjects,
                    unsigned count);

#endif
