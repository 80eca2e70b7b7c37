/*
 * The errors and calls of contexts, and parts of objects that several kinds of them share.
 */
#include "config.h"

#include "lib/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys/escape.h"

void lib_begin_long(gpr_context *context)
{
    atomic_store(&context->call, CALL_RUNNING);
}

void gpr_cancel(gpr_context *context)
{
    int running = CALL_RUNNING;

    (void)atomic_compare_exchange_strong(&context->call, &running, CALL_CANCELLED);
}

gpr_status lib_end_long(gpr_context *context, gpr_status status)
{
    if (atomic_exchange(&context->call, CALL_NONE) != CALL_CANCELLED)
        return status;
    return lib_fail(context, GPR_ERROR_CANCELLED, "cancelled");
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

void lib_copy_operations(struct lib_operations *to, const struct lib_operations *from)
{
    const unsigned named = from->named.count;

    to->named.count = named;
    memcpy(to->named.quantiles, from->named.quantiles, named * sizeof *to->named.quantiles);
    memcpy(to->named.names, from->named.names, named * sizeof *to->named.names);
    for (unsigned i = 0; i < named; i++)
        to->named.quantiles[i].name = to->named.names[i];
    to->count = from->count;
    memcpy(to->numbers, from->numbers, from->count);
}

gpr_status lib_parse_type(gpr_context *context, const char *name, enum element_type *type)
{
    char shown[ESCAPE_QUOTE_MAX];

    for (int i = 0; i < ELEMENT_TYPES; i++)
        if (strcmp(element_name((enum element_type)i), name) == 0) {
            *type = (enum element_type)i;
            return GPR_OK;
        }
    return lib_fail(context, GPR_ERROR_ARGUMENT, "unknown element type %s",
                    escape_quote(shown, name));
}

gpr_status lib_parse_order(gpr_context *context, gpr_order order, bool *swap)
{
    switch (order) {
    case GPR_ORDER_NATIVE:
        *swap = false;
        return GPR_OK;
    case GPR_ORDER_LITTLE:
        *swap = element_host_is_big();
        return GPR_OK;
    case GPR_ORDER_BIG:
        *swap = !element_host_is_big();
        return GPR_OK;
    }
    return lib_fail(context, GPR_ERROR_ARGUMENT, "no order of bytes has the number %d", (int)order);
}
