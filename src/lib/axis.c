/*
 * Reductions along an axis into arrays of the caller.
 */
#include "config.h"

#include "core/name.h"
#include "run/axis.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/device.h"
#include "lib/objects.h"
#include "lib/reducer.h"
#include "sys/float_mode.h"

/* The destination of the results of a call. */
struct axis_output {
    gpr_context *context;
    void *const *results; /* an array for each operation */
    uint64_t count;       /* elements of each */
    const struct axis_plan *plan;
    unsigned places[ARRAY_DIMENSIONS_MAX]; /* of dimensions of the source in the caller's array */
    bool in_order; /* results come in the order of the caller's arrays; if not: */
    uint64_t strides[ARRAY_DIMENSIONS_MAX]; /* elements of these from a result to the next of each
                                                dimension */
    _Atomic bool refused;                   /* a worker could not store a result */
    struct error error;                     /* why, if so */
};

/* A result of a batch and its place in the caller's arrays, if these are in another order. */
struct cursor {
    const struct axis_output *out;
    const struct array_shape *shape; /* of the results as they are numbered */
    uint64_t place[ARRAY_DIMENSIONS_MAX];
    uint64_t at; /* number in the caller's arrays */
};

/* Goes to result number k. */
static struct cursor cursor_at(const struct axis_output *out, uint64_t k)
{
    struct cursor c = {.out = out, .shape = &out->plan->layout->result};

    array_place(c.shape, k, c.place);
    for (unsigned i = 0; i < c.shape->dimensions; i++)
        c.at += c.place[i] * out->strides[i];
    return c;
}

/* Goes to the next result. */
static void step(struct cursor *c)
{
    const unsigned rank = c->shape->dimensions;

    for (unsigned i = 0; i < rank; i++) {
        const unsigned d = c->shape->fortran_order ? i : rank - 1 - i;

        c->at += c->out->strides[d];
        if (++c->place[d] < c->shape->sizes[d])
            return;
        c->at -= c->shape->sizes[d] * c->out->strides[d];
        c->place[d] = 0;
    }
}

/* Sets the strides of results, whose dimensions are in an order of their own: `places` has that of
   each dimension of the array among those of the caller. */
static void set_strides(struct axis_output *out, const struct axis_layout *layout)
{
    const struct array_shape *shape = &layout->result;
    unsigned places[ARRAY_DIMENSIONS_MAX];
    unsigned rank = 0;

    for (unsigned i = 0; i < layout->shape.dimensions; i++)
        if (axis_kept(layout, i) >= 0)
            places[rank++] = out->places[i];
    out->in_order = !shape->fortran_order || shape->dimensions < 2;
    for (unsigned i = 0; i < rank; i++) {
        out->strides[i] = 1;
        for (unsigned k = 0; k < rank; k++)
            if (places[k] > places[i])
                out->strides[i] *= shape->sizes[k];
        out->in_order = out->in_order && (i == 0 || places[i] > places[i - 1]);
    }
}

/* Writes the index of result k in each dimension of the caller's: 3,5. */
static void show_place(char text[AXIS_PLACE_MAX], const struct axis_output *out, uint64_t k)
{
    const struct axis_layout *layout = out->plan->layout;
    uint64_t place[ARRAY_DIMENSIONS_MAX];
    size_t used = 0;

    array_place(&layout->result, k, place);
    text[0] = '\0';
    for (unsigned d = 0; d < layout->shape.dimensions; d++)
        for (unsigned i = 0; i < layout->shape.dimensions; i++)
            if (out->places[i] == d && axis_kept(layout, i) >= 0)
                used += (size_t)sprintf(text + used, "%s%" PRIu64, used > 0 ? "," : "",
                                        place[axis_kept(layout, i)]);
}

/* Sets why an integer cannot be stored, unless another worker has found a reason. Returns false. */
static bool refuse(struct axis_output *out, const struct axis_batch *batch, size_t j, size_t i)
{
    const struct integer x = axis_integer(batch, j, i);
    char place[AXIS_PLACE_MAX];

    if (atomic_exchange(&out->refused, true))
        return false;
    show_place(place, out, batch->first + i);
    axis_refuse_integer(batch->plan, batch->plan->operations[j], place, &x, &out->error);
    return false;
}

