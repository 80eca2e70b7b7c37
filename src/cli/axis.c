#include "config.h"

#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/stdio.h"
#include "core/element.h"
#include "core/name.h"
#include "run/axis.h"
#include "source/inputs.h"
#include "sys/plural.h"

/*
 * Results as a .npy file, version 1 of the format (NumPy's documentation of numpy.lib.format). One
 * operation makes an array of numbers; several make an array of records, with a field of the
 * operation's name for each.
 */

/* How values of an operation are stored. */
struct stored {
    char letter; /* NumPy's: f, i, u or b */
    size_t size; /* bytes */
};

static struct stored stored_as(const struct axis_plan *plan, const struct operation *op)
{
    const enum element_type type = plan->type;
    const char letter = axis_letter(plan, op);
    const bool extreme =
        op->member == offsetof(struct result, min) || op->member == offsetof(struct result, max);

    switch (axis_kind(plan, op)) {
    case AXIS_COUNT:
        return (struct stored){letter, 8};
    case AXIS_INTEGER:
        if (!extreme || plan->scale.given)
            return (struct stored){letter, 8};
        if (type == ELEMENT_BOOL)
            return (struct stored){'b', 1};
        return (struct stored){letter, element_size(type)};
    case AXIS_NUMBER:
        break;
    }
    if (op->kind == OPERATION_BINARY64 || type == ELEMENT_F64 || plan->scale.given)
        return (struct stored){letter, 8};
    return (struct stored){letter, type == ELEMENT_F16 ? 2 : 4};
}

/* Writes NumPy's name of a type. */
static void name_type(char text[8], struct stored field)
{
    snprintf(text, 8, "%c%c%zu",
             field.size == 1         ? '|'
             : element_host_is_big() ? '>'
                                     : '<',
             field.letter, field.size);
}

/* The header's dictionary is padded so that the numbers begin at a multiple of this. */
#define ALIGNMENT 64
/* Bytes before the dictionary. */
#define PREFIX 10
#define DICTIONARY_MAX 8192

/* Adds the header. Sums of integers are int64 or uint64, counts and indices int64, and what has the
   elements' type has it, but that bf16 and floats of one byte become float32, and absmax, absmin
   and range of integers uint64. All else is float64. With a scale extremes are stored as sums are.
   False without memory. */
