/*
 * Workers: threads that get chunks from the source and reduce them, each into its own partial.
 *
 * A worker lives as long as the session, and so do its thread, a member of the session's team, and,
 * where that can be, the engine worker it drives. While a run is under way the worker belongs to
 * its own thread; before and after, to the session's.
 *
 *     buffer -> source_next -> reduce -> (the chunk is released when the engine is done with it)
 *
 * until the input ends. If its engine refuses a chunk, or fails, the CPU reduces what it did not
 * finish, and what the worker has claimed, on the worker's thread.
 */
#ifndef GPUREDUCE_RUN_WORKER_H
#define GPUREDUCE_RUN_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "profile/profile.h"

struct run;

/* The work of a worker in a run, in elements and nanoseconds. */
struct worker_stats {
    struct engine_times times;
    unsigned chunks;
    uint64_t started_at, ended_at; /* clock_now's; 0 for a worker that did not come so far */
    uint64_t first_chunk_at;
    uint64_t elements; /* that its engine reduced */
    uint64_t in_place; /* elements that the CPU reduced where they were mapped */
    uint64_t phase_elements[PROFILE_PHASES];
    uint64_t source_time;
    uint64_t cpu_time;
    uint64_t fallback_elements, fallback_time; /* the CPU's work in place of the worker's engine */
};

#define WORKER_NO_ARRAY SIZE_MAX

/* Workers lie so far apart that no two of them have a part in one line of a cache, nor in the line
   beside it, which processors fetch as well. Bytes. */
#define WORKER_ALIGNMENT 128

struct worker {
    /* The identity of the worker, which a session sets; all else is 0 at first. */
    _Alignas(WORKER_ALIGNMENT) unsigned number; /* among all workers, for the source */
    enum engine_id engine;
    unsigned engine_number; /* among the workers of its engine, from 0 */

    /* Kept from one run to the next where the setup is the same. */
    struct engine_worker *engine_worker;
    struct engine_setup kept_setup;

    /* The run that it takes part in; NULL if none. The members below are of that run. */
    struct run *run;
    struct engine_setup setup;
    size_t in_place; /* bytes of a mapped chunk that it takes, at most */
    bool first;      /* one of those that began the run */
    size_t array;    /* of several: the one whose chunks its engine worker has; or none yet */
    bool short_run;  /* it is not worth a system call to ask for the processor time */
    bool failed;     /* the input or the memory did; its partial is worth nothing */
    struct missing missing; /* of the array that it has, of several; and so the next two */
    struct partial_split split;
    struct engine_columns columns;
    struct partial partial;
    struct worker_stats stats;
    struct engine_worker *fallback; /* of the CPU; NULL while it is not needed */
};

/* Gives the worker a part in a run, with nothing done yet. */
void worker_join(struct worker *w, struct run *run, const struct engine_setup *setup,
                 size_t in_place, bool first);

/* Closes the engine worker that is kept. Its thread must not be at work. */
void worker_close_kept(struct worker *w);

/* All of the worker's part, on the thread that calls it: until the input ends or fails. w->failed
   says whether it failed; the source knows why. */
void work_run(struct worker *w);

/* Notes that a worker has got its next chunk: of so many elements, or, of several arrays, bytes. */
void worker_note_chunk(struct worker *w, uint64_t some, uint64_t now);

/* Handles a failure of an engine: gives a GPU up that was not demanded, with a warning. True if the work
   can go on without the engine; else the source has failed. */
bool worker_engine_failed(struct run *run, enum engine_id engine, const char *reason);

/* Reduces on the CPU in place of the engine that reduced the input so far. False when it failed. */
bool work_on_cpu(struct worker *w);

#endif
