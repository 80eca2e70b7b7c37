#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report_parts.h"
#include "sys/json.h"

/* Whether an operation's value is a number in JSON; NaN and infinities are not. */
static bool is_json_number(const struct operation *op, const struct reduction *reduction)
{
    if (op->kind == OPERATION_COUNT)
        return operation_integer(op, &reduction->result) != PARTIAL_NO_INDEX;
    return operation_exact_integer(op, &reduction->result) ||
           isfinite(operation_number(op, &reduction->result));
}

static void json_phases(FILE *out, const struct profile *p)
{
    static const char *const keys[PROFILE_PHASES] = {
        [PROFILE_RAMP_UP] = "ramp_up",
        [PROFILE_STEADY] = "steady",
        [PROFILE_FINISH] = "finish",
    };

    fprintf(out, ", \"phases\": {\"start_up\": {\"seconds\": %.6f, \"gpu_seconds\": %.6f}",
            report_seconds(p->start_up), report_seconds(p->gpu_open));
    for (int i = 0; i < PROFILE_PHASES; i++) {
        const struct profile_period *period = &p->phases[i];

        fprintf(out,
                ", \"%s\": {\"seconds\": %.6f, \"bytes\": %" PRIu64
                ", \"gigabytes_per_second\": %.3f}",
                keys[i], report_seconds(period->time), period->bytes,
                profile_rate(period->bytes, period->time));
    }
    putc('}', out);
}

static void json_stages(FILE *out, const struct profile *p)
{
    const char *separator = "";

    fputs(", \"stages\": {", out);
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const struct profile_work *w = &p->stages[i];

        fprintf(out,
                "%s\"%s\": {\"bytes\": %" PRIu64
                ", \"gigabytes_per_second\": %.3f, \"busy_seconds\": %.6f, "
                "\"busy_percent\": %.1f, \"gigabytes_per_busy_second\": %.3f}",
                separator, profile_stage_name((enum profile_stage)i), w->bytes,
                profile_rate(w->bytes, profile_time(p)), report_seconds(w->busy),
                100 * profile_utilisation(p, (enum profile_stage)i),
                profile_rate(w->bytes, w->busy));
        separator = ", ";
    }
    fprintf(out, "}, \"wait_seconds\": %.6f, \"source_wait_seconds\": %.6f",
            report_seconds(p->wait), report_seconds(p->source_wait));
}

static void json_engines(FILE *out, const struct reduction *reduction)
{
    const char *separator = "";

    fputs(", \"engines\": [", out);
    for (int i = 0; i < ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];

        if (!share->engine || share->elements == 0)
            continue;
        fprintf(out,
                "%s{\"engine\": \"%s\", \"device\": \"%s\", \"threads\": %u, \"elements\": %" PRIu64
                ", \"bytes\": %" PRIu64 ", \"percent\": %.2f",
                separator, share->engine, share->description, share->workers, share->elements,
                share->bytes, report_percent(share->bytes, reduction->bytes));
        fprintf(out,
                ", \"joined_seconds\": %.6f, \"source_seconds\": %.6f, \"wait_seconds\": %.6f}",
                report_seconds(share->joined), report_seconds(share->source_time),
                report_seconds(share->wait));
        separator = ", ";
    }
    fputs("], \"gpu_not_used\": ", out);
    if (reduction->gpu_skipped[0])
        json_string(out, reduction->gpu_skipped);
    else
        fputs("null", out);
}

static void json_bottleneck(FILE *out, const struct options *options,
                            const struct reduction *reduction)
{
    struct bottleneck b;
    double limit;

    fputs(", \"bottleneck\": ", out);
    if (!bottleneck_find(&reduction->profile, &b)) {
        fputs("null", out);
        return;
    }
    limit = report_limit(options, reduction, &b);
    fprintf(out, "{\"stage\": \"%s\", \"text\": \"%s\", \"gigabytes_per_second\": %.3f",
            profile_stage_name(b.stage), bottleneck_text(&b), b.rate);
    if (limit > 0)
        fprintf(out, ", \"limit_gigabytes_per_second\": %.3f, \"percent_of_limit\": %.1f}", limit,
                100 * b.rate / limit);
    else
        fputs(", \"limit_gigabytes_per_second\": null, \"percent_of_limit\": null}", out);
}

/* The values, null where they are no numbers, and in "nonfinite" what stands behind a null. The
   counts are members of every object, and follow. Readers of JSON take numbers for binary64, which
   decimals of a narrower type are not exact in. */
static void json_values(FILE *out, const struct options *options, const struct reduction *reduction)
{
    char text[NUMBER_MAX];
    const char *separator = "";

    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];
        bool string = options->number == NUMBER_HEX && op->kind != OPERATION_COUNT &&
                      !operation_exact_integer(op, &reduction->result);

        if (report_repeated(options, i) || report_left_out(op, reduction) || op->wants == 0)
            continue;
        report_value(text, op, reduction, ELEMENT_F64, options->number);
        if (!is_json_number(op, reduction))
            fprintf(out, ", \"%s\": null", op->name);
        else
            fprintf(out, string ? ", \"%s\": \"%s\"" : ", \"%s\": %s", op->name,
                    json_decimal(text));
    }
    fputs(", \"nonfinite\": {", out);
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i) || report_left_out(op, reduction) ||
            op->kind == OPERATION_COUNT || is_json_number(op, reduction))
            continue;
        report_value(text, op, reduction, ELEMENT_F64, options->number);
        fprintf(out, "%s\"%s\": \"%s\"", separator, op->name, text);
        separator = ", ";
    }
    putc('}', out);
}

