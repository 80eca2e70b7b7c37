/*
 * The row of a result: of a file, of an array, or of the total, in all forms of output.
 */
#include "config.h"

#include <string.h>

#include "cli/option_values.h"
#include "cli/report_parts.h"

#define J IN_OBJECT

/* The end of an object, or of an array, whose bracket it is. */
static struct field end(const char *bracket)
{
    return field_of(J, bracket, FIELD_END);
}

static void add_phases(struct writer *w, const struct profile *p)
{
    static const char *const keys[PROFILE_PHASES] = {
        [PROFILE_RAMP_UP] = "ramp_up",
        [PROFILE_STEADY] = "steady",
        [PROFILE_FINISH] = "finish",
    };

    WRITER_FIELDS(w, field_of(J, "phases", FIELD_OBJECT), field_of(J, "start_up", FIELD_OBJECT),
                  field_decimals(J, "seconds", 6, report_seconds(p->start_up)),
                  field_decimals(J, "gpu_seconds", 6, report_seconds(p->gpu_open)), end("}"));
    for (int i = 0; i < PROFILE_PHASES; i++) {
        const struct profile_period *period = &p->phases[i];

        WRITER_FIELDS(
            w, field_of(J, keys[i], FIELD_OBJECT),
            field_decimals(J, "seconds", 6, report_seconds(period->time)),
            field_count(J, "bytes", period->bytes),
            field_decimals(J, "gigabytes_per_second", 3, profile_rate(period->bytes, period->time)),
            end("}"));
    }
    writer_field(w, end("}"));
}

static void add_stages(struct writer *w, const struct profile *p)
{
    writer_field(w, field_of(J, "stages", FIELD_OBJECT));
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const enum profile_stage stage = (enum profile_stage)i;
        const struct profile_work *work = &p->stages[i];

        WRITER_FIELDS(w, field_of(J, profile_stage_name(stage), FIELD_OBJECT),
                      field_count(J, "bytes", work->bytes),
                      field_decimals(J, "gigabytes_per_second", 3,
                                     profile_rate(work->bytes, profile_time(p))),
                      field_decimals(J, "busy_seconds", 6, report_seconds(work->busy)),
                      field_decimals(J, "busy_percent", 1, 100 * profile_utilisation(p, stage)),
                      field_decimals(J, "gigabytes_per_busy_second", 3,
                                     profile_rate(work->bytes, work->busy)),
                      end("}"));
    }
    WRITER_FIELDS(w, end("}"), field_decimals(J, "wait_seconds", 6, report_seconds(p->wait)),
                  field_decimals(J, "source_wait_seconds", 6, report_seconds(p->source_wait)));
}

static void add_engines(struct writer *w, const struct reduction *reduction)
{
    writer_field(w, field_of(J, "engines", FIELD_ARRAY));
    for (int i = 0; i < ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];

        if (!share->engine || share->elements == 0)
            continue;
        WRITER_FIELDS(
            w, field_of(J, NULL, FIELD_OBJECT), field_text(J, "engine", share->engine),
            field_text(J, "device", share->description), field_count(J, "threads", share->workers),
            field_count(J, "elements", share->elements), field_count(J, "bytes", share->bytes),
            field_decimals(J, "percent", 2, report_percent(share->bytes, reduction->bytes)),
            field_decimals(J, "joined_seconds", 6, report_seconds(share->joined)),
            field_decimals(J, "source_seconds", 6, report_seconds(share->source_time)),
            field_decimals(J, "wait_seconds", 6, report_seconds(share->wait)), end("}"));
    }
    WRITER_FIELDS(
        w, end("]"),
        field_text(J, "gpu_not_used", reduction->gpu_skipped[0] ? reduction->gpu_skipped : NULL));
}

