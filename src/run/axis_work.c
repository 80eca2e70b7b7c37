/*
 * The workers of a reduction along an axis: from chunks to slices, and to results.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "run/axis_state.h"
#include "sys/align.h"
#include "sys/mapping.h"

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

/* The rows of a chunk of columns without kernels, or its bytes. */
#define TALL_ROWS 512
#define TALL_BYTES ((size_t)2 << 20)

#define ALIGNMENT 64

static struct axis_group *group_locked(struct axis_run *run, uint64_t number)
    REQUIRES(axis_run_role);

static enum cpu_slices_kind kind_of(const struct axis_run *run)
{
    return run->way == AXIS_ROWS ? CPU_SLICES_ROWS : CPU_SLICES_COLUMNS;
}

static bool is_fast(const struct axis_run *run)
{
    return cpu_slices_are_fast(run->plan->type, run->plan->wants);
}

/* How many slices a worker reduces together. */
static size_t batch_room(const struct axis_run *run)
{
    const bool fast = is_fast(run);
    const size_t most = run->gpu ? (fast ? ENGINE_SLICES_MAX : BATCH_ROWS)
                        : fast   ? BATCH_ROWS
                                 : BATCH_ROWS_SLOW;
    const uint64_t fit =
        (run->gpu ? BATCH_BYTES_GPU : BATCH_BYTES) / run->info->element_size / run->layout->length;
    size_t room = fit < 1 ? 1 : fit < most ? (size_t)fit : most;

    if (run->way == AXIS_ROWS || run->way == AXIS_STRIPS)
        return run->way == AXIS_ROWS ? room : run->group_slices;
    room = most / run->group_slices;
    return run->way == AXIS_SHARED ? 1 : (room ? room : 1) * run->group_slices;
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
    const struct engine_slices *ops = engine_get(ENGINE_CUDA)->slices;
    char reason[ENGINE_REASON_MAX] = "";

    w->gpu = ops->open(run->gpu, run->plan->type, run->plan->wants, run->info->swap, w->buffer_size,
                       w->number, reason);
    if (w->gpu)
        w->buffer = ops->buffer(w->gpu);
    else
        source_error(run->source, ERROR_GPU, "GPU: %s", reason);
    return w->gpu;
}

size_t axis_chunk_bytes(const struct axis_run *run)
{
    const size_t bytes = run->options->chunk_size  ? run->options->chunk_size
                         : run->info->buffer_bytes ? run->info->buffer_bytes
                         : run->gpu                ? engine_get(ENGINE_CUDA)->chunk_bytes
                                                   : engine_cpu.chunk_bytes;

    return align_up(bytes, ALIGNMENT);
}

bool axis_worker_open(struct axis_worker *w, struct axis_run *run, unsigned number)
{
    memset(w, 0, sizeof *w);
    w->run = run;
    w->number = number;
    w->buffer_size = axis_chunk_bytes(run);
    if (run->way == AXIS_STRIPS && !run->gpu)
        w->buffer_size = AXIS_READ_BYTES;
    if (run->way == AXIS_BLOCKS && !run->gpu && !run->options->chunk_size && !is_fast(run) &&
        w->buffer_size < tall_bytes(run))
        w->buffer_size = tall_bytes(run);
    return !run->gpu || open_gpu(w);
}

void axis_worker_close(struct axis_worker *w)
{
    if (w->gpu)
        engine_get(ENGINE_CUDA)->slices->close(w->gpu);
}

static bool alloc_memory(struct axis_worker *w)
{
    const struct axis_run *run = w->run;
    const struct axis_plan *plan = run->plan;
    const size_t room = batch_room(run);
    const size_t results = run->way == AXIS_SHARED ? BATCH_ROWS : room;
    const bool parts = run->way == AXIS_ROWS || run->way == AXIS_BLOCKS;
    bool good;

    if (!w->gpu)
        w->buffer = aligned_alloc(ALIGNMENT, w->buffer_size);
    good = w->buffer &&
           cpu_slicer_open(&w->slicer, run->kernels, plan->type, plan->wants, run->info->swap);
    good = cpu_slices_open(&w->slices, kind_of(run), plan->type, plan->wants, room) && good;
    good = axis_batch_open(&w->batch, plan, results < BATCH_ROWS ? results : BATCH_ROWS) && good;
    if (parts)
        good =
            cpu_slices_open(&w->part, kind_of(run), plan->type, plan->wants, run->group_slices) &&
            good;
    return good;
}

