#include "config.h"

#include "cli/report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/stdio.h"
#include "core/name.h"
#include "profile/bottleneck.h"
#include "profile/machine_limits.h"
#include "run/arrays.h"
#include "sys/escape.h"
#include "sys/plural.h"

double report_rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

/* 0 when all is 0. */
static double report_percent(uint64_t some, uint64_t all)
{
    return all ? 100 * (double)some / (double)all : 0;
}

static double report_seconds(uint64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

bool report_repeated(const struct options *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (options->operations[j] == options->operations[i])
            return true;
    return false;
}

/* The recorded limit that a run's bottleneck is compared with, GB/s; 0 when there is none. With -v,
   a record that had to be ignored is told about on standard error, once. */
static double report_limit(const struct options *options, const struct reduction *reduction,
                           const struct bottleneck *bottleneck)
{
    const struct reduction_share *gpus = &reduction->shares[ENGINE_CUDA];
    const char *refused;
    const struct machine *m = machine_recorded(&refused);

    if (refused && options->verbose)
        message_line("  recorded limits ignored: %s", refused);
    return bottleneck_limit(bottleneck, m, gpus->engine ? gpus->description : NULL);
}

/*
 * The row of a result: of a file, of an array, or of the total, in all forms of output.
 */

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

void report_shape(struct writer *w, const struct array_shape *shape)
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

/* The name of the type; of an array that cannot be read, its name in the container. */
static const char *type_name(const struct reduction *reduction)
{
    if (!reduction->type_name)
        return element_name(reduction->type);
    return reduction->type_name[0] ? reduction->type_name : WRITER_MISSING;
}

/* Columns of arrays: type and shape, which a total has not. Partial results do not tell the shape.
   */
static void add_array_cells(struct writer *w, const struct options *options, const char *path,
                            const struct reduction *reduction)
{
    const bool known = path && (reduction->error.kind == ERROR_NONE || reduction->array);

    writer_field(w, field_text(IN_ARRAY, "dtype", known ? type_name(reduction) : ""));
    if (!known)
        writer_field(w, field_text(IN_ARRAY, "shape", ""));
    else if (options->command == COMMAND_MERGE)
        writer_field(w, field_of(IN_ARRAY, "shape", FIELD_MISSING));
    else
        writer_field(w, shape_cell(reduction));
}

static bool asks_for(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->operation_count; i++)
        if (strcmp(options->operations[i]->name, name) == 0)
            return true;
    return false;
}

/* How the input was read: with these, it can be read the same way again. Neither a partial result
   nor a total tells. */
static void add_input(struct writer *w, const struct options *options,
                      const struct reduction *reduction, bool mixed, bool complete)
{
    if (complete)
        writer_field(w, field_text(J, "format", reduction->format));
    writer_field(w, field_text(J, "dtype", mixed ? NULL : element_name(reduction->type)));
    if (complete) {
        writer_field(w, field_text(J, "endian", reduction->big_endian ? "big" : "little"));
        report_shape(w, &reduction->shape);
        WRITER_FIELDS(w, field_count(J, "skip", reduction->data_offset),
                      field_count(J, "length", options->session.input.length));
    }
    meaning_add_missing(w, "missing_values", &reduction->missing, reduction->type);
    meaning_add_scale(w, &reduction->scale);
    writer_field(w, field_text(J, "nan_policy", nan_policy_words[options->session.nan]));
    if (asks_for(options, "var") || asks_for(options, "std")) /* it matters to these */
        writer_field(w, field_count(J, "ddof", options->session.ddof));
}

bool report_left_out(const struct operation *op, const struct reduction *reduction)
{
    return operation_quantile(op) & ~reduction->quantiles;
}

