/*
 * The errors and calls of contexts, and parts of objects that several kinds of them share.
 */
#include "config.h"

#include "lib/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/escape.h"

#define ADVICE_MAX 128

void lib_begin_long(gpr_context *context)
{
    if (context->long_calls++ == 0)
        atomic_store(&context->call, CALL_RUNNING);
}

void gpr_cancel(gpr_context *context)
{
    int running = CALL_RUNNING;

    (void)atomic_compare_exchange_strong(&context->call, &running, CALL_CANCELLED);
}

gpr_status lib_end_long(gpr_context *context, gpr_status status)
{
    const int state = --context->long_calls > 0 ? atomic_load(&context->call)
                                                : atomic_exchange(&context->call, CALL_NONE);

    if (state != CALL_CANCELLED)
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

gpr_status lib_fail_uncounted(gpr_context *context, const char *op)
{
    return lib_fail(context, GPR_ERROR_UNSUPPORTED, "%s of scaled numbers are not counted", op);
}

gpr_status lib_fail_masked_digest(gpr_context *context)
{
    return lib_fail(context, GPR_ERROR_UNSUPPORTED, "a view with a mask has no digest");
}

/* The status of an error. */
static const gpr_status statuses[] = {[ERROR_MEMORY] = GPR_ERROR_MEMORY,
                                      [ERROR_READ] = GPR_ERROR_READ,
                                      [ERROR_DATA] = GPR_ERROR_DATA,
                                      [ERROR_CHANGED] = GPR_ERROR_CHANGED,
                                      [ERROR_REQUEST] = GPR_ERROR_UNSUPPORTED,
                                      [ERROR_OTHERS] = GPR_ERROR_UNSUPPORTED,
                                      [ERROR_NAN] = GPR_ERROR_NAN,
                                      [ERROR_WRITE] = GPR_ERROR_CANCELLED,
                                      [ERROR_GPU] = GPR_ERROR_DEVICE,
                                      [ERROR_NO_GPU] = GPR_ERROR_DEVICE,
                                      [ERROR_INTERNAL] = GPR_ERROR_INTERNAL,
                                      [ERROR_NONE] = GPR_ERROR_INTERNAL};

/* Advice that is the same whatever it is about: the text that follows an error. Commands in the texts of
   others stand alone. */
static const char *const words[] = {
    [ADVICE_CPU] = "; the CPU can (GPR_DEVICE)",
    [ADVICE_RANGE] = "; give the range of the histogram",
    [ADVICE_SKIP] = " (GPR_SKIP)",
    [ADVICE_OTHER_TYPE] = "; try another type",
    [ADVICE_STORED] = "; GPR_STORED ignores attributes",
    [ADVICE_SHAPE] = "; give the shape (gpr_request_shape)",
    [ADVICE_SIZES] = "; give all sizes of the shape (gpr_request_shape)",
    [ADVICE_SHAPE_UNUSED] = "; the one that was given is ignored",
    [ADVICE_WINDOW] = "; GPR_WINDOW allows a larger one",
    [ADVICE_FORTRAN] = "; give the format fortran",
    [ADVICE_LOAD] = NULL, /* the last one */
};

static void advise(char text[ADVICE_MAX], const struct advice *a)
{
    const bool big = a->order == ELEMENT_ORDER_BIG;

    if (a->kind == ADVICE_BETTER_TYPE)
        snprintf(text, ADVICE_MAX, "; try%s%s%s", a->typed ? " " : "",
                 a->typed ? element_name(a->type) : "",
                 a->order == ELEMENT_ORDER_UNSAID ? ""
                 : big                            ? " in GPR_ORDER_BIG"
                                                  : " in GPR_ORDER_LITTLE");
    else if (a->kind == ADVICE_OPEN_TYPE)
        snprintf(text, ADVICE_MAX, ": if they are %s, give the type %s",
                 element_names[a->type].numpy[0], element_name(a->type));
    else if (a->kind == ADVICE_OVERRIDDEN)
        snprintf(text, ADVICE_MAX, ":%s%s%s", a->overridden & OVERRIDDEN_TYPE ? " type" : "",
                 a->overridden & OVERRIDDEN_ORDER ? " order" : "",
                 a->overridden & OVERRIDDEN_SKIP ? " GPR_SKIP" : "");
    else
        snprintf(text, ADVICE_MAX, "%s", words[a->kind] ? words[a->kind] : "");
}

void lib_write_error(char text[LIB_TEXT_MAX], const char *name, const char *array,
                     const struct error *error)
{
    char shown[NAME_ARRAY_MAX], advice[ADVICE_MAX];

    advise(advice, &error->advice);
    snprintf(text, LIB_TEXT_MAX, "%s%s%s%s%s%s%s", name ? name : "", name ? ": " : "",
             array ? "array " : "", array ? name_array(shown, array) : "", array ? ": " : "",
             error->text, advice);
}

void lib_set_array(gpr_context *context, const char *array)
{
    free(context->array);
    context->array = array ? strdup(array) : NULL;
    context->about_array = context->array;
}

gpr_status lib_fail_named(gpr_context *context, const char *name, const char *array,
                          const struct error *error)
{
    lib_write_error(context->text, name, array, error);
    context->status = statuses[error->kind];
    context->offset = error->offset;
    lib_set_array(context, array);
    return context->status;
}

gpr_status lib_fail_error(gpr_context *context, const char *path, const char *array,
                          const struct error *error)
{
    char name[NAME_INPUT_MAX];

    return lib_fail_named(context, path ? name_input(name, path) : NULL, array, error);
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
    *swap = order != GPR_ORDER_NATIVE && (order == GPR_ORDER_BIG) != element_host_is_big();
    if (order == GPR_ORDER_NATIVE || order == GPR_ORDER_LITTLE || order == GPR_ORDER_BIG)
        return GPR_OK;
    return lib_fail(context, GPR_ERROR_ARGUMENT, "no order of bytes has the number %d", (int)order);
}
