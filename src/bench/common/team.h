/*
 * Threads that begin together and share out a range: for measurements, and for work that takes
 * long.
 *
 * A team lives for one call of team_run, which its caller waits for. Each of its members has a
 * number, from 0 on.
 */
#ifndef GPUREDUCE_BENCH_TEAM_H
#define GPUREDUCE_BENCH_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each member does. Returns false when it failed, which has been said. */
typedef bool team_work(void *argument, unsigned number);

/* Has `threads` threads do work(argument, number). Returns the seconds from when the first began to
   when the last ended, all having been started before; below 0 on failure, which has been said. */
double team_run(unsigned threads, team_work *work, void *argument);

/* What each member does with its share of a range, from `begin` to `end`, which is not empty. */
typedef void team_share_work(void *argument, unsigned number, uint64_t begin, uint64_t end);

/* Has up to `threads` threads do work(argument, number, begin, end) for ranges that make up [0,
   count): one a thread, and all but the last of them multiples of `unit` long. Fewer threads where
   there are not so many units. False when they cannot be started, which has been said; nothing has
   been done then. */
bool team_share(unsigned threads, uint64_t count, uint64_t unit, team_share_work *work,
                void *argument);

/* The number of threads to measure with after `threads`: 1, 2, 4 ..., and `most` at the end; 0
   behind that. */
unsigned team_next(unsigned threads, unsigned most);

/* The size of pieces that `threads` threads take of so many bytes: `most`, or less where there
   would be none for some of them; a multiple of `unit`, as `most` is. */
size_t team_piece(uint64_t bytes, unsigned threads, size_t most, size_t unit);

/* Bytes from `begin` to `end`, claimed a piece at a time, in order. */
struct team_range {
    uint64_t begin, end;
    size_t piece;
    atomic_uint_fast64_t next;
};

void team_range_set(struct team_range *r, uint64_t begin, uint64_t end, size_t piece);

/* Makes all of it unclaimed again. */
void team_range_rewind(struct team_range *r);

/* Claims the next piece, for any member. False when there is none. */
bool team_claim(struct team_range *r, uint64_t *offset, size_t *size);

#endif