static void add_bottleneck(struct writer *w, const struct options *options,
                           const struct reduction *reduction)
{
    const char *limit_key = "limit_gigabytes_per_second", *percent_key = "percent_of_limit";
    struct bottleneck b;
    double limit;

    if (!bottleneck_find(&reduction->profile, &b)) {
        writer_field(w, field_of(J, "bottleneck", FIELD_MISSING));
        return;
    }
    limit = report_limit(options, reduction, &b);
    WRITER_FIELDS(w, field_of(J, "bottleneck", FIELD_OBJECT),
                  field_text(J, "stage", profile_stage_name(b.stage)),
                  field_text(J, "text", bottleneck_text(&b)),
                  field_decimals(J, "gigabytes_per_second", 3, b.rate));
    if (limit > 0)
        WRITER_FIELDS(w, field_decimals(J, limit_key, 3, limit),
                      field_decimals(J, percent_key, 1, 100 * b.rate / limit), end("}"));
    else
        WRITER_FIELDS(w, field_of(J, limit_key, FIELD_MISSING),
                      field_of(J, percent_key, FIELD_MISSING), end("}"));
}

void report_shape(struct writer *w, const struct source_shape *shape)
{
    const uint64_t *const sizes = shape->known ? shape->sizes : NULL;

    WRITER_FIELDS(w, field_list(J, "shape", sizes, shape->dimensions),
                  shape->known ? field_truth(J, "fortran_order", shape->fortran_order)
                               : field_of(J, "fortran_order", FIELD_MISSING));
}

/* The shape as it stands in cells: without a header that states one, that of so many elements. */
static struct field shape_cell(const struct reduction *reduction)
{
    if (reduction->shape.known)
        return field_list(IN_ARRAY, "shape", reduction->shape.sizes, reduction->shape.dimensions);
    return field_list(IN_ARRAY, "shape", reduction->type_name ? NULL : &reduction->elements, 1);
}

/* Columns of arrays: type and shape, which a total has not. Partial results do not tell the shape.
   */
static void add_array_cells(struct writer *w, const struct options *options, const char *path,
                            const struct reduction *reduction)
{
    const bool known = path && (!reduction->error[0] || reduction->array);

    writer_field(w, field_text(IN_ARRAY, "dtype", known ? report_type_name(reduction) : ""));
    if (!known)
        writer_field(w, field_text(IN_ARRAY, "shape", ""));
    else if (options->command == COMMAND_MERGE)
        writer_field(w, field_of(IN_ARRAY, "shape", FIELD_MISSING));
    else
        writer_field(w, shape_cell(reduction));
}

/* How the input was read: with these, it can be read the same way again. Neither a partial result
   nor a total tells. */
static void add_input(struct writer *w, const struct options *options,
                      const struct reduction *reduction, bool mixed, bool complete)
{
    bool variance = false;

    if (complete)
        writer_field(w, field_text(J, "format", reduction->format));
    writer_field(w, field_text(J, "dtype", mixed ? NULL : element_name(reduction->type)));
    if (complete) {
        writer_field(w, field_text(J, "endian", reduction->big_endian ? "big" : "little"));
        report_shape(w, &reduction->shape);
        WRITER_FIELDS(w, field_count(J, "skip", reduction->data_offset),
                      field_count(J, "length", options->session.input.length));
    }
    writer_field(w, field_text(J, "nan_policy", option_nan_words[options->session.nan]));
    for (size_t i = 0; i < options->operation_count; i++)
        variance = variance || strcmp(options->operations[i]->name, "var") == 0 ||
                   strcmp(options->operations[i]->name, "std") == 0;
    if (variance) /* it matters to these */
        writer_field(w, field_count(J, "ddof", options->session.ddof));
}

struct field report_value(unsigned in, const struct operation *op,
                          const struct reduction *reduction)
{
    const struct integer *full = operation_exact_integer(op, &reduction->result);

    if (report_left_out(op, reduction))
        return field_of(in, op->name, FIELD_ABSENT);
    if (full)
        return field_value(in, op->name, full, 0);
    if (op->kind == OPERATION_COUNT)
        return (struct field){.name = op->name,
                              .kind = FIELD_INDEX,
                              .in = in,
                              .count = operation_integer(op, &reduction->result)};
    return field_number(in, op->name, operation_number(op, &reduction->result),
                        report_type(op, reduction));
}

