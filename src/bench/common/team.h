/*
 * Teams of threads that begin together: for measurements, and for work that takes long.
 *
 * A team lives for one call of team_run, which returns when all members have ended. The members are
 * numbered from 0 on. Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_TEAM_H
#define GPUREDUCE_BENCH_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of each member. Returns false on failure. */
typedef bool team_work(void *argument, unsigned number);

/* Runs work(argument, number) on `threads` threads, which begin when all have been started. Returns
   the seconds from when the first began to when the last ended; below 0 on failure. When a thread
   cannot be started, none does any work. */
double team_run(unsigned threads, team_work *work, void *argument);

/* Called while a team works, on the thread that runs it. */
typedef void team_watch(void *argument);

/* Runs a team as team_run does, and calls watch(argument) about every `interval` nanoseconds until
   all members have ended. */
double team_run_watched(unsigned threads, team_work *work, team_watch *watch, void *argument,
                        uint64_t interval);

/* The work of a member on its share of a range, from `begin` to `end`, which is not empty. */
typedef void team_share_work(void *argument, unsigned number, uint64_t begin, uint64_t end);

/* Divides [0, count) among up to `threads` threads, which run work(argument, number, begin, end).
   The lengths of all shares but the last are multiples of `unit`. There are fewer threads if there
   are not so many units. Returns false, and no thread has done any work, if they cannot be
   started. */
bool team_share(unsigned threads, uint64_t count, uint64_t unit, team_share_work *work,
                void *argument);

/* The number of threads to measure with after `threads`: 1, 2, 4 ... and at last `most`, after
   which it is 0. */
unsigned team_next(unsigned threads, unsigned most);

/* The size of the pieces in which `threads` threads claim so many bytes: `most`, or less if there
   were fewer pieces than threads. A multiple of `unit`, as `most` must be. */
size_t team_piece(uint64_t bytes, unsigned threads, size_t most, size_t unit);

/* The bytes from `begin` to `end`, claimed piece by piece, in order. */
struct team_range {
    uint64_t begin, end;
    size_t piece;
    atomic_uint_fast64_t next;
};

void team_range_set(struct team_range *r, uint64_t begin, uint64_t end, size_t piece);

/* Makes the whole range unclaimed again. */
void team_range_rewind(struct team_range *r);

/* Claims the next piece; any member may. False when there is none left. */
bool team_claim(struct team_range *r, uint64_t *offset, size_t *size);

#endif
