#include "config.h"

#include "lib/device.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/missing.h"
#include "core/order.h"
#include "core/pass_plan.h"
#include "cuda/array.h"
#include "cuda/array_tallies.h"
#include "lib/result.h"

gpr_status device_refuse(gpr_context *context)
{
    return lib_fail(context, GPR_ERROR_UNSUPPORTED,
                    "memory: totals, comparisons and reductions along an axis of device memory are "
                    "not supported");
}

/* Refuses what kernels that read memory of the caller do not find. */
static gpr_status check(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;
    const char *what = NULL;

    if (view->mask_form != VIEW_MASK_NONE)
        what = "masks";
    else if (request->wants & PARTIAL_DIGEST)
        what = "digests";
    else if (request->passes.histogram.kind == HISTOGRAM_EXPONENTS &&
             (view->scale.given || element_is_integer(view->type)))
        what = "exponents of integers and scaled numbers";
    return what ? lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                           "memory: %s of device memory are not supported", what)
                : GPR_OK;
}

/* Gives a pass plan a sample, if it wants one, and one is easily had. */
static bool sample(struct pass_plan *plan, const struct cuda_array_elements *e, bool contiguous,
                   struct error *error)
{
    const struct selection_runs runs = pass_plan_runs(plan);
    const size_t all = runs.count * runs.length, size = element_size(e->type);
    unsigned char *elements;
    bool *missing = NULL, good;

    if (runs.count == 0 || !contiguous || e->count < all)
        return true;
    elements = malloc(all * size);
    if (e->missing)
        missing = malloc(all * sizeof *missing);
    good = elements && (missing || !e->missing) ? cuda_array_sample(e, runs, elements, error)
                                                : error_memory(error);
    for (size_t i = 0; i < all && good && missing; i++)
        missing[i] =
            missing_has(e->missing, order_key(e->type, order_load(e->type, elements + i * size)));
    good = good && (pass_plan_sample(plan, elements, missing, runs.count, runs.length) ||
                    error_memory(error));
    free(missing);
    free(elements);
    return good;
}

/* Has the elements tallied as a pass plan wants it next. */
static bool pass(struct pass_plan *plan, const struct cuda_array_elements *e,
                 const struct partial *partial, struct error *error)
{
    const struct tally_plan *plans[TALLY_PLANS_MAX];
    struct tally_set set = {.count = pass_plan_next(plan, plans)};
    enum pass_plan_verdict verdict = PASS_PLAN_MEMORY;
    bool good = true;

    for (unsigned i = 0; i < set.count; i++)
        good = tally_open(&set.tally[i], plans[i]) && good;
    if (good && e->count > 0 && set.count > 0)
        good = cuda_array_tally(e, &set, error);
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

/* Finds quantiles and a histogram of elements whose partial result, with extremes, is known. */
static bool find_order(const gpr_request *request, const struct view *view,
                       const struct cuda_array_elements *e, gpr_result *result, struct error *error)
{
    struct pass_plan *plan = pass_plan_open(&request->passes, view->type, &view->scale, e->count, 1,
                                            request->nan != NAN_SKIP);
    bool good;

    if (!plan)
        return error_memory(error);
    pass_plan_begin(plan, &result->partial);
    good = pass_plan_is_done(plan) || sample(plan, e, view->contiguous, error);
    while (good && !pass_plan_is_done(plan))
        good = pass(plan, e, &result->partial, error);
    good = good && (result_take_passes(result, &request->passes, plan) || error_memory(error));
    pass_plan_close(plan);
    return good;
}

gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result)
{
    gpr_context *context = input->context;
    struct cuda_array **array = &context->device_array;
    const bool passes = pass_request_any(&request->passes);
    struct missing missing = {.count = 0};
    const char *const lacks = missing_add_values(&missing, view->type, &request->missing);
    const struct cuda_array_elements elements = {
        .type = view->type,
        .swap = view->swap,
        .missing = missing.count > 0 ? &missing : NULL,
        .layout = &view->folded,
        .count = view->elements < request->length ? view->elements : request->length,
        .device = input->view.ordinal,
        .stream = input->view.stream};
    struct cuda_array_terms terms = {.type = view->type,
                                     .swap = view->swap,
                                     .missing = elements.missing,
                                     .wants = request->wants | (passes ? PARTIAL_EXTREMES : 0)};
    struct error error = {.kind = ERROR_NONE};
    struct partial_split split;
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
    if (!cuda_array_add(array, &terms, elements.layout, elements.count, 0, elements.device,
                        elements.stream, &error) ||
        !cuda_array_snapshot(*array, terms.wants, &made->partial, &error) ||
        !cuda_array_clear(*array, &error)) {
        /* A GPU that failed is not asked again, unless by another call. */
        cuda_array_close(*array);
        *array = NULL;
        (void)lib_fail_error(context, input->path, NULL, &error);
    } else if (request->nan == NAN_ERROR && made->partial.nan > 0) {
        (void)lib_fail(context, GPR_ERROR_NAN, "%s: element %" PRIu64 " is a NaN", input->path,
                       made->partial.first_nan);
    } else {
        result_round(made, request, view->type, &view->scale);
        if (!passes || find_order(request, view, &elements, made, &error)) {
            *result = made;
            return GPR_OK;
        }
        (void)lib_fail_error(context, input->path, NULL, &error);
    }
    gpr_result_free(made);
    return context->status;
}
