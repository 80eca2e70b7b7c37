#include "config.h"

#include "lib/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/missing.h"
#include "core/order.h"
#include "core/pass_plan.h"
#include "cuda/array.h"
#include "cuda/array_slices.h"
#include "cuda/array_tallies.h"
#include "lib/result.h"

gpr_status device_refuse(gpr_context *context)
{
    return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                    "memory: totals and comparisons of device memory are not supported");
}

/* Refuses what kernels that read memory of the caller do not find. */
static gpr_status check(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;
    const char *what = NULL;

    if (view->mask_form != VIEW_MASK_NONE)
        what = "masks";
    else if (request->passes.histogram.kind == HISTOGRAM_EXPONENTS &&
             (view->scale.given || element_is_integer(view->type)))
        what = "exponents of integers and scaled numbers";
    return what ? lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                           "memory: %s of device memory are not supported", what)
                : GPR_OK;
}

/* The most runs of a sample, and elements of one. It is sorted while the extremes are found, and what
   is kept for it costs the GPU little. */
#define SAMPLE_RUNS 2048
#define SAMPLE_LENGTH 8

/* A search for quantiles and a histogram. */
struct search {
    gpr_context *context;
    struct cuda_array_elements elements;
    struct pass_plan *plan;     /* NULL where nothing is searched for */
    struct selection_runs runs; /* of a sample that is on its way; none: count is 0 */
};

/* Opens a search, and begins to take a sample if the plan wants one, and one is easily had. */
static bool search_open(struct search *s, const gpr_request *request, const struct view *view,
                        struct error *error)
{
    gpr_context *context = s->context;
    struct selection_runs runs;

    s->plan = pass_plan_open(&request->passes, view->type, &view->scale, s->elements.count, 1,
                             request->nan != NAN_SKIP);
    if (!context->device_tallier)
        context->device_tallier = cuda_tallier_open(&cuda_tallier_shipped);
    if (!s->plan || !context->device_tallier)
        return error_memory(error);
    runs = pass_plan_runs(s->plan);
    if (runs.count > SAMPLE_RUNS)
        runs = (struct selection_runs){SAMPLE_RUNS, SAMPLE_LENGTH};
    if (runs.count == 0 || !view->contiguous || s->elements.count < runs.count * runs.length)
        return true;
    s->runs = runs;
    return cuda_array_begin_sample(context->device_tallier, &s->elements, runs, error);
}

/* Gives the pass plan the sample, if there is one. */
static bool search_sample(struct search *s, struct error *error)
{
    const struct cuda_array_elements *e = &s->elements;
    const size_t all = s->runs.count * s->runs.length, size = element_size(e->type);
    const unsigned char *elements;
    bool *missing = NULL, good;

    if (all == 0)
        return true;
    elements = cuda_array_sample(s->context->device_tallier, error);
    if (!elements)
        return false;
    if (e->missing)
        missing = malloc(all * sizeof *missing);
    good = missing || !e->missing;
    for (size_t i = 0; i < all && good && missing; i++)
        missing[i] =
            missing_has(e->missing, order_key(e->type, order_load(e->type, elements + i * size)));
    good = good && pass_plan_sample(s->plan, elements, missing, s->runs.count, s->runs.length);
    free(missing);
    return good || error_memory(error);
}

/* Has the elements tallied as the pass plan wants it next. */
static bool search_pass(struct search *s, bool again, const struct partial *partial,
                        struct error *error)
{
    const struct cuda_array_elements *e = &s->elements;
    struct pass_plan *plan = s->plan;
    const struct tally_plan *plans[TALLY_PLANS_MAX];
    struct tally_set set = {.count = pass_plan_next(plan, plans)};
    enum pass_plan_verdict verdict = PASS_PLAN_MEMORY;
    bool good = true;

    for (unsigned i = 0; i < set.count; i++)
        good = tally_open(&set.tally[i], plans[i]) && good;
    if (good && e->count > 0 && set.count > 0)
        good = cuda_array_tally(s->context->device_tallier, e, again, &set, error);
    if (good)
        verdict = pass_plan_take(plan, partial, &set, 1);
    for (unsigned i = 0; i < set.count; i++)
        tally_close(&set.tally[i]);
    if (error->kind != ERROR_NONE)
        return false;
    switch (verdict) {
    case PASS_PLAN_DONE:
    case PASS_PLAN_MORE:
        return true;
    case PASS_PLAN_CHANGED:
        return error_set(error, ERROR_CHANGED, "it changed while it was read");
    case PASS_PLAN_ENDLESS:
        return error_keep(error,
                          error_advised((struct advice){.kind = ADVICE_RANGE}, "holds infinities"));
    case PASS_PLAN_MEMORY:
        break;
    }
    return error_memory(error);
}

