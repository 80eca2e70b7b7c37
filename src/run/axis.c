#include "config.h"

#include "run/axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "run/axis_state.h"
#include "sys/clock.h"
#include "sys/cores.h"
#include "sys/mapping.h"
#include "sys/plural.h"
#include "sys/team.h"

/* How often progress is shown. */
#define TICK (CLOCK_SECOND / 50)

/* The most columns that each worker has accumulators of its own for: the level-1 and level-2 caches
   hold them. And where there are too few strips for all workers. */
#define OWN_COLUMNS 8192
#define OWN_COLUMNS_MOST 65536

/* Bytes of a row that one worker claims together, at most: what a page table maps. */
#define STRIP_BYTES ((uint64_t)2 << 20)

/* Bytes of a row that are reduced together: the sums of the columns stay in the level-2 cache. More
   of what has to be read, since each read costs a system call. */
#define STRIP_PIECE_BYTES ((size_t)16 << 10)
#define STRIP_READ_BYTES ((size_t)128 << 10)
_Static_assert(AXIS_READ_BYTES >= CPU_COLUMN_ROWS * STRIP_READ_BYTES, "kernels have their rows");
/* Columns, where each has a whole partial result. */
#define STRIP_PIECE_SLOW 1024

/* Columns that a GPU reduces together: as many as fit a chunk with all their rows, so that what was
   found of each comes back once. At most ENGINE_SLICES_MAX, and, of long columns, so many at least:
   then runs of a row are long, and of a chunk's bytes few come back. Fewer, down to the last, where
   there would not be work for all workers. */
#define STRIP_COLUMNS_GPU ((uint64_t)16384)
#define STRIP_COLUMNS_GPU_LEAST ((uint64_t)2048)
/* The most columns of a GPU's workers where each may come to have a whole partial result. */
#define COLUMNS_GPU_SLOW ((uint64_t)4096)

/* The most columns that a GPU reduces together. */
static uint64_t gpu_columns_most(const struct axis_run *run)
{
    return cpu_slices_are_fast(run->plan->type, run->plan->wants) ? ENGINE_SLICES_MAX
                                                                  : COLUMNS_GPU_SLOW;
}

