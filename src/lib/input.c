/*
 * Inputs, and facts about them.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/meaning.h"
#include "lib/objects.h"
#include "lib/reducer.h"
#include "source/facts.h"
#include "sys/float_mode.h"

/* Makes an input of this name, which is copied. NULL, with an error, without memory. */
static gpr_input *make(gpr_context *context, const char *path)
{
    gpr_input *made = calloc(1, sizeof *made);
    char *kept = strdup(path);

    if (!made || !kept) {
        free(made);
        free(kept);
        (void)lib_fail_memory(context);
        return NULL;
    }
    made->context = context;
    made->path = kept;
    made->options.length = UINT64_MAX;
    return made;
}

gpr_status gpr_open_view(gpr_context *context, const gpr_view *view, gpr_input **input)
{
    FLOAT_MODE_DEFAULT;
    gpr_input *made;

    lib_begin(context);
    made = make(context, "memory");
    if (!made)
        return context->status;
    made->in_memory = true;
    made->view = *view;
    made->reordered = !view->view.contiguous && view->view.mask_form == VIEW_MASK_NONE;
    if (made->reordered) {
        made->fast = view->view;
        view_reorder(&made->fast);
    }
    *input = made;
    return GPR_OK;
}

/* Makes an input of this name, for as much of a request as says how it is read; NULL: of none. NULL,
   with an error. */
static gpr_input *make_source(gpr_context *context, const char *path, const gpr_request *request)
{
    gpr_input *made = make(context, path);

    if (!made || !request)
        return made;
    made->options = request->input;
    made->shape = request->shape;
    if (made->options.part.begin == 0 && made->options.part.end == UINT64_MAX)
        made->options.part.end = 0; /* as sources have it */
    else if (made->options.part.begin >= made->options.part.end) {
        gpr_close(made);
        (void)lib_fail(context, GPR_ERROR_ARGUMENT, "the part of the file is empty");
        return NULL;
    }
    return made;
}

/* Whether an input stands for other files than itself. */
static bool is_set(const gpr_input *input)
{
    return input->set.index || input->set.count > 1 ||
           (input->set.count == 1 && strcmp(input->set.paths[0], input->path) != 0);
}

/* Opens each of the files that an input stands for. */
static gpr_status open_parts(gpr_input *made)
{
    gpr_status status = GPR_OK;

    made->parts = calloc(made->set.count, sizeof(gpr_input *));
    if (!made->parts)
        return lib_fail_memory(made->context);
    for (size_t i = 0; i < made->set.count && status == GPR_OK; i++) {
        gpr_input *part = made->parts[i] = make(made->context, made->set.paths[i]);

        if (!part)
            return made->context->status;
        part->options = made->options;
        part->options.index = made->set.index;
        part->shape = made->shape;
        status = reducer_open(part);
    }
    return status;
}

/* Opens what `made` names; NULL: there is an error. */
static gpr_status open_source(gpr_context *context, gpr_input *made, gpr_input **input)
{
    gpr_status status;

    if (!made)
        return context->status;
    status = reducer_find_files(made);
    if (status == GPR_OK)
        status = is_set(made) ? open_parts(made) : reducer_open(made);
    if (status == GPR_OK)
        *input = made;
    else
        gpr_close(made);
    return status;
}

gpr_status gpr_open_path(gpr_context *context, const char *path, const gpr_request *options,
                         gpr_input **input)
{
    FLOAT_MODE_DEFAULT;
    lib_begin(context);
    path = strcmp(path, "-") == 0 ? "./-" : path;
    return open_source(context, make_source(context, path, options), input);
}

gpr_status gpr_open_fd(gpr_context *context, int fd, const gpr_request *options, gpr_input **input)
{
    FLOAT_MODE_DEFAULT;
    char path[32];
    gpr_input *made;

    lib_begin(context);
    if (fd < 0)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "descriptors have numbers from 0 on");
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    made = make_source(context, path, options);
    if (made) {
        made->options.has_descriptor = true;
        made->options.descriptor = fd;
    }
    return open_source(context, made, input);
}

gpr_status gpr_open_callback(gpr_context *context, const char *name, gpr_read_function *function,
                             void *user, const gpr_request *options, gpr_input **input)
{
    FLOAT_MODE_DEFAULT;
    gpr_input *made;

    lib_begin(context);
    made = make_source(context, name, options);
    if (made) {
        made->options.read = function;
        made->options.read_context = user;
    }
    return open_source(context, made, input);
}

/* NOLINTNEXTLINE(misc-no-recursion): parts have no parts */
void gpr_close(gpr_input *input)
{
    if (!input)
        return;
    for (size_t i = 0; input->parts && i < input->set.count; i++)
        gpr_close(input->parts[i]);
    free(input->parts);
    if (input->source)
        source_close(input->source);
    source_set_free(&input->set);
    free(input->path);
    free(input);
}

