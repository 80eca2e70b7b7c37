/*
 * Requests: what is to be computed.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/axis_layout.h"
#include "core/nearest.h"
#include "lib/objects.h"
#include "sys/escape.h"
#include "sys/float_mode.h"

gpr_status gpr_request_new(gpr_context *context, gpr_request **request)
{
    gpr_request *made = calloc(1, sizeof *made);

    lib_begin(context);
    if (!made)
        return lib_fail_memory(context);
    made->context = context;
    made->input.length = made->input.part.end = UINT64_MAX;
    *request = made;
    return GPR_OK;
}

void gpr_request_free(gpr_request *request)
{
    if (!request)
        return;
    for (unsigned i = 0; i < request->missing.count; i++)
        free((char *)(uintptr_t)request->missing.texts[i]);
    free(request);
}

/* Sets the error of a name that no operation has, with the nearest one that there is. */
static gpr_status unknown_operation(gpr_context *context, const char *name)
{
    char shown[ESCAPE_QUOTE_MAX], quantile[NEAREST_MAX];
    struct nearest near = {.word = NULL};
    const char *word;

    for (size_t i = 0; (word = operation_word(i)); i++)
        nearest_take(&near, name, word);
    if (!near.word && nearest_quantile(name, quantile))
        near.word = quantile;
    (void)escape_quote(shown, name);
    return near.word ? lib_fail(context, GPR_ERROR_ARGUMENT,
                                "unknown operation %s; did you mean '%s'?", shown, near.word)
                     : lib_fail(context, GPR_ERROR_ARGUMENT, "unknown operation %s", shown);
}

/* Adds an operation, unless it is there. */
static gpr_status add(gpr_request *request, const struct operation *op, bool required)
{
    struct lib_operations *o = &request->operations;
    const size_t number = operation_number_of(op);

    if (required)
        request->passes.required |= operation_quantile(op);
    if (memchr(o->numbers, (int)number, o->count))
        return GPR_OK;
    o->numbers[o->count++] = (unsigned char)number; /* each has room: OPERATIONS_MAX */
    operation_ask(op, &request->wants, &request->passes);
    return GPR_OK;
}

static gpr_status too_many(gpr_context *context)
{
    return lib_fail(context, GPR_ERROR_ARGUMENT, "at most %d quantiles besides the median",
                    RESULT_QUANTILES_MAX - 1);
}

/* Adds the operations of a group, whose names a list has; all of them, or none. */
static gpr_status add_group(gpr_request *request, const char *list)
{
    const struct gpr_request before = *request;

    for (;;) {
        const size_t length = strcspn(list, ",");
        const struct operation *op = operation_find(&request->operations.named, list, length);

        if (!op) {
            *request = before;
            return too_many(request->context);
        }
        (void)add(request, op, false);
        if (!list[length])
            return GPR_OK;
        list += length + 1;
    }
}

gpr_status gpr_request_op(gpr_request *request, const char *op)
{
    struct operation_set *named = &request->operations.named;
    const size_t length = strlen(op);
    const struct operation_group *group = operation_group_find(op, length);
    const struct operation *found;

    lib_begin(request->context);
    if (group)
        return add_group(request, group->list);
    found = operation_find(named, op, length);
    if (found)
        return add(request, found, true);
    return operation_beyond(named, op, length) ? too_many(request->context)
                                               : unknown_operation(request->context, op);
}

gpr_status gpr_request_quantile(gpr_request *request, const char *name, uint64_t numerator,
                                uint64_t denominator)
{
    FLOAT_MODE_DEFAULT;
    struct operation_set *named = &request->operations.named;
    const size_t length = strlen(name);
    const struct quantile quantile = {.numerator = numerator, .denominator = denominator};
    struct quantile named_so;
    char shown[ESCAPE_QUOTE_MAX];
    gpr_context *context = request->context;

    lib_begin(context);
    if (denominator == 0 || numerator > denominator || denominator > QUANTILE_DENOMINATOR_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT,
                        "a quantile is from 0 to 1, of a denominator up to 10^%d",
                        QUANTILE_DECIMALS_MAX);
    if (length == 0 || length > OPERATION_NAME_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT,
                        "the name of a quantile has from 1 to %d characters", OPERATION_NAME_MAX);
    if (quantile_parse(name, length, &named_so) || operation_group_find(name, length) ||
        operation_find(named, name, length))
        return lib_fail(context, GPR_ERROR_ARGUMENT, "an operation has the name %s",
                        escape_quote(shown, name));
    if (named->count == RESULT_QUANTILES_MAX - 1)
        return too_many(context);
    return add(request, operation_add_quantile(named, name, length, quantile), true);
}

gpr_status gpr_request_histogram(gpr_request *request, uint64_t bins, double least, double most)
{
    FLOAT_MODE_DEFAULT;
    struct histogram_request made = {.kind = HISTOGRAM_BINS};

    lib_begin(request->context);
    if (bins < 1 || bins > HISTOGRAM_BINS_MAX)
        return lib_fail(request->context, GPR_ERROR_ARGUMENT, "the number of bins is from 1 to %d",
                        HISTOGRAM_BINS_MAX);
    made.bins = (uint32_t)bins;
    made.range_given = !isnan(least) || !isnan(most);
    if (made.range_given && !(isfinite(least) && isfinite(most) && least < most))
        return lib_fail(request->context, GPR_ERROR_ARGUMENT,
                        "the range of a histogram is finite, and its end more than its beginning");
    made.low = made.range_given ? least : 0;
    made.high = made.range_given ? most : 0;
    request->passes.histogram = made;
    return GPR_OK;
}

