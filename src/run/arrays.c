#include "config.h"

#include "run/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "sys/align.h"
#include "sys/buffer.h"
#include "sys/mutex.h"

MUTEX_ROLE(arrays_role);

/* State of an array, beside its result. */
struct found {
    const struct lines *lines; /* those of a worker, in which its line is; NULL where it has none */
    size_t offset, length;     /* of the line in these, bytes */
    struct array_error *error; /* why there is no result; NULL where there is one. See fail */
    uint64_t missing;          /* elements that are missing */
    uint32_t quantiles;        /* as in struct reduction, as is the next */
    unsigned passes;
    bool done;
};

/* The lines that a worker has written, one behind the other. */
struct lines {
    _Alignas(CACHE_APART) struct buffer out;
    struct reduction one; /* what the last one is of */
};

/* Room for a worker's share of lines that are not longer than most, bytes: what is not written to
   is no memory, and what has to grow is moved. */
#define LINES_ROOM(arrays, workers) ((arrays) / (workers)*256 + 4096)

/* As many arrays make it worth it to prepare the heap for workers. */
#define LINES_MANY 256

struct arrays {
    const struct source_info *info;
    const struct session_options *options;
    const char *path;
    struct found *found;
    struct result *results; /* of those that are kept: the memory of others is not touched */
    struct lines **lines;   /* of each worker; NULL before its first, or where it cannot have any */
    unsigned workers;
    /* The parts handed in of arrays that several workers had. The memory of other arrays is not
       touched. A count of 0 stands for a partial to be cleared. */
    struct partial *partials;

    /* The partial of each array, if a total is wanted: its first `kept_size` bytes, after which it
       is as partial_clear makes it. NULL otherwise. */
    unsigned char *kept;
    size_t kept_size;

    struct mutex mutex; /* for those partials of which a part is missing */
};

MUTEX_ROLE_OF(arrays, struct arrays, mutex);

/* The error of an array when there is no memory for one. */
static struct array_error no_memory = {
    .kind = ERROR_MEMORY, .offset = ERROR_NO_OFFSET, .text = "out of memory"};

static void free_error(struct found *found)
{
    if (found->error != &no_memory)
        free(found->error);
}

/* Has an array end with this error. */
static void fail(struct arrays *a, size_t k, struct error error)
{
    const size_t length = strlen(error.text);
    struct array_error *kept = malloc(sizeof *kept + length + 1);

    free_error(&a->found[k]);
    a->found[k].error = &no_memory;
    if (kept) {
        kept->kind = error.kind;
        kept->advice = error.advice.kind;
        kept->offset = error.offset;
        memcpy(kept->text, error.text, length + 1);
        a->found[k].error = kept;
    }
    a->found[k].done = true;
}

/* Rounds the result of an array, and finds its quantiles; NULL: they are not wanted. */
static void round_result(struct arrays *a, size_t k, const struct partial *partial,
                         struct pass_keys *keys, struct result *result)
{
    const struct scale scale = container_scale(a->info->picks[k].array);

    reduction_round(result, partial, a->info->picks[k].array->type, &scale,
                    a->options->nan == NAN_SKIP, a->options->ddof);
    a->found[k].missing = result->missing;
    a->found[k].passes = 1; /* all arrays are read together, once */
    a->found[k].done = true;
    if (keys && !pass_keys_find(keys, &a->options->passes, &scale, partial,
                                a->options->nan != NAN_SKIP, result, &a->found[k].quantiles))
        fail(a, k, error_of(ERROR_MEMORY, "%s", error_no_memory));
}

/* Sets what is known of an array but for its result. */
static void describe(const struct arrays *a, size_t k, struct reduction *one)
{
    const struct source_pick *pick = &a->info->picks[k];
    const struct container_array *array = pick->array;
    const struct array_error *error = a->found[k].error;

    one->array = array->name;
    one->type_name = array->unreadable ? array->type_name : NULL;
    one->error.kind = ERROR_NONE;
    if (error) {
        one->error = error_at(error->kind, error->offset, "%s", error->text);
        one->error.advice.kind = error->advice;
    }
    one->quantiles = a->found[k].quantiles;
    one->passes = a->found[k].passes;
    one->type = array->type;
    if (!arrays_missing(a, k, &one->missing))
        one->missing.count = 0;
    one->big_endian = array->big_endian;
    one->data_offset = container_array_begin(array);
    one->compressed = container_array_compressed(array);
    one->scale = container_scale(array);
    container_shape(array, &one->shape);
    one->shape.known =
        !array->unreadable || (array->type_name[0] && array->elements != SOURCE_UNKNOWN);
    one->format = a->info->format;
    one->elements = pick->elements;
    one->first = pick->first;
    one->behind = false; /* an array without elements is picked in one part */
    one->of = !array->unreadable ? pick->of : one->shape.known ? array->elements : 0;
    one->number = pick->number;
    one->bytes = pick->elements * element_size(array->type);
    one->input_bytes = array->deflated || array->tiles ? array->compressed : one->bytes;
}