/* NOLINTNEXTLINE(misc-no-recursion): parts have no parts */
size_t gpr_input_arrays(const gpr_input *input)
{
    const struct container *container = lib_container(input);
    size_t count = 0;

    if (!input->parts)
        return container ? container->count : 1;
    for (size_t i = 0; i < input->set.count; i++)
        count += gpr_input_arrays(input->parts[i]);
    return count;
}

gpr_input *lib_part(const gpr_input *input, size_t *array)
{
    size_t i = 0, count;

    if (!input->parts)
        return (gpr_input *)(uintptr_t)input;
    while (i + 1 < input->set.count && *array >= (count = gpr_input_arrays(input->parts[i]))) {
        *array -= count;
        i++;
    }
    return input->parts[i];
}

const char *gpr_input_format(const gpr_input *input)
{
    if (input->in_memory)
        return "memory";
    input = input->parts ? input->parts[0] : input;
    return input->pipe ? "pipe" : source_info(input->source)->format;
}

/* The array of a number that is too large. */
static const struct container_array no_array = {
    .name = "", .unreadable = "the input has no such array", .typed = true, .elements = UINT64_MAX};

/* An array of a container; NULL if the input is none. *input becomes the file that has it. */
static const struct container_array *array_of(const gpr_input **input, size_t array)
{
    const struct container *container;

    if (array >= gpr_input_arrays(*input))
        return &no_array;
    *input = lib_part(*input, &array);
    container = lib_container(*input);
    return container ? &container->arrays[array] : NULL;
}

const char *gpr_array_name(const gpr_input *input, size_t array)
{
    const struct container_array *a = array_of(&input, array);

    return a ? a->name : "";
}

const char *gpr_array_dtype(const gpr_input *input, size_t array)
{
    const struct container_array *a = array_of(&input, array);

    if (a)
        return a->unreadable ? a->type_name : element_name(a->type);
    if (input->in_memory)
        return element_name(input->view.view.type);
    return element_name(input->pipe ? input->options.type : source_info(input->source)->type);
}

const char *gpr_array_why_unreadable(const gpr_input *input, size_t array)
{
    const struct container_array *a = array_of(&input, array);

    return a ? a->unreadable : NULL;
}

unsigned gpr_array_shape(const gpr_input *input, size_t array, unsigned rank, uint64_t *shape)
{
    const struct container_array *a = array_of(&input, array);
    const struct source_info *info = input->source ? source_info(input->source) : NULL;
    const uint64_t count = a ? 0 : gpr_array_count(input, 0);
    const uint64_t *sizes = &count;
    unsigned dimensions = 1;

    if (a) {
        sizes = a->sizes;
        dimensions = a->dimensions;
    } else if (input->in_memory) {
        sizes = input->view.view.shaped.sizes;
        dimensions = input->view.view.shaped.rank;
    } else if (info && !input->pipe && info->shape.known) {
        sizes = info->shape.sizes;
        dimensions = info->shape.dimensions;
    } else if (input->shape.known) {
        sizes = input->shape.sizes;
        dimensions = input->shape.dimensions;
    }
    for (unsigned i = 0; i < rank && i < dimensions; i++)
        shape[i] = sizes[i];
    return dimensions;
}

uint64_t gpr_array_count(const gpr_input *input, size_t array)
{
    const struct container_array *a = array_of(&input, array);

    if (a)
        return a->unreadable || a->elements < input->options.length ? a->elements
                                                                    : input->options.length;
    if (input->in_memory)
        return input->view.view.elements;
    return input->pipe ? UINT64_MAX : source_elements(source_info(input->source));
}

uint64_t gpr_array_fact(const gpr_input *input, size_t array, gpr_fact fact)
{
    const uint64_t count = gpr_array_count(input, array);
    const struct container_array *a = array_of(&input, array);
    const struct view *view = &input->view.view;
    struct array_facts facts;

    if (input->pipe || a == &no_array)
        return UINT64_MAX;
    if (input->in_memory)
        return fact == GPR_FACT_BYTES        ? view->elements * element_size(view->type)
               : fact == GPR_FACT_BIG_ENDIAN ? view->swap != element_host_is_big()
               : fact == GPR_FACT_COMPRESSED ? 0
                                             : UINT64_MAX;
    array_facts_find(&facts, source_info(input->source), a, count);
    switch (fact) {
    case GPR_FACT_BYTES:
        return facts.bytes;
    case GPR_FACT_OFFSET:
        return facts.offset;
    case GPR_FACT_COMPRESSED:
        return facts.compressed;
    case GPR_FACT_BIG_ENDIAN: /* the order of what cannot be read means nothing */
        return a && a->unreadable ? UINT64_MAX : facts.big_endian;
    case GPR_FACT_FORTRAN_ORDER:
        return facts.shape.known && facts.shape.fortran_order;
    case GPR_FACT_CHUNKS:
        return facts.chunks;
    case GPR_FACT_MISSING_CHUNKS:
        return facts.missing_chunks;
    }
    return UINT64_MAX;
}