struct field report_value(unsigned in, const struct operation *op,
                          const struct reduction *reduction)
{
    if (report_left_out(op, reduction))
        return field_of(in, op->name, FIELD_ABSENT);
    return operation_field(in, op, &reduction->result, reduction->type, &reduction->scale);
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

        if (reduction->error.kind != ERROR_NONE)
            writer_field(w, field_of(in & ~J, op->name, FIELD_MISSING));
        else
            writer_field(w, report_value(in, op, reduction));
    }
    /* Readers of text are told of what is left out. */
    if (w->form == WRITER_LINES && reduction->error.kind == ERROR_NONE &&
        reduction->result.missing > 0 && !asks_for(options, "missing"))
        writer_field(w, field_count(IN_LINES, "missing", reduction->result.missing));
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
        field_count(J, "inf", result->infinity), field_count(J, "missing", result->missing),
        field_count(J, "elements", reduction->elements), field_count(J, "bytes", reduction->bytes),
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
    char name[NAME_BOTH_MAX] = "total";

    if (options->file_count <= 1 && !options->total)
        return;
    if (path && reduction->array) /* merged, or with a histogram: others stand in a table */
        (void)name_both(name, path, reduction->array);
    else if (path)
        (void)escape_quote(name, path);
    buffer_print(w->out, "%s:\n", name);
}

void report_row(struct writer *w, const struct options *options, const char *path,
                const struct reduction *reduction, const struct total *total)
{
    const bool lines = w->form == WRITER_LINES || w->form == WRITER_VALUES;
    char text[FAILURE_TEXT_MAX];

    if (w->form == WRITER_TSV && options->session.passes.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_rows(w, options, path, reduction);
        return;
    }
    if (w->form == WRITER_LINES && reduction->error.kind != ERROR_NONE)
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
    if (reduction->error.kind != ERROR_NONE)
        writer_field(w, field_text(J, "error", failure_text(text, &reduction->error, path)));
    else if (w->form == WRITER_JSON)
        add_input(w, options, reduction, total && total->mixed,
                  options->command != COMMAND_MERGE && !total);
    add_values(w, options, reduction);
    if (reduction->error.kind == ERROR_NONE && w->form == WRITER_JSON)
        add_rest(w, options, reduction, total);
    writer_end(w);
    if (lines)
        report_histogram(w, options, reduction);
}

/*
 * Partial results.
 */

void report_partial_text(const struct options *options, const char *path, const char *array,
                         struct partial_text *text)
{
    const char *name = options->label ? options->label : path ? path : "total";
    char line[PARTIAL_TEXT_MAX], quoted[ESCAPE_QUOTE_MAX];

    text->has_array = false;
    if (!partial_text_set_input(text, name)) {
        message_error(EXIT_FAILED,
                      "%s: the name is too long for a partial result: give another by --label",
                      escape_quote(quoted, name));
        return;
    }
    if (array && !partial_text_set_array(text, array)) {
        message_error(EXIT_FAILED, "%s: the name of an array is too long for a partial result: %s",
                      name_input((char[NAME_INPUT_MAX]){""}, name), escape_quote(quoted, array));
        return;
    }
    if (partial_text_write(line, text) == 0) {
        message_error(EXIT_FAILED,
                      "%s: its names and missing values are too long together for a partial "
                      "result; a shorter name by --label may do",
                      name_input((char[NAME_INPUT_MAX]){""}, name));
        return;
    }
    puts(line);
    /* A line at a time, which a pipe takes whole: others may be writing to it. */
    _Static_assert(PARTIAL_TEXT_MAX <= PIPE_BUF, "no line is torn");
    (void)stdio_flush();
}

/* Prints the partial result of a range of elements. */
static void print(const struct options *options, const char *path,
                  const struct reduction *reduction, uint64_t of)
{
    struct partial_text text = {
        .type = reduction->type,
        .missing = reduction->missing,
        .scale = reduction->scale,
        .holds = scale_wants(&reduction->scale, options->session.wants),
        .of = of,
        .ranges = {{reduction->first, reduction->first + reduction->elements}},
        .range_count = reduction->elements > 0,
        .partial = reduction->partial,
    };

    report_partial_text(options, path, reduction->array, &text);
}

/* Whether the part that a shard has of an input tells anything: of an input without elements, the
   first part does. */
static bool has_part(const struct reduction *reduction)
{
    return reduction->error.kind != ERROR_NONE || reduction->elements > 0 ||
           (reduction->of == 0 && !reduction->behind);
}

/* Prints the partial result of what has failed: of no elements, so that --merge finds that they are
   missing. */
static void print_none(const struct options *options, const char *path,
                       const struct reduction *reduction)
{
    struct reduction none = *reduction;

    none.first = none.elements = 0;
    partial_clear(&none.partial);
    print(options, path, &none, none.of > 0 ? none.of : 1);
}