/*
 * Lines.
 */

/* The worker's lines; NULL where nobody wants any, or memory for them was short. */
static struct lines *lines_of(struct arrays *a, unsigned worker)
{
    struct lines *lines = a->lines[worker];

    /* A NaN may make an error of an array. */
    if (lines || !a->options->lines || a->options->nan == NAN_ERROR)
        return lines;
    lines = aligned_alloc(CACHE_APART, sizeof *lines);
    if (lines)
        memset(lines, 0, sizeof *lines);
    if (lines && !buffer_extend(&lines->out, LINES_ROOM(a->info->pick_count, a->workers))) {
        free(lines);
        lines = NULL;
    }
    a->lines[worker] = lines;
    return lines;
}

/* Rounds the result of an array, on the worker's thread, and writes its line. Without memory for
   that it is left to whoever prints. */
static void finish(struct arrays *a, unsigned worker, size_t k, const struct partial *partial,
                   struct pass_keys *keys)
{
    struct lines *lines = lines_of(a, worker);
    struct found *found = &a->found[k];

    round_result(a, k, partial, keys, lines ? &lines->one.result : &a->results[k]);
    if (!lines || found->error)
        return;
    describe(a, k, &lines->one);
    found->offset = lines->out.size;
    a->options->lines->write(a->options->lines->context, a->path, &lines->one, &lines->out);
    found->length = lines->out.size - found->offset;
    found->lines = lines->out.failed ? NULL : lines;
    if (lines->out.failed) {
        lines->out.size = found->offset;
        lines->out.failed = false;
    }
    if (!found->lines || a->options->keep_results)
        a->results[k] = lines->one.result;
}

const char *arrays_line(const struct arrays *a, size_t k, size_t *length)
{
    const struct found *found = &a->found[k];

    *length = found->length;
    return found->lines ? found->lines->out.data + found->offset : NULL;
}

/* Keeps the partial of an array for a total, if one is wanted. */
static void keep_partial(struct arrays *a, size_t k, const struct partial *partial)
{
    if (a->kept)
        memcpy(a->kept + k * a->kept_size, partial, a->kept_size);
}

/* Sets the quantiles of an array without elements; those of a container that is read in order are left
   out. */
static void put_no_quantiles(struct arrays *a, size_t k)
{
    const struct pass_request *request = &a->options->passes;

    for (unsigned i = 0; a->info->parallel && i < request->quantile_count; i++) {
        a->results[k].quantiles[request->places[i]] = NAN;
        a->found[k].quantiles |= UINT32_C(1) << request->places[i];
    }
}

struct arrays *arrays_open(const struct source_info *info, const struct session_options *options,
                           const char *path, unsigned workers)
{
    struct arrays *a = calloc(1, sizeof *a);
    struct partial none;

    if (!a)
        return NULL;
    a->info = info;
    a->options = options;
    a->path = path;
    a->workers = workers;
    a->found = calloc(info->pick_count + 1, sizeof *a->found);
    a->results = calloc(info->pick_count + 1, sizeof *a->results);
    a->partials = calloc(info->pick_count + 1, sizeof *a->partials);
    a->kept_size = options->wants & (MOMENTS_WANTS | PARTIAL_DIGEST)
                       ? sizeof *a->partials
                       : offsetof(struct partial, absolute);
    if (options->keep_partials)
        a->kept = calloc(info->pick_count + 1, a->kept_size);
    a->lines = calloc(workers + 1, sizeof *a->lines);
    if (options->lines && options->nan != NAN_ERROR && info->pick_count >= LINES_MANY &&
        options->widen_heap)
        options->widen_heap();
    mutex_init(&a->mutex);
    if (!a->found || !a->results || !a->partials || !a->lines ||
        (options->keep_partials && !a->kept)) {
        arrays_close(a);
        return NULL;
    }
    partial_clear(&none);
    for (size_t k = 0; k < info->pick_count; k++) {
        if (info->picks[k].array->unreadable) {
            fail(a, k, container_why(info->picks[k].array));
        } else if (info->picks[k].elements == 0) {
            keep_partial(a, k, &none);
            round_result(a, k, &none, NULL, &a->results[k]);
            put_no_quantiles(a, k);
        }
    }
    return a;
}