void axis_worker_end(struct axis_worker *w)
{
    cpu_slicer_close(&w->slicer);
    cpu_slices_close(&w->slices);
    if (w->part.used)
        cpu_slices_close(&w->part);
    axis_batch_close(&w->batch);
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

bool axis_worker_begin(struct axis_worker *w)
{
    if (alloc_memory(w))
        return true;
    axis_order_fail(&w->run->order); /* nobody goes on */
    return fail(w);
}

/* Writes what there is to hand in where it belongs, if that can be done before its turn comes. The
   last result waits for its turn: as long as any is missing, a file is shorter than its header
   says. */
static void place_early(struct axis_worker *w, struct buffer *own)
{
    const struct axis_sink *sink = w->run->sink;
    struct axis_piece *piece = &w->piece;

    if (!w->run->has_places || piece->first + piece->count == w->run->layout->results)
        return;
    if (!sink->place(sink->context, piece->first, piece->bytes.data, piece->bytes.size,
                     &piece->error) &&
        piece->error == 0)
        return;
    *own = piece->bytes;
    own->size = 0;
    piece->bytes = (struct buffer){0};
}

bool axis_hand_in(struct axis_worker *w)
{
    struct buffer own = {0};

    if (w->piece.count == 0 && !w->piece.refused)
        return !w->failed;
    place_early(w, &own);
    if (!axis_order_put(&w->run->order, &w->piece))
        w->failed = true;
    if (own.data) {
        free(w->piece.bytes.data);
        w->piece.bytes = own;
    }
    return !w->failed;
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
    double *const to = sink->numbers(sink->context, w->run->plan, bytes, count);

    if (to)
        b->values[0].number = to;
    axis_batch_finish(b, s, from, count, first);
    if (!to)
        return sink->render(sink->context, b, bytes);
    b->values[0].number = own;
    bytes->size += b->count * sizeof *to;
    return true;
}

bool axis_deliver(struct axis_worker *w, const struct cpu_slices *s, size_t from, size_t count,
                  uint64_t first)
{
    struct axis_run *run = w->run;
    struct axis_batch *b = &w->batch;
    struct axis_piece *piece = &w->piece;

    for (size_t i = 0; i < count; i += b->room) {
        const size_t some = count - i < b->room ? count - i : b->room;
        size_t before;

        if (piece->first + piece->count != first + i && !axis_hand_in(w))
            return false;
        if (piece->count == 0)
            piece->first = first + i;
        /* All at once: to grow is to copy. Without memory the sink says so. */
        if (!piece->bytes.data)
            (void)buffer_extend(&piece->bytes, AXIS_PIECE_BYTES);
        before = piece->bytes.size;
        if (!finish_batch(w, s, from + i, some, first + i)) {
            piece->bytes.size = before;
            (void)axis_hand_in(w);
            axis_order_fail(&run->order);
            w->failed = true;
            return false;
        }
        piece->count += b->count;
        piece->refused = b->refused;
        piece->refused_index = b->refused_index;
        if ((piece->refused ||
             piece->bytes.size + (piece->bytes.size - before) > AXIS_PIECE_BYTES) &&
            !axis_hand_in(w))
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
    /* The number of slices that are rows, and the elements of each. Rows lie one after the
       other. */
    size_t rows, columns;
    uint64_t index;
};

static void take(void *argument)
{
    const struct take *t = argument;
    const struct axis_run *run = t->worker->run;

    if (run->way == AXIS_ROWS)
        cpu_slicer_rows(&t->worker->slicer, t->slices, t->first, t->data, t->rows, t->columns,
                        t->index);
    else
        cpu_slicer_columns(&t->worker->slicer, t->slices, t->first, t->data,
                           t->columns * run->info->element_size, t->rows, t->columns, t->index);
}

/* Has the CPU take `count` slices of those that t is about, from the one number i on. */
static void take_some(const struct take *t, size_t i, size_t count)
{
    const struct axis_run *run = t->worker->run;
    const size_t size = run->info->element_size;

    if (run->way == AXIS_ROWS)
        cpu_slicer_rows(&t->worker->slicer, t->slices, t->first + i,
                        t->data + i * t->columns * size, count, t->columns, t->index);
    else
        cpu_slicer_columns(&t->worker->slicer, t->slices, t->first + i, t->data + i * size,
                           t->columns * size, t->rows, count, t->index);
}

/* Has it take those of which not all has been found: neighbours together. */
static void take_missing(const struct take *t, const struct engine_found *found, size_t slices,
                         bool columns)
{
    const size_t step = columns ? 1 : found->parts;
    size_t missing = 0;

    for (size_t i = 0; i < slices; i++) {
        if (isnan(found->high[i * step])) {
            missing++;
            continue;
        }
        if (missing > 0)
            take_some(t, i - missing, missing);
        missing = 0;
    }
    if (missing > 0)
        take_some(t, slices - missing, missing);
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
    const struct engine_slices *ops = engine_get(ENGINE_CUDA)->slices;
    const bool columns = w->run->way != AXIS_ROWS;
    const size_t slices = columns ? t->columns : t->rows;
    struct engine_found found;

    if (!ops->reduce(w->gpu, columns, rounded_will_do(w->run, t), t->data, t->rows, t->columns,
                     &found)) {
        source_error(w->run->source, ERROR_GPU, "GPU: %s", ops->error(w->gpu));
        w->failed = true;
        return false;
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
    if (!chunk->mapped) {
        take(t);
    } else if (!mapping_guard(take, t)) {
        source_lost(w->run->source, chunk);
        w->failed = true;
        return false;
    }
    return !w->slicer.failed || fail(w);
}

bool axis_take_tile(struct axis_worker *w, size_t rows, size_t columns, uint64_t index)
{
    const struct chunk chunk = {.mapped = false};
    struct take t = {
        .slices = &w->slices, .data = w->buffer, .rows = rows, .columns = columns, .index = index};

    return guarded_take(w, &chunk, &t);
}

/* Takes `count` elements at `data`, from the one number `at` of its group on, into the slices of
   the group, the first of which is number `first`. */
static bool take_group(struct axis_worker *w, const struct chunk *chunk, struct cpu_slices *s,
                       size_t first, const unsigned char *data, uint64_t at, uint64_t count)
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

        good = guarded_take(w, chunk,
                            &(struct take){.slices = s,
                                           .first = first + column,
                                           .data = data,
                                           .rows = rows,
                                           .columns = columns,
                                           .index = at / inner});
        data += rows * columns * size;
        at += rows * columns;
        count -= rows * columns;
    }
    return good;
}

/*
 * Groups that several chunks are of.
 */

/* The group of this number, which is made if there is none. NULL without memory. */
static struct axis_group *group_locked(struct axis_run *run, uint64_t number)
{
    const struct axis_plan *plan = run->plan;
    struct axis_group *g = run->groups;
    bool good;

    while (g && g->number != number)
        g = g->next;
    if (g)
        return g;
    g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->number = number;
    mutex_init(&g->mutex);
    axis_group_lock(g);
    good = cpu_slices_open(&g->slices, kind_of(run), plan->type, plan->wants, run->group_slices);
    if (!good)
        cpu_slices_close(&g->slices);
    axis_group_unlock(g);
    if (!good) {
        mutex_destroy(&g->mutex);
        free(g);
        return NULL;
    }
    g->next = run->groups;
    run->groups = g;
    return g;
}

UNCHECKED static void close_group(struct axis_group *g)
{
    cpu_slices_close(&g->slices);
    mutex_destroy(&g->mutex);
    free(g);
}

UNCHECKED void axis_groups_close(struct axis_run *run)
{
    while (run->groups) {
        struct axis_group *g = run->groups;

        run->groups = g->next;
        close_group(g);
    }
}

static struct axis_group *get_group(struct axis_worker *w, uint64_t number)
{
    struct axis_group *g;

    axis_run_lock(w->run);
    g = group_locked(w->run, number);
    axis_run_unlock(w->run);
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
    bool good, complete;

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
    good = axis_deliver(w, &g->slices, 0, run->group_slices, g->number * run->group_slices);
    close_group(g);
    return good;
}

/* Merges what the worker has of a group into it. */
static bool flush_part(struct axis_worker *w)
{
    const uint64_t taken = w->part_taken;
    struct axis_group *g;

    if (taken == 0 || w->failed)
        return !w->failed;
    w->part_taken = 0;
    g = get_group(w, w->part_group);
    if (!g)
        return false;
    axis_group_lock(g);
    cpu_slicer_merge(&w->slicer, &g->slices, 0, &w->part, 0, w->run->group_slices);
    axis_group_unlock(g);
    return (!w->slicer.failed || fail(w)) && group_taken(w, g, taken);
}

/* Takes elements that are not all of their group. */
static bool take_part(struct axis_worker *w, const struct chunk *chunk, uint64_t number,
                      const unsigned char *data, uint64_t at, uint64_t count)
{
    struct axis_group *g;
    bool good;

    if (w->run->way == AXIS_SHARED) {
        g = get_group(w, number);
        if (!g)
            return false;
        axis_group_lock(g);
        good = take_group(w, chunk, &g->slices, 0, data, at, count);
        axis_group_unlock(g);
        return good && group_taken(w, g, count);
    }
    if (w->part_taken > 0 && w->part_group != number && !flush_part(w))
        return false;
    if (w->part_taken == 0)
        cpu_slices_clear(&w->part, w->run->group_slices);
    w->part_group = number;
    w->part_taken += count;
    return take_group(w, chunk, &w->part, 0, data, at, count);
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
            good = take_group(w, chunk, &w->slices, i * slices, data + i * elements * size, 0,
                              elements);
    return good && axis_deliver(w, &w->slices, 0, some * slices, number * slices);
}

static bool take_chunk(struct axis_worker *w, const struct chunk *chunk)
{
    struct axis_run *run = w->run;
    const size_t size = run->info->element_size;
    const uint64_t elements = run->group_elements;
    const unsigned char *data = chunk->data;
    uint64_t index = chunk->index, left = chunk->count;
    bool good = true;

    if (index + left > run->layout->elements) {
        source_error(run->source, ERROR_DATA, "holds more elements than its shape has");
        return false;
    }
    while (left > 0 && good) {
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

void axis_worker_run(struct axis_worker *w)
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
    while (!w->failed) {
        switch (source_next(run->source, &request, &chunk)) {
        case SOURCE_CHUNK:
            w->failed = !take_chunk(w, &chunk);
            w->failed = !axis_hand_in(w) || w->failed;
            source_release(run->source, w->number, &chunk);
            axis_order_wait(&run->order);
            continue;
        case SOURCE_END:
            w->failed = !flush_part(w);
            w->failed = !axis_hand_in(w) || w->failed;
            return;
        case SOURCE_FAILED:
            w->failed = true;
            break;
        }
    }
}