/* A partial result, on a line of standard output. With --total there is none but the total's. */
static void report_partial(const struct options *options, const char *path,
                           const struct reduction *reduction)
{
    if (options->total || !has_part(reduction))
        return;
    if (reduction->error.kind == ERROR_NONE)
        print(options, path, reduction, reduction->of);
    else
        print_none(options, path, reduction);
}

static void report_partial_total(const struct options *options, const struct total *total)
{
    const struct reduction *reduction = &total->reduction;

    if (reduction->error.kind != ERROR_NONE) {
        if (options->command != COMMAND_MERGE) /* which prints nothing after an error */
            print_none(options, NULL, reduction);
        return;
    }
    if (total->mixed) {
        message_error(EXIT_FAILED, "no total: a partial result needs files of one type and scale");
        return;
    }
    print(options, NULL, reduction, reduction->elements);
}

/*
 * Statistics.
 */

static void verbose_engines(const struct options *options, const struct reduction *reduction)
{
    for (int i = 0; i < ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];
        char joined[40] = "";

        if (!share->engine || share->elements == 0)
            continue;
        if (options->session.device == DEVICE_AUTO && i == ENGINE_CUDA)
            snprintf(joined, sizeof joined, ", joined in after %.3f s",
                     report_seconds(share->joined));
        message_line("  %-9s %s, %u thread%s", share->engine, share->description, share->workers,
                     plural(share->workers));
        message_line("            %" PRIu64 " byte%s, %.1f %% of all%s", share->bytes,
                     plural(share->bytes), report_percent(share->bytes, reduction->bytes), joined);
    }
    if (reduction->gpu_skipped[0])
        message_line("  gpu       not used: %.77s", reduction->gpu_skipped);
}

static void verbose_phases(const struct profile *p)
{
    message_line("  phase        seconds               bytes      GB/s");
    if (p->gpu_open)
        message_line("  start-up  %10.3f (GPU ready in %.3f)", report_seconds(p->start_up),
                     report_seconds(p->gpu_open));
    else
        message_line("  start-up  %10.3f", report_seconds(p->start_up));
    for (int i = 0; i < PROFILE_PHASES; i++)
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f", profile_phase_name((enum profile_phase)i),
                     report_seconds(p->phases[i].time), p->phases[i].bytes,
                     profile_rate(p->phases[i].bytes, p->phases[i].time));
}

/* Less than this part of its capacity is no time to divide by. */
#define BUSY_MIN 0.001

/* A line about what threads waited for, where that took any time. */
static void verbose_waiting(const struct profile *p, const char *name, uint64_t time)
{
    uint64_t capacity = p->stages[PROFILE_READ].capacity;

    if ((double)time >= BUSY_MIN * (double)capacity && capacity > 0)
        message_line("  %-9s %10.3f %39.1f", name, report_seconds(time),
                     100 * (double)time / (double)capacity);
}

static void verbose_stages(const struct profile *p)
{
    message_line("  stage         busy s               bytes      GB/s    busy %%  GB/s busy");
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const struct profile_work *w = &p->stages[i];
        double busy = profile_utilisation(p, (enum profile_stage)i);
        char busy_rate[32] = "-";

        if (w->busy == 0 || w->bytes == 0)
            continue;
        if (busy >= BUSY_MIN)
            snprintf(busy_rate, sizeof busy_rate, "%.2f", profile_rate(w->bytes, w->busy));
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f %9.1f %10s",
                     profile_stage_name((enum profile_stage)i), report_seconds(w->busy), w->bytes,
                     profile_rate(w->bytes, profile_time(p)), 100 * busy, busy_rate);
    }
    verbose_waiting(p, "wait", p->wait);
    verbose_waiting(p, "turn", p->source_wait);
}

static void verbose_bottleneck(const struct options *options, const struct reduction *reduction)
{
    struct bottleneck b;
    char text[BOTTLENECK_TEXT_MAX] = "";
    double limit;

    if (!bottleneck_find(&reduction->profile, &b))
        return;
    limit = report_limit(options, reduction, &b);
    if (limit > 0)
        bottleneck_compare(text, &b, limit);
    message_line("  bottleneck: %s%s%s", bottleneck_text(&b), text[0] ? ", " : "", text);
}

