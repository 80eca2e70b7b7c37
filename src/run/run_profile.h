/*
 * The profile of a run, put together from what its workers measured.
 */
#ifndef GPUREDUCE_RUN_PROFILE_H
#define GPUREDUCE_RUN_PROFILE_H

#include "run/reduction.h"
#include "run/run_state.h"

/* Bytes that storage has brought for this process so far. It takes a system call. */
uint64_t run_storage_read(void);

/* Fills in what each engine contributed and the profile of a run that ended at `now` with
   reduction->bytes of elements. */
void run_profile_end(struct run *run, uint64_t now, struct reduction *reduction);

#endif
