/*
 * Fallback to the CPU if an engine refused a chunk, or failed: it reduces the chunks that the
 * engine did not finish, and those that the worker has claimed. It runs on the worker's thread,
 * with an engine worker of the CPU that is opened when it is first needed.
 */
#ifndef GPUREDUCE_RUN_FALLBACK_H
#define GPUREDUCE_RUN_FALLBACK_H

#include <stdbool.h>

#include "run/worker.h"

/* Reduces `count` chunks on the CPU. They stay the caller's to release. False on failure, also when
   their bytes vanished. */
bool fallback_chunks(struct worker *w, const struct chunk *chunks, unsigned count);

/* The engine worker of the CPU; NULL on failure. */
struct engine_worker *fallback_engine_worker(struct worker *w);

/* Merges what was reduced so into the worker's partial and stats. */
void fallback_end(struct worker *w);

#endif
