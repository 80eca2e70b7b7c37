#include "config.h"

#include "run/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spread.h"
#include "sys/message.h"
#include "sys/mutex.h"

MUTEX_ROLE(arrays_role);

/* What there is of an array. */
struct found {
    struct result result;
    uint32_t quantiles; /* as in struct reduction, as is the next */
    unsigned readings;
    bool done;
    char *error; /* why there is no result; NULL where there is one */
};

/* The error of an array where there is no memory for its text. */
static char no_text[] = "out of memory";

static void free_error(struct found *found)
{
    if (found->error != no_text)
        free(found->error);
}

struct arrays {
    const struct source_info *info;
    const struct session_options *options;
    struct found *found;

    /* What has been handed in. Of an array that one worker had alone nothing is, and its memory is
       not touched, unless a total is wanted. A count of 0 stands for a partial to be cleared. */
    struct partial *partials;
    struct mutex mutex; /* for those partials of which a part is missing */
};

static void lock(struct arrays *a) ACQUIRE(arrays_role);
static void unlock(struct arrays *a) RELEASE(arrays_role);

UNCHECKED static void lock(struct arrays *a)
{
    mutex_lock(&a->mutex);
}

UNCHECKED static void unlock(struct arrays *a)
{
    mutex_unlock(&a->mutex);
}

/* Rounds the result of an array. */
static void round_result(struct arrays *a, size_t k, const struct partial *partial)
{
    const bool skip_nan = a->options->nan == NAN_SKIP;
    const enum element_type type = a->info->picks[k].array->type;
    const struct partial_types types = partial_types_of(type);
    struct found *found = &a->found[k];

    partial_finish_types(partial, &types, skip_nan, &found->result);
    spread_finish(partial,
                  &(struct spread_terms){
                      .skip_nan = skip_nan, .ddof = a->options->ddof, .type = type, .types = types},
                  &found->result);
    found->readings = 1; /* all arrays are read together, once */
    found->done = true;
}

struct arrays *arrays_open(const struct source_info *info, const struct session_options *options)
{
    struct arrays *a = calloc(1, sizeof *a);
    struct partial none;

    if (!a)
        return NULL;
    a->info = info;
    a->options = options;
    a->found = calloc(info->pick_count + 1, sizeof *a->found);
    a->partials = calloc(info->pick_count + 1, sizeof *a->partials);
    mutex_init(&a->mutex);
    if (!a->found || !a->partials) {
        arrays_close(a);
        return NULL;
    }
    partial_clear(&none);
    for (size_t k = 0; k < info->pick_count; k++) {
        if (info->picks[k].elements == 0) {
            a->partials[k] = none;
            round_result(a, k, &none);
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
    mutex_destroy(&a->mutex);
    free(a->found);
    free(a->partials);
    free(a);
}

size_t arrays_count(const struct arrays *a)
{
    return a->info->pick_count;
}

size_t arrays_total(const struct arrays *a)
{
    return a->info->pick_total;
}

enum element_type arrays_type(const struct arrays *a, size_t k, bool *swap)
{
    const struct container_array *array = a->info->picks[k].array;

    *swap = array->big_endian != element_host_is_big();
    return array->type;
}

size_t arrays_element_size(const struct arrays *a, size_t k)
{
    return element_size(a->info->picks[k].array->type);
}

/* Merges a part of an array into what there is. Whether that is all of it now. */
static bool merge(struct arrays *a, size_t k, const struct partial *partial)
{
    struct partial *all = &a->partials[k];
    bool complete;

    lock(a);
    if (all->count == 0)
        partial_clear(all);
    partial_merge(all, partial);
    complete = all->count == a->info->picks[k].elements;
    unlock(a);
    return complete;
}

void arrays_take(struct arrays *a, size_t k, const struct partial *partial)
{
    if (partial->count < a->info->picks[k].elements) {
        if (merge(a, k, partial))
            round_result(a, k, &a->partials[k]);
        return;
    }
    if (a->options->keep_partials)
        a->partials[k] = *partial;
    round_result(a, k, partial);
}

void arrays_put(struct arrays *a, size_t k, const struct reduction *reduction)
{
    struct found *found = &a->found[k];

    found->done = true;
    if (reduction->error[0]) {
        found->error = strdup(reduction->error);
        if (!found->error)
            found->error = no_text;
        return;
    }
    found->result = reduction->result;
    found->quantiles = reduction->quantiles;
    found->readings = reduction->readings;
    a->partials[k] = reduction->partial;
}

const char *arrays_show_place(char text[ARRAYS_PLACE_MAX], const struct container_array *array,
                              uint64_t index)
{
    const size_t size = ARRAYS_PLACE_MAX;
    uint64_t places[CONTAINER_DIMENSIONS_MAX], rest = index;
    int used = snprintf(text, size, "%" PRIu64, index);

    if (array->dimensions < 2)
        return text;
    for (unsigned i = 0; i < array->dimensions; i++) {
        const unsigned d = array->fortran_order ? i : array->dimensions - 1 - i;

        places[d] = rest % array->sizes[d];
        rest /= array->sizes[d];
    }
    for (unsigned d = 0; d < array->dimensions && (size_t)used < size; d++)
        used += snprintf(text + used, size - (size_t)used, "%s%" PRIu64 "%s", d == 0 ? " [" : ", ",
                         places[d], d + 1 == array->dimensions ? "]" : "");
    return text;
}

/* Sees whether --nan=error makes an error of an array. */
static void check_nan(struct arrays *a, size_t k)
{
    const struct container_array *array = a->info->picks[k].array;
    struct found *found = &a->found[k];
    char shown[CONTAINER_NAME_SHOWN], place[ARRAYS_PLACE_MAX];

    if (a->options->nan != NAN_ERROR || found->error || found->result.nan == 0)
        return;
    (void)arrays_show_place(place, array, found->result.first_nan);
    if (asprintf(&found->error, "element %s is a NaN", place) < 0)
        found->error = no_text;
    message_error(EXIT_FAILED, "%s: array %s: element %s is a NaN", a->info->name,
                  container_show_name(shown, array->name), place);
}

bool arrays_finish(struct arrays *a)
{
    for (size_t k = 0; k < a->info->pick_count; k++) {
        if (!a->found[k].done)
            return false;
        check_nan(a, k);
    }
    return true;
}

void arrays_get(const struct arrays *a, size_t k, struct reduction *one)
{
    const struct source_pick *pick = &a->info->picks[k];
    const struct container_array *array = pick->array;

    one->array = array->name;
    snprintf(one->error, sizeof one->error, "%s", a->found[k].error ? a->found[k].error : "");
    one->result = a->found[k].result;
    one->quantiles = a->found[k].quantiles;
    one->readings = a->found[k].readings;
    if (a->options->keep_partials) /* others are not asked for, and their memory is not touched */
        one->partial = a->partials[k];
    one->type = array->type;
    one->big_endian = array->big_endian;
    one->data_offset = array->deflated ? array->before : array->offset;
    one->compressed = container_array_packed(array);
    one->shape.known = true;
    one->shape.fortran_order = array->fortran_order;
    one->shape.dimensions = array->dimensions;
    for (unsigned i = 0; i < array->dimensions; i++)
        one->shape.sizes[i] = array->sizes[i];
    one->format = a->info->format;
    one->elements = pick->elements;
    one->first = pick->first;
    one->behind = false; /* an array without elements is picked in one part */
    one->of = pick->of;
    one->number = pick->number;
    one->bytes = pick->elements * element_size(array->type);
    one->input_bytes = array->deflated || array->tiles ? array->packed : one->bytes;
}
