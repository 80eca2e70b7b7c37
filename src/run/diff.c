#include "config.h"

#include "run/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/arrays.h"
#include "run/diff_match.h"
#include "run/diff_work.h"
#include "source/inputs.h"
#include "sys/clock.h"
#include "sys/cores.h"

/* Workers at least, where the user has not asked for a number: inputs that are not cached want
   several requests at a time, whatever the cores. */
#define WORKERS_MIN 4

/* Bytes of the elements of one side that a worker claims at a time, and of a buffer. */
#define CLAIM_BYTES ((size_t)8 << 20)
#define BUFFER_BYTES ((size_t)1 << 20)

/* Inputs that have less than this, both together, are compared by one worker. */
#define BYTES_OF_WORKER ((uint64_t)1 << 20)

/* How often progress is shown: nanoseconds. */
#define TICK (CLOCK_SECOND / 50)

/*
 * Opening.
 */

/* Opens the files of a side. False on failure. */
static bool open_side(struct diff *d, int side)
{
    const struct diff_request *request = d->request;
    const int count = request->sides[side].count;
    struct source_options input = request->options->input;
    struct inputs inputs = {.paths = request->sides[side].paths,
                            .count = count,
                            .options = &input,
                            .workers = d->worker_count};

    input.in_order = true;
    input.undecoded = false;
    input.as_bytes = true;
    input.cancellable = true;
    input.index = request->sides[side].index;
    d->files[side] = calloc((size_t)count + 1, sizeof(struct source *));
    if (!d->files[side])
        return diff_no_memory(d);
    while (inputs_next_input(&inputs)) {
        struct source *source = inputs_take(&inputs);
        char name[SOURCE_NAME_MAX];

        if (!source) {
            diff_add_error(d, source_name(name, inputs.path), &inputs.error);
            continue;
        }
        d->files[side][d->file_counts[side]++] = source;
        if (count > 1 && !source_info(source)->container) {
            source_error(source, ERROR_REQUEST,
                         "does not hold several arrays, but other files of its set do");
            return false;
        }
    }
    return !inputs.failed;
}

/* Opens what does not lie in a file as it is, and is not the file itself: compressed members. */
static bool open_own(struct diff *d, struct diff_pair *p, int side)
{
    const struct diff_item *item = p->item;
    struct source_options input = d->request->options->input;
    char name[SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN], shown[CONTAINER_NAME_SHOWN];
    struct error error;

    if (p->sides[side].at_hand || !item->sides[side].array)
        return true;
    input.consecutive = DIFF_SIDES * d->worker_count;
    p->sides[side].own =
        source_open_array(p->sides[side].source, item->sides[side].array, &input, 1, &error);
    if (!p->sides[side].own) {
        sprintf(name, "%s: array %s", item->sides[side].info->name,
                container_show_name(shown, item->sides[side].array->name));
        diff_add_error(d, name, &error);
    }
    p->sides[side].source = p->sides[side].own;
    p->sides[side].array = 0;
    return p->sides[side].own;
}

static bool is_in_order(const struct diff_pair *p)
{
    return !p->sides[DIFF_A].at_hand || !p->sides[DIFF_B].at_hand;
}

/* Puts pairs in order before those at hand, and sees what there is to claim of the latter. False
   without memory, or on failure. */
static bool arrange(struct diff *d)
{
    struct diff_pair *arranged = calloc(d->pair_count + 1, sizeof *arranged);
    size_t count = 0;

    d->begins = malloc((d->pair_count + 1) * sizeof *d->begins);
    if (!arranged || !d->begins) {
        free(arranged);
        return diff_no_memory(d);
    }
    for (int in_order = 1; in_order >= 0; in_order--) {
        for (size_t i = 0; i < d->pair_count; i++)
            if (is_in_order(&d->pairs[i]) == in_order)
                arranged[count++] = d->pairs[i];
        d->ordered = in_order ? count : d->ordered;
    }
    free(d->pairs);
    d->pairs = arranged;
    d->begins[0] = 0;
    for (size_t i = d->ordered; i < d->pair_count; i++)
        d->begins[i - d->ordered + 1] =
            d->begins[i - d->ordered] + d->pairs[i].item->sides[DIFF_A].elements * d->pairs[i].size;
    for (size_t i = 0; i < d->ordered; i++) {
        struct diff_pair *p = &d->pairs[i];

        if (!open_own(d, p, DIFF_A) || !open_own(d, p, DIFF_B))
            return false;
        p->order = calloc(1, sizeof *p->order);
        if (!p->order)
            return diff_no_memory(d);
        mutex_init(&p->order->mutex);
        pthread_cond_init(&p->order->changed, NULL);
    }
    return true;
}