static bool npy_header(const struct axis_plan *plan, struct buffer *bytes)
{
    static const char magic[] = "\x93NUMPY\x01";
    const struct array_shape *shape = &plan->layout->result;
    const bool records = plan->operation_count > 1;
    char text[DICTIONARY_MAX], type[8];
    size_t used = 0, size;
    unsigned char *to;

#define ADD(...) (used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__))
    ADD("{'descr': %s", records ? "[" : "");
    for (size_t i = 0; i < plan->operation_count; i++) {
        name_type(type, stored_as(plan, plan->operations[i]));
        if (!records)
            ADD("'%s'", type);
        else
            ADD("('%s', '%s'), ", plan->operations[i]->name, type);
    }
    ADD("%s, 'fortran_order': %s, 'shape': (", records ? "]" : "",
        shape->fortran_order ? "True" : "False");
    for (unsigned i = 0; i < shape->dimensions; i++)
        ADD("%" PRIu64 ",%s", shape->sizes[i], i + 1 < shape->dimensions ? " " : "");
    ADD("), }");
#undef ADD
    /* The longest there is: 64 names and sizes. */
    _Static_assert((size_t)OPERATIONS_MAX * 48 + (size_t)ARRAY_DIMENSIONS_MAX * 22 + 64 <
                       sizeof text - ALIGNMENT,
                   "room for the longest header");
    size = (PREFIX + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    to = buffer_extend(bytes, size);
    if (!to)
        return false;
    memset(to, ' ', size);
    memcpy(to, magic, sizeof magic); /* with the 0 of the version's second part */
    to[8] = (unsigned char)((size - PREFIX) & 0xff);
    to[9] = (unsigned char)((size - PREFIX) >> 8);
    memcpy(to + PREFIX, text, used);
    to[size - 1] = '\n';
    bytes->size += size;
    return true;
}

/* The bits of a value of binary16, which x is. */
static uint64_t half_bits(double x)
{
    return isnan(x) ? exact_bits(x) >> 63 << 15 | 0x7e00 : element_cut(ELEMENT_F16, x);
}

static void store_float(unsigned char *to, double x, size_t size)
{
    const float narrow = (float)x;

    if (size == sizeof narrow)
        memcpy(to, &narrow, size);
    else
        element_store(size, to, size == 2 ? half_bits(x) : exact_bits(x));
}

/* An index that there is none of becomes -1. */
_Static_assert(PARTIAL_NO_INDEX == UINT64_MAX, "two's complement");

/* Stores the values of operation j, `step` bytes apart. Returns the slice that could not be stored,
   or batch->count. */
static size_t store_all(const struct axis_batch *batch, size_t j, unsigned char *to, size_t step,
                        struct stored field)
{
    const union axis_values values = batch->values[j];
    const size_t fit = axis_narrow(batch, j);

    if (axis_kind(batch->plan, batch->plan->operations[j]) != AXIS_NUMBER)
        for (size_t i = 0; i < fit; i++)
            element_store(field.size, to + i * step, values.count[i]);
    else if (field.size == sizeof(double) && step == sizeof(double))
        memcpy(to, values.number, batch->count * sizeof(double));
    else
        for (size_t i = 0; i < batch->count; i++)
            store_float(to + i * step, values.number[i], field.size);
    return fit;
}

/* Bytes of each result. */
static size_t npy_size(const struct axis_plan *plan)
{
    size_t size = 0;

    for (size_t j = 0; j < plan->operation_count; j++)
        size += stored_as(plan, plan->operations[j]).size;
    return size;
}

/* Whether each result is one binary64 number, as a batch has it. */
static bool npy_is_numbers(const struct axis_plan *plan)
{
    return plan->operation_count == 1 && axis_kind(plan, plan->operations[0]) == AXIS_NUMBER &&
           stored_as(plan, plan->operations[0]).size == sizeof(double);
}

/*
 * The output of arrays: rows, or a .npy.
 */

/* The output of one array. */
struct output {
    const struct options *options;
    const char *path, *array; /* `array` NULL where the file is one */
    char name[NAME_BOTH_MAX];
    struct output_file npy;   /* without a stream: lines on standard output */
    bool placed;              /* results are written where they belong in it, in any order */
    uint64_t header_size;     /* bytes of it before the results */
    size_t result_size;       /* bytes of each */
    _Atomic int unplaced;     /* why results could not be placed, as errno; 0: nothing is known */
    bool failed;              /* it could not be written to, as an error has said */
    struct error error;       /* why there are no results; valid if `refused` is set */
    struct engine_state *gpu; /* NULL where the CPU does it */
    _Atomic bool refused;     /* by one of all threads */
    bool no_memory;           /* there was none for another array of the input */
    bool first;               /* no heading stands on standard output yet */
    bool headed;              /* one stands there for the current array, where it needs one */
    struct buffer text;       /* headings, and rows of arrays without results */
    struct writer writer;     /* rows; workers copy it */
};

/* The value of operation j of a slice. *integer has its digits, if it is an integer. */
static struct field value_of(const struct axis_batch *batch, size_t j, size_t i,
                             struct integer *integer)
{
    const struct axis_plan *plan = batch->plan;
    const struct operation *op = plan->operations[j];
    const unsigned in = IN_OBJECT | IN_CELLS;
    const union axis_values values = batch->values[j];

    switch (axis_kind(plan, op)) {
    case AXIS_COUNT:
        /* Scaled numbers have no count of subnormal ones. */
        if (!(op->wants & PARTIAL_WHERE) && values.count[i] == PARTIAL_NO_INDEX)
            return field_of(in, op->name, FIELD_MISSING);
        return (struct field){
            .name = op->name, .kind = FIELD_INDEX, .in = in, .count = values.count[i]};
    case AXIS_INTEGER:
        *integer = axis_integer(batch, j, i);
        return field_value(in, op->name, integer, NAN);
    case AXIS_NUMBER:
        break;
    }
    return field_number(in, op->name, values.number[i],
                        operation_shown_type(op, plan->type, &plan->scale));
}

/* Adds what stands in front of the values of a row: the file, the array, and the index of the
   slice. */
static void begin_row(struct writer *w, const struct output *out, const uint64_t *place,
                      unsigned dimensions)
{
    struct field index = field_list(IN_ARRAY | IN_OBJECT, "index", place, dimensions);

    index.kind = place ? FIELD_PLACE : FIELD_TEXT;
    writer_begin(w);
    WRITER_FIELDS(w, field_file(IN_FILE | IN_OBJECT, out->path),
                  field_text(IN_FILE | (out->array ? IN_OBJECT : 0), "array", out->array));
    index.in = place ? index.in : IN_ARRAY;
    writer_field(w, index);
}

static void write_row(struct writer *w, const struct output *out, const struct axis_batch *batch,
                      size_t i)
{
    const struct axis_plan *plan = batch->plan;
    uint64_t place[ARRAY_DIMENSIONS_MAX];
    struct integer integer;

    array_place(&plan->layout->result, batch->first + i, place);
    begin_row(w, out, place, plan->layout->result.dimensions);
    for (size_t j = 0; j < plan->operation_count; j++)
        writer_field(w, value_of(batch, j, i, &integer));
    if (w->other.size > 0)
        writer_field(w, field_of(IN_OBJECT, "nonfinite", FIELD_NONFINITE));
    writer_end(w);
}

/* Writes the row of an array that has no results, for this error, or, without one, the heading. */
static void write_without(struct output *out, const char *error)
{
    const struct options *options = out->options;
    struct writer *w = &out->writer;

    begin_row(w, out, NULL, 0);
    if (error)
        writer_field(w, field_text(IN_OBJECT, "error", error));
    for (size_t j = 0; j < options->operation_count; j++)
        writer_field(w, field_of(IN_CELLS, options->operations[j]->name, FIELD_MISSING));
    writer_end(w);
}

/* Says which integer the .npy has no room for: one, of all that threads find. Returns false. */
static bool say_beyond(struct output *out, const struct axis_batch *batch, size_t j, size_t i)
{
    const struct axis_plan *plan = batch->plan;
    const struct integer x = axis_integer(batch, j, i);
    struct error why = {.kind = ERROR_NONE};
    char place[AXIS_PLACE_MAX];

    if (atomic_exchange(&out->refused, true))
        return false;
    axis_refuse_integer(plan, plan->operations[j],
                        axis_show_place(place, plan->layout, batch->first + i), &x, &why);
    return error_set(&out->error, ERROR_REQUEST, "%s; leave out --output", why.text);
}

/* Says that there is no memory: once, of all threads. Returns false. */
static bool no_memory(struct output *out)
{
    return !atomic_exchange(&out->refused, true) && error_memory(&out->error);
}

/* Adds results to a .npy, in this machine's byte order. False without memory, or where an integer is beyond
   its type. */
static bool npy_values(struct output *out, const struct axis_batch *batch, struct buffer *bytes)
{
    const struct axis_plan *plan = batch->plan;
    const size_t step = out->result_size;
    unsigned char *to = buffer_extend(bytes, step * batch->count);

    if (!to)
        return no_memory(out);
    for (size_t j = 0; j < plan->operation_count; j++) {
        const struct stored field = stored_as(plan, plan->operations[j]);
        const size_t slice = store_all(batch, j, to, step, field);

        if (slice < batch->count)
            return say_beyond(out, batch, j, slice);
        to += field.size;
    }
    bytes->size += step * batch->count;
    return true;
}

static bool render(void *context, const struct axis_batch *batch, struct buffer *bytes)
{
    struct output *out = context;
    struct writer w = out->writer;

    if (out->npy.stream)
        return npy_values(out, batch, bytes);
    w.out = bytes;
    w.print = NULL;
    w.other = (struct buffer){0};
    for (size_t i = 0; i < batch->count; i++)
        write_row(&w, out, batch, i);
    writer_close(&w);
    return !bytes->failed || no_memory(out);
}

static double *numbers(void *context, const struct axis_plan *plan, struct buffer *bytes,
                       size_t count)
{
    const struct output *out = context;

    if (!out->npy.stream || !npy_is_numbers(plan))
        return NULL;
    return buffer_extend(bytes, count * sizeof(double)); /* without memory render says so */
}

/* Bytes that standard output has room for until it is flushed. */
#define FLUSHED_BYTES ((size_t)128 << 10)

/* The place of a result in the .npy. */
static uint64_t place_of(const struct output *out, uint64_t k)
{
    return out->header_size + k * out->result_size;
}

static bool place(void *context, uint64_t first, const void *bytes, size_t size)
{
    struct output *out = context;

    if (output_place(out->npy.stream, bytes, size, place_of(out, first)))
        return true;
    /* Some file systems take what they write in order alone. */
    if (errno != EINVAL && errno != EOPNOTSUPP)
        atomic_store(&out->unplaced, errno);
    return false;
}

/* Writes bytes to the .npy; those of results where they belong. */
static bool write_npy(struct output *out, uint64_t first, const void *bytes, size_t size)
{
    const int error = atomic_load(&out->unplaced);
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

static bool write_bytes(void *context, uint64_t first, const void *bytes, size_t size)
{
    struct output *out = context;
    bool good = true;

    if (out->npy.stream)
        return write_npy(out, first, bytes, size);
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
    const bool due = options->output == OUTPUT_TEXT ? several || out->first : out->first;

    out->first = false;
    if (out->headed)
        return;
    out->headed = true;
    if (options->quiet || options->output == OUTPUT_JSON)
        return;
    if (options->output == OUTPUT_TEXT && several)
        buffer_print(&out->text, "%s:\n", out->name);
    out->writer.heading = true;
    if (due)
        write_without(out, NULL);
    out->writer.heading = false;
    writer_flush(&out->writer);
}

static bool begin(void *context, const struct axis_plan *plan)
{
    struct output *out = context;
    struct buffer header = {0};
    bool good = true;

    if (out->options->axis_output) {
        for (size_t j = 0; j < plan->operation_count && plan->layout->length == 0; j++)
            if (axis_kind(plan, plan->operations[j]) == AXIS_INTEGER &&
                plan->operations[j]->kind == OPERATION_ELEMENT && plan->layout->results > 0)
                return error_set(&out->error, ERROR_REQUEST,
                                 "the %s of an empty slice is undefined, and integers have no NaN; "
                                 "leave out --output",
                                 plan->operations[j]->name);
        if (!output_open(&out->npy, out->options->axis_output))
            return false;
        good = npy_header(plan, &header) || no_memory(out);
        out->placed = false;
        good = good && write_npy(out, 0, header.data, header.size);
        free(header.data);
        out->header_size = header.size;
        out->result_size = npy_size(plan);
        out->placed = good && output_has_places(out->npy.stream);
        return good;
    }
    print_heading(out);
    return true;
}

static bool has_places(void *context)
{
    const struct output *out = context;

    return out->npy.stream && out->placed;
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
                 plural(outcome->layout.results), outcome->layout.length,
                 plural(outcome->layout.length), outcome->bytes, plural(outcome->bytes),
                 outcome->seconds, report_rate(outcome->bytes, outcome->seconds));
}

/* Prints what stands for the results of an array that has none, for this error. */
static void report_failed(struct output *out, const char *error)
{
    if (out->options->axis_output)
        return;
    print_heading(out);
    write_without(out, error);
    writer_flush(&out->writer);
}

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
    bool good;

    if (inputs->array && inputs->array->unreadable) {
        out->error = container_why(inputs->array);
        return false;
    }
    if (inputs->array)
        source = source_open_array(inputs->source, inputs->array, inputs->options, inputs->workers,
                                   &out->error);
    good = source && axis_reduce(&options->session, &options->axis, options->operations,
                                 options->operation_count, out->gpu, source, &sink, outcome);
    if (source && source_why(source)->kind != ERROR_NONE)
        out->error = *source_why(source);
    if (source && inputs->array)
        source_close(source);
    return good;
}