/* Stores the values of operation j. An index that does not exist becomes -1. False where an integer does
   not fit. */
static bool store(struct axis_output *out, const struct axis_batch *batch, size_t j)
{
    const bool numbers = axis_kind(batch->plan, batch->plan->operations[j]) == AXIS_NUMBER;
    const union axis_values values = batch->values[j];
    const size_t fit = axis_narrow(batch, j);
    struct cursor c;
    const size_t size = sizeof(uint64_t);
    const unsigned char *const from = numbers ? (const void *)values.number : values.count;
    unsigned char *const to = out->results[j];

    if (fit < batch->count)
        return refuse(out, batch, j, fit);
    if (out->in_order) {
        memcpy(to + batch->first * size, from, batch->count * size);
        return true;
    }
    c = cursor_at(out, batch->first);
    for (size_t i = 0; i < batch->count; i++, step(&c))
        memcpy(to + c.at * size, from + i * size, size);
    return true;
}

static bool begin(void *context, const struct axis_plan *plan)
{
    struct axis_output *out = context;

    out->plan = plan;
    set_strides(out, plan->layout);
    for (size_t i = 0; i < plan->operation_count; i++)
        if (plan->scale.given &&
            plan->operations[i]->member == offsetof(struct result, subnormals)) {
            (void)lib_fail_uncounted(out->context, plan->operations[i]->name);
            return false;
        }
    if (plan->layout->results == out->count)
        return true;
    (void)lib_fail(out->context, GPR_ERROR_ARGUMENT, "there are %" PRIu64 " results, not %" PRIu64,
                   plan->layout->results, out->count);
    return false;
}

/* Stores the results, and leaves no bytes to be written. */
static bool render(void *context, const struct axis_batch *batch, struct buffer *bytes)
{
    struct axis_output *out = context;
    bool good = atomic_load_explicit(&out->context->call, memory_order_relaxed) != CALL_CANCELLED;

    (void)bytes;
    for (size_t j = 0; j < batch->plan->operation_count && good; j++)
        good = store(out, batch, j);
    return good;
}

/*
 * Calls.
 */

/* Sees whether all operations of a request can be computed along an axis. */
static gpr_status check_operations(gpr_context *context, const gpr_request *request)
{
    if (request->operations.count == 0)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the request is for nothing");
    if (request->passes.histogram.kind != HISTOGRAM_NONE)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                        "a histogram cannot be computed along an axis");
    if (request->wants & PARTIAL_DIGEST)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                        "a digest cannot be computed along an axis");
    return GPR_OK;
}

/* Finds the type and the scale of the elements of an array. */
static gpr_status find_elements(const gpr_input *input, size_t array, struct axis_plan *plan)
{
    struct scale *scale = &plan->scale;
    enum element_order order;
    char name[NAME_INPUT_MAX];

    if (array >= gpr_input_arrays(input))
        return lib_fail(input->context, GPR_ERROR_ARGUMENT, "the input has no array number %zu",
                        array);
    input = lib_part(input, &array);
    if (input->pipe)
        return lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                        "%s: the type of a pipe's elements is unknown before it is reduced",
                        name_input(name, input->path));
    (void)element_parse(gpr_array_dtype(input, array), &plan->type, &order);
    scale->given = gpr_array_scale(input, array, &scale->factor, &scale->offset);
    return GPR_OK;
}

const char *gpr_axis_dtype(const gpr_input *input, size_t array, const gpr_request *request,
                           const char *op)
{
    gpr_context *context = input->context;
    struct axis_plan plan = {.nan = request->nan};
    char shown[ESCAPE_QUOTE_MAX];

    lib_begin(context);
    if (check_operations(context, request) != GPR_OK ||
        find_elements(input, array, &plan) != GPR_OK)
        return NULL;
    plan.given = plan.type;
    for (unsigned i = 0; i < request->operations.count; i++) {
        const struct operation *found = lib_operation(&request->operations, i);

        if (strcmp(found->name, op) == 0) {
            const char letter = axis_letter(&plan, found);

            return letter == 'f' ? "f64" : letter == 'i' ? "i64" : "u64";
        }
    }
    (void)lib_fail(context, GPR_ERROR_ARGUMENT, "%s is not in the request",
                   escape_quote(shown, op));
    return NULL;
}

