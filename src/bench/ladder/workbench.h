/*
 * gpureduce-bench ladder: what its modules share: the GPU with a stream and events, and what the
 * user asked for.
 *
 *     ladder.c       the command: options, and the ladder itself, beside what others have measured
 *     suite.c        the command with --suite
 *     timing.c       how long cases take
 *     verify.c       whether their results are right, or within the error that they may have
 *     inputs.c       elements on the device and on the host
 *     bench_case.c   a rung with inputs of one type and size, and memory for its results
 *     workbench.c    this module
 *     reference.c    the right results, by the CPU kernels
 *     rung_table.c   the rungs, from the rows of rungs.def
 *     rungs.cu       the textbook kernels, behind rungs.h
 *     cub.cu         CUB's sums, behind rungs.h
 *     production.c   the production kernel as rungs, behind rungs.h
 *
 * Each calls only what stands below it. All of it runs on one thread, which starts others for work
 * on the CPU and waits for them. All work of the GPU is on one stream. A function that returns
 * false has printed why, unless its comment says otherwise.
 */
#ifndef GPUREDUCE_BENCH_WORKBENCH_H
#define GPUREDUCE_BENCH_WORKBENCH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/device.h"
#include "bench/common/distribution.h"
#include "bench/common/table.h"
#include "core/element.h"

/* The number of launches that are queued at once, each between two events. The queue of a stream
   holds all of them, so queueing does not block. */
#define WORKBENCH_BATCH 48

struct workbench {
    /* The request: set by the command before workbench_open, and not changed after it. */
    enum element_type type;         /* of the ladder */
    uint64_t count;                 /* elements of the ladder */
    enum distribution distribution; /* of the ladder */
    uint64_t seed;
    unsigned threads; /* of a block; 0: not given */
    unsigned coarsen; /* pairs of elements per thread of the rung coarsened */
    unsigned repeat;  /* timings of a rung, at most */
    bool progress;    /* show on standard error what is being done */

    /* The GPU, from workbench_open on. */
    struct device device;
    cudaStream_t stream;
    cudaEvent_t begun[WORKBENCH_BATCH], ended[WORKBENCH_BATCH];
    void *scratch; /* struct cuda_scratch */
    bool lost;     /* after an error that the device does not recover from */

    /* Set by workbench_reserve_for_cub. */
    void *cub_temporary;
    size_t cub_temporary_size;
};

/* Gets the device of this number ready. Call workbench_close afterwards, even after a failure. */
bool workbench_open(struct workbench *b, uint64_t number);
void workbench_close(struct workbench *b);

/* After an error: waits for what is queued, and sets `lost` if the device no longer works. */
void workbench_note_error(struct workbench *b);

/* Prints an error if the device is lost. */
void workbench_say_lost(const struct workbench *b);

/* Makes CUB's temporary memory as large as it must be for so many elements of this type. The memory
   may move. */
bool workbench_reserve_for_cub(struct workbench *b, enum element_type type, uint64_t count);

/* Adds facts about the device and CUB to the table. */
void workbench_facts(const struct workbench *b, struct table *t);

/* Shows "what: doing" as the progress, where that is asked for. */
void workbench_progress(const struct workbench *b, const char *what, const char *doing);

/* Erases the progress, and prints the last row of the table. */
void workbench_show_row(const struct workbench *b, struct table *t);

#endif
