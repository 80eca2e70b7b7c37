#include "config.h"

#include "run/axis.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/quantiles.h"
#include "cpu/slices.h"
#include "run/gpu.h"
#include "source/source.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/group.h"
#include "sys/grow.h"
#include "sys/mapping.h"
#include "sys/mutex.h"
#include "sys/team.h"

MUTEX_ROLE(axis_run_role);
MUTEX_ROLE(axis_part_role);
MUTEX_ROLE(axis_order_role);

/* Bytes of a strip that are read together, on the CPU, where they are not mapped: the level-2 cache
   holds them. */
#define AXIS_READ_BYTES ((size_t)1 << 20)

/* How the input is shared out. */
enum axis_way {
    AXIS_ROWS,   /* in chunks; slices are runs of elements */
    AXIS_BLOCKS, /* in chunks; a worker has accumulators of its own for all columns of a block */
    AXIS_SHARED, /* in chunks; there are so many columns that workers share their accumulators */
    AXIS_STRIPS, /* in ranges of columns */
    AXIS_TILES   /* in ranges of slices, all of whose elements are looked at together */
};

/* A group: slices that are complete at the same time. A row is a group; and so are all `inner`
   columns of a block, which are the elements with one `outer`. Groups here have elements in several
   chunks. */
struct axis_group {
    uint64_t number;
    uint64_t taken GUARDED_BY(axis_run_role); /* elements that are in */
    struct axis_part *parts;                  /* run->group_parts */
    struct axis_group *next GUARDED_BY(axis_run_role);
};

/* Neighbouring slices of a group, to which one worker at a time adds: run->part_slices, but of the last
   part. */
struct axis_part {
    struct mutex mutex;
    struct cpu_slices slices GUARDED_BY(axis_part_role);
};

MUTEX_ROLE_OF(axis_part, struct axis_part, mutex);

/* Bytes of pieces of output that wait for their turn. */
#define AXIS_ORDER_WAITING ((size_t)64 << 20)

/* Bytes of a piece, about; there may be fewer, where what is next comes later or elsewhere. */
#define AXIS_PIECE_BYTES ((size_t)128 << 10)

/* A piece of output: the results from `first` on. */
struct axis_piece {
    uint64_t first, count;
    struct buffer bytes;    /* taken over; without data where they have been placed */
    bool refused;           /* there is no result after these: the output ends here */
    uint64_t refused_index; /* where in its slice the NaN is */
};

struct axis_order {
    struct mutex mutex;
    pthread_cond_t room;
    uint64_t next GUARDED_BY(axis_order_role); /* the first result not written */
    /* Those that wait, in order: from number `begin` up to number `end` of the list. */
    struct axis_piece *waiting GUARDED_BY(axis_order_role);
    size_t begin GUARDED_BY(axis_order_role), end GUARDED_BY(axis_order_role);
    size_t waiting_room GUARDED_BY(axis_order_role), waiting_bytes GUARDED_BY(axis_order_role);
    /* Memory of pieces that have been written. */
    struct buffer *spare GUARDED_BY(axis_order_role);
    size_t spare_count GUARDED_BY(axis_order_role), spare_room GUARDED_BY(axis_order_role);
    bool writing GUARDED_BY(axis_order_role), failed GUARDED_BY(axis_order_role);
    bool no_memory GUARDED_BY(axis_order_role); /* that is why it failed */
};

MUTEX_ROLE_OF(axis_order, struct axis_order, mutex);

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
    bool fast;        /* the CPU has kernels for what is wanted of slices */
    bool accumulates; /* more is wanted than quantiles */
    /* All elements, if quantiles are wanted of what can be read in order alone; else NULL. */
    unsigned char *spool;
    unsigned workers;
    uint64_t group_elements; /* of each group */
    size_t group_slices;     /* slices of a group; of strips, slices that are reduced together */
    size_t group_parts, part_slices; /* parts of a group, and slices of a part */
    struct axis_order order;
    bool has_places; /* results need not wait for their turn to be written */

    _Atomic uint64_t strip; /* the first column of all blocks that nobody has claimed */
    /* Columns that are claimed together, at most and, but for the last of a block, at least. */
    uint64_t strip_columns, strip_columns_least;
    size_t mapped_slices;      /* group_slices, but of what is mapped */
    size_t tile_columns;       /* of AXIS_TILES: slices that are read together, at most */
    size_t tile_claim;         /* and that are claimed together */
    _Atomic uint64_t elements; /* that have been reduced */
    atomic_bool cancelled;     /* set by the thread that called */

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
    struct cpu_quantiles quantiles;
    /* Those of the slices that were claimed; NULL where none are wanted. */
    double *found[PASS_PLAN_QUANTILES_MAX];
};

/*
 * Results in order: workers hand in pieces of output as they are done, and each is written when all
 * before it are. The worker that hands in the next piece writes it, and waiting ones that follow
 * it.
 *
 * Any worker may put pieces in, and wait. The number of waiting pieces is bounded by how far workers
 * are apart; if writing is slow, they wait for it. Each worker gets the memory of a piece that has
 * been written for its next one: fresh memory costs more than the results.
 */

/* Closes it, when all workers have ended. Returns how many results have been written. If memory was
   lacking, the source has that error. */
UNCHECKED static uint64_t order_close(struct axis_run *run)
{
    struct axis_order *o = &run->order;

    if (o->no_memory)
        (void)source_no_memory(run->source);
    for (size_t i = o->begin; i < o->end; i++)
        free(o->waiting[i].bytes.data);
    for (size_t i = 0; i < o->spare_count; i++)
        free(o->spare[i].data);
    free(o->waiting);
    free(o->spare);
    pthread_cond_destroy(&o->room);
    mutex_destroy(&o->mutex);
    return o->next;
}

/* Adds a piece to those that wait: workers are not far apart, so that most come last. False without
   memory. */
REQUIRES(axis_order_role)
static bool insert_locked(struct axis_order *o, const struct axis_piece *piece)
{
    size_t i;

    if (o->begin > o->end / 2) {
        memmove(o->waiting, o->waiting + o->begin, (o->end - o->begin) * sizeof *o->waiting);
        o->end -= o->begin;
        o->begin = 0;
    }
    if (!GROW(o->waiting, o->waiting_room, o->end + 1))
        return false;
    for (i = o->end++; i > o->begin && o->waiting[i - 1].first > piece->first; i--)
        o->waiting[i] = o->waiting[i - 1];
    o->waiting[i] = *piece;
    o->waiting_bytes += piece->bytes.size;
    return true;
}

/* Keeps the memory of a piece. */
REQUIRES(axis_order_role)
static void spare_locked(struct axis_order *o, struct buffer bytes)
{
    bytes.size = 0;
    if (bytes.data && GROW(o->spare, o->spare_room, o->spare_count + 1))
        o->spare[o->spare_count++] = bytes;
    else
        free(bytes.data);
}

/* Says why the output ends. */
static void refuse(struct axis_run *run, const struct axis_piece *piece)
{
    char place[AXIS_PLACE_MAX];

    source_error(
        run->source, ERROR_NAN, "element %s is a NaN",
        axis_show_element(place, run->layout, piece->first + piece->count, piece->refused_index));
}

/* Writes what is next. Drops the mutex while it does. */
REQUIRES(axis_order_role)
static void write_locked(struct axis_run *run)
{
    const struct axis_sink *sink = run->sink;
    struct axis_order *o = &run->order;

    o->writing = true;
    while (o->begin < o->end && o->waiting[o->begin].first == o->next && !o->failed) {
        const struct axis_piece piece = o->waiting[o->begin++];
        bool written;

        axis_order_unlock(o);
        written = !sink->write ||
                  sink->write(sink->context, piece.first, piece.bytes.data, piece.bytes.size);
        if (piece.refused)
            refuse(run, &piece);
        axis_order_lock(o);
        o->next += written ? piece.count : 0;
        o->waiting_bytes -= piece.bytes.size;
        o->failed = o->failed || !written || piece.refused;
        spare_locked(o, piece.bytes);
        pthread_cond_broadcast(&o->room);
    }
    o->writing = false;
    pthread_cond_broadcast(&o->room);
}

/* Hands in a piece, and makes it an empty one, which may have memory. False once something has
   failed: nobody needs more of them. */
static bool order_put(struct axis_run *run, struct axis_piece *piece)
{
    struct axis_order *o = &run->order;
    bool good;

    axis_order_lock(o);
    if (!o->failed && insert_locked(o, piece)) {
        if (!o->writing)
            write_locked(run);
    } else {
        o->no_memory = o->no_memory || !o->failed;
        o->failed = true;
        free(piece->bytes.data);
        pthread_cond_broadcast(&o->room);
    }
    *piece = (struct axis_piece){0};
    if (o->spare_count > 0)
        piece->bytes = o->spare[--o->spare_count];
    good = !o->failed;
    axis_order_unlock(o);
    return good;
}

/* Makes it one in which something has failed. */
static void order_fail(struct axis_order *o)
{
    axis_order_lock(o);
    o->failed = true;
    pthread_cond_broadcast(&o->room);
    axis_order_unlock(o);
}

