#include "config.h"

#include "lib/device.h"

#include <inttypes.h>

#include "cuda/array.h"
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
    const char *what = NULL;

    if (input->view.view.mask_form != VIEW_MASK_NONE)
        what = "masks";
    else if (request->missing.count > 0)
        what = "missing values";
    else if (request->wants & PARTIAL_DIGEST)
        what = "digests";
    else if (pass_request_any(&request->passes))
        what = "quantiles and histograms";
    return what ? lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                           "memory: %s of device memory are not supported", what)
                : GPR_OK;
}

gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result)
{
    gpr_context *context = input->context;
    struct cuda_array **array = &context->device_array;
    const uint64_t count = view->elements < request->length ? view->elements : request->length;
    struct cuda_array_terms terms = {
        .type = view->type, .swap = view->swap, .wants = request->wants};
    struct error error = {.kind = ERROR_NONE};
    struct partial_split split;
    gpr_result *made;

    if (check(input, request) != GPR_OK)
        return context->status;
    (void)scale_find_split(&view->scale, view->type, &terms.wants, &split);
    made = result_new(request);
    if (!made)
        return lib_fail_memory(context);
    partial_clear(&made->partial);
    if (!cuda_array_add(array, &terms, &view->folded, count, 0, input->view.ordinal,
                        input->view.stream, &error) ||
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
        *result = made;
        return GPR_OK;
    }
    gpr_result_free(made);
    return context->status;
}