int gpr_array_scale(const gpr_input *input, size_t array, double *scale, double *offset)
{
    const struct container_array *a = array_of(&input, array);
    const struct scale none = {.given = false};
    const struct scale found = input->in_memory      ? input->view.view.scale
                               : a && !a->unreadable ? container_scale(a)
                                                     : none;

    *scale = found.given ? found.factor : 1;
    *offset = found.offset;
    return found.given;
}

size_t gpr_array_missing(const gpr_input *input, size_t array, char *text, size_t size)
{
    FLOAT_MODE_DEFAULT;
    const struct container_array *a = array_of(&input, array);
    const struct missing_values none = {.count = 0};
    struct missing missing;
    struct buffer shown = {0};
    size_t length;

    lib_begin(input->context);
    if (a && !a->unreadable) {
        (void)container_find_missing(a, a->type, &none, &missing);
        meaning_show_missing(&shown, &missing, a->type);
    }
    if (shown.failed)
        (void)lib_fail_memory(input->context);
    length = shown.failed ? 0 : shown.size;
    snprintf(text, size, "%.*s", (int)length, length > 0 ? shown.data : "");
    buffer_free(&shown);
    return length;
}

/* Sees whether a request asks for anything. */
static gpr_status check_request(const gpr_request *request)
{
    if (request->operations.count > 0 || request->passes.histogram.kind != HISTOGRAM_NONE)
        return GPR_OK;
    return lib_fail(request->context, GPR_ERROR_ARGUMENT, "the request is for nothing");
}

gpr_status gpr_reduce(gpr_input *input, size_t array, const gpr_request *request,
                      gpr_result **result)
{
    FLOAT_MODE_DEFAULT;
    gpr_context *context = input->context;

    lib_begin(context);
    if (array >= gpr_input_arrays(input))
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the input has no array number %zu", array);
    if (check_request(request) != GPR_OK)
        return context->status;
    input = lib_part(input, &array);
    return reducer_reduce(input, array, request, result);
}

gpr_status gpr_reduce_each(gpr_input *input, const gpr_request *request,
                           gpr_result_function *function, void *user)
{
    FLOAT_MODE_DEFAULT;
    struct reducer_each each = {.request = request, .function = function, .user = user};
    const size_t files = input->parts ? input->set.count : 1;
    gpr_status status;

    lib_begin(input->context);
    status = check_request(request);
    lib_begin_long(input->context);
    for (size_t i = 0; i < files && status == GPR_OK; i++) {
        gpr_input *part = input->parts ? input->parts[i] : input;

        status = reducer_each(part, &each);
        each.first += gpr_input_arrays(part);
    }
    return lib_end_long(input->context, status);
}

gpr_status gpr_reduce_memory(const gpr_request *request, const void *data, const char *dtype,
                             gpr_order order, uint64_t count, double *values, gpr_result **result)
{
    FLOAT_MODE_DEFAULT;
    gpr_context *context = request->context;
    char name[] = "memory";
    gpr_input input = {.context = context,
                       .path = name,
                       .in_memory = true,
                       .view = {.context = context, .memory = GPR_MEMORY_HOST},
                       .options = {.length = UINT64_MAX}};
    gpr_result *made = NULL;
    gpr_status status = gpr_view_set_data(&input.view, data, dtype, order, 1, &count, NULL);

    if (status == GPR_OK)
        status = gpr_reduce(&input, 0, request, &made);
    for (unsigned i = 0; i < request->operations.count && status == GPR_OK; i++)
        status = gpr_result_double(made, lib_operation(&request->operations, i)->name, &values[i]);
    if (status == GPR_OK && result)
        *result = made;
    else
        gpr_result_free(made);
    return status;
}

gpr_status gpr_total(gpr_input *const *inputs, size_t count, const gpr_request *request,
                     gpr_result **result)
{
    FLOAT_MODE_DEFAULT;
    gpr_context *context = request->context;

    lib_begin(context);
    if (count == 0 || count > INT_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "a total has from 1 to %d inputs", INT_MAX);
    for (size_t i = 0; i < count; i++)
        if (inputs[i]->context != context)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "an input belongs to another context");
    if (check_request(request) != GPR_OK)
        return context->status;
    if (request->wants & PARTIAL_DIGEST)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED, "several arrays together have no digest");
    return reducer_total(inputs, count, request, result);
}