/* Waits while much waits to be written by another worker, which is writing. */
static void order_wait(struct axis_order *o)
{
    axis_order_lock(o);
    while (o->waiting_bytes > AXIS_ORDER_WAITING && o->writing && !o->failed)
        axis_order_wait_for(o, &o->room);
    axis_order_unlock(o);
}

/*
 * Workers: from chunks to slices, and to results.
 */

/* Rows that are reduced before their results go on: elements of so many bytes, or so many rows. */
#define BATCH_BYTES ((size_t)1 << 20)
#define BATCH_ROWS 4096
/* Rows of a batch if each has a whole partial result. */
#define BATCH_ROWS_SLOW 64
/* Bytes of a batch for a GPU, which takes a chunk at a time. */
#define BATCH_BYTES_GPU ((size_t)8 << 20)

/* The most results of what is taken in place at a time, where they have to wait for their turn; and
   the least bytes of it: what a page table maps. */
#define IN_PLACE_RESULTS ((size_t)128 << 10)
#define IN_PLACE_LEAST ((size_t)2 << 20)

/* Groups of at most so many bytes come whole, and, where there are some for each worker, of the second: larger
   ones would leave workers without any. */
#define UNIT_BYTES ((size_t)128 << 10)
#define UNIT_BYTES_MOST ((size_t)1 << 20)

/* The rows of a chunk of columns without kernels, or its bytes. */
#define TALL_ROWS 512
#define TALL_BYTES ((size_t)2 << 20)

#define ALIGNMENT 64

static enum cpu_slices_kind kind_of(const struct axis_run *run)
{
    return run->layout->inner == 1 ? CPU_SLICES_ROWS : CPU_SLICES_COLUMNS;
}

/* How many slices a worker reduces together, at most. */
static size_t slices_most(const struct axis_run *run)
{
    if (run->gpu)
        return run->fast ? ENGINE_SLICES_MAX : BATCH_ROWS;
    return run->fast ? BATCH_ROWS : BATCH_ROWS_SLOW;
}

/* How many it does that are rows. */
static size_t rows_room(const struct axis_run *run)
{
    uint64_t most = slices_most(run);
    const uint64_t fit =
        (run->gpu ? BATCH_BYTES_GPU : BATCH_BYTES) / run->info->element_size / run->layout->length;

    if (!run->gpu && run->layout->results < most)
        most = run->layout->results;
    most = fit < most ? fit : most;
    return most > 0 ? (size_t)most : 1;
}

/* How many slices a worker reduces together. */
static size_t batch_room(const struct axis_run *run)
{
    size_t blocks;

    switch (run->way) {
    case AXIS_TILES:
        return run->tile_claim;
    case AXIS_ROWS:
        return rows_room(run);
    case AXIS_STRIPS:
        return run->group_slices;
    case AXIS_SHARED:
        return 1;
    case AXIS_BLOCKS:
        break;
    }
    blocks = slices_most(run) / run->group_slices;
    if (!run->gpu && blocks > run->layout->results / run->group_slices)
        blocks = (size_t)(run->layout->results / run->group_slices);
    return (blocks ? blocks : 1) * run->group_slices;
}

/* Bytes of chunks of columns without kernels: these are turned into rows, which should be long. */
static size_t tall_bytes(const struct axis_run *run)
{
    const uint64_t bytes = run->layout->inner * run->info->element_size * TALL_ROWS;

    return align_up(bytes < TALL_BYTES ? (size_t)bytes : TALL_BYTES, ALIGNMENT);
}

/* Opens the GPU's part of a worker, and has its buffer. */
static bool open_gpu(struct axis_worker *w)
{
    const struct axis_run *run = w->run;
    const struct axis_plan *plan = run->plan;
    const struct engine_slices *ops = engine_cuda.slices;
    const struct engine_slice_setup setup = {
        .type = plan->type,
        .swap = run->info->swap,
        .wants = plan->wants | (plan->missing.count > 0 ? PARTIAL_MISSING : 0),
        .missing = &plan->missing,
        .split = &plan->split,
        .bytes = w->buffer_size};
    char reason[ENGINE_REASON_MAX] = "";

    w->gpu = ops->open(run->gpu, &setup, w->number, reason);
    if (w->gpu)
        w->buffer = ops->buffer(w->gpu);
    else
        source_error(run->source, ERROR_GPU, "GPU: %s", reason);
    return w->gpu;
}

/* Bytes of the chunks of an input, a multiple of 64. */
static size_t chunk_bytes(const struct axis_run *run)
{
    const size_t bytes = run->options->chunk_size  ? run->options->chunk_size
                         : run->info->buffer_bytes ? run->info->buffer_bytes
                         : run->gpu                ? engine_cuda.chunk_bytes
                                                   : engine_cpu.chunk_bytes;

    return align_up(bytes, ALIGNMENT);
}

/* Whether workers are lent all elements where they lie, so that they need no buffer. */
static bool lends_all(const struct axis_run *run)
{
    const struct view *view = run->options->input.view;

    return view && !run->gpu && view->contiguous && view->mask_form == VIEW_MASK_NONE &&
           !view->remote;
}

/* Makes a worker of zeros one of a run, with a part of the GPU where there is one. False where that
   refuses. */
static bool open_worker(struct axis_worker *w, struct axis_run *run, unsigned number)
{
    const uint64_t elements = run->layout->results * run->layout->length;
    const size_t size = run->info->element_size;

    w->run = run;
    w->number = number;
    if (lends_all(run))
        return true;
    w->buffer_size = chunk_bytes(run);
    if (run->way == AXIS_STRIPS && !run->gpu)
        w->buffer_size = AXIS_READ_BYTES;
    if (run->way == AXIS_BLOCKS && !run->gpu && !run->options->chunk_size && !run->fast &&
        w->buffer_size < tall_bytes(run))
        w->buffer_size = tall_bytes(run);
    if (run->options->input.view && !run->gpu && elements < w->buffer_size / size)
        w->buffer_size = align_up((size_t)(elements * size) + 1, ALIGNMENT);
    return !run->gpu || open_gpu(w);
}

static bool alloc_memory(struct axis_worker *w)
{
    const struct axis_run *run = w->run;
    const struct axis_plan *plan = run->plan;
    const struct pass_request *quantiles = &run->options->passes;
    const size_t room = batch_room(run);
    const size_t results = run->way == AXIS_SHARED || room > BATCH_ROWS ? BATCH_ROWS : room;
    const bool parts = run->way == AXIS_ROWS || run->way == AXIS_BLOCKS;

    if (run->way == AXIS_TILES && !lends_all(run))
        w->buffer_size = align_up(
            (size_t)run->layout->length * run->tile_columns * run->info->element_size, ALIGNMENT);
    if (!w->gpu && w->buffer_size > 0)
        w->buffer = aligned_alloc(ALIGNMENT, w->buffer_size);
    for (unsigned k = 0; k < quantiles->quantile_count; k++) {
        w->found[k] = malloc(room * sizeof *w->found[k]);
        if (!w->found[k])
            return false;
    }
    return (w->buffer || w->buffer_size == 0) &&
           cpu_slicer_open(&w->slicer, run->kernels, plan->type, plan->wants, run->fast,
                           run->info->swap, plan->missing.count > 0 ? &plan->missing : NULL,
                           plan->wants & PARTIAL_SPLIT ? &plan->split : NULL) &&
           cpu_slices_open(&w->slices, kind_of(run), plan->type, plan->wants, run->fast, room) &&
           axis_batch_open(&w->batch, plan, run->kernels, results) &&
           (quantiles->quantile_count == 0 ||
            cpu_quantiles_open(&w->quantiles, run->kernels, plan->type, run->info->swap,
                               &plan->missing, &plan->scale, plan->nan != NAN_SKIP, quantiles,
                               (size_t)run->layout->length)) &&
           (!parts || cpu_slices_open(&w->part, kind_of(run), plan->type, plan->wants, run->fast,
                                      run->group_slices));
}

static void end_worker(struct axis_worker *w)
{
    cpu_slicer_close(&w->slicer);
    cpu_slices_close(&w->slices);
    cpu_slices_close(&w->part);
    axis_batch_close(&w->batch);
    cpu_quantiles_close(&w->quantiles);
    for (unsigned k = 0; k < w->run->options->passes.quantile_count; k++)
        free(w->found[k]);
    free(w->piece.bytes.data);
    if (!w->gpu)
        free(w->buffer);
}

/* There was no memory. */
static bool fail(struct axis_worker *w)
{
    (void)source_no_memory(w->run->source);
    w->failed = true;
    return false;
}

/* Has the memory that the worker needs, on its own thread: to make pages of it present for all
   workers one after the other takes long. False without memory; the others are
   stopped then. It has to be ended in any case, on that thread. */
static bool begin_worker(struct axis_worker *w)
{
    if (alloc_memory(w))
        return true;
    order_fail(&w->run->order); /* nobody goes on */
    return fail(w);
}

/* Writes finished results to their place, if that can be done before their turn comes. The
   last result waits for its turn: as long as any is missing, a file is shorter than its header
   says. */