/* The lines of -v about what stored numbers mean, if those of one array were reduced. */
static void verbose_meaning(const struct reduction *reduction)
{
    struct buffer text = {0};
    struct reduction only;

    if (reduction->arrays && arrays_count(reduction->arrays) == 1) {
        memset(&only, 0, sizeof only);
        arrays_get(reduction->arrays, 0, &only);
        reduction = &only;
    }
    if (reduction->missing.count > 0) {
        meaning_show_missing(&text, &reduction->missing, reduction->type);
        message_line("  missing   %.*s", (int)text.size, text.data ? text.data : "");
    }
    text.size = 0;
    if (reduction->scale.given) {
        meaning_show_scale(&text, &reduction->scale);
        message_line("  scale     %.*s", (int)text.size, text.data ? text.data : "");
    }
    buffer_free(&text);
}

static void report_verbose(const struct options *options, const struct reduction *reduction)
{
    message_line("  format    %s%s%s%s", reduction->format, reduction->arrays ? "" : ", ",
                 reduction->arrays ? "" : element_name(reduction->type),
                 reduction->in_order ? "; elements lie across frames: decoded once more, in order"
                                     : "");
    verbose_meaning(reduction);
    if (reduction->passes > 1)
        message_line("  passes  %u", reduction->passes);
    verbose_engines(options, reduction);
    verbose_phases(&reduction->profile);
    verbose_stages(&reduction->profile);
    verbose_bottleneck(options, reduction);
}

void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction)
{
    const uint64_t absent =
        reduction->arrays ? arrays_missing_count(reduction->arrays) : reduction->result.missing;
    char quoted[ESCAPE_QUOTE_MAX], compressed[80] = "", arrays[40] = "", missing[40] = "";
    bool named = options->file_count > 1 || options->total;

    if (reduction->compressed)
        snprintf(compressed, sizeof compressed, " (%" PRIu64 " compressed, %.3f GB/s)",
                 reduction->input_bytes, report_rate(reduction->input_bytes, reduction->seconds));
    if (reduction->arrays)
        snprintf(arrays, sizeof arrays, "%zu array%s, ", arrays_count(reduction->arrays),
                 plural(arrays_count(reduction->arrays)));
    if (absent > 0)
        snprintf(missing, sizeof missing, "%" PRIu64 " missing, ", absent);
    message_line("%s%s%s%" PRIu64 " element%s, %s%" PRIu64 " byte%s, %.6f s, %.3f GB/s%s",
                 !named ? ""
                 : path ? escape_quote(quoted, path)
                        : "total",
                 named ? ": " : "", arrays, reduction->elements, plural(reduction->elements),
                 missing, reduction->bytes, plural(reduction->bytes), reduction->seconds,
                 report_rate(reduction->bytes, reduction->seconds), compressed);
    if (options->verbose && path)
        report_verbose(options, reduction);
}

/*
 * All results.
 */

bool report_possible(const struct options *options)
{
    return (!options->axis_output || output_possible(options->axis_output)) &&
           (!options->plot || gnuplot_possible(options->plot));
}

bool report_open(struct report *r, const struct options *options)
{
    const bool text = options->output == OUTPUT_TEXT;
    /* Text of a container is a table, but for merged arrays, and for the one that has a histogram.
       */
    const bool table = text && !options->quiet && options->command != COMMAND_MERGE &&
                       options->session.passes.histogram.kind == HISTOGRAM_NONE;
    const bool aligned = table && writer_is_aligned(options->ranks);
    const bool sorted = options->rows.sort.field != ROW_UNASKED;

    *r = (struct report){.options = options};
    r->files = (struct writer){.form = options->output == OUTPUT_JSON  ? WRITER_JSON
                                       : options->output == OUTPUT_TSV ? WRITER_TSV
                                       : options->quiet                ? WRITER_VALUES
                                                                       : WRITER_LINES,
                               .number = options->number,
                               .shows = options->output == OUTPUT_JSON ? IN_OBJECT
                                        : text                         ? IN_LINES
                                                                       : IN_CELLS | IN_FILE,
                               .out = &r->out,
                               .print = writer_flush};
    r->arrays = r->files;
    if (r->files.form == WRITER_TSV || table)
        r->arrays.shows = IN_CELLS | IN_FILE | IN_ARRAY;
    if (table)
        r->arrays.form = aligned ? WRITER_TABLE : WRITER_TSV;
    if (!aligned)
        return writer_open(&r->files);
    r->arrays.out = &r->cells;
    if (!sorted || options->file_count <= 1) /* the name of the file stands above, if at all */
        r->arrays.shows &= ~(unsigned)IN_FILE;
    r->arrays.left = r->arrays.shows & IN_FILE ? 4 : 3;
    return writer_open(&r->files) && writer_open(&r->arrays);
}