struct diff *diff_new(const struct diff_request *request)
{
    const struct session_options *options = request->options;
    const unsigned cores = cores_available();
    struct diff *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->request = request;
    d->begun_at = clock_now();
    d->worker_count = options->threads      ? options->threads
                      : cores > WORKERS_MIN ? cores
                                            : WORKERS_MIN;
    d->buffer_bytes = options->chunk_size ? options->chunk_size : BUFFER_BYTES;
    d->buffer_bytes = (d->buffer_bytes + 63) / 64 * 64;
    d->claim_bytes = options->chunk_size ? options->chunk_size : CLAIM_BYTES;
    d->always_look = options->nan == NAN_ERROR;
    mutex_init(&d->mutex);
    return d;
}

static void close_pair(struct diff_pair *p)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        if (p->sides[side].own)
            source_close(p->sides[side].own);
    if (p->order) {
        pthread_cond_destroy(&p->order->changed);
        mutex_destroy(&p->order->mutex);
    }
    free(p->order);
    free(p->difference);
}

void diff_close(struct diff *d)
{
    for (size_t i = 0; i < d->pair_count; i++)
        close_pair(&d->pairs[i]);
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++)
            source_close(d->files[side][i]);
        free(d->files[side]);
    }
    for (size_t i = 0; i < d->error_count; i++)
        free(d->errors[i].name);
    free(d->errors);
    mutex_destroy(&d->mutex);
    free(d->unseen.list);
    free(d->begins);
    free(d->pairs);
    free(d->items);
    free(d);
}

/*
 * Running.
 */

/* A worker's part of a job. */
static void run_task(void *argument, unsigned number)
{
    const struct diff_task *task = argument;

    task->work(&task->diff->workers[number]);
}

/* Bytes of the input that have been read. */
static uint64_t bytes_read(const struct diff *d)
{
    uint64_t bytes = 0;

    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            bytes += source_stats(d->files[side][i]).input_read;
    for (size_t i = 0; i < d->ordered; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (d->pairs[i].sides[side].own)
                bytes += source_stats(d->pairs[i].sides[side].own).input_read;
    return bytes;
}

/* Bytes of all inputs; SOURCE_UNKNOWN where one is a pipe. */
static uint64_t bytes_in_all(const struct diff *d)
{
    uint64_t bytes = 0;

    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++) {
            if (diff_file_info(d, side, i)->input_bytes == SOURCE_UNKNOWN)
                return SOURCE_UNKNOWN;
            bytes += diff_file_info(d, side, i)->input_bytes;
        }
    }
    return bytes;
}

/* Ends the waiting of workers for what pipes bring. */
static void cancel(const struct diff *d)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            source_cancel(d->files[side][i]);
}

/* Has `count` workers do their work. Without threads, one does it here. */
static void run_workers(struct diff *d, unsigned count, void (*work)(struct diff_worker *w))
{
    const struct progress_observer *progress = d->request->options->progress;
    const struct team_job job = {.work = run_task, .context = &d->task};

    d->task = (struct diff_task){d, work};
    if (count == 1 || team_start(&d->team, 0, count, &job) == 0) {
        work(&d->workers[0]);
        return;
    }
    while (!team_wait(&d->team, progress ? TICK : 0)) {
        if (progress)
            progress->update(progress->context, bytes_read(d), clock_now());
        if (atomic_load(&d->decided))
            cancel(d);
    }
}

/* Gathers what has been passed without a look, as far as it is wanted now. False without memory. */
static bool gather_unseen(struct diff *d)
{
    for (unsigned i = 0; i < d->worker_count; i++) {
        const struct diff_ranges *ranges = &d->workers[i].unseen;

        for (size_t k = 0; k < ranges->count; k++) {
            const struct diff_pair *p = &d->pairs[ranges->list[k].pair];

            if ((p->difference || p->item->kind == DIFF_SHAPE) &&
                !diff_ranges_add(&d->unseen, &ranges->list[k]))
                return diff_no_memory(d);
        }
    }
    return true;
}