static void place_early(struct axis_worker *w, struct buffer *own)
{
    const struct axis_sink *sink = w->run->sink;
    struct axis_piece *piece = &w->piece;

    if (!sink->write || !w->run->has_places ||
        piece->first + piece->count == w->run->layout->results ||
        !sink->place(sink->context, piece->first, piece->bytes.data, piece->bytes.size))
        return;
    *own = piece->bytes;
    own->size = 0;
    piece->bytes = (struct buffer){0};
}

/* Hands in what there is, of which others may be waiting for the rest of. False likewise. */
static bool hand_in(struct axis_worker *w)
{
    struct buffer own = {0};

    if (w->piece.count == 0 && !w->piece.refused)
        return !w->failed;
    place_early(w, &own);
    if (!order_put(w->run, &w->piece))
        w->failed = true;
    if (own.data) {
        free(w->piece.bytes.data);
        w->piece.bytes = own;
    }
    return !w->failed;
}

/* Puts the quantiles of a batch into it: those of the slices from the one number `from` on of the ones
   that were claimed. Slices without elements have none. */
static void put_quantiles(struct axis_worker *w, size_t from)
{
    const struct pass_request *quantiles = &w->run->options->passes;
    const struct axis_plan *plan = w->run->plan;
    struct axis_batch *b = &w->batch;

    for (size_t j = 0; j < plan->operation_count; j++)
        for (unsigned k = 0; k < quantiles->quantile_count; k++)
            if (operation_quantile(plan->operations[j]) == UINT32_C(1) << quantiles->places[k])
                for (size_t i = 0; i < b->count; i++)
                    b->values[j].number[i] = w->found[k] ? w->found[k][from + i] : (double)NAN;
}

/* Finishes a batch, and makes output of it: at once, where it is numbers as they are. False where
   it cannot be. */
static bool finish_batch(struct axis_worker *w, const struct cpu_slices *s, size_t from,
                         size_t count, uint64_t first)
{
    const struct axis_sink *sink = w->run->sink;
    struct axis_batch *b = &w->batch;
    struct buffer *bytes = &w->piece.bytes;
    double *const own = b->values[0].number;
    double *const to =
        sink->numbers ? sink->numbers(sink->context, w->run->plan, bytes, count) : NULL;

    if (to)
        b->values[0].number = to;
    axis_batch_finish(b, s, from, count, first);
    put_quantiles(w, from);
    if (!to)
        return sink->render(sink->context, b, bytes);
    b->values[0].number = own;
    bytes->size += b->count * sizeof *to;
    return true;
}

/* Makes output of the results of the first `count` slices of s, which are complete: what the worker has
   to hand in. The first is number `first` of all. False on failure, or where nobody needs more. */
static bool deliver(struct axis_worker *w, const struct cpu_slices *s, size_t count, uint64_t first)
{
    struct axis_run *run = w->run;
    struct axis_batch *b = &w->batch;
    struct axis_piece *piece = &w->piece;

    for (size_t i = 0; i < count; i += b->room) {
        const size_t some = count - i < b->room ? count - i : b->room;
        size_t before;

        if (piece->first + piece->count != first + i && !hand_in(w))
            return false;
        if (piece->count == 0)
            piece->first = first + i;
        /* All at once: to grow is to copy. Without memory the sink says so. */
        if (!piece->bytes.data && run->sink->write)
            (void)buffer_extend(&piece->bytes, AXIS_PIECE_BYTES);
        before = piece->bytes.size;
        if (!finish_batch(w, s, i, some, first + i)) {
            piece->bytes.size = before;
            (void)hand_in(w);
            order_fail(&run->order);
            w->failed = true;
            return false;
        }
        piece->count += b->count;
        piece->refused = b->refused;
        piece->refused_index = b->refused_index;
        if ((piece->refused ||
             piece->bytes.size + (piece->bytes.size - before) > AXIS_PIECE_BYTES) &&
            !hand_in(w))
            return false;
    }
    return true;
}

/*
 * Taking elements in: under a guard where they are in a mapped file.
 */

struct take {
    struct axis_worker *worker;
    struct cpu_slices *slices;
    size_t first;
    const unsigned char *data;
    size_t stride; /* bytes from one row to the next; 0: they lie one after the other */
    /* The number of slices that are rows, and the elements of each. */
    size_t rows, columns;
    uint64_t index;
};

/* Has the CPU take `count` slices of those that t is about, from the one number i on. */
static void take_some(const struct take *t, size_t i, size_t count)
{
    const struct axis_run *run = t->worker->run;
    const size_t size = run->info->element_size;
    const size_t stride = t->stride ? t->stride : t->columns * size;

    if (run->way == AXIS_ROWS)
        cpu_slicer_rows(&t->worker->slicer, t->slices, t->first + i, t->data + i * stride, count,
                        t->columns, t->index);
    else
        cpu_slicer_columns(&t->worker->slicer, t->slices, t->first + i, t->data + i * size, stride,
                           t->rows, count, t->index);
}

static void take(void *argument)
{
    const struct take *t = argument;

    take_some(t, 0, t->worker->run->way == AXIS_ROWS ? t->rows : t->columns);
}

/* Has it take those of which not all has been found: neighbours together. */
static void take_missing(const struct take *t, const struct engine_found *found, size_t slices,
                         bool columns)
{
    const size_t step = columns ? 1 : found->parts;
    size_t missing = 0;

    for (size_t i = 0; i <= slices; i++) {
        const bool is_missing = i < slices && isnan(found->high[i * step]);

        if (!is_missing && missing > 0)
            take_some(t, i - missing, missing);
        missing = is_missing ? missing + 1 : 0;
    }
}

/* Whether the slices that t is about have no other elements, and their sums need not be exact. */
static bool rounded_will_do(const struct axis_run *run, const struct take *t)
{
    const size_t length = run->way == AXIS_ROWS ? t->columns : t->rows;

    return length == run->layout->length && !axis_needs_exact_sums(run->plan);
}

/* Makes nothing of slices of which a part has not been found. */
static void drop_missing(const struct engine_found *found, size_t slices, bool columns)
{
    const size_t step = columns ? slices : 1;

    for (size_t i = 0; i < slices && found->parts > 1; i++) {
        double *high = found->high + (columns ? i : i * found->parts);
        bool all = true;

        for (size_t part = 0; part < found->parts; part++)
            all = all && !isnan(high[part * step]);
        for (size_t part = 0; part < found->parts && !all; part++)
            high[part * step] = NAN;
    }
}

/* Has the GPU take elements; what it does not find, the CPU does. */
static bool take_on_gpu(struct axis_worker *w, struct take *t)
{
    const struct engine_slices *ops = engine_cuda.slices;
    const bool columns = w->run->way != AXIS_ROWS;
    const size_t slices = columns ? t->columns : t->rows;
    struct engine_found found;

    if (!ops->reduce(w->gpu, columns, rounded_will_do(w->run, t), t->data, t->rows, t->columns,
                     &found)) {
        w->failed = true;
        return source_error(w->run->source, ERROR_GPU, "GPU: %s", ops->error(w->gpu));
    }
    if (found.parts == 0)
        take(t);
    else
        drop_missing(&found, slices, columns);
    for (size_t part = 0; part < found.parts; part++)
        cpu_slicer_put(&w->slicer, t->slices, t->first, slices, &found,
                       part * (columns ? slices : 1), columns ? 1 : found.parts, t->index);
    if (found.parts > 0)
        take_missing(t, &found, slices, columns);
    return !w->slicer.failed || fail(w);
}

/* False on failure. */
static bool guarded_take(struct axis_worker *w, const struct chunk *chunk, struct take *t)
{
    t->worker = w;
    if (w->gpu && !chunk->mapped)
        return take_on_gpu(w, t);
    if (!mapping_call(chunk->mapped, take, t)) {
        w->failed = true;
        return source_lost(w->run->source, chunk);
    }
    return !w->slicer.failed || fail(w);
}

/* The slices of part number i of a group. */
static size_t part_slices(const struct axis_run *run, size_t i)
{
    const size_t left = run->group_slices - i * run->part_slices;

    return left < run->part_slices ? left : run->part_slices;
}

/* Takes columns into a group that workers share: part by part. Each begins with another one. */
static bool take_shared(struct axis_worker *w, const struct chunk *chunk, struct axis_group *g,
                        const struct take *t)
{
    const struct axis_run *run = w->run;
    const size_t size = run->info->element_size, parts = run->group_parts;
    bool good = true;

    for (size_t k = 0; k < parts && good; k++) {
        const size_t i = (k + w->number * parts / run->workers) % parts;
        const size_t begin = i * run->part_slices, end = begin + part_slices(run, i);
        const size_t first = begin > t->first ? begin : t->first;
        const size_t last = end < t->first + t->columns ? end : t->first + t->columns;
        struct axis_part *const part = &g->parts[i];
        struct take some = *t;

        if (first >= last)
            continue;
        axis_part_lock(part);
        some.slices = &part->slices;
        some.first = first - begin;
        some.data += (first - t->first) * size;
        some.stride = t->columns * size;
        some.columns = last - first;
        good = guarded_take(w, chunk, &some);
        axis_part_unlock(part);
    }
    return good;
}

/* Takes `count` elements at `data`, from the one number `at` of its group on, into the slices of
   the group, the first of which is number `first` of s; or, with `shared`, into those. */
