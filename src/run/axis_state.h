/*
 * The state of a reduction along an axis, which its workers share; axis.c owns it.
 */
#ifndef GPUREDUCE_RUN_AXIS_STATE_H
#define GPUREDUCE_RUN_AXIS_STATE_H

#include <stdatomic.h>

#include "cpu/slices.h"
#include "engine/engine.h"
#include "run/axis_sink.h"
#include "source/source.h"
#include "sys/mutex.h"

MUTEX_ROLE(axis_run_role);
MUTEX_ROLE(axis_group_role);

/* Bytes of a strip that are read together, on the CPU, where they are not mapped: the level-2 cache
   holds them. */
#define AXIS_READ_BYTES ((size_t)1 << 20)

/* How the input is shared out. */
enum axis_way {
    AXIS_ROWS,   /* in chunks; slices are runs of elements */
    AXIS_BLOCKS, /* in chunks; a worker has accumulators of its own for all columns of a block */
    AXIS_SHARED, /* in chunks; there are so many columns that workers share their accumulators */
    AXIS_STRIPS  /* in ranges of columns */
};

/* A group: slices that are complete at the same time. A row is a group; and so are all `inner`
   columns of a block, which are the elements with one `outer`. Groups here have elements in several
   chunks. */
struct axis_group {
    uint64_t number;
    uint64_t taken GUARDED_BY(axis_run_role); /* elements that are in */
    struct mutex mutex;
    struct cpu_slices slices GUARDED_BY(axis_group_role);
    struct axis_group *next GUARDED_BY(axis_run_role);
};

MUTEX_ROLE_OF(axis_group, struct axis_group, mutex);

struct axis_run {
    const struct session_options *options;
    const struct axis_sink *sink;
    const struct axis_plan *plan;
    const struct axis_layout *layout;
    struct source *source;
    const struct source_info *info;
    const struct cpu_kernels *kernels;
    struct engine_state *gpu; /* NULL where the CPU does it all */
    enum axis_way way;
    unsigned workers;
    uint64_t group_elements; /* of each group */
    size_t group_slices;     /* slices of a group; of strips, slices that are reduced together */
    struct axis_order order;
    bool has_places; /* results need not wait for their turn to be written */

    _Atomic uint64_t strip; /* the first column of all blocks that nobody has claimed */
    /* Columns that are claimed together, at most and, but for the last of a block, at least. */
    uint64_t strip_columns, strip_columns_least;
    size_t mapped_slices;      /* group_slices, but of what is mapped */
    _Atomic uint64_t elements; /* that have been reduced */

    struct mutex mutex;
    struct axis_group *groups GUARDED_BY(axis_run_role);
};

MUTEX_ROLE_OF(axis_run, struct axis_run, mutex);

struct axis_worker {
    struct axis_run *run;
    unsigned number;
    bool failed;
    struct cpu_slicer slicer;
    struct engine_slicer *gpu; /* NULL for none; then the buffer is its */
    struct cpu_slices slices;  /* slices that are reduced to their end */
    struct axis_batch batch;
    struct axis_piece piece; /* of output: neighbours of the batches before */

    /* Slices of the group that the worker's last chunk was a part of; and how many elements they
       have: 0 for none. */
    struct cpu_slices part;
    uint64_t part_group, part_taken;

    unsigned char *buffer; /* for chunks; of strips, for rows of one */
    size_t buffer_size;
};

/* Bytes of the chunks of an input, a multiple of 64. */
size_t axis_chunk_bytes(const struct axis_run *run);

/* Makes the worker one of a run, with a part of the GPU where there is one. False, having said why,
   where that refuses; the worker has to be closed then, too. */
bool axis_worker_open(struct axis_worker *w, struct axis_run *run, unsigned number);
void axis_worker_close(struct axis_worker *w);

/* Has the memory that the worker needs, on its own thread: to make pages of it present for all
   workers one after the other takes long. False, having said why and stopped the others, without
   memory. It has to be ended in any case, on that thread. */
bool axis_worker_begin(struct axis_worker *w);
void axis_worker_end(struct axis_worker *w);

/* Takes chunks until there are none, after axis_worker_begin. */
void axis_worker_run(struct axis_worker *w);

/* Takes strips of columns until there are none, after axis_worker_begin. */
void axis_strips_run(struct axis_worker *w);

/* Takes `rows` rows of `columns` elements that lie one behind the other in the worker's buffer:
   parts of its first slices, which are columns, in which they have the indices from `index` on.
   False on failure. */
bool axis_take_tile(struct axis_worker *w, size_t rows, size_t columns, uint64_t index);

/* Makes output of the results of `count` slices that are complete, from the one number `from` of s
   on: what the worker has to hand in. The first is number `first` of all. False on failure, or
   where nobody needs more. */
bool axis_deliver(struct axis_worker *w, const struct cpu_slices *s, size_t from, size_t count,
                  uint64_t first);

/* Hands in what there is, of which others may be waiting for the rest of. False likewise. */
bool axis_hand_in(struct axis_worker *w);

/* Frees the groups that are left, after a failure. */
void axis_groups_close(struct axis_run *run);

#endif
