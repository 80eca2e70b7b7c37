/*
 * Contexts: their settings, and their errors.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/objects.h"

const char *gpr_version(void)
{
    return PACKAGE_VERSION;
}

gpr_status gpr_context_new(gpr_context **context)
{
    gpr_context *made = calloc(1, sizeof *made);

    if (!made)
        return GPR_ERROR_MEMORY;
    made->offset = ERROR_NO_OFFSET;
    made->device = DEVICE_AUTO;
    *context = made;
    return GPR_OK;
}

void gpr_context_free(gpr_context *context)
{
    free(context);
}

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
        switch (value) {
        case GPR_DEVICE_AUTO:
            context->device = DEVICE_AUTO;
            return GPR_OK;
        case GPR_DEVICE_CPU:
            context->device = DEVICE_CPU;
            return GPR_OK;
        case GPR_DEVICE_GPU:
            context->device = DEVICE_GPU;
            return GPR_OK;
        default:
            return lib_fail(context, GPR_ERROR_ARGUMENT, "no device has the number %llu",
                            (unsigned long long)value);
        }
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

void gpr_cancel(gpr_context *context)
{
    int running = CALL_RUNNING;

    (void)atomic_compare_exchange_strong(&context->call, &running, CALL_CANCELLED);
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

gpr_status lib_fail(gpr_context *context, gpr_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(context->text, sizeof context->text, format, arguments);
    va_end(arguments);
    context->offset = ERROR_NO_OFFSET;
    context->about_array = false;
    return context->status = status;
}

gpr_status lib_fail_memory(gpr_context *context)
{
    return lib_fail(context, GPR_ERROR_MEMORY, "out of memory");
}

/* The status of an error. */
static gpr_status status_of(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE:
        break;
    case ERROR_MEMORY:
        return GPR_ERROR_MEMORY;
    case ERROR_READ:
        return GPR_ERROR_READ;
    case ERROR_DATA:
        return GPR_ERROR_DATA;
    case ERROR_CHANGED:
        return GPR_ERROR_CHANGED;
    case ERROR_REQUEST:
    case ERROR_OTHERS:
        return GPR_ERROR_UNSUPPORTED;
    case ERROR_NAN:
        return GPR_ERROR_NAN;
    case ERROR_WRITE:
        return GPR_ERROR_CANCELLED;
    case ERROR_GPU:
    case ERROR_NO_GPU:
        return GPR_ERROR_DEVICE;
    case ERROR_INTERNAL:
        break;
    }
    return GPR_ERROR_INTERNAL;
}

gpr_status lib_fail_error(gpr_context *context, const char *name, const char *array,
                          const struct error *error)
{
    char shown[CONTAINER_NAME_SHOWN];

    (void)lib_fail(context, status_of(error->kind), "%s%s%s%s%s%s", name ? name : "",
                   name ? ": " : "", array ? "array " : "",
                   array ? container_show_name(shown, array) : "", array ? ": " : "", error->text);
    context->offset = error->offset;
    context->about_array = array;
    if (array)
        snprintf(context->array, sizeof context->array, "%s", array);
    return context->status;
}