void report_close(struct report *r)
{
    writer_flush(&r->files);
    writer_close(&r->files);
    writer_close(&r->arrays);
    buffer_free(&r->out);
    buffer_free(&r->cells);
}

static void write_heading(struct report *r, struct writer *w)
{
    struct reduction blank;

    memset(&blank, 0, sizeof blank);
    w->heading = true;
    report_row(w, r->options, "", &blank, NULL);
    w->heading = false;
}

void report_begin(struct report *r)
{
    const struct options *options = r->options;
    bool arrays = options->merged_arrays;

    if (options->output != OUTPUT_TSV)
        return;
    for (int i = 0; i < options->file_count && options->command != COMMAND_MERGE && !arrays; i++) {
        struct source_facts facts;
        struct error why;

        /* One that cannot be read now is judged when it is reduced (choose_heading). */
        (void)source_look(options->files[i], &options->session.input, &facts, &why);
        arrays = facts.container;
    }
    r->files.shows |= arrays ? IN_ARRAY : 0;
    r->heading_due = true;
}

/* Prints the heading of TSV where it is due. A container in a pipe, or compressed, is known as one
   when it has been read: false where it is too late for the columns of arrays. */
static bool choose_heading(struct report *r, const struct reduction *reduction)
{
    const struct options *options = r->options;
    const bool arrays = reduction && reduction->arrays && reduction->error.kind == ERROR_NONE;

    if (options->output != OUTPUT_TSV)
        return true;
    if (r->heading_due) {
        r->files.shows |= arrays ? IN_ARRAY : 0;
        if (!options->quiet && options->command != COMMAND_CHECK)
            write_heading(r, &r->files);
    }
    r->heading_due = false;
    return (r->files.shows & IN_ARRAY) || !arrays;
}

/* Room for what list_names writes. */
#define NAMES_TEXT_MAX ((size_t)SOURCE_NAMES_KEPT * (NAME_ARRAY_MAX + 2) + 80)

/* Writes which arrays there are, or the first of them. Returns `text`. */
static const char *list_names(char text[NAMES_TEXT_MAX], const struct source_wanted *wanted)
{
    const size_t shown = wanted->there < SOURCE_NAMES_KEPT ? wanted->there : SOURCE_NAMES_KEPT;
    char name[NAME_ARRAY_MAX];
    int used = sprintf(text, shown > 0 ? "there are " : "there are none");

    for (size_t i = 0; i < shown; i++)
        used += sprintf(text + used, "%s%s",
                        i == 0                                     ? ""
                        : i + 1 == shown && shown == wanted->there ? " and "
                                                                   : ", ",
                        wanted->names[i] ? name_array(name, wanted->names[i]) : "?");
    if (wanted->there > shown)
        sprintf(text + used, " and more (--list shows them)");
    return text;
}

void report_end(const struct options *options)
{
    const struct source_wanted *wanted = &options->wanted;
    char quoted[ESCAPE_QUOTE_MAX], names[NAMES_TEXT_MAX];
    bool matched = wanted->count > 0;

    if (options->parts || wanted->unknown)
        return; /* a shard need not have seen all files, nor one that could not be opened */
    for (unsigned i = 0; i < wanted->count; i++) {
        const struct container_pattern *p = &wanted->patterns[i];

        (void)escape_quote(quoted, p->pattern);
        matched = matched && p->matched;
        if (!p->matched && p->exclude)
            message_error(EXIT_FAILED, "--exclude=%s matches no array", quoted);
        else if (!p->matched)
            message_error(EXIT_FAILED, "--array=%s matches no array; %s", quoted,
                          list_names(names, wanted));
        else if (!p->useful && !p->exclude && !options->session.input.skip_unsupported)
            message_error(EXIT_FAILED, "--array=%s matches no array that holds numbers", quoted);
    }
    if (matched && !wanted->chosen)
        message_error(EXIT_FAILED, "--exclude leaves out all arrays%s",
                      wanted->included > 0 ? " that --array chooses" : "");
}