/* Finds quantiles and the histogram, once the partial result with extremes is known. */
static bool search_finish(struct search *s, const gpr_request *request, gpr_result *result,
                          struct error *error)
{
    bool good = true;

    if (!s->plan)
        return true;
    pass_plan_begin(s->plan, &result->partial);
    for (bool again = false; good && !pass_plan_is_done(s->plan); again = true)
        good = search_pass(s, again, &result->partial, error);
    return good && (result_take_passes(result, &request->passes, s->plan) || error_memory(error));
}

/* Launches what finds the partial result, and takes the sample while that runs. */
static bool reduce(struct search *s, const struct cuda_array_terms *terms, struct partial *partial,
                   struct error *error)
{
    struct cuda_array **array = &s->context->device_array;
    const struct cuda_array_elements *e = &s->elements;

    return cuda_array_add(array, terms, e->layout, e->count, 0, e->device, e->stream, error) &&
           search_sample(s, error) && cuda_array_snapshot(*array, terms->wants, partial, error) &&
           cuda_array_clear(*array, error);
}

gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result)
{
    gpr_context *context = input->context;
    const bool passes = pass_request_any(&request->passes);
    struct missing missing = {.count = 0};
    const char *const lacks = missing_add_values(&missing, view->type, &request->missing);
    struct search search = {
        .context = context,
        .elements = {.type = view->type,
                     .swap = view->swap,
                     .missing = missing.count > 0 ? &missing : NULL,
                     .layout = &view->folded,
                     .count = view->elements < request->length ? view->elements : request->length,
                     .device = input->view.ordinal,
                     .stream = input->view.stream}};
    struct cuda_array_terms terms = {.type = view->type,
                                     .swap = view->swap,
                                     .missing = search.elements.missing,
                                     .wants = request->wants | (passes ? PARTIAL_EXTREMES : 0)};
    struct error error = {.kind = ERROR_NONE};
    struct partial_split split;
    bool good = false;
    gpr_result *made;

    if (check(input, request) != GPR_OK)
        return context->status;
    if (lacks)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                        "%s: the missing value %s is not a value of type %s", input->path, lacks,
                        element_name(view->type));
    (void)scale_find_split(&view->scale, view->type, &terms.wants, &split);
    made = result_new(request);
    if (!made)
        return lib_fail_memory(context);
    partial_clear(&made->partial);
    if ((passes && !search_open(&search, request, view, &error)) ||
        !reduce(&search, &terms, &made->partial, &error)) {
        /* A GPU that failed is not asked again, unless by another call. */
        cuda_array_close(context->device_array);
        context->device_array = NULL;
        (void)lib_fail_error(context, input->path, NULL, &error);
    } else if (request->nan == NAN_ERROR && made->partial.nan > 0) {
        (void)lib_fail(context, GPR_ERROR_NAN, "%s: element %" PRIu64 " is a NaN", input->path,
                       made->partial.first_nan);
    } else {
        result_round(made, request, view->type, &view->scale);
        good = search_finish(&search, request, made, &error);
        if (!good)
            (void)lib_fail_error(context, input->path, NULL, &error);
    }
    pass_plan_close(search.plan);
    if (good) {
        *result = made;
        return GPR_OK;
    }
    gpr_result_free(made);
    return context->status;
}

/*
 * Sums along an axis.
 */

