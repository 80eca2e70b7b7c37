/*
 * The work of a worker in a run:
 *
 *     buffer -> source_next -> reduce -> (the chunk is released when the engine is done with it)
 *
 * until the input ends. If its engine fails, the CPU takes its place.
 */
#ifndef GPUREDUCE_RUN_WORK_H
#define GPUREDUCE_RUN_WORK_H

#include "run/worker.h"

/* All of the worker's part, on the thread that calls it: until the input ends or fails. w->failed
   says whether it failed, and why has been printed. */
void work_run(struct worker *w);

/* Reduces on the CPU in place of the engine that reduced the input so far. False when it failed. */
bool work_on_cpu(struct worker *w);

#endif