/* Sees whether a NaN is an error. */
static void check_nan(struct diff *d, const struct diff_pair *p, const struct difference *found)
{
    struct container_array shape = {.name = p->item->name};
    struct error error = {.kind = ERROR_NONE};
    char place[ARRAYS_PLACE_MAX];
    struct source_shape sizes;

    if (d->request->options->nan != NAN_ERROR || found->nan_one + found->nan_both == 0)
        return;
    if (diff_has_places(p->item, &sizes)) {
        shape.dimensions = sizes.dimensions;
        shape.sizes = sizes.sizes;
        shape.fortran_order = sizes.fortran_order;
    }
    (void)error_set(&error, ERROR_NAN, "element %s is a NaN in at least one of them",
                    arrays_show_place(place, &shape, found->first_nan));
    diff_item_error(d, p->item, &error);
}

/* Sets what has come of a pair. */
UNCHECKED static void finish_pair(struct diff *d, struct diff_pair *p)
{
    struct diff_item *item = p->item;
    struct difference none;
    const struct difference *found = p->difference;

    if (atomic_load(&p->failed)) {
        item->kind = DIFF_FAILED;
        return;
    }
    for (int side = 0; p->order && side < DIFF_SIDES; side++)
        if (!p->sides[side].at_hand)
            item->sides[side].elements = p->order->got[side];
    if (!found) {
        difference_clear(&none);
        found = &none;
    }
    if (item->sides[DIFF_A].elements != item->sides[DIFF_B].elements && !atomic_load(&d->stop)) {
        item->kind = DIFF_SHAPE;
        return;
    }
    check_nan(d, p, found);
    if (item->kind == DIFF_FAILED)
        return;
    item->compared = true;
    difference_finish(found, &p->setup.terms, item->sides[DIFF_A].elements, &item->result);
    if (item->kind == DIFF_SAME && found->different > 0)
        item->kind = diff_is_bytes(item, DIFF_A) ? DIFF_BYTES : DIFF_VALUES;
}

