#include "config.h"

#include "cli/report_parts.h"

#include <stdio.h>
#include <string.h>

#include "profile/machine_limits.h"
#include "sys/escape.h"
#include "sys/message.h"

double report_rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

double report_percent(uint64_t some, uint64_t all)
{
    return all ? 100 * (double)some / (double)all : 0;
}

double report_seconds(uint64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

const char *report_policy(enum nan_policy policy)
{
    switch (policy) {
    case NAN_PROPAGATE:
        return "propagate";
    case NAN_SKIP:
        return "skip";
    case NAN_ERROR:
        return "error";
    }
    return NULL;
}

enum element_type report_type(const struct operation *op, const struct reduction *reduction)
{
    if (op->kind != OPERATION_ELEMENT || element_is_integer(reduction->type))
        return ELEMENT_F64;
    /* The shortest decimals of narrow types have few digits: an f8e4m3 of 448 would be 450, and the
       mean of equal f16 would not be between their minimum and maximum. */
    return element_size(reduction->type) <= 2 ? ELEMENT_F64 : reduction->type;
}

const char *report_type_name(const struct reduction *reduction)
{
    if (!reduction->type_name)
        return element_name(reduction->type);
    return reduction->type_name[0] ? reduction->type_name : REPORT_MISSING;
}

const char *report_reduction_shape(char text[REPORT_SHAPE_MAX], const struct reduction *reduction)
{
    if (!reduction->shape.known && reduction->type_name)
        return REPORT_MISSING;
    return report_shape(text, &reduction->shape, reduction->elements);
}

bool report_left_out(const struct operation *op, const struct reduction *reduction)
{
    return operation_quantile(op) & ~reduction->quantiles;
}

void report_value(char text[NUMBER_MAX], const struct operation *op,
                  const struct reduction *reduction, enum element_type type, enum number_form form)
{
    const struct integer *full = operation_exact_integer(op, &reduction->result);
    uint64_t integer;

    if (report_left_out(op, reduction)) {
        snprintf(text, NUMBER_MAX, "%s", REPORT_MISSING);
        return;
    }
    if (full) {
        number_format_integer(text, full);
        return;
    }
    if (op->kind == OPERATION_COUNT) {
        integer = operation_integer(op, &reduction->result);
        if (integer == PARTIAL_NO_INDEX)
            snprintf(text, NUMBER_MAX, "nan");
        else
            (void)number_write(text, integer);
        return;
    }
    switch (form) {
    case NUMBER_DECIMAL:
        number_format(text, operation_number(op, &reduction->result), type);
        break;
    case NUMBER_HEX:
        number_format_hex(text, operation_number(op, &reduction->result));
        break;
    }
}

bool report_repeated(const struct options *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (options->operations[j] == options->operations[i])
            return true;
    return false;
}

double report_limit(const struct options *options, const struct reduction *reduction,
                    const struct bottleneck *bottleneck)
{
    const struct reduction_share *gpus = &reduction->shares[ENGINE_CUDA];
    const char *refused;
    const struct machine *m = machine_recorded(&refused);

    if (refused && options->verbose)
        message_line("  recorded limits ignored: %s", refused);
    return bottleneck_limit(bottleneck, m, gpus->engine ? gpus->description : NULL);
}

const char *report_shape(char text[REPORT_SHAPE_MAX], const struct source_shape *shape,
                         uint64_t elements)
{
    char *end = text;

    *end++ = '[';
    if (!shape->known)
        end = number_write(end, elements);
    for (unsigned i = 0;
         shape->known && i < shape->dimensions && end < text + REPORT_SHAPE_MAX - 24; i++) {
        if (i > 0)
            *end++ = ',';
        end = number_write(end, shape->sizes[i]);
    }
    memcpy(end, "]", 2);
    return text;
}

void report_tsv_field_to(FILE *out, const char *text)
{
    escape_write(out, text, ESCAPE_FIELD);
}

void report_tsv_field(const char *text)
{
    report_tsv_field_to(stdout, text);
}

void report_tsv_name_to(FILE *out, const char *name)
{
    if (!name) {
        fputs("total", out);
        return;
    }
    /* The total has this name. */
    if (strcmp(name, "total") == 0)
        fputs("./", out);
    report_tsv_field_to(out, name);
}

void report_tsv_name(const char *name)
{
    report_tsv_name_to(stdout, name);
}
