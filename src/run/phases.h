/*
 * The phases of a run: ramp-up until every first worker has had a chunk, the steady state, and the
 * finish from the first worker that found the input at its end. Workers note what they see; the
 * stamp of the first of them counts.
 *
 * All times are clock_now's. Any thread may call the functions.
 */
#ifndef GPUREDUCE_RUN_PHASES_H
#define GPUREDUCE_RUN_PHASES_H

#include <stdatomic.h>
#include <stdint.h>

#include "profile/profile.h"

/* All zeros when a run begins, but for `ramping`. */
struct phases {
    _Atomic uint64_t started_at;             /* when the first worker asked for data; 0 before */
    _Atomic uint64_t steady_from, steady_to; /* 0 before; read for every chunk */
    _Atomic unsigned ramping; /* of the first workers, those that have had no chunk yet */
};

/* A worker asked for data. */
void phases_note_start(struct phases *p, uint64_t now);

/* One of the first workers has had its first chunk, or will have none. */
void phases_note_ramped(struct phases *p);

/* A worker has got its chunk number `number`, from 1. Returns the phase that this happened in. */
enum profile_phase phases_note_chunk(struct phases *p, unsigned number, uint64_t now);

/* A worker found the input at its end. */
void phases_note_end(struct phases *p, uint64_t now);

/* When the first worker asked for data; 0 before. */
uint64_t phases_started_at(const struct phases *p);

/* Nanoseconds since the first worker asked for data, at time `now`; 0 before. */
uint64_t phases_time(const struct phases *p, uint64_t now);

/* Sets the times of the phases of a run that ended at `now`. The bytes must be there: where the run
   never was steady, they go to the ramp-up. */
void phases_finish(const struct phases *p, uint64_t now,
                   struct profile_period periods[PROFILE_PHASES]);

#endif