static bool take_group(struct axis_worker *w, const struct chunk *chunk, struct cpu_slices *s,
                       size_t first, struct axis_group *shared, const unsigned char *data,
                       uint64_t at, uint64_t count)
{
    const size_t size = w->run->info->element_size, inner = w->run->group_slices;
    bool good = true;

    if (w->run->way == AXIS_ROWS)
        return guarded_take(w, chunk,
                            &(struct take){.slices = s,
                                           .first = first,
                                           .data = data,
                                           .rows = 1,
                                           .columns = (size_t)count,
                                           .index = at});
    while (good && count > 0) {
        const size_t column = (size_t)(at % inner), left = inner - column;
        /* Whole rows together; else to the end of this one. */
        const size_t rows = column == 0 && count >= inner ? (size_t)(count / inner) : 1;
        const size_t columns = column == 0 && count >= inner ? inner
                               : count < left                ? (size_t)count
                                                             : left;
        struct take t = {.slices = s,
                         .first = first + column,
                         .data = data,
                         .rows = rows,
                         .columns = columns,
                         .index = at / inner};

        good = shared ? take_shared(w, chunk, shared, &t) : guarded_take(w, chunk, &t);
        data += rows * columns * size;
        at += rows * columns;
        count -= rows * columns;
    }
    return good;
}

/*
 * Groups that several chunks are of.
 */

UNCHECKED static void close_group(const struct axis_run *run, struct axis_group *g)
{
    for (size_t i = 0; g->parts && i < run->group_parts; i++) {
        cpu_slices_close(&g->parts[i].slices);
        mutex_destroy(&g->parts[i].mutex);
    }
    free(g->parts);
    free(g);
}

/* Makes a group. NULL without memory. */
UNCHECKED static struct axis_group *open_group(const struct axis_run *run, uint64_t number)
{
    const struct axis_plan *plan = run->plan;
    struct axis_group *g = calloc(1, sizeof *g);
    bool good;

    if (!g)
        return NULL;
    g->number = number;
    g->parts = calloc(run->group_parts, sizeof *g->parts);
    good = g->parts;
    for (size_t i = 0; good && i < run->group_parts; i++)
        mutex_init(&g->parts[i].mutex);
    for (size_t i = 0; good && i < run->group_parts; i++)
        good = cpu_slices_open(&g->parts[i].slices, kind_of(run), plan->type, plan->wants,
                               run->fast, part_slices(run, i));
    if (good)
        return g;
    close_group(run, g);
    return NULL;
}

/* Frees the groups that are left, after a failure. */
UNCHECKED static void close_groups(struct axis_run *run)
{
    while (run->groups) {
        struct axis_group *g = run->groups;

        run->groups = g->next;
        close_group(run, g);
    }
}

/* The group of this number, which is made if there is none. NULL without memory. */
static struct axis_group *get_group(struct axis_worker *w, uint64_t number)
{
    struct axis_run *run = w->run;
    struct axis_group *g;

    axis_run_lock(run);
    g = run->groups;
    while (g && g->number != number)
        g = g->next;
    if (!g) {
        g = open_group(run, number);
        if (g) {
            g->next = run->groups;
            run->groups = g;
        }
    }
    axis_run_unlock(run);
    if (!g)
        (void)fail(w);
    return g;
}

/* Elements have been taken into the group: if these were the last, its results go on. The caller is
   done with it. */
UNCHECKED static bool group_taken(struct axis_worker *w, struct axis_group *g, uint64_t count)
{
    struct axis_run *run = w->run;
    struct axis_group **place = &run->groups;
    bool good = true, complete;

    axis_run_lock(run);
    g->taken += count;
    complete = g->taken == run->group_elements;
    if (complete) {
        while (*place != g)
            place = &(*place)->next;
        *place = g->next;
    }
    axis_run_unlock(run);
    if (!complete)
        return true;
    for (size_t i = 0; i < run->group_parts && good; i++)
        good = deliver(w, &g->parts[i].slices, part_slices(run, i),
                       g->number * run->group_slices + i * run->part_slices);
    close_group(run, g);
    return good;
}

/* Merges what the worker has of a group into it: part by part, each begins with another one. */
static bool flush_part(struct axis_worker *w)
{
    const struct axis_run *run = w->run;
    const size_t parts = run->group_parts;
    const uint64_t taken = w->part_taken;
    struct axis_group *g;

    if (taken == 0 || w->failed)
        return !w->failed;
    w->part_taken = 0;
    g = get_group(w, w->part_group);
    if (!g)
        return false;
    for (size_t k = 0; k < parts; k++) {
        const size_t i = (k + w->number * parts / run->workers) % parts;
        struct axis_part *const part = &g->parts[i];

        axis_part_lock(part);
        cpu_slicer_merge(&w->slicer, &part->slices, &w->part, i * run->part_slices,
                         part_slices(run, i));
        axis_part_unlock(part);
    }
    return (!w->slicer.failed || fail(w)) && group_taken(w, g, taken);
}

/* Takes elements that are not all of their group. */
static bool take_part(struct axis_worker *w, const struct chunk *chunk, uint64_t number,
                      const unsigned char *data, uint64_t at, uint64_t count)
{
    struct axis_group *g;

    if (w->run->way == AXIS_SHARED) {
        g = get_group(w, number);
        return g && take_group(w, chunk, NULL, 0, g, data, at, count) && group_taken(w, g, count);
    }
    if (w->part_taken > 0 && w->part_group != number && !flush_part(w))
        return false;
    if (w->part_taken == 0)
        cpu_slices_clear(&w->part, w->run->group_slices);
    w->part_group = number;
    w->part_taken += count;
    return take_group(w, chunk, &w->part, 0, NULL, data, at, count);
}

/* Takes whole groups, as many as there is room for. Sets how many. */
static bool take_whole(struct axis_worker *w, const struct chunk *chunk, uint64_t number,
                       const unsigned char *data, uint64_t count, uint64_t *groups)
{
    const struct axis_run *run = w->run;
    const size_t size = run->info->element_size, slices = run->group_slices;
    const uint64_t most = w->slices.room / slices, elements = run->group_elements;
    const size_t some = (size_t)(count / elements < most ? count / elements : most);
    bool good = true;

    *groups = some;
    cpu_slices_clear(&w->slices, some * slices);
    if (run->way == AXIS_ROWS)
        good = guarded_take(
            w, chunk,
            &(struct take){
                .slices = &w->slices, .data = data, .rows = some, .columns = (size_t)elements});
    else
        for (size_t i = 0; i < some && good; i++)
            good = take_group(w, chunk, &w->slices, i * slices, NULL, data + i * elements * size, 0,
                              elements);
    return good && deliver(w, &w->slices, some * slices, number * slices);
}

/* Whether the shape has the elements of a chunk. */
static bool check_chunk(const struct axis_run *run, const struct chunk *chunk)
{
    return chunk->index + chunk->count <= run->layout->elements ||
           source_error(run->source, ERROR_DATA, "holds more elements than its shape has");
}

/* A chunk, and the memory where all elements are to be. */
struct spooled {
    const struct chunk *chunk;
    unsigned char *to;
    size_t size; /* bytes of an element */
};

static void copy_chunk(void *argument)
{
    const struct spooled *s = argument;

    memcpy(s->to + s->chunk->index * s->size, s->chunk->data, s->chunk->count * s->size);
}

/* Brings a chunk into memory. */
static bool spool_chunk(const struct axis_run *run, const struct chunk *chunk)
{
    struct spooled spooled = {chunk, run->spool, run->info->element_size};

    return mapping_call(chunk->mapped, copy_chunk, &spooled) || source_lost(run->source, chunk);
}

static bool take_chunk(struct axis_worker *w, const struct chunk *chunk)
{
    struct axis_run *run = w->run;
    const size_t size = run->info->element_size;
    const uint64_t elements = run->group_elements;
    const unsigned char *data = chunk->data;
    uint64_t index = chunk->index, left = chunk->count;
    bool good = true;

    if (!check_chunk(run, chunk) || (run->spool && !spool_chunk(run, chunk)))
        return false;
    while (left > 0 && good && !run->spool) {
        const uint64_t number = index / elements, at = index % elements;
        uint64_t some = elements - at < left ? elements - at : left, groups;

        if (at == 0 && left >= elements && run->way != AXIS_SHARED) {
            good = take_whole(w, chunk, number, data, left, &groups);
            some = groups * elements;
        } else {
            good = take_part(w, chunk, number, data, at, some);
        }
        index += some;
        data += some * size;
        left -= some;
    }
    /* Others wait for the end of a slice that has begun; long ones go on in the next chunk. */
    if (good && elements < chunk->count)
        good = flush_part(w);
    atomic_fetch_add(&run->elements, chunk->count);
    return good;
}

/* Bytes that a worker takes in place at a time: so few that not many results wait for their turn.
 */
static size_t in_place_bytes(const struct axis_run *run)
{
    const size_t most = engine_cpu.in_place_bytes;
    const uint64_t slice = run->layout->length * run->info->element_size;

    if (run->has_places || slice >= most / IN_PLACE_RESULTS)
        return most;
    return slice < IN_PLACE_LEAST / IN_PLACE_RESULTS ? IN_PLACE_LEAST
                                                     : (size_t)slice * IN_PLACE_RESULTS;
}