/* Whether nothing was reduced: the arrays that are wanted are in other files, or all have failed
   before anything of them was counted. */
static bool is_nothing(const struct options *options, const struct reduction *reduction)
{
    const size_t count = reduction->arrays ? arrays_count(reduction->arrays) : 0;

    for (size_t k = 0; k < count; k++)
        if (reduction->elements > 0 || !arrays_error(reduction->arrays, k))
            return false;
    return reduction->arrays && (count > 0 || options->wanted.included > 0);
}

/* Statistics stand beside text; the other forms are read by programs, for many files. */
static bool wants_stats(const struct options *options, const struct reduction *reduction)
{
    return reduction->error.kind == ERROR_NONE && options->command != COMMAND_MERGE &&
           !is_nothing(options, reduction) &&
           (options->verbose || (!options->quiet && options->output == OUTPUT_TEXT));
}

/* Prints an error for what one array, or a file that is one, holds. */
static void fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction)
{
    const struct result *result = &reduction->result;
    char name[NAME_BOTH_MAX];

    if (reduction->error.kind != ERROR_NONE)
        return;
    (void)name_both(name, path, reduction->array);
    if ((options->fail_on & FAIL_ON_NAN) && result->nan > 0)
        message_error(EXIT_FAILED, "%s: NaNs: %" PRIu64 " of %" PRIu64 " element%s", name,
                      result->nan, reduction->elements, plural(reduction->elements));
    if ((options->fail_on & FAIL_ON_INF) && result->infinity > 0)
        message_error(EXIT_FAILED, "%s: infinities: %" PRIu64 " of %" PRIu64 " element%s", name,
                      result->infinity, reduction->elements, plural(reduction->elements));
    if ((options->fail_on & FAIL_ON_MISSING) && result->missing > 0)
        message_error(EXIT_FAILED, "%s: missing: %" PRIu64 " of %" PRIu64 " element%s", name,
                      result->missing, reduction->elements, plural(reduction->elements));
    /* A part of an input is not empty since it has no elements. */
    if ((options->fail_on & FAIL_ON_EMPTY) && result->count == 0 &&
        reduction->elements == reduction->of)
        message_error(EXIT_FAILED, "%s: empty: %s", name,
                      reduction->elements == 0 ? "no elements"
                      : result->missing == 0   ? "no elements but NaNs"
                      : result->missing == reduction->elements
                          ? "all elements are missing"
                          : "no elements but NaNs and missing ones");
}

bool report_result(const struct reduction *input, size_t k, struct reduction *one)
{
    if (!input->arrays || input->error.kind != ERROR_NONE) {
        if (k == 0)
            *one = *input;
        return k == 0;
    }
    if (k >= arrays_count(input->arrays))
        return false;
    arrays_get(input->arrays, k, one);
    return true;
}

void report_fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction)
{
    struct reduction one = {.array = NULL};

    for (size_t k = 0; options->fail_on && report_result(reduction, k, &one); k++)
        fail_on(options, path, &one);
}

/* Writes a row into a buffer of its own. */
static void write_apart(const struct report *r, const struct writer *like, const char *path,
                        const struct reduction *one, struct buffer *out)
{
    struct writer w = *like;

    w.out = out;
    w.print = NULL;
    w.other = (struct buffer){0};
    report_row(&w, r->options, path, one, NULL);
    writer_close(&w);
}

static struct row_value find_value(const void *results, const struct row_key *key)
{
    const struct field field = report_value(0, key->op, results);

    return row_value_of(&field);
}

/* The row of a reduction, for --where and --sort. */
static struct row row_of(const char *path, const struct reduction *reduction)
{
    const bool failed = reduction->error.kind != ERROR_NONE;

    return (struct row){.path = path,
                        .name = reduction->array,
                        .dtype = !failed || reduction->array ? type_name(reduction) : NULL,
                        .elements = reduction->elements,
                        .bytes = reduction->bytes,
                        .failed = failed,
                        .find = find_value,
                        .results = reduction};
}