static void json_amounts(FILE *out, const struct options *options,
                         const struct reduction *reduction)
{
    const struct result *result = &reduction->result;

    fprintf(out, ", \"count\": %" PRIu64 ", \"nan\": %" PRIu64 ", \"inf\": %" PRIu64, result->count,
            result->nan, result->infinity);
    fprintf(out, ", \"elements\": %" PRIu64 ", \"bytes\": %" PRIu64, reduction->elements,
            reduction->bytes);
    if (options->command == COMMAND_MERGE)
        fprintf(out, ", \"of\": %" PRIu64, reduction->of);
    else
        fprintf(out, ", \"input_bytes\": %" PRIu64, reduction->input_bytes);
    if (options->command == COMMAND_MERGE || reduction->array) /* many are reduced at a time */
        return;
    fprintf(out, ", \"seconds\": %.6f, \"gigabytes_per_second\": %.3f", reduction->seconds,
            report_rate(reduction->bytes, reduction->seconds));
}

void report_json_shape(FILE *out, const struct source_shape *shape)
{
    if (!shape->known) {
        fputs(", \"shape\": null, \"fortran_order\": null", out);
        return;
    }
    fputs(", \"shape\": [", out);
    for (unsigned i = 0; i < shape->dimensions; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? ", " : "", shape->sizes[i]);
    fprintf(out, "], \"fortran_order\": %s", shape->fortran_order ? "true" : "false");
}

/* Prints the options that affect results. "ddof" is printed if it matters. */
static void json_policies(FILE *out, const struct options *options)
{
    bool variance = false;

    fprintf(out, ", \"nan_policy\": \"%s\"", report_policy(options->session.nan));
    for (size_t i = 0; i < options->operation_count; i++)
        variance = variance || strcmp(options->operations[i]->name, "var") == 0 ||
                   strcmp(options->operations[i]->name, "std") == 0;
    if (variance)
        fprintf(out, ", \"ddof\": %" PRIu64, options->session.ddof);
}

/* How the input was read: with these, it can be read the same way again. A partial result does not
   tell. */
static void json_input(FILE *out, const struct options *options, const struct reduction *reduction)
{
    if (options->command == COMMAND_MERGE) {
        fprintf(out, ", \"dtype\": \"%s\"", element_name(reduction->type));
        json_policies(out, options);
        return;
    }
    fprintf(out, ", \"format\": \"%s\", \"dtype\": \"%s\", \"endian\": \"%s\"", reduction->format,
            element_name(reduction->type), reduction->big_endian ? "big" : "little");
    report_json_shape(out, &reduction->shape);
    fprintf(out, ", \"skip\": %" PRIu64 ", \"length\": ", reduction->data_offset);
    if (options->session.input.length == SOURCE_UNKNOWN)
        fputs("null", out);
    else
        fprintf(out, "%" PRIu64, options->session.input.length);
    json_policies(out, options);
}

static void json_error(FILE *out, const struct reduction *reduction)
{
    fputs(", \"error\": ", out);
    json_string(out, reduction->error);
    fputs("}\n", out);
}

void report_json(FILE *out, const struct options *options, const char *path,
                 const struct reduction *reduction)
{
    fputs("{\"file\": ", out);
    json_string(out, path);
    if (reduction->array) {
        fputs(", \"array\": ", out);
        json_string(out, reduction->array);
    }
    if (reduction->error[0]) {
        json_error(out, reduction);
        return;
    }
    json_input(out, options, reduction);
    json_values(out, options, reduction);
    report_histogram_json(options, reduction);
    json_amounts(out, options, reduction);
    if (survey_asked(&options->session.survey))
        fprintf(out, ", \"readings\": %u", reduction->readings);
    if (options->verbose && !reduction->array) {
        json_phases(out, &reduction->profile);
        json_stages(out, &reduction->profile);
        json_engines(out, reduction);
        json_bottleneck(out, options, reduction);
    }
    fputs("}\n", out);
}

void report_json_total(const struct options *options, const struct total *total)
{
    FILE *const out = stdout;

    fputs("{\"file\": null, \"total\": true", out);
    if (total->reduction.error[0]) {
        json_error(out, &total->reduction);
        return;
    }
    if (total->mixed)
        fputs(", \"dtype\": null", out);
    else
        fprintf(out, ", \"dtype\": \"%s\"", element_name(total->reduction.type));
    json_policies(out, options);
    json_values(out, options, &total->reduction);
    report_histogram_json(options, &total->reduction);
    json_amounts(out, options, &total->reduction);
    fputs("}\n", out);
}