/* Whether more than sums and extremes is wanted of slices. */
static bool wants_more(unsigned wants)
{
    return wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES);
}

/* Elements of chunks of memory: whole groups, which then need not be merged, if they are small; else whole
   rows. */
static uint64_t chunk_unit(const struct axis_run *run)
{
    const bool many = run->layout->results / run->group_slices >= 4 * (uint64_t)run->workers;
    const size_t most = many ? UNIT_BYTES_MOST : UNIT_BYTES;

    return run->group_elements <= most / run->info->element_size ? run->group_elements
                                                                 : run->layout->inner;
}

/* Takes chunks until there are none, after begin_worker. */
static void take_chunks(struct axis_worker *w)
{
    struct axis_run *run = w->run;
    struct chunk_request request = {.worker = w->number, .borrow = !w->gpu};
    struct chunk chunk;

    request.buffer = w->buffer;
    request.size = w->buffer_size;
    /* A GPU's copies begin in its buffer. */
    if (!w->gpu)
        request.in_place =
            run->options->chunk_size ? run->options->chunk_size : in_place_bytes(run);
    request.unit = chunk_unit(run);
    while (!w->failed) {
        switch (source_next(run->source, &request, &chunk)) {
        case SOURCE_CHUNK:
            w->failed = !take_chunk(w, &chunk);
            w->failed = !hand_in(w) || w->failed;
            source_release(run->source, w->number, &chunk);
            order_wait(&run->order);
            continue;
        case SOURCE_END:
            w->failed = !flush_part(w);
            w->failed = !hand_in(w) || w->failed;
            return;
        case SOURCE_FAILED:
            w->failed = true;
            break;
        }
    }
    source_leave(run->source, w->number);
}

/* Whether the caller has cancelled the run. Any worker, before work of some milliseconds for which it asks the
   source for no chunk. */
static bool is_cancelled(const struct axis_run *run)
{
    return atomic_load_explicit(&run->cancelled, memory_order_relaxed);
}

/*
 * Strips: ranges of columns that a worker reduces over all rows, of an input that can be read at
 * any offset. The sums of a strip's columns stay in the caches, however many columns there are.
 */

/* Takes columns of a block that is mapped: all rows. */
static bool take_mapped(struct axis_worker *w, const struct chunk *block, uint64_t column,
                        size_t columns)
{
    const struct axis_run *run = w->run;
    const size_t size = run->info->element_size;
    struct take t = {.slices = &w->slices,
                     .data = (const unsigned char *)block->data + column * size,
                     .stride = (size_t)run->layout->inner * size,
                     .rows = (size_t)run->layout->length,
                     .columns = columns};

    return guarded_take(w, block, &t);
}

/* Reads `columns` columns of `rows` rows into the worker's buffer, one row after the other: `begin` is the
   number of the first element. */
static bool read_rows(const struct axis_worker *w, uint64_t begin, size_t columns, size_t rows)
{
    const struct axis_run *run = w->run;
    const size_t width = columns * run->info->element_size;

    for (size_t i = 0; i < rows; i++)
        if (!source_read_range(run->source, begin + i * run->layout->inner, columns,
                               w->buffer + i * width))
            return false;
    return true;
}

/* Takes columns of a block that has to be read. */
static bool take_read(struct axis_worker *w, uint64_t block, uint64_t column, size_t columns)
{
    const struct axis_run *run = w->run;
    const struct axis_layout *layout = run->layout;
    const uint64_t most = w->buffer_size / columns / run->info->element_size;
    const struct chunk read = {.mapped = false};

    for (uint64_t row = 0; row < layout->length; row += most) {
        const uint64_t left = layout->length - row;
        const size_t rows = (size_t)(left < most ? left : most);

        if (is_cancelled(run) ||
            !read_rows(w, (block * layout->length + row) * layout->inner + column, columns, rows))
            return false;
        if (!guarded_take(w, &read,
                          &(struct take){.slices = &w->slices,
                                         .data = w->buffer,
                                         .rows = rows,
                                         .columns = columns,
                                         .index = row}))
            return false;
    }
    return true;
}

/* Strips that are narrower keep their pages: the kernel has made those of their neighbours present,
   too, and to give a few back for each row would take longer than all else. Bytes. */
#define RELEASED ((uint64_t)256 << 10)

/* Hands some columns back. False where they are too few for that. */
static bool release_columns(struct axis_worker *w, const struct chunk *block, uint64_t column,
                            uint64_t columns)
{
    const struct axis_layout *layout = w->run->layout;
    const size_t size = w->run->info->element_size;

    if (columns * size < RELEASED)
        return false;
    for (uint64_t row = 0; row < layout->length; row++)
        source_return(w->run->source, w->number,
                      (const unsigned char *)block->data + (row * layout->inner + column) * size,
                      (size_t)columns);
    return true;
}

/* Reduces some columns of a strip, piece by piece, over all rows: as the block is mapped, or read.
 */
static bool reduce_part(struct axis_worker *w, uint64_t block, uint64_t first, uint64_t columns,
                        const struct chunk *mapped)
{
    struct axis_run *run = w->run;
    const uint64_t most = mapped ? run->mapped_slices : run->group_slices;
    bool good = true;

    for (uint64_t i = 0; i < columns && good; i += most) {
        const size_t some = (size_t)(columns - i < most ? columns - i : most);

        if (is_cancelled(run))
            return false;
        cpu_slices_clear(&w->slices, some);
        good =
            mapped ? take_mapped(w, mapped, first + i, some) : take_read(w, block, first + i, some);
        good = good && deliver(w, &w->slices, some, block * run->layout->inner + first + i);
    }
    return good;
}

/* Bytes of a strip, about, that are read until a worker asks anew whether it is lent them. */
#define PART_BYTES ((uint64_t)2 << 20)

/* Bytes of a row that are mapped in one way, at least: a page fault makes the pages of so many
   present. */
#define MAPPED_BYTES ((size_t)64 << 10)

/* How many of so many columns to take in one way, which are to have `most` elements, about: whole
   pieces, and one at least. */
static uint64_t part_columns(const struct axis_run *run, uint64_t columns, uint64_t most,
                             bool mapped)
{
    const size_t few = MAPPED_BYTES / run->info->element_size;
    const size_t piece = mapped && run->group_slices > few ? few : run->group_slices;
    const uint64_t pieces = most / run->layout->length / piece;

    if (pieces >= columns / piece + 1)
        return columns;
    most = (pieces < 1 ? 1 : pieces) * piece;
    return most < columns ? most : columns;
}

/* Reduces columns of a strip, from the one number `first` of the block on, as many as should be
   taken in one way; of up to *columns, which it sets. Lent memory is given back in one go, or, if
   it is too little for that, *kept becomes true. */
static bool reduce_some(struct axis_worker *w, uint64_t number, uint64_t first, uint64_t *columns,
                        struct chunk *block, bool *kept)
{
    struct axis_run *run = w->run;
    const uint64_t length = run->layout->length, part = PART_BYTES / run->info->element_size;
    uint64_t most = UINT64_MAX;
    /* A GPU's copies begin in its buffer. */
    const bool mapped = !w->gpu && source_lend(run->source, w->number, block->index,
                                               (size_t)run->group_elements, block, &most);
    bool good;

    *columns = part_columns(run, *columns, mapped || most < part ? most : part, mapped);
    good = reduce_part(w, number, first, *columns, mapped ? block : NULL);
    if (mapped && !release_columns(w, block, first, *columns))
        *kept = true;
    if (!w->gpu)
        source_took(run->source, w->number, *columns * length, mapped);
    return good;
}

static bool reduce_strip(struct axis_worker *w, uint64_t number, uint64_t first, uint64_t columns)
{
    struct axis_run *run = w->run;
    struct chunk block = {.index = number * run->group_elements};
    bool good = true, kept = false;

    for (uint64_t i = 0, some; i < columns && good; i += some) {
        some = columns - i;
        good = reduce_some(w, number, first + i, &some, &block, &kept);
        atomic_fetch_add(&run->elements, some * run->layout->length);
    }
    good = hand_in(w) && good;
    if (kept)
        (void)release_columns(w, &block, first, columns);
    return good;
}

/* Claims the next strip: fewer columns towards the end, so that all workers end together. False
   where there is none. */
static bool claim_strip(struct axis_run *run, uint64_t *block, uint64_t *first, uint64_t *columns)
{
    const uint64_t inner = run->layout->inner, all = run->layout->results;
    const uint64_t least = run->strip_columns_least;
    uint64_t next = atomic_load_explicit(&run->strip, memory_order_relaxed), left, some;

    do {
        if (next >= all)
            return false;
        left = inner - next % inner;
        some = (all - next) / 2 / run->workers;
        some = some > run->strip_columns ? run->strip_columns : some;
        some -= some % (some < run->group_slices ? least : run->group_slices);
        some = some < least ? least : some;
        some = some < left ? some : left;
    } while (!atomic_compare_exchange_weak(&run->strip, &next, next + some));
    *block = next / inner;
    *first = next % inner;
    *columns = some;
    return true;
}

