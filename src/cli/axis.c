#include "config.h"

#include "cli/axis.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/axis_npy.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/report_parts.h"
#include "run/axis.h"
#include "source/inputs.h"
#include "sys/json.h"
#include "sys/message.h"
#include "sys/output.h"
#include "sys/stdio.h"

/* The output of one array. */
struct output {
    const struct options *options;
    const char *path, *array; /* `array` NULL where the file is one */
    char name[SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN];
    struct output_file npy;   /* without a stream: lines on standard output */
    bool placed;              /* results are written where they belong in it, in any order */
    uint64_t header_size;     /* bytes of it before the results */
    size_t result_size;       /* bytes of each */
    bool failed;              /* it could not be written to, as an error has said */
    struct engine_state *gpu; /* NULL where the CPU does it */
    _Atomic bool beyond;      /* an integer was too large for the .npy, as an error has said */
    bool first;               /* no heading stands on standard output yet */
    char *front;              /* of each line: what stands before the index, in JSON or TSV */
};

/* The longest line, but for what stands in front of it. */
#define LINE_MAX_LENGTH ((size_t)OPERATIONS_MAX * (2 * NUMBER_MAX + 8) + AXIS_PLACE_MAX + 64)

/* Adds the index of a result: 3,5. */
static size_t put_place(char *to, const struct axis_plan *plan, uint64_t k)
{
    uint64_t place[SOURCE_DIMENSIONS_MAX] = {0};
    size_t used = 0;

    to[0] = '\0';
    axis_place(plan->layout, k, place);
    for (unsigned i = 0; i < plan->layout->result.dimensions; i++)
        used += (size_t)sprintf(to + used, "%s%" PRIu64, i > 0 ? "," : "", place[i]);
    return used;
}

/* Writes the value of operation j of a slice, as report_value does. Readers of JSON take numbers
   for binary64, which decimals of a narrower type are not exact in. */
static void put_value(char text[NUMBER_MAX], const struct options *options,
                      const struct axis_batch *batch, size_t j, size_t i)
{
    const struct axis_plan *plan = batch->plan;
    const struct operation *op = plan->operations[j];
    const struct reduction like = {.type = plan->type};
    const enum element_type type =
        options->output == OUTPUT_JSON ? ELEMENT_F64 : report_type(op, &like);
    const union axis_values values = batch->values[j];
    double number = 0;

    switch (axis_kind(op, plan->type)) {
    case AXIS_NUMBER:
        number = values.number[i];
        break;
    case AXIS_COUNT:
        if (values.count[i] == PARTIAL_NO_INDEX)
            snprintf(text, NUMBER_MAX, "nan");
        else
            snprintf(text, NUMBER_MAX, "%" PRIu64, values.count[i]);
        return;
    case AXIS_INTEGER:
        if (values.integer[i].known)
            number_format_integer(text, &values.integer[i]);
        else
            snprintf(text, NUMBER_MAX, "nan");
        return;
    }
    switch (options->number) {
    case NUMBER_DECIMAL:
        number_format(text, number, type);
        break;
    case NUMBER_HEX:
        number_format_hex(text, number);
        break;
    }
}

/* Adds a line of text or of TSV. Returns its length. */
static size_t put_fields(char *line, const struct output *out, const struct axis_batch *batch,
                         size_t i)
{
    const struct options *options = out->options;
    size_t used = 0;

    if (options->output == OUTPUT_TSV)
        used += (size_t)sprintf(line, "%s", out->front);
    if (options->output == OUTPUT_TSV || !options->quiet) {
        used += put_place(line + used, batch->plan, batch->first + i);
        line[used++] = '\t';
    }
    for (size_t j = 0; j < batch->plan->operation_count; j++) {
        if (report_repeated(options, j))
            continue;
        if (j > 0)
            line[used++] = '\t';
        put_value(line + used, options, batch, j, i);
        used += strlen(line + used);
    }
    line[used++] = '\n';
    return used;
}

/* Whether a value is one of JSON's numbers, or an index. */
static bool is_json_number(const struct axis_batch *batch, size_t j, size_t i)
{
    const union axis_values values = batch->values[j];

    switch (axis_kind(batch->plan->operations[j], batch->plan->type)) {
    case AXIS_NUMBER:
        return isfinite(values.number[i]);
    case AXIS_COUNT:
        return values.count[i] != PARTIAL_NO_INDEX;
    case AXIS_INTEGER:
        break;
    }
    return values.integer[i].known;
}

