/*
 * Results.
 */
#include "config.h"

#include "lib/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "sys/escape.h"

gpr_result *result_new(const gpr_request *request)
{
    gpr_result *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    made->context = request->context;
    lib_copy_operations(&made->operations, &request->operations);
    made->quantiles = 0;
    made->histogram.kind = HISTOGRAM_NONE;
    made->histogram.counts = NULL;
    return made;
}

void gpr_result_free(gpr_result *result)
{
    if (!result)
        return;
    histogram_free(&result->histogram);
    free(result);
}

void result_round(gpr_result *result, const gpr_request *request, enum element_type type,
                  const struct scale *scale)
{
    result->type = type;
    result->scale = *scale;
    reduction_round(&result->values, &result->partial, type, NULL, scale, request->nan == NAN_SKIP,
                    request->ddof);
}

/* Copies a histogram. False without memory. */
static bool copy_histogram(struct histogram *to, const struct histogram *from)
{
    const size_t size = from->bins * sizeof *from->counts;

    *to = *from;
    to->counts = malloc(size);
    if (to->counts)
        memcpy(to->counts, from->counts, size);
    return to->counts;
}

bool result_take(gpr_result *result, const gpr_request *request, const struct reduction *reduction)
{
    (void)request;
    result->values = reduction->result;
    result->partial = reduction->partial;
    result->type = reduction->type;
    result->scale = reduction->scale;
    result->quantiles = reduction->quantiles;
    return !reduction->histogram || copy_histogram(&result->histogram, reduction->histogram);
}

/* The operation of this name. NULL, with an error, if it was not asked for, or has no value. */
static const struct operation *find(const gpr_result *result, const char *name)
{
    char shown[ESCAPE_QUOTE_MAX];

    lib_begin(result->context);
    for (unsigned i = 0; i < result->operations.count; i++) {
        const struct operation *op = lib_operation(&result->operations, i);

        if (strcmp(op->name, name) != 0)
            continue;
        if (!(operation_quantile(op) & ~result->quantiles))
            return op;
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED,
                       "%s needs several passes, but the input can be read only once", name);
        return NULL;
    }
    (void)lib_fail(result->context, GPR_ERROR_ARGUMENT, "the request did not ask for %s",
                   escape_quote(shown, name));
    return NULL;
}

gpr_status gpr_result_double(const gpr_result *result, const char *op, double *value)
{
    const struct operation *found = find(result, op);
    uint64_t count;

    if (!found)
        return result->context->status;
    if (found->kind != OPERATION_COUNT) {
        *value = operation_number(found, &result->values);
        return GPR_OK;
    }
    count = operation_integer(found, &result->values);
    *value = count == PARTIAL_NO_INDEX ? -1 : (double)count;
    return GPR_OK;
}

gpr_status gpr_result_count(const gpr_result *result, const char *op, uint64_t *value)
{
    const struct operation *found = find(result, op);

    if (!found)
        return result->context->status;
    if (found->kind != OPERATION_COUNT)
        return lib_fail(result->context, GPR_ERROR_ARGUMENT, "%s is no count or index", op);
    *value = operation_integer(found, &result->values);
    return GPR_OK;
}

/* Copies a text as snprintf does. Returns its length. */
static size_t copy_text(char *to, size_t size, const char *text)
{
    const size_t length = strlen(text);

    if (size > 0) {
        const size_t some = length < size ? length : size - 1;

        memcpy(to, text, some);
        to[some] = '\0';
    }
    return length;
}

size_t gpr_result_integer(const gpr_result *result, const char *op, char *text, size_t size)
{
    const struct operation *found = find(result, op);
    const struct integer *integer = found ? operation_exact_integer(found, &result->values) : NULL;
    char number[NUMBER_MAX];

    if (!found)
        return 0;
    if (integer) {
        number_format_integer(number, integer);
        return copy_text(text, size, number);
    }
    if (found->kind != OPERATION_COUNT ||
        operation_integer(found, &result->values) == PARTIAL_NO_INDEX) {
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED, "%s is no integer here", op);
        return 0;
    }
    (void)number_write(number, operation_integer(found, &result->values));
    return copy_text(text, size, number);
}

/* The type whose shortest decimals an operation of elements is shown in. */
static enum element_type shown_type(const gpr_result *result, const struct operation *op)
{
    return op->kind == OPERATION_ELEMENT && !result->scale.given ? number_shown_type(result->type)
                                                                 : ELEMENT_F64;
}

size_t gpr_result_text(const gpr_result *result, const char *op, char *text, size_t size)
{
    const struct operation *found = find(result, op);
    const struct integer *integer = found ? operation_exact_integer(found, &result->values) : NULL;
    char number[NUMBER_MAX];
    uint64_t count;

    if (!found)
        return 0;
    if (integer) {
        number_format_integer(number, integer);
    } else if (found->kind != OPERATION_COUNT) {
        number_format(number, operation_number(found, &result->values), shown_type(result, found));
    } else {
        count = operation_integer(found, &result->values);
        if (count != PARTIAL_NO_INDEX)
            (void)number_write(number, count);
        else /* an index, or the count of subnormal numbers of scaled ones */
            strcpy(number, found->wants & PARTIAL_WHERE ? "nan" : "NA");
    }
    return copy_text(text, size, number);
}
