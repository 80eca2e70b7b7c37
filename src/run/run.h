/*
 * A run: it starts workers on the source, watches them, minds the GPU, and merges what they found.
 */
#ifndef GPUREDUCE_RUN_RUN_H
#define GPUREDUCE_RUN_RUN_H

#include "core/partial.h"
#include "run/run_state.h"

/* Runs workers on run->source until its end, and merges what they found. The fields of the session
   and of the input are set. */
enum source_verdict run_workers(struct run *run, struct partial *partial);

#endif