/* Takes strips of columns until there are none, after begin_worker. */
static void take_strips(struct axis_worker *w)
{
    uint64_t block, first, columns;

    while (!w->failed && claim_strip(w->run, &block, &first, &columns)) {
        w->failed = !reduce_strip(w, block, first, columns);
        order_wait(&w->run->order);
    }
    source_leave(w->run->source, w->number);
}

/*
 * Tiles: slices that lie beside each other, all elements of which are looked at together, since
 * quantiles are wanted.
 */

/* Some slices. */
struct axis_tile {
    struct axis_worker *worker;
    struct cpu_quantiles_data x; /* their elements */
    uint64_t slice;              /* number of the first */
    size_t slices;
    size_t first; /* its number among those that were claimed */
};

static void take_tile(void *tile)
{
    const struct axis_tile *const t = tile;
    struct axis_worker *const w = t->worker;
    const struct axis_run *const run = w->run;
    const struct cpu_quantiles_data *const x = &t->x;
    const size_t length = (size_t)run->layout->length;
    double *to[PASS_PLAN_QUANTILES_MAX];

    for (unsigned k = 0; k < run->options->passes.quantile_count; k++)
        to[k] = w->found[k] + t->first;
    cpu_quantiles_find(&w->quantiles, x, length, t->slices, to);
    if (!run->accumulates)
        return;
    if (kind_of(run) == CPU_SLICES_ROWS) {
        cpu_slicer_rows(&w->slicer, &w->slices, t->first, x->data, t->slices, length, 0);
        return;
    }
    for (size_t j = 0; j < t->slices; j += x->columns)
        cpu_slicer_columns(&w->slicer, &w->slices, t->first + j,
                           x->data + j / x->columns * x->block, x->stride, length, x->columns, 0);
}

/* Reads the elements into the worker's buffer, row by row if they do not lie side by side. */
static bool read_tile(struct axis_tile *t, uint64_t begin)
{
    const struct axis_run *run = t->worker->run;
    const size_t length = (size_t)run->layout->length;

    t->x.data = t->worker->buffer;
    if (t->x.columns == run->layout->inner)
        return source_read_range(run->source, begin, length * t->slices, t->worker->buffer);
    t->x.stride = t->x.columns * run->info->element_size;
    return read_rows(t->worker, begin, t->x.columns, length);
}

/* Finds and takes the elements of a tile whose slices are set. False on failure. */
static bool find_tile(struct axis_tile *t)
{
    struct axis_worker *w = t->worker;
    const struct axis_run *run = w->run;
    const uint64_t inner = run->layout->inner, length = run->layout->length;
    const uint64_t begin = t->slice / inner * length * inner + t->slice % inner;
    const size_t size = run->info->element_size;
    /* From the first element to the last. */
    const uint64_t span =
        t->x.columns == inner ? length * t->slices : (length - 1) * inner + t->x.columns;
    struct chunk lent = {.mapped = false};
    uint64_t most;

    t->x.stride = (size_t)inner * size;
    t->x.block = (size_t)length * t->x.stride;
    if (run->spool)
        t->x.data = run->spool + begin * size;
    else if (source_lend(run->source, w->number, begin, (size_t)span, &lent, &most))
        t->x.data = lent.data;
    else if (!read_tile(t, begin))
        return false;
    if (!mapping_call(lent.mapped, take_tile, t))
        return source_lost(run->source, &lent);
    if (lent.data) {
        if (t->x.columns == inner)
            source_return(run->source, w->number, lent.data, (size_t)span);
        source_took(run->source, w->number, length * t->slices, true);
    }
    return !w->slicer.failed || fail(w);
}

static bool reduce_tiles(struct axis_worker *w, uint64_t slice, size_t count)
{
    const struct axis_run *run = w->run;
    const uint64_t inner = run->layout->inner;
    struct axis_tile t = {.worker = w};

    cpu_slices_clear(&w->slices, count);
    for (; t.first < count; t.first += t.slices) {
        const size_t left = count - t.first;
        const size_t most = left < run->tile_columns ? left : run->tile_columns;
        uint64_t beside;

        t.slice = slice + t.first;
        beside = inner - t.slice % inner;
        /* Whole rows, of several blocks; or a part of each row. */
        t.x.columns = most < beside ? most : (size_t)beside;
        t.slices = t.x.columns == inner ? most - most % (size_t)inner : t.x.columns;
        if (is_cancelled(run) || !find_tile(&t))
            return false;
    }
    return deliver(w, &w->slices, count, slice);
}

/* Takes slices until there are none, after begin_worker. */
static void take_tiles(struct axis_worker *w)
{
    struct axis_run *run = w->run;
    const uint64_t results = run->layout->results;
    const size_t most = run->tile_claim;
    uint64_t slice;

    while (!w->failed && (slice = atomic_fetch_add(&run->strip, most)) < results) {
        const uint64_t left = results - slice;
        const size_t count = left < most ? (size_t)left : most;

        w->failed = !reduce_tiles(w, slice, count) || !hand_in(w);
        if (!run->spool)
            atomic_fetch_add(&run->elements, count * run->layout->length);
        order_wait(&run->order);
    }
    if (!run->spool)
        source_leave(run->source, w->number);
}

/*
 * The run.
 */

/* The most columns that each worker has accumulators of its own for: the level-1 and level-2 caches
   hold them. And where there are too few strips for all workers. */
#define OWN_COLUMNS 8192
#define OWN_COLUMNS_MOST 65536
/* Columns of a part of those that workers share are a multiple of this. */
#define PART_COLUMNS 1024
/* And those of a part that is only merged, of this. */
#define MERGED_COLUMNS 64
/* Rows for each worker at least: fewer take less time than to merge what the workers have of them. */
#define OWN_ROWS_LEAST 256

/* Bytes of a row that one worker claims together, at most: what a page table maps. */
#define STRIP_BYTES ((uint64_t)2 << 20)

/* Bytes of a row that are reduced together: the sums of the columns stay in the level-2 cache. More
   of what has to be read, since each read costs a system call. */
#define STRIP_PIECE_BYTES ((size_t)16 << 10)
#define STRIP_READ_BYTES ((size_t)128 << 10)
_Static_assert(AXIS_READ_BYTES >= CPU_COLUMN_ROWS * STRIP_READ_BYTES, "kernels have their rows");
/* At least, where there would not be two pieces for each worker; of what is lent, and that where kernels
   take few columns. */
#define STRIP_PIECE_LEAST 512
#define STRIP_LENT_LEAST 256
#define STRIP_FEW_LEAST 32
/* Columns, where each has a whole partial result. */
#define STRIP_PIECE_SLOW 1024

/* Columns that a GPU reduces together: as many as fit a chunk with all their rows, so that what was
   found of each comes back once. At most ENGINE_SLICES_MAX, and, of long columns, so many at least:
   then runs of a row are long, and of a chunk's bytes few come back. Fewer, down to the last, where
   there would not be work for all workers. */
#define STRIP_COLUMNS_GPU ((uint64_t)16384)
#define STRIP_COLUMNS_GPU_LEAST ((uint64_t)2048)
/* Bytes of a tile of long slices, at most: of these there are fewer columns than a vector has lanes. */
#define TILE_BYTES_MOST ((uint64_t)64 << 20)

/* The most columns of a GPU's workers where each may come to have a whole partial result. */
#define COLUMNS_GPU_SLOW ((uint64_t)4096)

/* The most columns that a GPU reduces together. */
static uint64_t gpu_columns_most(const struct axis_run *run)
{
    return run->fast ? ENGINE_SLICES_MAX : COLUMNS_GPU_SLOW;
}

/* How many columns a GPU reduces together. */
static size_t gpu_piece(const struct axis_run *run, unsigned workers)
{
    const uint64_t most = gpu_columns_most(run);
    const struct axis_layout *layout = run->layout;
    const uint64_t chunk = chunk_bytes(run) / run->info->element_size;
    uint64_t columns = chunk / layout->length;

    columns = columns < STRIP_COLUMNS_GPU ? STRIP_COLUMNS_GPU : columns;
    columns = columns > most ? most : columns;
    while (columns > STRIP_COLUMNS_GPU_LEAST &&
           layout->inner / columns * layout->outer < (uint64_t)2 * workers)
        columns /= 2;
    return (size_t)(columns > chunk ? chunk : columns);
}

/* Whether kernels take few columns as fast as many: sums and extremes of floats that are taken as they lie. */
static bool takes_few(const struct axis_run *run)
{
    const struct axis_plan *plan = run->plan;

    return (plan->type == ELEMENT_F32 || plan->type == ELEMENT_F64) && !run->info->swap &&
           plan->missing.count == 0 && !wants_more(plan->wants & ~(unsigned)PARTIAL_WHERE);
}

/* How many columns the CPU reduces together. */
static size_t cpu_piece(const struct axis_run *run, unsigned workers)
{
    const struct axis_layout *layout = run->layout;
    const size_t least = !lends_all(run)  ? STRIP_PIECE_LEAST
                         : takes_few(run) ? STRIP_FEW_LEAST
                                          : STRIP_LENT_LEAST;
    size_t piece = STRIP_PIECE_BYTES / run->info->element_size;

    while (piece > least &&
           (layout->inner + piece - 1) / piece * layout->outer < (uint64_t)2 * workers)
        piece /= 2;
    return piece;
}