/* Adds an object of JSON. Returns its length. */
static size_t put_object(char *line, const struct output *out, const struct axis_batch *batch,
                         size_t i)
{
    const struct options *options = out->options;
    const struct axis_plan *plan = batch->plan;
    const char *separator = "";
    char text[NUMBER_MAX];
    size_t used = (size_t)sprintf(line, "%s\"index\": [", out->front);

    used += put_place(line + used, plan, batch->first + i);
    used += (size_t)sprintf(line + used, "]");
    for (size_t j = 0; j < plan->operation_count; j++) {
        const struct operation *op = plan->operations[j];
        const bool hex = options->number == NUMBER_HEX && axis_kind(op, plan->type) == AXIS_NUMBER;

        if (report_repeated(options, j))
            continue;
        if (!is_json_number(batch, j, i)) {
            used += (size_t)sprintf(line + used, ", \"%s\": null", op->name);
            continue;
        }
        put_value(text, options, batch, j, i);
        used += (size_t)sprintf(line + used, hex ? ", \"%s\": \"%s\"" : ", \"%s\": %s", op->name,
                                json_decimal(text));
    }
    for (size_t j = 0; j < plan->operation_count; j++) {
        /* An index where there is none is no number that JSON lacks. */
        if (report_repeated(options, j) || is_json_number(batch, j, i) ||
            plan->operations[j]->kind == OPERATION_COUNT)
            continue;
        put_value(text, options, batch, j, i);
        used += (size_t)sprintf(line + used, "%s\"%s\": \"%s\"",
                                *separator ? separator : ", \"nonfinite\": {",
                                plan->operations[j]->name, text);
        separator = ", ";
    }
    return used + (size_t)sprintf(line + used, "%s}\n", *separator ? "}" : "");
}

/* Says which integer the .npy has no room for: one, of all that threads find. */
static void say_beyond(struct output *out, const struct axis_batch *batch, size_t j, size_t i)
{
    char place[AXIS_PLACE_MAX], text[NUMBER_MAX];

    if (atomic_exchange(&out->beyond, true))
        return;
    (void)put_place(place, batch->plan, batch->first + i);
    put_value(text, out->options, batch, j, i);
    message_error(
        EXIT_FAILED,
        "%s: the %s of slice [%s] is %s, which does not fit a 64-bit integer; leave out --output",
        out->name, batch->plan->operations[j]->name, place, text);
}

static bool render(void *context, const struct axis_batch *batch, struct axis_bytes *bytes)
{
    struct output *out = context;
    const size_t most = LINE_MAX_LENGTH + strlen(out->front);

    if (out->npy.stream) {
        size_t beyond = 0, slice;

        if (axis_npy_values(batch, bytes, &beyond, &slice))
            return true;
        if (slice < batch->count)
            say_beyond(out, batch, beyond, slice);
        else
            message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        char *line = axis_bytes_extend(bytes, most);

        if (!line) {
            message_error(EXIT_FAILED, "out of memory");
            return false;
        }
        bytes->size += out->options->output == OUTPUT_JSON ? put_object(line, out, batch, i)
                                                           : put_fields(line, out, batch, i);
    }
    return true;
}

static double *numbers(void *context, const struct axis_plan *plan, struct axis_bytes *bytes,
                       size_t count)
{
    const struct output *out = context;

    if (!out->npy.stream || !axis_npy_is_numbers(plan))
        return NULL;
    return axis_bytes_extend(bytes, count * sizeof(double)); /* without memory render says so */
}

/* Bytes that standard output has room for until it is flushed. */
#define FLUSHED_BYTES ((size_t)128 << 10)

/* The place of a result in the .npy. */
static uint64_t place_of(const struct output *out, uint64_t k)
{
    return out->header_size + k * out->result_size;
}

static bool place(void *context, uint64_t first, const void *bytes, size_t size, int *error)
{
    const struct output *out = context;

    if (output_place(out->npy.stream, bytes, size, place_of(out, first)))
        return true;
    /* Some file systems take what they write in order alone. */
    *error = errno == EINVAL || errno == EOPNOTSUPP ? 0 : errno;
    return false;
}

