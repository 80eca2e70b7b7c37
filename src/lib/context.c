/*
 * Contexts: their settings, and their errors.
 */
#include "config.h"

#include <stdlib.h>

#include "cuda/array.h"
#include "cuda/array_masks.h"
#include "cuda/array_pieces.h"
#include "cuda/array_slices.h"
#include "cuda/array_tallies.h"
#include "lib/objects.h"
#include "lib/reducer.h"
#include "sys/signals.h"

gpr_status gpr_context_new(gpr_context **context)
{
    gpr_context *made = calloc(1, sizeof *made);

    if (!made)
        return GPR_ERROR_MEMORY;
    made->reducer = reducer_new(made);
    if (!made->reducer) {
        free(made);
        return GPR_ERROR_MEMORY;
    }
    made->offset = ERROR_NO_OFFSET;
    made->device = DEVICE_AUTO;
    *context = made;
    return GPR_OK;
}

void gpr_context_free(gpr_context *context)
{
    if (context) {
        cuda_array_close(context->device_array);
        cuda_tallier_close(context->device_tallier);
        cuda_summer_close(context->device_summer);
        cuda_comparer_close(context->device_comparer);
        cuda_masker_close(context->device_masker);
        reducer_close(context->reducer);
        free(context->array);
    }
    free(context);
}

SAME_NUMBER(GPR_DEVICE_CPU, DEVICE_CPU);
SAME_NUMBER(GPR_DEVICE_GPU, DEVICE_GPU);

gpr_status gpr_context_set(gpr_context *context, gpr_setting setting, uint64_t value)
{
    lib_begin(context);
    switch (setting) {
    case GPR_THREADS:
        if (value > LIB_THREADS_MAX)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "at most %d threads", LIB_THREADS_MAX);
        context->threads = (unsigned)value;
        return GPR_OK;
    case GPR_MEMORY:
        context->memory = value;
        return GPR_OK;
    case GPR_DEVICE:
        if (value > GPR_DEVICE_GPU)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "no device has the number %llu",
                            (unsigned long long)value);
        context->device = (enum device_choice)value;
        return GPR_OK;
    case GPR_MAPPED:
        if (value > 1)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "GPR_MAPPED is 0 or 1");
        context->mapped = value;
        if (context->mapped)
            signals_open_bus();
        return GPR_OK;
    case GPR_GPU:
        if (value > LIB_GPU_MAX)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "GPU numbers are at most %d", LIB_GPU_MAX);
        context->gpu = (unsigned)value;
        return GPR_OK;
    }
    return lib_fail(context, GPR_ERROR_ARGUMENT, "no setting has the number %d", (int)setting);
}

void gpr_context_set_log(gpr_context *context, gpr_log_function *function, void *user)
{
    context->log = function;
    context->log_user = user;
}

void gpr_context_set_progress(gpr_context *context, gpr_progress_function *function, void *user)
{
    context->progress = function;
    context->progress_user = user;
}

gpr_status gpr_error_status(const gpr_context *context)
{
    return context->status;
}

const char *gpr_error_text(const gpr_context *context)
{
    return context->status == GPR_OK ? "" : context->text;
}

uint64_t gpr_error_offset(const gpr_context *context)
{
    return context->status == GPR_OK ? UINT64_MAX : context->offset;
}

const char *gpr_error_array(const gpr_context *context)
{
    return context->status == GPR_OK || !context->about_array ? NULL : context->array;
}