void arrays_close(struct arrays *a)
{
    if (!a)
        return;
    for (size_t k = 0; a->found && k < a->info->pick_count; k++)
        free_error(&a->found[k]);
    for (unsigned i = 0; a->lines && i < a->workers; i++) {
        if (a->lines[i])
            buffer_free(&a->lines[i]->out);
        free(a->lines[i]);
    }
    mutex_destroy(&a->mutex);
    free(a->lines);
    free(a->results);
    free(a->found);
    free(a->partials);
    free(a->kept);
    free(a);
}

size_t arrays_count(const struct arrays *a)
{
    return a->info->pick_count;
}

uint64_t arrays_missing_count(const struct arrays *a)
{
    uint64_t count = 0;

    for (size_t k = 0; k < a->info->pick_count; k++)
        count += a->found[k].missing;
    return count;
}

size_t arrays_total(const struct arrays *a)
{
    return a->info->pick_total;
}

const struct missing *arrays_missing(const struct arrays *a, size_t k, struct missing *m)
{
    const struct container_array *array = a->info->picks[k].array;

    if (!array->missing_values && a->options->missing.count == 0)
        return NULL;
    (void)container_find_missing(array, array->type, &a->options->missing, m);
    return m->count > 0 ? m : NULL;
}

const struct engine_columns *arrays_columns(const struct arrays *a, size_t k,
                                            struct engine_columns *columns)
{
    const struct container_array *array = a->info->picks[k].array;

    if (!array->fortran_order || array->dimensions < 2)
        return NULL;
    *columns = (struct engine_columns){array->dimensions, array->sizes};
    return columns;
}

/* Merges a part of an array into what there is. Whether that is all of it now. */
static bool merge(struct arrays *a, size_t k, const struct partial *partial)
{
    struct partial *all = &a->partials[k];
    bool complete;

    arrays_lock(a);
    if (all->count == 0)
        partial_clear(all);
    partial_merge(all, partial);
    complete = all->count == a->info->picks[k].elements;
    arrays_unlock(a);
    return complete;
}

void arrays_take(struct arrays *a, unsigned worker, size_t k, const struct partial *partial,
                 struct pass_keys *keys)
{
    if (partial->count < a->info->picks[k].elements) {
        if (keys || !merge(a, k, partial)) /* with keys the worker has failed */
            return;
        partial = &a->partials[k];
    }
    keep_partial(a, k, partial);
    finish(a, worker, k, partial, keys);
}

void arrays_put(struct arrays *a, size_t k, const struct reduction *reduction)
{
    struct found *found = &a->found[k];

    if (reduction->error.kind != ERROR_NONE) {
        fail(a, k, reduction->error);
        return;
    }
    found->done = true;
    a->results[k] = reduction->result;
    found->missing = reduction->result.missing;
    found->quantiles = reduction->quantiles;
    found->passes = reduction->passes;
    keep_partial(a, k, &reduction->partial);
}

bool arrays_has(const struct arrays *a, size_t k)
{
    return a->found[k].done;
}

/* Sees whether --nan=error makes an error of an array. */
static void check_nan(struct arrays *a, size_t k)
{
    const struct result *result = &a->results[k];
    char place[ARRAY_PLACE_MAX];
    struct array_shape shape;

    if (a->options->nan != NAN_ERROR || a->found[k].error || result->nan == 0)
        return;
    container_shape(a->info->picks[k].array, &shape);
    fail(a, k,
         error_of(ERROR_NAN, "element %s is a NaN",
                  array_show_place(place, &shape, result->first_nan)));
}

bool arrays_finish(struct arrays *a, const struct source *source)
{
    for (size_t k = 0; k < a->info->pick_count; k++) {
        const struct error *damage = a->found[k].done || !source ? NULL : source_damage(source, k);

        if (damage)
            fail(a, k, *damage);
        if (!a->found[k].done)
            return false;
        check_nan(a, k);
    }
    return true;
}

const struct array_error *arrays_error(const struct arrays *a, size_t k)
{
    return a->found[k].error;
}

void arrays_get(const struct arrays *a, size_t k, struct reduction *one)
{
    describe(a, k, one);
    if (!a->found[k].lines || a->options->keep_results)
        one->result = a->results[k];
    if (a->kept) {
        partial_clear(&one->partial);
        memcpy(&one->partial, a->kept + k * a->kept_size, a->kept_size);
        if (one->partial.count == 0) /* nothing has been kept, or nothing is all */
            partial_clear(&one->partial);
    }
}