/* Sees whether all inputs were as they should be. */
static bool finish_sources(struct diff *d)
{
    bool good = true;

    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            good = source_finish(d->files[side][i]) == SOURCE_COMPLETE && good;
    for (size_t i = 0; i < d->ordered; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (d->pairs[i].sides[side].own &&
                source_finish(d->pairs[i].sides[side].own) != SOURCE_COMPLETE)
                atomic_store(&d->pairs[i].failed, true);
    return good;
}

/* How many workers the pairs can keep busy. */
static unsigned workers_for(const struct diff *d)
{
    const uint64_t at_hand = 2 * d->begins[d->pair_count - d->ordered];
    uint64_t count = at_hand / BYTES_OF_WORKER + 3 * (uint64_t)d->ordered;

    count = count > 0 ? count : 1;
    return count < d->worker_count ? (unsigned)count : d->worker_count;
}

/* Whether it is known without reading that something differs, and that suffices. */
static bool is_decided(const struct diff *d)
{
    for (size_t i = 0; d->request->verdict_only && i < d->item_count; i++)
        if (d->items[i].kind != DIFF_SAME && d->items[i].kind != DIFF_FAILED)
            return true;
    return false;
}

/* Compares all pairs. False on failure. */
static bool compare_pairs(struct diff *d)
{
    const struct progress_observer *progress = d->request->options->progress;

    if (progress)
        progress->begin(progress->context, diff_file_info(d, DIFF_A, 0)->name, bytes_in_all(d),
                        clock_now());
    run_workers(d, workers_for(d), diff_work);
    if (!atomic_load(&d->stop) && !d->request->verdict_only) {
        if (!gather_unseen(d))
            atomic_store(&d->failed, true);
        else if (d->unseen.count > 0)
            run_workers(d, workers_for(d), diff_work_again);
    }
    if (progress)
        progress->end(progress->context);
    return !atomic_load(&d->failed) && (d->request->verdict_only || finish_sources(d));
}

/* Warns of arrays that cannot be read, and do not differ. */
static void warn_unread(const struct diff *d)
{
    const struct diff_item *same = NULL, *skipped = NULL;
    size_t same_count = 0, skipped_count = 0;

    for (size_t i = 0; i < d->item_count; i++) {
        const struct diff_item *item = &d->items[i];

        if (item->kind != DIFF_SAME || !diff_is_bytes(item, DIFF_A))
            continue;
        if (!item->compared) {
            skipped = skipped ? skipped : item;
            skipped_count++;
        } else if (!item->sides[DIFF_A].array->not_numeric) {
            same = same ? same : item;
            same_count++;
        }
    }
    if (same)
        diff_item_warning(d, same, same_count, "both hold the same bytes, but they cannot be read");
    if (skipped)
        diff_item_warning(d, skipped, skipped_count, "not compared");
}

/* Compares what is open and arranged. */
static bool run(struct diff *d)
{
    bool good = true;

    if (is_decided(d)) {
        d->ended_at = clock_now();
        return true;
    }
    d->workers = calloc(d->worker_count, sizeof *d->workers);
    if (!d->workers || !team_open(&d->team, d->worker_count)) {
        free(d->workers);
        return diff_no_memory(d);
    }
    for (unsigned i = 0; i < d->worker_count; i++) {
        d->workers[i].diff = d;
        d->workers[i].number = i;
    }
    good = compare_pairs(d);
    team_close(&d->team);
    for (unsigned i = 0; i < d->worker_count; i++) {
        struct diff_worker *w = &d->workers[i];

        if (w->compare)
            cpu_compare_close(w->compare);
        free(w->buffers[DIFF_A]);
        free(w->buffers[DIFF_B]);
        free(w->unseen.list);
    }
    free(d->workers);
    for (size_t i = 0; good && !atomic_load(&d->decided) && i < d->pair_count; i++)
        finish_pair(d, &d->pairs[i]);
    if (!d->request->verdict_only)
        warn_unread(d);
    d->ended_at = clock_now();
    return good;
}

/* Adds the error of a source, if it has failed. */
static void collect(struct diff *d, const struct source *source)
{
    const struct error *why = source_why(source);

    if (why->kind != ERROR_NONE)
        diff_add_error(d, source_info(source)->name, why);
}

bool diff_run(struct diff *d)
{
    const bool good =
        open_side(d, DIFF_A) && open_side(d, DIFF_B) && diff_match(d) && arrange(d) && run(d);

    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++)
            collect(d, d->files[side][i]);
        for (size_t i = 0; i < d->ordered; i++)
            if (d->pairs[i].sides[side].own)
                collect(d, d->pairs[i].sides[side].own);
    }
    return good;
}

const struct error *diff_error(const struct diff *d, size_t number, const char **name)
{
    static const struct error no_memory = {.kind = ERROR_MEMORY, .text = "out of memory"};

    *name = number < d->error_count ? d->errors[number].name : "";
    if (number < d->error_count)
        return &d->errors[number].error;
    return number == d->error_count && atomic_load(&d->no_memory) ? &no_memory : NULL;
}

/*
 * The outcome.
 */

size_t diff_count(const struct diff *d)
{
    return d->item_count;
}

const struct diff_item *diff_get(const struct diff *d, size_t k)
{
    return &d->items[k];
}

struct diff_summary diff_summary(const struct diff *d)
{
    struct diff_summary s = {.seconds =
                                 (double)clock_between(d->begun_at, d->ended_at) / CLOCK_SECOND};

    for (size_t i = 0; i < d->item_count; i++) {
        const struct diff_item *item = &d->items[i];

        s.pairs += item->sides[DIFF_A].info && item->sides[DIFF_B].info;
        s.failed = s.failed || item->kind == DIFF_FAILED;
        s.different += item->kind != DIFF_SAME && item->kind != DIFF_FAILED;
        if (item->compared) {
            bool swap;

            s.elements += diff_elements(item, DIFF_A);
            s.bytes +=
                2 * item->sides[DIFF_A].elements * element_size(diff_element(item, DIFF_A, &swap));
        }
    }
    s.differs = s.different > 0 || atomic_load(&d->decided);
    return s;
}