/* Writes bytes to the .npy; those of results where they belong. */
static bool write_npy(struct output *out, uint64_t first, const void *bytes, size_t size, int error)
{
    bool good = !out->failed && error == 0;

    good = good && (out->placed ? output_place(out->npy.stream, bytes, size, place_of(out, first))
                                : output_put(out->npy.stream, bytes, size));
    if (!good && !out->failed) {
        errno = error ? error : errno;
        output_error(out->options->axis_output);
    }
    out->failed = !good;
    return good;
}

static bool write_bytes(void *context, uint64_t first, const void *bytes, size_t size, int error)
{
    struct output *out = context;
    bool good = true;

    if (out->npy.stream)
        return write_npy(out, first, bytes, size, error);
    for (size_t i = 0; i < size && good; i += FLUSHED_BYTES) {
        const size_t some = size - i < FLUSHED_BYTES ? size - i : FLUSHED_BYTES;

        good = fwrite((const char *)bytes + i, 1, some, stdout) == some;
        good = stdio_flush() && good; /* which knows why it fails */
    }
    return good;
}

/* The heading of lines; of several files as text, each has one below its name. */
static void print_heading(struct output *out)
{
    const struct options *options = out->options;
    const bool several = options->file_count > 1 || out->array;

    if (options->quiet || options->output == OUTPUT_JSON)
        return;
    if (options->output == OUTPUT_TEXT && several)
        printf("%s:\n", out->name);
    if (options->output == OUTPUT_TEXT ? !several && !out->first : !out->first)
        return;
    fputs(options->output == OUTPUT_TSV ? "file\tarray\tindex" : "index", stdout);
    for (size_t j = 0; j < options->operation_count; j++)
        if (!report_repeated(options, j))
            printf("\t%s", options->operations[j]->name);
    putchar('\n');
}

static bool begin(void *context, const struct axis_plan *plan, const char *name)
{
    struct output *out = context;
    struct axis_bytes header = {0};
    bool good = true;

    (void)name;
    if (out->options->axis_output) {
        for (size_t j = 0; j < plan->operation_count && plan->layout->length == 0; j++)
            if (axis_kind(plan->operations[j], plan->type) == AXIS_INTEGER &&
                plan->operations[j]->kind == OPERATION_ELEMENT && plan->layout->results > 0) {
                message_error(EXIT_FAILED,
                              "%s: the %s of an empty slice is undefined, and integers have no "
                              "NaN; leave out --output",
                              out->name, plan->operations[j]->name);
                return false;
            }
        if (!output_open(&out->npy, out->options->axis_output))
            return false;
        good = axis_npy_header(plan, &header);
        if (!good)
            message_error(EXIT_FAILED, "out of memory");
        out->placed = false;
        good = good && write_npy(out, 0, header.data, header.size, 0);
        free(header.data);
        out->header_size = header.size;
        out->result_size = axis_npy_size(plan);
        out->placed = good && output_has_places(out->npy.stream);
        return good;
    }
    print_heading(out);
    out->first = false;
    return true;
}

static bool has_places(void *context)
{
    const struct output *out = context;

    return out->npy.stream && out->placed;
}

/* The text before each line of TSV, or in each object of JSON. NULL without memory. */
static char *make_front(const struct output *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    if (out->options->output == OUTPUT_JSON) {
        fputs("{\"file\": ", to);
        json_string(to, out->path);
        if (out->array) {
            fputs(", \"array\": ", to);
            json_string(to, out->array);
        }
        fputs(", ", to);
    } else if (out->options->output == OUTPUT_TSV) {
        report_tsv_name_to(to, out->path);
        putc('\t', to);
        report_tsv_field_to(to, out->array ? out->array : "");
        putc('\t', to);
    }
    return fclose(to) == 0 ? text : NULL;
}

/* The line of statistics. */
static void report_outcome(const struct output *out, const struct axis_outcome *outcome)
{
    const struct options *options = out->options;
    const bool named = options->file_count > 1 || out->array;

    if (options->quiet || (options->output != OUTPUT_TEXT && !options->verbose))
        return;
    message_line("%s%s%" PRIu64 " slice%s of %" PRIu64 " element%s, %" PRIu64
                 " byte%s, %.6f s, %.3f GB/s",
                 named ? out->name : "", named ? ": " : "", outcome->layout.results,
                 message_s(outcome->layout.results), outcome->layout.length,
                 message_s(outcome->layout.length), outcome->bytes, message_s(outcome->bytes),
                 outcome->seconds, report_rate(outcome->bytes, outcome->seconds));
}