gpr_status gpr_request_missing(gpr_request *request, const char *value)
{
    FLOAT_MODE_DEFAULT;
    struct missing_values *missing = &request->missing;
    char shown[ESCAPE_QUOTE_MAX];
    char *text;

    lib_begin(request->context);
    if (!missing_text_is_valid(value))
        return lib_fail(request->context, GPR_ERROR_ARGUMENT,
                        "a missing value is a number or nan, not %s", escape_quote(shown, value));
    if (missing->count == MISSING_VALUES_MAX)
        return lib_fail(request->context, GPR_ERROR_ARGUMENT, "at most %d missing values",
                        MISSING_VALUES_MAX);
    text = strdup(value);
    if (!text)
        return lib_fail_memory(request->context);
    missing->texts[missing->count++] = text;
    return GPR_OK;
}

/* Sets a number of a request that is 0 or 1. */
static gpr_status set_flag(gpr_request *request, bool *flag, const char *name, uint64_t value)
{
    if (value > 1)
        return lib_fail(request->context, GPR_ERROR_ARGUMENT, "%s is 0 or 1", name);
    *flag = value;
    return GPR_OK;
}

SAME_NUMBER(GPR_NAN_SKIP, NAN_SKIP);
SAME_NUMBER(GPR_NAN_ERROR, NAN_ERROR);

gpr_status gpr_request_set(gpr_request *request, gpr_key key, uint64_t value)
{
    gpr_context *context = request->context;

    lib_begin(context);
    switch (key) {
    case GPR_NAN:
        if (value > GPR_NAN_ERROR)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "no treatment of NaNs has the number %llu",
                            (unsigned long long)value);
        request->nan = (enum nan_policy)value;
        return GPR_OK;
    case GPR_DDOF:
        request->ddof = value;
        return GPR_OK;
    case GPR_STORED:
        return set_flag(request, &request->input.stored, "GPR_STORED", value);
    case GPR_SKIP:
        request->input.skip = value;
        return GPR_OK;
    case GPR_LENGTH:
        request->input.length = value;
        return GPR_OK;
    case GPR_BEGIN:
        request->input.part.begin = value;
        return GPR_OK;
    case GPR_END:
        request->input.part.end = value;
        return GPR_OK;
    case GPR_WINDOW:
        if (value < SOURCE_WINDOW_LOG_MIN || value > SOURCE_WINDOW_LOG_MAX)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "GPR_WINDOW is from %d to %d",
                            SOURCE_WINDOW_LOG_MIN, SOURCE_WINDOW_LOG_MAX);
        request->input.window_log = (int)value;
        return GPR_OK;
    case GPR_CAST:
        return set_flag(request, &request->cast, "GPR_CAST", value);
    case GPR_AXES:
        if (value < 1 || value > ARRAY_DIMENSIONS_MAX)
            return lib_fail(context, GPR_ERROR_ARGUMENT, "GPR_AXES is from 1 to %d",
                            ARRAY_DIMENSIONS_MAX);
        request->more_axes = (unsigned)value - 1;
        return GPR_OK;
    case GPR_NO_WAIT:
        return set_flag(request, &request->no_wait, "GPR_NO_WAIT", value);
    case GPR_IGNORE_DTYPE:
        return set_flag(request, &request->ignore_dtype, "GPR_IGNORE_DTYPE", value);
    }
    return lib_fail(context, GPR_ERROR_ARGUMENT, "no key has the number %d", (int)key);
}

gpr_status gpr_request_format(gpr_request *request, const char *format)
{
    char shown[ESCAPE_QUOTE_MAX];

    lib_begin(request->context);
    for (int i = 0; source_format_words[i]; i++)
        if (strcmp(source_format_words[i], format) == 0) {
            request->input.format = (enum source_format)i;
            return GPR_OK;
        }
    return lib_fail(request->context, GPR_ERROR_ARGUMENT, "unknown format %s",
                    escape_quote(shown, format));
}

gpr_status gpr_request_shape(gpr_request *request, unsigned rank, const uint64_t *shape)
{
    struct array_shape made = {.known = true, .dimensions = rank};
    unsigned open = 0;

    lib_begin(request->context);
    if (rank > ARRAY_DIMENSIONS_MAX)
        return lib_fail(request->context, GPR_ERROR_ARGUMENT,
                        "a shape has at most %d dimensions, not %u", ARRAY_DIMENSIONS_MAX, rank);
    for (unsigned i = 0; i < rank; i++) {
        made.sizes[i] = shape[i];
        open += shape[i] == AXIS_SIZE_OPEN;
    }
    if (open > 1)
        return lib_fail(request->context, GPR_ERROR_ARGUMENT,
                        "one size of a shape may be left open, not %u", open);
    request->shape = made;
    return GPR_OK;
}

gpr_status gpr_request_type(gpr_request *request, const char *dtype, gpr_order order)
{
    enum element_type type;
    bool swap;

    lib_begin(request->context);
    if (lib_parse_type(request->context, dtype, &type) != GPR_OK ||
        lib_parse_order(request->context, order, &swap) != GPR_OK)
        return request->context->status;
    request->input.type_given = true;
    request->input.type = type;
    request->input.order = swap != element_host_is_big() ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;
    return GPR_OK;
}