/* Chooses how many columns are claimed together: some times for each worker. */
static void choose_strips(struct axis_run *run, unsigned workers, uint64_t piece)
{
    const uint64_t most = STRIP_BYTES / run->info->element_size;
    uint64_t columns = run->gpu ? piece : run->layout->inner / workers / 4 / piece * piece;

    columns = columns > most ? most : columns < piece ? piece : columns;
    run->strip_columns = columns;
    run->strip_columns_least = piece;
}

/* Whether kernels of the CPU are to find what is wanted: beside a GPU, which leaves few slices, if they
   are there. */
static bool is_fast(const struct axis_run *run)
{
    const struct axis_plan *plan = run->plan;
    const bool rows = plan->layout->inner == 1;
    const bool missing = plan->missing.count > 0;

    return run->gpu ? cpu_slices_have_kernels(plan->type, plan->wants, missing)
                    : cpu_slices_are_fast(plan->type, plan->wants, missing,
                                          rows ? CPU_SLICES_ROWS : CPU_SLICES_COLUMNS,
                                          plan->layout->length, plan->layout->inner);
}

/* Divides the columns that workers share into parts, some for each worker, or to which they add what they
   have of all. A GPU takes all at once. */
static void choose_parts(struct axis_run *run, unsigned workers)
{
    const size_t columns = run->way == AXIS_SHARED
                               ? align_up(run->group_slices / workers / 4 + 1, PART_COLUMNS)
                               : align_up(run->group_slices / workers + 1, MERGED_COLUMNS);

    if (run->gpu)
        return;
    run->part_slices = columns;
    run->group_parts = (run->group_slices + columns - 1) / columns;
}

/* Chooses tiles: quantiles are found of a vector of slices at a time. */
static void choose_tiles(struct axis_run *run, unsigned workers)
{
    const struct axis_layout *layout = run->layout;
    const size_t size = run->info->element_size, lanes = CPU_SORT_BYTES / size;
    const uint64_t fit = AXIS_READ_BYTES / size / layout->length;
    const uint64_t each = layout->results / workers + 1;
    const size_t most = slices_most(run);
    size_t claim = each / 4 < most ? (size_t)(each / 4) : most;

    run->way = AXIS_TILES;
    run->tile_columns = fit < 1 ? 1 : (size_t)fit;
    if (fit < lanes && lanes * size * layout->length <= TILE_BYTES_MOST)
        run->tile_columns = lanes;
    if (claim < lanes)
        claim = each < lanes ? (size_t)each : lanes;
    claim -= claim > lanes ? claim % lanes : 0;
    claim -= claim > layout->inner ? claim % (size_t)layout->inner : 0;
    run->tile_claim = claim;
    if (run->tile_columns > claim)
        run->tile_columns = claim;
}

/* Whether columns are shared out, although each worker could have accumulators of its own for all of them. */
static bool shares_columns(const struct axis_run *run, unsigned workers, size_t piece)
{
    const struct axis_layout *layout = run->layout;

    return lends_all(run) && run->fast && (workers > 1 || takes_few(run)) &&
           run->group_elements > UNIT_BYTES / run->info->element_size &&
           layout->length < (uint64_t)OWN_ROWS_LEAST * workers &&
           (layout->inner + piece - 1) / piece * layout->outer >= workers;
}

static void choose_way(struct axis_run *run, unsigned workers)
{
    const struct axis_layout *layout = run->layout;
    const bool fast = run->fast;
    const size_t piece = run->gpu ? gpu_piece(run, workers)
                         : fast   ? cpu_piece(run, workers)
                                  : STRIP_PIECE_SLOW;
    const uint64_t own = fast ? OWN_COLUMNS : STRIP_PIECE_SLOW;
    const uint64_t most = fast ? OWN_COLUMNS_MOST : 2 * own;
    const bool random = source_is_random(run->source);
    bool few; /* pieces of columns */

    run->group_elements = layout->length * layout->inner;
    run->group_slices = run->part_slices = (size_t)layout->inner;
    run->group_parts = 1;
    few = (layout->inner + piece - 1) / piece * layout->outer < (uint64_t)2 * workers &&
          layout->length / OWN_ROWS_LEAST >= workers;
    if (run->options->passes.quantile_count > 0) {
        choose_tiles(run, workers);
    } else if (layout->inner == 1) {
        run->way = AXIS_ROWS;
    } else if (run->gpu ? layout->inner <= gpu_columns_most(run)
                        : !shares_columns(run, workers, piece) &&
                              (layout->inner <= own || (random && few && layout->inner <= most))) {
        run->way = AXIS_BLOCKS;
        choose_parts(run, workers);
    } else if (!random) {
        run->way = AXIS_SHARED;
        choose_parts(run, workers);
    } else {
        const size_t wide = STRIP_READ_BYTES / run->info->element_size;

        run->way = AXIS_STRIPS;
        choose_strips(run, workers, piece);
        run->group_slices = run->mapped_slices = piece;
        if (!run->gpu && fast && wide > piece)
            run->group_slices = run->strip_columns < wide ? (size_t)run->strip_columns : wide;
    }
}

/* A worker's part in bringing all elements into memory. */
static void spool_work(void *workers, unsigned number)
{
    struct axis_worker *w = (struct axis_worker *)workers + number;

    w->buffer = aligned_alloc(ALIGNMENT, w->buffer_size);
    if (w->buffer)
        take_chunks(w);
    else
        (void)fail(w);
    free(w->buffer);
    w->buffer = NULL;
}

static void worker_work(void *workers, unsigned number)
{
    struct axis_worker *w = (struct axis_worker *)workers + number;

    if (begin_worker(w))
        (w->run->way == AXIS_STRIPS  ? take_strips
         : w->run->way == AXIS_TILES ? take_tiles
                                     : take_chunks)(w);
    end_worker(w);
}

/* Has the workers do it, and shows progress. The first works on this thread where elements are so few that
   nobody has to see it or to end it: in memory, or by one worker, in a file; where it is the only one and
   nobody can do either; and where no thread can be had. False without memory. */
static bool run_workers(struct axis_run *run, void (*work)(void *workers, unsigned number),
                        struct axis_worker *workers, unsigned count)
{
    const struct progress_observer *progress = run->options->progress;
    const uint64_t bytes = run->layout->elements * element_size(run->plan->given);
    const uint64_t total = run->info->compressed ? run->info->input_bytes : bytes;
    struct team own, *team = team_choose(&own, run->options->team, count);
    const struct team_job job = {.work = work, .context = workers, .last = team == &own};

    if (!team)
        return false;
    if (progress)
        progress->begin(progress->context, run->info->name, total);
    if (session_is_short(run->options, bytes) ||
        (count == 1 && (!progress || (run->info->repeatable && bytes <= SESSION_SHORT_BYTES))))
        team_take_part(team, 0, count, &job);
    else if (team_start(team, 0, count, &job) == 0)
        work(workers, 0);
    while (!team_wait(team, progress ? PROGRESS_TICK : 0))
        if (progress->update(progress->context, source_stats(run->source).input_read)) {
            source_cancel(run->source);
            atomic_store(&run->cancelled, true);
        }
    if (progress)
        progress->end(progress->context);
    team_close(&own);
    return true;
}

/* Bytes for each worker: of fewer it takes as long to wake one. A sum is sooner found than all else. And
   the bytes that are added up while a result is finished. */
#define WORKER_BYTES_SUM ((uint64_t)1 << 20)
#define WORKER_BYTES ((uint64_t)256 << 10)
#define WORKER_BYTES_QUANTILES ((uint64_t)64 << 10)
#define RESULT_BYTES 64

/* Workers for so many bytes, SOURCE_UNKNOWN or less, of an input. */
static unsigned worker_count(const struct session_options *options, unsigned wants, uint64_t bytes)
{
    const unsigned count = options->threads ? options->threads : cores_available();
    const uint64_t each = options->chunk_size                  ? options->chunk_size
                          : options->passes.quantile_count > 0 ? WORKER_BYTES_QUANTILES
                          : wants_more(wants)                  ? WORKER_BYTES
                          : options->input.view                ? SESSION_WORKER_BYTES
                                                               : WORKER_BYTES_SUM;

    return bytes / each < count ? (unsigned)(bytes / each) + 1 : count;
}

/* Reads an input whose shape has no elements: if it has some, or is damaged, that is an error. */
static bool read_empty(struct axis_run *run)
{
    _Alignas(ALIGNMENT) unsigned char buffer[4096];
    const struct chunk_request request = {.buffer = buffer, .size = sizeof buffer};
    struct chunk chunk;
    const enum source_status status = source_next(run->source, &request, &chunk);

    if (status == SOURCE_CHUNK) {
        (void)check_chunk(run, &chunk);
        source_release(run->source, request.worker, &chunk);
    }
    return status == SOURCE_END;
}