/* Reduces the current array, and prints its results. */
static void reduce(struct output *out, const struct inputs *inputs)
{
    char text[FAILURE_TEXT_MAX];
    struct axis_outcome outcome;
    bool good;

    out->path = inputs->path;
    out->array = inputs->array ? inputs->array->name : NULL;
    (void)name_both(out->name, out->path, out->array);
    out->error.kind = ERROR_NONE;
    atomic_store(&out->refused, false);
    out->headed = false;
    good = reduce_array(out, inputs, &outcome);
    if (inputs->first)
        out->no_memory = false;
    /* Most arrays of an input may lack memory: that is said once. */
    if (out->error.kind != ERROR_NONE && !(out->error.kind == ERROR_MEMORY && out->no_memory))
        failure_print(out->path, out->array, &out->error);
    out->no_memory = out->no_memory || out->error.kind == ERROR_MEMORY;
    if (!good && out->error.kind == ERROR_NONE)
        (void)error_set(&out->error, ERROR_WRITE, "its results could not be written");
    if (!good && (inputs->array || out->options->output == OUTPUT_JSON))
        report_failed(out, failure_text(text, &out->error, out->path));
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
        if (!inputs->source) {
            failure_print(inputs->path, NULL, &inputs->error);
            continue;
        }
        good = !only.source && inputs_arrays(inputs->info) == 1;
        if (!good) {
            failure_print(
                inputs->path, NULL,
                &(struct error){.kind = ERROR_REQUEST,
                                .text = "--output takes one array; choose it with --array"});
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

/* Prints that the current input cannot be opened. In JSON an object stands for it. */
static void report_unopened(struct output *out, const struct inputs *inputs)
{
    char text[FAILURE_TEXT_MAX];

    failure_print(inputs->path, NULL, &inputs->error);
    if (out->options->output != OUTPUT_JSON)
        return;
    out->path = inputs->path;
    out->array = NULL;
    report_failed(out, failure_text(text, &inputs->error, inputs->path));
    (void)stdio_flush();
}

/* Leaves each operation once. */
static void drop_repeated(struct options *options)
{
    size_t count = 0;

    for (size_t i = 0; i < options->operation_count; i++)
        if (!report_repeated(options, i))
            options->operations[count++] = options->operations[i];
    options->operation_count = count;
}

void axis_files(struct options *options)
{
    const struct source_options input = axis_source_options(&options->session);
    struct output out = {.options = options, .first = true};
    struct inputs inputs = {.paths = options->files,
                            .count = options->file_count,
                            .options = &input,
                            .workers = axis_workers(&options->session)};

    out.writer =
        (struct writer){.form = options->output == OUTPUT_JSON ? WRITER_JSON : WRITER_TSV,
                        .number = options->number,
                        .shows = options->output == OUTPUT_JSON  ? IN_OBJECT
                                 : options->output == OUTPUT_TSV ? IN_FILE | IN_ARRAY | IN_CELLS
                                 : options->quiet                ? IN_CELLS
                                                                 : IN_ARRAY | IN_CELLS,
                        .out = &out.text,
                        .print = writer_flush};
    drop_repeated(options);
    if (!report_possible(options) || !writer_open(&out.writer))
        return;
    if (!axis_open_gpu(&options->session, options->files, options->file_count, &out.gpu,
                       &out.error)) {
        failure_print(NULL, NULL, &out.error);
        return;
    }
    if (options->axis_output)
        reduce_only(&out, &inputs);
    else
        while (inputs_next(&inputs))
            (inputs.source ? reduce : report_unopened)(&out, &inputs);
    axis_close_gpu(out.gpu);
    writer_close(&out.writer);
    buffer_free(&out.text);
    report_end(options);
}