/* Refuses what cannot be found along an axis. */
static gpr_status check_axis(const gpr_input *input, const gpr_request *request, unsigned axis)
{
    const struct view *view = &input->view.view;
    const char *what = NULL;

    for (unsigned i = 0; i < request->operations.count; i++)
        if (strcmp(lib_operation(&request->operations, i)->name, "sum") != 0)
            what = "operations other than sum";
    if (!element_is_float(view->type) || view->scale.given)
        what = "integers and scaled numbers";
    else if (request->missing.count > 0 || view->mask_form != VIEW_MASK_NONE)
        what = "missing values";
    else if (request->nan == NAN_ERROR)
        what = "errors about NaNs";
    else if (request->length < view->elements || view->elements == 0)
        what = "parts of arrays, and arrays without elements,";
    if (what)
        return lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                        "memory: %s along an axis of device memory are not supported", what);
    return axis < view->shaped.rank
               ? GPR_OK
               : lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                          "memory: the array has no axis %u: it has %u", axis, view->shaped.rank);
}

/* Sums a slice by itself, which the kernels do not know the sum of. */
static gpr_status sum_slice(gpr_input *input, const gpr_request *request, unsigned axis,
                            uint64_t number, double *sum)
{
    const struct view *view = &input->view.view;
    const struct view_layout *given = &view->shaped;
    const unsigned char *data = given->data;
    gpr_result *result = NULL;
    struct view slice = *view;
    gpr_status status;

    for (unsigned d = given->rank; d-- > 0;) {
        if (d == axis)
            continue;
        data += (int64_t)(number % given->sizes[d]) * given->strides[d];
        number /= given->sizes[d];
    }
    (void)view_set(&slice, data, view->type, view->swap, 1, &given->sizes[axis],
                   &given->strides[axis]);
    status = device_reduce(input, &slice, request, &result);
    if (status == GPR_OK)
        status = gpr_result_double(result, "sum", sum);
    gpr_result_free(result);
    return status;
}

/* Sums along an axis into an array of the device. */
static gpr_status sum_axis(gpr_input *input, const gpr_request *request, unsigned axis,
                           const struct cuda_array_axis *along, double *results)
{
    gpr_context *context = input->context;
    const struct view *view = &input->view.view;
    const uint64_t count = along->outer * along->inner;
    const struct cuda_array_elements elements = {.type = view->type,
                                                 .swap = view->swap,
                                                 .layout = &view->folded,
                                                 .count = view->elements,
                                                 .device = input->view.ordinal,
                                                 .stream = input->view.stream};
    struct cuda_summer *summer = context->device_summer;
    struct error error = {.kind = ERROR_NONE};
    const uint64_t *unknown;
    uint64_t left;

    if (!cuda_array_sum_slices(summer, &elements, along, results, &error))
        return lib_fail_error(context, input->path, NULL, &error);
    unknown = cuda_array_unknown(summer, results, 0, count, &left, &error);
    for (uint64_t first = 0, n; unknown && left > 0 && first < count; first += n) {
        n = count - first < CUDA_ARRAY_UNKNOWN ? count - first : CUDA_ARRAY_UNKNOWN;
        unknown = cuda_array_unknown(summer, results, first, n, &left, &error);
        for (uint64_t i = 0; unknown && i < left; i++) {
            double sum;

            if (sum_slice(input, request, axis, unknown[i], &sum) != GPR_OK)
                return context->status;
            if (!cuda_array_set_sum(summer, results + unknown[i], sum, &error))
                unknown = NULL;
        }
        left = 1; /* in the others */
    }
    return unknown ? GPR_OK : lib_fail_error(context, input->path, NULL, &error);
}

gpr_status device_reduce_axis(gpr_input *input, const gpr_request *request, unsigned axis,
                              void *const *results, uint64_t count)
{
    gpr_context *context = input->context;
    const struct view_layout *given = &input->view.view.shaped;
    struct cuda_array_axis along;

    if (check_axis(input, request, axis) != GPR_OK)
        return context->status;
    along = (struct cuda_array_axis){.outer = 1, .length = given->sizes[axis], .inner = 1};
    for (unsigned d = 0; d < axis; d++)
        along.outer *= given->sizes[d];
    for (unsigned d = axis + 1; d < given->rank; d++)
        along.inner *= given->sizes[d];
    if (along.outer * along.inner != count)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "there are %" PRIu64 " results, not %" PRIu64,
                        along.outer * along.inner, count);
    if (!context->device_summer)
        context->device_summer = cuda_summer_open();
    if (!context->device_summer)
        return lib_fail_memory(context);
    for (unsigned i = 0; i < request->operations.count; i++)
        if (sum_axis(input, request, axis, &along, results[i]) != GPR_OK)
            return context->status;
    return GPR_OK;
}