/* The results of slices that have no elements. */
static bool deliver_empty(struct axis_run *run)
{
    const uint64_t results = run->layout->results;
    struct axis_worker w = {.run = run};
    struct axis_plan plan = *run->plan;
    bool good;

    good = cpu_slices_open(&w.slices, CPU_SLICES_ROWS, plan.type, plan.wants, false, 1024) &&
           axis_batch_open(&w.batch, &plan, run->kernels, 1024);
    if (!good)
        (void)source_no_memory(run->source);
    for (uint64_t k = 0; k < results && good; k += 1024)
        good = deliver(&w, &w.slices, results - k < 1024 ? (size_t)(results - k) : 1024, k);
    good = hand_in(&w) && good;
    cpu_slices_close(&w.slices);
    axis_batch_close(&w.batch);
    free(w.piece.bytes.data);
    return good;
}

/* Has the workers, which are open, do it all. */
static bool reduce_by(struct axis_run *run, struct axis_worker *workers, unsigned count)
{
    bool good = true;

    /* All elements of a slice are to be looked at together, but come in order. */
    if (run->way == AXIS_TILES && !source_is_random(run->source)) {
        const uint64_t bytes = run->layout->elements * run->info->element_size;

        if (bytes > source_memory())
            return source_error(
                run->source, ERROR_MEMORY,
                "quantiles along an axis of what is read in order take memory for all %" PRIu64
                " bytes, more than half of the machine's",
                bytes);
        run->spool = mapping_alloc((size_t)bytes);
        good = run->spool && run_workers(run, spool_work, workers, count);
        for (unsigned i = 0; i < count && good; i++)
            if (workers[i].failed)
                return false;
        /* reduce_source says so. */
        if (good && run->elements < run->layout->elements)
            return true;
    }
    good = good && run_workers(run, worker_work, workers, count);
    return good || source_no_memory(run->source);
}

/* Reduces what is open and has a layout. */
static bool reduce(struct axis_run *run, unsigned count)
{
    struct axis_worker *workers;
    bool good;

    if (run->options->widen_heap)
        run->options->widen_heap();
    workers = calloc(count, sizeof *workers);
    run->kernels = cpu_kernels_choose(run->options->kernels);
    mutex_init(&run->mutex);
    run->workers = count;
    run->fast = !run->accumulates || is_fast(run);
    choose_way(run, count);
    /* A 32-bit process has not even addresses for so many columns, or such long slices. */
    good = workers && (run->way == AXIS_STRIPS || run->layout->inner <= SIZE_MAX / 64) &&
           (run->way != AXIS_TILES || run->layout->length <= SIZE_MAX / 64);
    if (!good)
        (void)source_no_memory(run->source);
    for (unsigned i = 0; i < count && good; i++)
        good = open_worker(&workers[i], run, i);
    good = good && reduce_by(run, workers, count);
    for (unsigned i = 0; workers && i < count; i++) {
        good = good && !workers[i].failed;
        if (workers[i].gpu)
            engine_cuda.slices->close(workers[i].gpu);
    }
    free(run->spool);
    free(workers);
    mutex_destroy(&run->mutex);
    close_groups(run);
    return good;
}

/* The shape of the input: its header's, or that of the options. False if there is none. */
static bool find_shape(const struct axis_run *run, const struct axis_request *request,
                       struct array_shape *shape)
{
    struct error error;

    *shape = run->info->shape;
    if (shape->known) {
        if (request->shape.known)
            log_warn(run->options->input.log, run->info->name,
                     (struct advice){.kind = ADVICE_SHAPE_UNUSED}, "its header states the shape");
        return true;
    }
    *shape = request->shape;
    if (!shape->known)
        return source_refuse(run->source, (struct advice){.kind = ADVICE_SHAPE},
                             "has no header with a shape");
    if (axis_fit_shape(shape, run->info->elements, &error))
        return true;
    return source_fail(run->source, error);
}

struct source_options axis_source_options(const struct session_options *options)
{
    struct source_options input = options->input;

    input.in_order = true; /* so that the numbers of elements are true when they come */
    input.consecutive = 1;
    return input;
}

unsigned axis_workers(const struct session_options *options)
{
    return worker_count(options, options->wants, SOURCE_UNKNOWN);
}

bool axis_open_gpu(const struct session_options *options, char *const *paths, int count,
                   struct engine_state **gpu, struct error *error)
{
    struct engine_needs needs = gpu_needs(options, paths, count);
    char reason[ENGINE_REASON_MAX] = "";

    *gpu = NULL;
    error->kind = ERROR_NONE;
    if (options->device != DEVICE_GPU)
        return true;
    needs.workers = 1;
    needs.chunk_size = 4096; /* there will be no feeders */
    if (!options->set_variable || !engine_cuda.choose ||
        engine_cuda.choose(&needs, options->set_variable, reason))
        *gpu = engine_cuda.open(&needs, reason);
    return *gpu || error_set(error, ERROR_NO_GPU, "no usable GPU: %s", reason);
}

void axis_close_gpu(struct engine_state *gpu)
{
    if (gpu)
        engine_cuda.close(gpu);
}

/* Finds out what the elements mean. False, with the reason in the source, where that is not
   supported. */
static bool find_meaning(const struct axis_run *run, struct axis_plan *plan)
{
    const struct view *const view = run->options->input.view;
    const bool masked = view && view->mask_form != VIEW_MASK_NONE;

    if (!source_find_missing(run->source, &run->options->missing, &plan->missing))
        return false;
    plan->given = view ? view->type : plan->type;
    plan->scale = run->info->scale;
    if (plan->scale.given && plan->scale.factor < 0 && (plan->wants & PARTIAL_WHERE))
        plan->wants |= PARTIAL_WHERE; /* the least number is that of the greatest element */
    (void)scale_find_split(&plan->scale, plan->type, &plan->wants, &plan->split);
    if (run->gpu && (masked || run->options->passes.quantile_count > 0))
        return source_refuse(run->source, (struct advice){.kind = ADVICE_CPU},
                             masked ? "it has a mask, which the GPU cannot read"
                                    : "the GPU finds no quantiles along an axis");
    return true;
}

static bool reduce_source(struct axis_run *run, const struct axis_request *request,
                          struct axis_plan *plan, unsigned workers, struct axis_outcome *outcome)
{
    struct axis_layout *layout = &outcome->layout;
    char reason[AXIS_REASON_MAX];
    struct array_shape shape;
    unsigned useful; /* workers */
    uint64_t written;
    bool good;

    if (!find_shape(run, request, &shape) || !find_meaning(run, plan))
        return false;
    if (!axis_layout(&shape, request->axis, request->more, layout, reason))
        return source_error(run->source, ERROR_REQUEST, "%s", reason);
    outcome->bytes = layout->elements * element_size(plan->given);
    if (!run->sink->begin(run->sink->context, plan))
        return false;
    useful =
        worker_count(run->options, plan->wants, outcome->bytes + layout->results * RESULT_BYTES);
    workers = useful < workers ? useful : workers;
    if (run->options->passes.quantile_count > 0 && workers > layout->results)
        workers = layout->results > 0 ? (unsigned)layout->results : 1;
    mutex_init(&run->order.mutex);
    pthread_cond_init(&run->order.room, NULL);
    run->has_places = !run->sink->write || run->sink->has_places(run->sink->context);
    if (run->options->passes.quantile_count > 0 && layout->length > UINT32_MAX) {
        good = source_error(run->source, ERROR_REQUEST,
                            "has slices of more than %" PRIu32 " elements, too long for quantiles",
                            UINT32_MAX);
    } else if (layout->elements == 0) {
        good = read_empty(run) && deliver_empty(run);
    } else {
        good = reduce(run, workers);
    }
    written = order_close(run);
    good = good && source_finish(run->source) == SOURCE_COMPLETE;
    if (good && run->elements != layout->elements)
        return source_refuse(
            run->source,
            (struct advice){.kind = run->info->shape.known ? ADVICE_NONE : ADVICE_WRONG_SHAPE},
            "ends after %" PRIu64 " elements, but its shape has %" PRIu64, run->elements,
            layout->elements);
    if (good && written != layout->results)
        return source_error(run->source, ERROR_INTERNAL, "internal error: results are missing");
    return good;
}

bool axis_reduce(const struct session_options *options, const struct axis_request *request,
                 const struct operation *const *asked, size_t asked_count, struct engine_state *gpu,
                 struct source *source, const struct axis_sink *sink, struct axis_outcome *outcome)
{
    struct axis_run run = {.options = options,
                           .sink = sink,
                           .gpu = gpu,
                           .source = source,
                           .info = source_info(source)};
    struct axis_plan plan = {.layout = &outcome->layout,
                             .nan = options->nan,
                             .ddof = options->ddof,
                             .operations = asked,
                             .operation_count = asked_count};
    const uint64_t begun = clock_now();
    bool good;

    run.accumulates = options->nan == NAN_ERROR;
    for (size_t j = 0; j < asked_count; j++)
        if (operation_quantile(asked[j]) == 0) {
            plan.wants |= asked[j]->wants;
            run.accumulates = true;
        }
    memset(outcome, 0, sizeof *outcome);
    run.plan = &plan;
    run.layout = &outcome->layout;
    plan.type = run.info->type;
    good = reduce_source(&run, request, &plan, axis_workers(options), outcome);
    outcome->seconds = (double)(clock_now() - begun) / (double)CLOCK_SECOND;
    return good;
}