/* The values. An object has each once, and the counts behind the others. */
static void add_values(struct writer *w, const struct options *options,
                       const struct reduction *reduction)
{
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];
        const bool repeated = report_repeated(options, i);
        const unsigned in =
            IN_LINES | (repeated ? 0 : IN_CELLS) | (repeated || op->wants == 0 ? 0 : IN_OBJECT);

        if (reduction->error[0])
            writer_field(w, field_of(in & ~J, op->name, FIELD_MISSING));
        else
            writer_field(w, report_value(in, op, reduction));
    }
}

/* Everything else that an object tells of a result. */
static void add_rest(struct writer *w, const struct options *options,
                     const struct reduction *reduction, bool total)
{
    const struct result *result = &reduction->result;

    writer_field(w, field_of(J, "nonfinite", FIELD_NONFINITE));
    report_histogram_object(w, reduction);
    WRITER_FIELDS(
        w, field_count(J, "count", result->count), field_count(J, "nan", result->nan),
        field_count(J, "inf", result->infinity), field_count(J, "elements", reduction->elements),
        field_count(J, "bytes", reduction->bytes),
        field_count(J, options->command == COMMAND_MERGE ? "of" : "input_bytes",
                    options->command == COMMAND_MERGE ? reduction->of : reduction->input_bytes));
    if (options->command != COMMAND_MERGE && !reduction->array) /* many are reduced at a time */
        WRITER_FIELDS(w, field_decimals(J, "seconds", 6, reduction->seconds),
                      field_decimals(J, "gigabytes_per_second", 3,
                                     report_rate(reduction->bytes, reduction->seconds)));
    if (total)
        return;
    if (pass_request_any(&options->session.passes))
        writer_field(w, field_count(J, "passes", reduction->passes));
    if (options->verbose && !reduction->array) {
        add_phases(w, &reduction->profile);
        add_stages(w, &reduction->profile);
        add_engines(w, reduction);
        add_bottleneck(w, options, reduction);
    }
}

/* Adds the name that stands above lines of text where there are several. */
static void add_name(struct writer *w, const struct options *options, const char *path,
                     const struct reduction *reduction)
{
    const struct container_array array = {.name = reduction->array};
    char name[SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN] = "total";

    if (options->file_count <= 1 && !options->total)
        return;
    if (path && reduction->array) /* merged, or with a histogram: others stand in a table */
        source_name_array(name, path, &array);
    else if (path)
        (void)message_quote(name, path);
    buffer_print(w->out, "%s:\n", name);
}

void report_row(struct writer *w, const struct options *options, const char *path,
                const struct reduction *reduction, const struct total *total)
{
    const bool lines = w->form == WRITER_LINES || w->form == WRITER_VALUES;

    if (w->form == WRITER_TSV && options->session.passes.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_rows(w, options, path, reduction);
        return;
    }
    if (w->form == WRITER_LINES && reduction->error[0])
        return;
    if (w->form == WRITER_LINES)
        add_name(w, options, path, reduction);
    writer_begin(w);
    writer_field(w, field_file(IN_FILE | J, path));
    if (total)
        writer_field(w, field_truth(J, "total", true));
    writer_field(w, field_text(IN_ARRAY | (reduction->array ? J : 0), "array",
                               path && reduction->array ? reduction->array : ""));
    add_array_cells(w, options, path, reduction);
    if (reduction->error[0])
        writer_field(w, field_text(J, "error", reduction->error));
    else if (w->form == WRITER_JSON)
        add_input(w, options, reduction, total && total->mixed,
                  options->command != COMMAND_MERGE && !total);
    add_values(w, options, reduction);
    if (!reduction->error[0] && w->form == WRITER_JSON)
        add_rest(w, options, reduction, total);
    writer_end(w);
    if (lines)
        report_histogram(w, options, reduction);
}
