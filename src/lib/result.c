/*
 * Results.
 */
#include "config.h"

#include "lib/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "sys/buffer.h"
#include "sys/clock.h"
#include "sys/escape.h"
#include "sys/float_mode.h"

gpr_result *result_new(const gpr_request *request)
{
    gpr_result *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    made->context = request->context;
    lib_copy_operations(&made->operations, &request->operations);
    made->found.quantiles = 0;
    made->scaled = NULL;
    made->partly = false;
    made->profiled = false;
    made->profile_text = NULL;
    made->histogram.kind = HISTOGRAM_NONE;
    made->histogram.counts = NULL;
    return made;
}

void gpr_result_free(gpr_result *result)
{
    if (!result)
        return;
    histogram_free(&result->histogram);
    free(result->scaled);
    free(result->profile_text);
    free(result);
}

void result_round(gpr_result *result, const gpr_request *request, enum element_type type,
                  const struct scale *scale)
{
    result->found.type = type;
    result->found.scale = *scale;
    reduction_round(&result->found.result, &result->found.partial, type, scale,
                    request->nan == NAN_SKIP, request->ddof);
}

static bool copy_histogram(struct histogram *to, const struct histogram *from)
{
    const size_t size = from->bins * sizeof *from->counts;

    *to = *from;
    to->counts = malloc(size);
    if (to->counts)
        memcpy(to->counts, from->counts, size);
    return to->counts;
}

bool result_take_passes(gpr_result *result, const struct pass_request *request,
                        const struct pass_plan *plan)
{
    const struct histogram *histogram = pass_plan_histogram(plan);

    for (unsigned i = 0; i < request->quantile_count; i++) {
        result->found.result.quantiles[request->places[i]] = pass_plan_quantile(plan, i);
        result->found.quantiles |= UINT32_C(1) << request->places[i];
    }
    return !histogram || copy_histogram(&result->histogram, histogram);
}

bool result_take(gpr_result *result)
{
    const struct reduction *found = &result->found;

    result->partly = found->first > 0 || found->elements < found->of;
    result->profiled = true;
    return !found->histogram || copy_histogram(&result->histogram, found->histogram);
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
        if (!(operation_quantile(op) & ~result->found.quantiles))
            return op;
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED,
                       "%s needs an input of one type and scale that can be read again", name);
        return NULL;
    }
    (void)lib_fail(result->context, GPR_ERROR_ARGUMENT, "the request did not ask for %s",
                   escape_quote(shown, name));
    return NULL;
}

gpr_status gpr_result_double(const gpr_result *result, const char *op, double *value)
{
    FLOAT_MODE_DEFAULT;
    const struct operation *found = find(result, op);
    uint64_t count;

    if (!found)
        return result->context->status;
    if (found->kind == OPERATION_DIGEST)
        return lib_fail(result->context, GPR_ERROR_ARGUMENT, "%s is a text", op);
    if (found->kind != OPERATION_COUNT)
        *value = operation_number(found, &result->found.result);
    else if (gpr_result_count(result, op, &count) == GPR_OK)
        *value = count == PARTIAL_NO_INDEX ? -1 : (double)count;
    return result->context->status;
}

gpr_status gpr_result_count(const gpr_result *result, const char *op, uint64_t *value)
{
    FLOAT_MODE_DEFAULT;
    const struct operation *found = find(result, op);
    uint64_t count;

    if (!found)
        return result->context->status;
    if (found->kind != OPERATION_COUNT)
        return lib_fail(result->context, GPR_ERROR_ARGUMENT, "%s is no count or index", op);
    count = operation_integer(found, &result->found.result);
    /* Scaled numbers have no count of subnormals. */
    if (count == PARTIAL_NO_INDEX && !(found->wants & PARTIAL_WHERE))
        return lib_fail_uncounted(result->context, op);
    *value = count;
    return GPR_OK;
}

size_t gpr_result_integer(const gpr_result *result, const char *op, char *text, size_t size)
{
    FLOAT_MODE_DEFAULT;
    const struct operation *found = find(result, op);
    const struct integer *integer =
        found ? operation_exact_integer(found, &result->found.result) : NULL;
    char number[NUMBER_MAX];

    if (!found)
        return 0;
    if (integer) {
        number_format_integer(number, integer);
        return (size_t)snprintf(text, size, "%s", number);
    }
    if (found->kind != OPERATION_COUNT ||
        operation_integer(found, &result->found.result) == PARTIAL_NO_INDEX) {
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED, "%s is no integer here", op);
        return 0;
    }
    (void)number_write(number, operation_integer(found, &result->found.result));
    return (size_t)snprintf(text, size, "%s", number);
}

size_t gpr_result_text(const gpr_result *result, const char *op, char *text, size_t size)
{
    FLOAT_MODE_DEFAULT;
    const struct operation *found = find(result, op);
    char number[NUMBER_MAX];
    struct field field;

    if (!found)
        return 0;
    if (found->kind == OPERATION_DIGEST && result->partly) {
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED,
                       "a part of an array has no digest; accumulate all of them");
        return 0;
    }
    field =
        operation_field(0, found, &result->found.result, result->found.type, &result->found.scale);
    writer_show(number, &field, NUMBER_DECIMAL);
    return (size_t)snprintf(text, size, "%s", number);
}

