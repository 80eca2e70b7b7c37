/*
 * gpureduce-bench ladder: what its parts share: the GPU, a stream and events of it, and what the
 * user asked for.
 *
 *     ladder.c       the command: options, and the ladder itself
 *     suite.c        the command with --suite
 *     timing.c       how long subjects take
 *     verify.c       whether their results are right
 *     inputs.c       elements on the device, and on the host
 *     subject.c      a rung with inputs of one kind and memory for its results
 *     workbench.c    this
 *     bound.c        what the result of a rung may be
 *     reference.c    what is true of elements, by the CPU kernels
 *     rung_table.c   the rungs: names, lessons, what they can do; and the production kernel as one
 *     published.c    what others have measured
 *     device.c       the GPU's facts and memory; the limits use it, too
 *     rungs.cu       the textbooks' kernels, behind rungs.h; cub.cu: the library's
 *
 * Each calls only what stands below it. All run on one thread, which starts others for work of the
 * CPU and waits for them; all that runs on the GPU is on one stream. A function that returns false
 * has said why, unless its comment says otherwise.
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

/* Launches that are queued at once, each between two events: few enough for the stream's queue to
   take them all. */
#define WORKBENCH_BATCH 48

struct workbench {
    /* What was asked for: set by the command before workbench_open, and not changed after it. */
    enum element_type type;         /* of the ladder */
    uint64_t count;                 /* elements of the ladder */
    enum distribution distribution; /* of the ladder */
    uint64_t seed;
    unsigned threads; /* of a block; 0: not said */
    unsigned coarsen; /* pairs of elements */
    unsigned repeat;  /* timings of a rung, at most */
    bool progress;    /* show what is being done */

    /* The GPU, from workbench_open on. */
    struct device device;
    cudaStream_t stream;
    cudaEvent_t begun[WORKBENCH_BATCH], ended[WORKBENCH_BATCH];
    void *scratch; /* struct cuda_scratch */
    bool lost;     /* an error that the device does not recover from; who sees one notes it here */

    /* Kept by workbench_make_room_for_cub. */
    void *cub_temporary;
    size_t cub_temporary_size;
};

/* Gets the device of this number ready. What was begun is left to workbench_close, whatever comes
   of it. */
bool workbench_open(struct workbench *b, uint64_t number);
void workbench_close(struct workbench *b);

/* Notes whether the device still works after an error, once what is queued has ended. */
void workbench_note_error(struct workbench *b);

/* Says that the device is lost, where it is. */
void workbench_say_lost(const struct workbench *b);

/* Sees to it that CUB has the temporary memory that it needs for so many elements of this type.
   That memory may move. */
bool workbench_make_room_for_cub(struct workbench *b, enum element_type type, uint64_t count);

/* Adds what the device and CUB are to the table's facts. */
void workbench_facts(const struct workbench *b, struct table *t);

/* Shows "what: doing", for a user who watches. */
void workbench_progress(const struct workbench *b, const char *what, const char *doing);

/* Prints the table's row that is complete, in place of the progress line. */
void workbench_show_row(const struct workbench *b, struct table *t);

#endif