/* Prints what stands for the results of an array that has none, for this error. */
static void report_failed(struct output *out, const char *error)
{
    const struct options *options = out->options;
    const char *separator = "";

    if (options->axis_output)
        return;
    if (options->output == OUTPUT_JSON) {
        printf("%s\"error\": ", out->front);
        json_string(stdout, error);
        puts("}");
        return;
    }
    print_heading(out);
    out->first = false;
    if (options->output == OUTPUT_TSV)
        fputs(out->front, stdout);
    if (options->output == OUTPUT_TSV || !options->quiet)
        separator = "\t";
    for (size_t j = 0; j < options->operation_count; j++) {
        if (!report_repeated(options, j))
            printf("%s" REPORT_MISSING, separator);
        separator = "\t";
    }
    putchar('\n');
}

/* Reduces an array into *outcome. False on failure. */
static bool reduce_array(struct output *out, const struct inputs *inputs,
                         struct axis_outcome *outcome)
{
    const struct options *options = out->options;
    const struct axis_sink sink = {.begin = begin,
                                   .render = render,
                                   .numbers = numbers,
                                   .has_places = has_places,
                                   .place = place,
                                   .write = write_bytes,
                                   .context = out};
    struct source *source = inputs->source;
    char why[CONTAINER_WHY_MAX];
    bool good;

    if (inputs->array && inputs->array->unreadable) {
        message_error(EXIT_FAILED, "%s: %s", out->name, container_why(why, inputs->array));
        return false;
    }
    if (inputs->array)
        source = source_open_array(inputs->source, inputs->array, inputs->options, inputs->workers);
    good = source && axis_reduce(&options->session, &options->axis, options->operations,
                                 options->operation_count, out->gpu, source, &sink, outcome);
    if (source && inputs->array)
        source_close(source);
    return good;
}

/* Reduces the current array, and prints its results. */
static void reduce(struct output *out, const struct inputs *inputs)
{
    char error[MESSAGE_ERROR_MAX];
    struct axis_outcome outcome;
    bool good;

    out->path = inputs->path;
    out->array = inputs->array ? inputs->array->name : NULL;
    source_name_array(out->name, out->path, inputs->array);
    out->front = make_front(out);
    if (!out->front) {
        message_error(EXIT_FAILED, "out of memory");
        return;
    }
    message_forget_error();
    good = reduce_array(out, inputs, &outcome);
    if (!good && inputs->array)
        report_failed(out, message_first_error_of(error, out->name));
    free(out->front);
    if (out->npy.stream)
        good = output_close(&out->npy, good && !out->failed);
    (void)stdio_flush();
    if (good)
        report_outcome(out, &outcome);
}

/* Reduces the one array that --output is for. */
static void reduce_only(struct output *out, struct inputs *inputs)
{
    struct inputs only = {.source = NULL};
    bool good = true;

    while (good && inputs_next(inputs)) {
        good = !only.source && inputs_arrays(inputs->info) == 1;
        if (!good) {
            source_error(inputs->source, "--output takes one array; choose it with --array");
            break;
        }
        only = *inputs;
        (void)inputs_take(inputs);
    }
    if (good && only.source)
        reduce(out, &only);
    else if (good && !inputs->failed && out->options->wanted.included == 0)
        message_error(EXIT_FAILED, "--output takes one array, and there is none");
    inputs_close(&only);
    inputs_close(inputs);
}

static void reduce_all(struct output *out, struct inputs *inputs)
{
    message_memory_once(true);
    while (inputs_next(inputs)) {
        if (inputs->first)
            message_memory_once(true);
        reduce(out, inputs);
    }
    message_memory_once(false);
}

void axis_files(struct options *options)
{
    const struct source_options input = axis_source_options(&options->session);
    struct output out = {.options = options, .first = true};
    struct inputs inputs = {.paths = options->files,
                            .count = options->file_count,
                            .options = &input,
                            .workers = axis_workers(&options->session)};

    if (!report_possible(options) || !axis_open_gpu(&options->session, &out.gpu))
        return;
    if (options->axis_output)
        reduce_only(&out, &inputs);
    else
        reduce_all(&out, &inputs);
    axis_close_gpu(out.gpu);
    report_end(options);
}