/* The exact value that an operation is rounded from. False if it has none. */
static bool find_exact(const struct operation *op, enum scaled_value *value)
{
    static const char *const names[] = {
        [SCALED_SUM] = "sum",       [SCALED_SUMSQ] = "sumsq", [SCALED_L1] = "l1",
        [SCALED_MIN] = "min",       [SCALED_MAX] = "max",     [SCALED_ABSMAX] = "absmax",
        [SCALED_ABSMIN] = "absmin", [SCALED_RANGE] = "range",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0) {
            *value = (enum scaled_value)i;
            return true;
        }
    return false;
}

/* Writes `count` digits in hexadecimal, less the bits below the lowest that is 1; *exponent: the
   weight of the last bit that is written, from that of the first digit on. */
static void write_hexadecimal(char *text, uint32_t *digit, int count, bool negative,
                              int64_t *exponent)
{
    int low = 0;
    unsigned shift;

    while (count > 0 && digit[count - 1] == 0)
        count--;
    while (low < count && digit[low] == 0)
        low++;
    if (low == count) {
        strcpy(text, "0");
        *exponent = 0;
        return;
    }
    shift = (unsigned)__builtin_ctz(digit[low]);
    *exponent += 32 * (int64_t)low + shift;
    for (int i = low; i < count && shift > 0; i++)
        digit[i] = digit[i] >> shift | (i + 1 < count ? digit[i + 1] << (32 - shift) : 0);
    if (digit[count - 1] == 0)
        count--;
    text += sprintf(text, "%s%" PRIx32, negative ? "-" : "", digit[count - 1]);
    for (int i = count - 1; i-- > low;)
        text += sprintf(text, "%08" PRIx32, digit[i]);
}

size_t gpr_result_exact(const gpr_result *result, const char *op, char *text, size_t size,
                        int64_t *exponent)
{
    FLOAT_MODE_DEFAULT;
    const struct operation *found = find(result, op);
    uint32_t digit[SCALED_SQUARES_DIGITS];
    char number[8 * SCALED_SQUARES_DIGITS + 2];
    struct scaled made;
    const struct scaled *scaled = result->scaled;
    enum scaled_value value;
    int lsb_exponent;
    int64_t weight;
    bool negative;

    if (!found)
        return 0;
    if (!find_exact(found, &value)) {
        (void)lib_fail(result->context, GPR_ERROR_ARGUMENT, "%s has no exact value", op);
        return 0;
    }
    if (!scaled) {
        scaled_clear(&made);
        scaled_append(&made, &result->found.partial, result->found.type, &result->found.scale);
        scaled = &made;
    }
    if (isnan(operation_number(found, &result->found.result)) ||
        !scaled_exact(scaled, value, digit, &lsb_exponent, &negative)) {
        (void)lib_fail(result->context, GPR_ERROR_UNSUPPORTED, "%s is no finite number here", op);
        return 0;
    }
    weight = lsb_exponent;
    write_hexadecimal(number, digit, SCALED_SQUARES_DIGITS, negative, &weight);
    *exponent = weight;
    return (size_t)snprintf(text, size, "%s", number);
}

uint64_t gpr_result_bins(const gpr_result *result)
{
    return result->histogram.kind == HISTOGRAM_BINS ? result->histogram.bins : 0;
}

gpr_status gpr_result_histogram(const gpr_result *result, uint64_t *counts, double *edges,
                                uint64_t *below, uint64_t *above)
{
    FLOAT_MODE_DEFAULT;
    const struct histogram *h = &result->histogram;

    lib_begin(result->context);
    if (h->kind != HISTOGRAM_BINS)
        return lib_fail(result->context, GPR_ERROR_ARGUMENT,
                        "the request did not ask for a histogram");
    for (uint32_t i = 0; counts && i < h->bins; i++)
        counts[i] = h->counts[i];
    for (uint32_t i = 0; edges && i <= h->bins; i++)
        edges[i] = histogram_edge(h, i);
    if (below)
        *below = h->below;
    if (above)
        *above = h->above;
    return GPR_OK;
}

/* Adds a member of nanoseconds, in seconds with a point in any locale. */
static void put_seconds(struct buffer *out, const char *name, uint64_t time)
{
    buffer_print(out, "\"%s\": %" PRIu64 ".%06" PRIu64, name, time / CLOCK_SECOND,
                 time % CLOCK_SECOND / 1000);
}

const char *gpr_result_profile(const gpr_result *result)
{
    FLOAT_MODE_DEFAULT;
    const struct profile *p = &result->found.profile;
    struct buffer out = {.data = NULL};

    if (!result->profiled)
        return "{}";
    if (result->profile_text)
        return result->profile_text;
    buffer_print(&out, "{\"bytes\": %" PRIu64 ", \"input_bytes\": %" PRIu64 ", ",
                 result->found.bytes, result->found.input_bytes);
    put_seconds(&out, "seconds", (uint64_t)(result->found.seconds * (double)CLOCK_SECOND));
    buffer_print(&out, ", \"passes\": %u, \"threads\": %u, \"stages\": {", result->found.passes,
                 p->threads);
    for (int i = 0; i < PROFILE_STAGES; i++) {
        buffer_print(&out, "%s\"%s\": {\"bytes\": %" PRIu64 ", ", i > 0 ? ", " : "",
                     profile_stage_name((enum profile_stage)i), p->stages[i].bytes);
        put_seconds(&out, "busy_seconds", p->stages[i].busy);
        buffer_char(&out, '}');
    }
    buffer_text(&out, "}}");
    buffer_char(&out, '\0');
    if (out.failed) {
        buffer_free(&out);
        return "{}";
    }
    ((gpr_result *)(uintptr_t)result)->profile_text = out.data; /* which nothing else reads */
    return out.data;
}