/* Opens the array for a reduction. NULL, with the reason in *error. */
static struct source *open_array(gpr_input *input, size_t array,
                                 const struct session_options *options, struct error *error)
{
    const struct container *container = lib_container(input);
    const struct container_array *a = container ? &container->arrays[array] : NULL;
    const struct source_options along = axis_source_options(options);
    const unsigned workers = axis_workers(options);
    struct source *source = input->source;

    error->kind = ERROR_NONE;
    if (a && a->unreadable) {
        *error = container_why(a);
        return NULL;
    }
    if (a)
        return source_open_array(source, a, &along, workers, error);
    if (!input->pipe)
        return source_open(input->path, &along, workers, error);
    input->source = NULL;
    if (source && source_open_connected(source, &along, workers) && !source_info(source)->container)
        return source;
    if (source && source_why(source)->kind != ERROR_NONE)
        *error = *source_why(source);
    (void)error_set(error, ERROR_REQUEST,
                    source ? "holds arrays, and can only be read in order"
                           : "a pipe can be reduced once");
    if (source)
        source_close(source);
    return NULL;
}

/* Reduces what is open, whose raw elements have this shape, if that is known. False, with the reason in
   out->error, or an error of the context. */
static bool reduce(struct axis_output *out, const struct session_options *options,
                   const gpr_request *request, unsigned axis, const struct array_shape *shape,
                   struct source *source)
{
    const struct axis_sink sink = {.begin = begin, .render = render, .context = out};
    const struct axis_request along = {
        .axis = (int64_t)axis, .more = request->more_axes, .shape = *shape};
    const struct operation *operations[OPERATIONS_MAX];
    struct axis_outcome outcome;
    struct engine_state *gpu;
    bool good;

    for (unsigned i = 0; i < request->operations.count; i++)
        operations[i] = lib_operation(&request->operations, i);
    if (!axis_open_gpu(options, NULL, 0, &gpu, &out->error))
        return false;
    good = axis_reduce(options, &along, operations, request->operations.count, gpu, source, &sink,
                       &outcome);
    axis_close_gpu(gpu);
    if (!good && source_why(source)->kind != ERROR_NONE)
        out->error = *source_why(source);
    return good || error_set(&out->error, ERROR_WRITE, "cancelled");
}

gpr_status gpr_reduce_axis(gpr_input *input, size_t array, const gpr_request *request,
                           unsigned axis, void *const *results, uint64_t count)
{
    FLOAT_MODE_DEFAULT;
    gpr_context *context = input->context;
    struct axis_output out = {.context = context, .results = results, .count = count};
    const struct container *container;
    struct session_options options;
    struct source *source;
    struct view view;

    lib_begin(context);
    if (array >= gpr_input_arrays(input))
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the input has no array number %zu", array);
    if (check_operations(context, request) != GPR_OK)
        return context->status;
    if (request->more_axes > 0 && request->wants & PARTIAL_WHERE)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                        "argmin and argmax are computed along one axis");
    if (request->input.length != UINT64_MAX || input->options.length != UINT64_MAX)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                        "GPR_LENGTH cannot be given for results along an axis");
    if (device_holds(input))
        return device_reduce_axis(input, request, axis, results, count);
    input = lib_part(input, &array);
    container = lib_container(input);
    if (!reducer_prepare(input, request, &options))
        return context->status;
    options.threads = reducer_threads(context);
    for (unsigned i = 0; i < ARRAY_DIMENSIONS_MAX; i++)
        out.places[i] = i;
    /* An error about a NaN says where it is. */
    if (input->reordered && request->nan != NAN_ERROR && request->more_axes == 0) {
        view = input->view.view;
        axis = view_sort_dimensions(&view, axis, out.places);
        options.input.view = &view;
    }
    lib_begin_long(context);
    source = open_array(input, array, &options, &out.error);
    if ((!source || !reduce(&out, &options, request, axis, &input->shape, source)) &&
        context->status == GPR_OK)
        (void)lib_fail_error(context, input->path, container ? container->arrays[array].name : NULL,
                             &out.error);
    if (source)
        source_close(source);
    reducer_tell_warnings(context);
    return lib_end_long(context, context->status);
}