/* How many columns a GPU reduces together. */
static size_t gpu_piece(const struct axis_run *run, unsigned workers)
{
    const uint64_t most = gpu_columns_most(run);
    const struct axis_layout *layout = run->layout;
    const uint64_t chunk = axis_chunk_bytes(run) / run->info->element_size;
    uint64_t columns = chunk / layout->length;

    columns = columns < STRIP_COLUMNS_GPU ? STRIP_COLUMNS_GPU : columns;
    columns = columns > most ? most : columns;
    while (columns > STRIP_COLUMNS_GPU_LEAST &&
           layout->inner / columns * layout->outer < (uint64_t)2 * workers)
        columns /= 2;
    return (size_t)(columns > chunk ? chunk : columns);
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

/* Chooses how the input is shared out. */
static void choose_way(struct axis_run *run, unsigned workers)
{
    const struct axis_layout *layout = run->layout;
    const bool fast = cpu_slices_are_fast(run->plan->type, run->plan->wants);
    const size_t piece = run->gpu ? gpu_piece(run, workers)
                         : fast   ? STRIP_PIECE_BYTES / run->info->element_size
                                  : STRIP_PIECE_SLOW;
    const uint64_t own = fast ? OWN_COLUMNS : STRIP_PIECE_SLOW;
    const uint64_t most = fast ? OWN_COLUMNS_MOST : 2 * own;
    const bool random = source_is_random(run->source);
    bool few; /* pieces of columns */

    run->group_elements = layout->length * layout->inner;
    run->group_slices = (size_t)layout->inner;
    few = (layout->inner + piece - 1) / piece * layout->outer < (uint64_t)2 * workers;
    if (layout->inner == 1) {
        run->way = AXIS_ROWS;
    } else if (run->gpu ? layout->inner <= gpu_columns_most(run)
                        : layout->inner <= own || (random && few && layout->inner <= most)) {
        run->way = AXIS_BLOCKS;
    } else if (!random) {
        run->way = AXIS_SHARED;
    } else {
        const size_t wide = STRIP_READ_BYTES / run->info->element_size;

        run->way = AXIS_STRIPS;
        choose_strips(run, workers, piece);
        run->group_slices = run->mapped_slices = piece;
        if (!run->gpu && fast && wide > piece)
            run->group_slices = run->strip_columns < wide ? (size_t)run->strip_columns : wide;
    }
}

static void refuse(void *context, const struct axis_piece *piece)
{
    struct axis_run *run = context;
    char place[AXIS_PLACE_MAX];

    source_error(
        run->source, ERROR_NAN, "element %s is a NaN",
        axis_show_element(place, run->layout, piece->first + piece->count, piece->refused_index));
}

/* A worker's part in a run. */
static void worker_work(void *workers, unsigned number)
{
    struct axis_worker *w = (struct axis_worker *)workers + number;

    if (axis_worker_begin(w))
        (w->run->way == AXIS_STRIPS ? axis_strips_run : axis_worker_run)(w);
    axis_worker_end(w);
}

/* Has the workers do it, and shows progress. The only one, or the first where no thread can be had,
   works on this thread. False without memory. */
static bool run_workers(struct axis_run *run, struct axis_worker *workers, unsigned count)
{
    const struct progress_observer *progress = run->options->progress;
    const uint64_t total = run->info->compressed ? run->info->input_bytes
                                                 : run->layout->elements * run->info->element_size;
    const struct team_job job = {.work = worker_work, .context = workers, .last = true};
    struct team team;

    if (!team_open(&team, count))
        return false;
    if (progress)
        progress->begin(progress->context, run->info->name, total, clock_now());
    if (count == 1 || team_start(&team, 0, count, &job) == 0)
        worker_work(workers, 0);
    while (!team_wait(&team, progress ? TICK : 0))
        progress->update(progress->context, source_stats(run->source).input_read, clock_now());
    if (progress)
        progress->end(progress->context);
    team_close(&team);
    return true;
}

/* Workers for the input. */
static unsigned worker_count(const struct session_options *options, uint64_t bytes)
{
    const unsigned count = options->threads ? options->threads : cores_available();
    const uint64_t chunk = options->chunk_size ? options->chunk_size : engine_cpu.chunk_bytes;

    return bytes != SOURCE_UNKNOWN && bytes / chunk + 1 < count ? (unsigned)(bytes / chunk) + 1
                                                                : count;
}

/* The results of slices that have no elements. */
static bool deliver_empty(struct axis_run *run)
{
    const uint64_t results = run->layout->results;
    struct axis_worker w = {.run = run};
    struct axis_plan plan = *run->plan;
    bool good;

    good = cpu_slices_open(&w.slices, CPU_SLICES_ROWS, plan.type, plan.wants, 1024) &&
           axis_batch_open(&w.batch, &plan, 1024);
    if (!good)
        (void)source_no_memory(run->source);
    for (uint64_t k = 0; k < results && good; k += 1024)
        good = axis_deliver(&w, &w.slices, 0, results - k < 1024 ? (size_t)(results - k) : 1024, k);
    good = axis_hand_in(&w) && good;
    cpu_slices_close(&w.slices);
    axis_batch_close(&w.batch);
    free(w.piece.bytes.data);
    return good;
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
    choose_way(run, count);
    /* A 32-bit process has not even addresses for so many columns. */
    good = workers && (run->way == AXIS_STRIPS || run->layout->inner <= SIZE_MAX / 64);
    if (!good)
        (void)source_no_memory(run->source);
    for (unsigned i = 0; i < count && good; i++)
        good = axis_worker_open(&workers[i], run, i);
    if (good && !run_workers(run, workers, count)) {
        (void)source_no_memory(run->source);
        good = false;
    }
    for (unsigned i = 0; workers && i < count; i++) {
        good = good && !workers[i].failed;
        if (workers[i].run)
            axis_worker_close(&workers[i]);
    }
    free(workers);
    mutex_destroy(&run->mutex);
    axis_groups_close(run);
    return good;
}

/* The shape of the input: its header's, or that of the options. False if there is none. */
static bool find_shape(const struct axis_run *run, const struct axis_request *request,
                       struct source_shape *shape)
{
    const uint64_t elements = run->info->elements;

    *shape = run->info->shape;
    if (shape->known) {
        if (request->shape.known)
            log_warn(run->options->input.log, run->info->name,
                     &(struct advice){.kind = ADVICE_SHAPE_UNUSED}, "its header states the shape");
        return true;
    }
    *shape = request->shape;
    if (!shape->known) {
        source_refuse(run->source, (struct advice){.kind = ADVICE_SHAPE},
                      "has no header with a shape");
        return false;
    }
    if (elements != SOURCE_UNKNOWN && axis_settle_shape(shape, elements))
        return true;
    for (unsigned i = 0; i < shape->dimensions; i++)
        if (shape->sizes[i] == AXIS_SIZE_OPEN) {
            if (elements == SOURCE_UNKNOWN)
                source_refuse(run->source, (struct advice){.kind = ADVICE_SIZES},
                              "its number of elements is unknown");
            else
                source_refuse(run->source, (struct advice){.kind = ADVICE_WRONG_SHAPE},
                              "%" PRIu64
                              " element%s cannot be divided by the other sizes of the shape",
                              elements, plural(elements));
            return false;
        }
    if (elements == SOURCE_UNKNOWN)
        return true;
    source_refuse(run->source, (struct advice){.kind = ADVICE_WRONG_SHAPE},
                  "holds %" PRIu64 " element%s, but the shape has another number", elements,
                  plural(elements));
    return false;
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
    return worker_count(options, SOURCE_UNKNOWN);
}

bool axis_open_gpu(const struct session_options *options, struct engine_state **gpu,
                   struct error *error)
{
    const struct engine_needs needs = {.devices = options->devices,
                                       .device_count = options->device_count,
                                       .visible = options->visible_devices,
                                       .workers = 1,
                                       .chunk_size = 4096, /* there will be no feeders */
                                       .tuning = session_tuning(options)->gpu};
    char reason[ENGINE_REASON_MAX] = "";

    *gpu = NULL;
    error->kind = ERROR_NONE;
    if (options->device != DEVICE_GPU)
        return true;
    if (!options->set_variable || !engine_get(ENGINE_CUDA)->choose ||
        engine_get(ENGINE_CUDA)->choose(&needs, options->set_variable, reason))
        *gpu = engine_get(ENGINE_CUDA)->open(&needs, reason);
    return *gpu || error_set(error, ERROR_NO_GPU, "no usable GPU: %s", reason);
}

void axis_close_gpu(struct engine_state *gpu)
{
    if (gpu)
        engine_get(ENGINE_CUDA)->close(gpu);
}

/* Reduces an open source. False on failure. */
static bool reduce_source(struct axis_run *run, const struct axis_request *request,
                          struct axis_plan *plan, unsigned workers, struct axis_outcome *outcome)
{
    struct axis_layout *layout = &outcome->layout;
    char reason[AXIS_REASON_MAX];
    struct source_shape shape;
    bool good;

    if (!find_shape(run, request, &shape))
        return false;
    if (!axis_layout(&shape, request->axis, layout, reason)) {
        source_error(run->source, ERROR_REQUEST, "%s", reason);
        return false;
    }
    outcome->elements = layout->elements;
    outcome->type = run->info->type;
    outcome->bytes = layout->elements * run->info->element_size;
    if (!run->sink->begin(run->sink->context, plan, run->info->name))
        return false;
    if (worker_count(run->options, outcome->bytes) < workers)
        workers = worker_count(run->options, outcome->bytes);
    run->order = (struct axis_order){.write = run->sink->write,
                                     .write_context = run->sink->context,
                                     .refuse = refuse,
                                     .refuse_context = run};
    axis_order_open(&run->order);
    run->has_places = run->sink->has_places(run->sink->context);
    if (layout->elements == 0)
        good = deliver_empty(run);
    else
        good = reduce(run, workers);
    if (axis_order_no_memory(&run->order))
        (void)source_no_memory(run->source);
    good = good && source_finish(run->source) == SOURCE_COMPLETE;
    if (good && run->elements != layout->elements) {
        source_refuse(
            run->source,
            (struct advice){.kind = run->info->shape.known ? ADVICE_NONE : ADVICE_WRONG_SHAPE},
            "ends after %" PRIu64 " elements, but its shape has %" PRIu64, run->elements,
            layout->elements);
        good = false;
    }
    if (good && axis_order_written(&run->order) != layout->results) {
        source_error(run->source, ERROR_INTERNAL, "internal error: results are missing");
        good = false;
    }
    axis_order_close(&run->order);
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
                             .wants = options->wants,
                             .operations = asked,
                             .operation_count = asked_count};
    const uint64_t begun = clock_now();
    bool good;

    memset(outcome, 0, sizeof *outcome);
    run.plan = &plan;
    run.layout = &outcome->layout;
    plan.type = run.info->type;
    good = reduce_source(&run, request, &plan, axis_workers(options), outcome);
    outcome->seconds = (double)(clock_now() - begun) / (double)CLOCK_SECOND;
    return good;
}