/* Writes the row of an array, on the thread of a worker. */
static void write_line(const void *context, const char *path, const struct reduction *one,
                       struct buffer *out)
{
    const struct report *r = context;
    const struct row row = row_of(path, one);

    if (rows_hold(&r->options->rows, &row))
        write_apart(r, &r->arrays, path, one, out);
}

void report_by_workers(struct report *r, struct session_options *session)
{
    const struct options *options = r->options;

    if (options->output == OUTPUT_PARTIAL || r->arrays.form == WRITER_TABLE ||
        options->session.passes.histogram.kind != HISTOGRAM_NONE)
        return;
    r->by_worker = (struct line_writer){.write = write_line, .context = r};
    session->lines = &r->by_worker;
    session->keep_results = options->fail_on || options->rows.sort.field != ROW_UNASKED;
}

/* Holds a row back. Text of a file that is one array is lines, or, if others hold several, a row of
   their table: which of these is known at the end. */
static void hold_back(struct report *r, const char *path, const struct reduction *one)
{
    const struct row row = row_of(path, one);
    struct buffer text = {0};
    size_t first;

    if (!rows_hold(&r->options->rows, &row))
        return;
    write_apart(r, one->array ? &r->arrays : &r->files, path, one, &text);
    first = text.size;
    if (!one->array && r->files.form == WRITER_LINES && r->arrays.form != WRITER_LINES)
        write_apart(r, &r->arrays, path, one, &text);
    rows_keep(&r->held_back, &r->options->rows, &row, &text, first);
    buffer_free(&text);
}

/* Prints the result of a file that is one array, or of a merged one. */
static void report_one(struct report *r, const char *path, const struct reduction *reduction)
{
    const struct row row = row_of(path, reduction);

    if (r->options->rows.sort.field != ROW_UNASKED) {
        hold_back(r, path, reduction);
        return;
    }
    if (!rows_hold(&r->options->rows, &row))
        return;
    if (r->options->output == OUTPUT_PARTIAL)
        report_partial(r->options, path, reduction);
    else
        report_row(&r->files, r->options, path, reduction, NULL);
    r->below_heading = false;
}

/* Writes the heading of a container's table, where that is text and has none yet. */
static void head_arrays(struct report *r)
{
    if (r->files.form != WRITER_LINES || r->arrays.form == WRITER_LINES)
        return;
    if (r->arrays.form == WRITER_TABLE || !r->below_heading)
        write_heading(r, &r->arrays);
    r->below_heading = true;
}

/* Prints the results of a container's arrays, or holds them back. */
static void report_each(struct report *r, const char *path, const struct reduction *reduction)
{
    const struct options *options = r->options;
    const struct arrays *arrays = reduction->arrays;
    const bool sorted = options->rows.sort.field != ROW_UNASKED;
    char quoted[ESCAPE_QUOTE_MAX];
    struct reduction one;
    bool any = false;

    memset(&one, 0, sizeof one);
    one.histogram = reduction->histogram;
    for (size_t k = 0; k < arrays_count(arrays); k++) {
        size_t length;
        const char *const line = arrays_line(arrays, k, &length); /* that a worker has written */
        struct buffer text = {.data = (char *)(uintptr_t)line, .size = length};
        struct row row;

        if (line && length == 0) /* --where leaves it out */
            continue;
        if (!line || sorted) {
            arrays_get(arrays, k, &one);
            row = row_of(path, &one);
        }
        if (sorted && line) {
            rows_keep(&r->held_back, &options->rows, &row, &text, length);
        } else if (sorted) {
            hold_back(r, path, &one);
        } else if (line || rows_hold(&options->rows, &row)) {
            if (!any)
                head_arrays(r);
            any = true;
            if (line && r->out.size > 0)
                writer_flush(&r->files);
            if (line)
                stdio_write(line, length);
            else if (options->output == OUTPUT_PARTIAL)
                report_partial(options, path, &one);
            else
                report_row(&r->arrays, options, path, &one, NULL);
        }
    }
    if (!any || r->arrays.form != WRITER_TABLE)
        return;
    if (options->file_count > 1 || options->total)
        buffer_print(&r->out, "%s:\n", escape_quote(quoted, path));
    writer_flush(&r->files);
    writer_flush(&r->arrays);
}

/* Errors of arrays that are printed of one input; the rest share one. */
#define ERRORS_MAX 8

static bool same_words(const struct array_error *a, const struct array_error *b)
{
    return a->kind == b->kind && a->advice == b->advice && strcmp(a->text, b->text) == 0;
}

void report_array_errors(const char *path, const struct reduction *input)
{
    const struct arrays *arrays = input->arrays;
    const size_t count = arrays ? arrays_count(arrays) : 0;
    /* Without memory each is printed alone. */
    bool *printed = count > 0 ? calloc(count, sizeof *printed) : NULL;
    size_t said = 0, others = 0;
    char name[NAME_BOTH_MAX + 48];

    for (size_t k = 0; k < count; k++) {
        const struct array_error *error = arrays_error(arrays, k);
        struct reduction one;
        size_t alike = 0, used;

        if (!error || (printed && printed[k]))
            continue;
        if (said++ >= ERRORS_MAX) {
            others++;
            continue;
        }
        for (size_t i = k + 1; printed && i < count; i++)
            if (arrays_error(arrays, i) && !printed[i] &&
                same_words(error, arrays_error(arrays, i))) {
                printed[i] = true;
                alike++;
            }
        memset(&one, 0, sizeof one);
        arrays_get(arrays, k, &one);
        used = strlen(name_both(name, path, one.array));
        if (alike > 0)
            sprintf(name + used, " and %zu more", alike);
        failure_print_as(name, path, &one.error);
    }
    if (others > 0)
        message_error(EXIT_FAILED, "%s: %zu more array%s failed for other reasons",
                      name_input(name, path), others, plural(others));
    free(printed);
}

void report_rows(struct report *r)
{
    struct rows *rows = &r->held_back;
    bool table = false;

    (void)choose_heading(r, NULL);
    rows_sort(rows);
    if (r->files.form == WRITER_LINES && r->arrays.form != WRITER_LINES)
        for (size_t i = 0; i < rows->count; i++)
            table = table || rows->kept[i].named;
    if (table)
        write_heading(r, &r->arrays);
    for (size_t i = 0; i < rows->count; i++) {
        const struct kept_row *row = &rows->kept[i];

        if (!table)
            buffer_bytes(&r->out, row->text, row->first);
        else if (row->named)
            buffer_bytes(r->arrays.out, row->text, row->first);
        else if (row->typed) /* others failed */
            buffer_bytes(r->arrays.out, row->text + row->first, row->length - row->first);
    }
    rows_free(rows);
    if (table)
        writer_flush(&r->arrays);
    writer_flush(&r->files);
}

void report(struct report *r, const char *path, struct reduction *reduction)
{
    const struct options *options = r->options;
    bool failed;

    if (!choose_heading(r, reduction))
        (void)error_set(&reduction->error, ERROR_REQUEST,
                        "holds arrays, for which the lines before have no columns: name it first");
    failed = reduction->error.kind != ERROR_NONE;
    if (failed)
        failure_print(path, reduction->array, &reduction->error);
    else
        report_array_errors(path, reduction);
    if (!reduction->arrays || failed)
        report_one(r, path, reduction);
    else
        report_each(r, path, reduction);
    /* Results of earlier files are not held back while a large one is reduced. */
    writer_flush(&r->files);
    if (wants_stats(options, reduction))
        report_stats(options, path, reduction);
    /* An array that cannot be reduced, or that another file has, leaves nothing to draw. */
    if (options->plot && !failed && reduction->histogram)
        report_plot(options, path, reduction);
    report_fail_on(options, path, reduction);
}

void report_total(struct report *r, const struct total *total)
{
    const struct options *options = r->options;

    if (total->inputs == 0 && options->wanted.included > 0) /* report_end says why */
        return;
    (void)choose_heading(r, NULL);
    if (options->output == OUTPUT_PARTIAL)
        report_partial_total(options, total);
    else
        report_row(&r->files, options, NULL, &total->reduction, total);
    writer_flush(&r->files);
    if (wants_stats(options, &total->reduction))
        report_stats(options, NULL, &total->reduction);
    if (total->reduction.error.kind != ERROR_NONE)
        message_error(EXIT_FAILED, "no total: %s%s", total->reduction.error.text,
                      total->unreadable && !options->session.input.skip_unsupported
                          ? "; --skip-unsupported leaves out arrays that cannot be read"
                          : "");
}
