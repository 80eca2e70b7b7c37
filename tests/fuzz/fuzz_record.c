/*
 * The records that --check reads. Any bytes as a record: it is taken, and what it says holds
 * together and is the same when it is written anew, as JSON or TSV, in decimal and in hexadecimal;
 * or it is refused by one error that names a line. And records of made-up reductions that the
 * program prints itself, for which it is known what must come out, to the bit.
 *
 * The last byte decides which. A newline stands for the first, so that a record is a seed as it is.
 *
 * Records are written to standard output, which is a file in memory, and read from there.
 */
#include "config.h"

#include "core/element_round.h"
#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/record.h"
#include "cli/report.h"
#include "sys/buffer.h"
#include "sys/escape.h"

#define RECORD_PATH "/proc/self/fd/1"

/* How many lines the program has read. */
static unsigned long lines_read;

/* Quantiles that the records of an input name. */
static struct operation_set named;

/* The program's lines are moved to blocks of just their size, so that a step beyond is seen. The C
   library may make one of these functions out of the other.
   NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names of --wrap. */
ssize_t __real_getline(char **line, size_t *size, FILE *in);
ssize_t __real___getdelim(char **line, size_t *size, int delimiter, FILE *in);
ssize_t __wrap_getline(char **line, size_t *size, FILE *in);
ssize_t __wrap___getdelim(char **line, size_t *size, int delimiter, FILE *in);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static ssize_t trim(char **line, size_t *size, ssize_t length)
{
    if (length < 0)
        return length;
    lines_read++;
    *size = (size_t)length + 1;
    *line = realloc(*line, *size);
    if (!*line)
        abort();
    return length;
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *in)
{
    return trim(line, size, __real_getline(line, size, in));
}

ssize_t __wrap___getdelim(char **line, size_t *size, int delimiter, FILE *in)
{
    return trim(line, size, __real___getdelim(line, size, delimiter, in));
}

static void begin_record(void)
{
    rewind(stdout);
    if (ftruncate(STDOUT_FILENO, 0) != 0)
        fuzz_fail("no file");
}

/* Reads what was written since begin_record. */
static bool read_record(struct record *record, const struct session_options *session)
{
    bool good;

    if (fflush(stdout) != 0)
        fuzz_fail("no file");
    fuzz_messages_clear();
    good = record_read(record, RECORD_PATH, session, &named);
    fuzz_check(fuzz_messages.errors == !good, "%s, and %u errors: %s", good ? "taken" : "refused",
               fuzz_messages.errors, fuzz_messages.text);
    return good;
}

/* Shows the record that is there, for a failure. */
_Noreturn static void fail_with_record(const char *what, size_t line)
{
    char text[2048];
    ssize_t length;

    fflush(stdout);
    length = pread(STDOUT_FILENO, text, sizeof text, 0);
    fuzz_fail("%s, line %zu; the record:\n%.*s", what, line + 1, length > 0 ? (int)length : 0,
              text);
}

/*
 * Any bytes.
 */

static void check_refused(const unsigned char *data, size_t size)
{
    static const char empty[] = RECORD_PATH ": holds no results";
    static const char named[] = RECORD_PATH ": line ";
    const char *text = fuzz_messages.text, *end = text;
    unsigned long lines = 1, line;
    size_t length;

    fuzz_check(fuzz_messages.status == EXIT_FAILED, "status %d", fuzz_messages.status);
    for (; *end; end += length) {
        length = escape_utf8_length((const unsigned char *)end);
        fuzz_check(length > 0, "an error that is no UTF-8: %s", text);
    }
    if (strcmp(text, empty) == 0)
        return;
    for (size_t i = 0; i + 1 < size; i++)
        lines += data[i] == '\n';
    fuzz_check(strncmp(text, named, strlen(named)) == 0, "an error without a line: %s", text);
    line = strtoul(text + strlen(named), NULL, 10);
    fuzz_check(line >= 1 && line <= lines, "of %lu lines, this is wrong: %s", lines, text);
}

/* The number that a value is, and whether it is one. */
static bool parse_value(const struct operation *op, const char *text, enum element_type type,
                        double *number, uint64_t *integer)
{
    *number = 0;
    *integer = PARTIAL_NO_INDEX;
    if (op->kind == OPERATION_DIGEST)
        return digest_is_text(text);
    if (op->kind != OPERATION_COUNT)
        return number_parse(text, type, number);
    return strcmp(text, "nan") == 0 || number_parse_count(text, integer);
}

/* Checks a line of a record that was accepted. */
static void check_line(const struct record *record, size_t i)
{
    const struct record_line *line = &record->lines[i];
    size_t values = 0;
    uint64_t integer;
    double number;

    fuzz_check(line->file || (i > 0 && line[-1].file), "a total of nothing");
    for (size_t j = 0; j < operation_count(&named); j++) {
        const char *value = line->value[j];

        fuzz_check(memchr(value, '\0', NUMBER_MAX), "a value does not end");
        if (!*value || line->failed)
            continue;
        values++;
        for (int type = 0; type < ELEMENT_FLOATS; type++)
            fuzz_check(parse_value(operation_at(&named, j), value, (enum element_type)type, &number,
                                   &integer),
                       "%s is '%s'", operation_at(&named, j)->name, value);
    }
    fuzz_check(values > 0 || line->failed, "there is nothing to compare");
    fuzz_check((unsigned)line->input.type < ELEMENT_TYPES &&
                   line->input.order <= ELEMENT_ORDER_BIG &&
                   line->input.format <= SOURCE_RAW_ZLIB && line->nan <= NAN_ERROR,
               "a choice that there is not");
    fuzz_check(line->input.skip <= INT64_MAX, "%" PRIu64 " bytes to skip", line->input.skip);
    fuzz_check(line->input.length <= INT64_MAX || line->input.length == SOURCE_UNKNOWN,
               "%" PRIu64 " elements", line->input.length);
}

/* How to write a record anew. */
struct form {
    enum element_type type; /* which numbers of TSV are taken for */
    enum number_form number;
    bool other_order; /* of members, and of columns */
};

static enum element_type type_of(const struct record_line *line, const struct form *form)
{
    return line->binary64 ? ELEMENT_F64 : form->type;
}

/* Writes a value, which there is, as the program would. Returns whether it is finite. */
static bool show_value(char text[NUMBER_MAX], const struct record_line *line, size_t i,
                       const struct form *form)
{
    enum element_type type = type_of(line, form);
    double number;
    uint64_t integer;

    fuzz_check(parse_value(operation_at(&named, i), line->value[i], type, &number, &integer),
               "a value that is none");
    if (operation_at(&named, i)->kind == OPERATION_COUNT) {
        snprintf(text, NUMBER_MAX, "nan");
        if (integer != PARTIAL_NO_INDEX)
            snprintf(text, NUMBER_MAX, "%" PRIu64, integer);
        return integer != PARTIAL_NO_INDEX;
    }
    if (operation_at(&named, i)->kind == OPERATION_DIGEST) {
        snprintf(text, NUMBER_MAX, "%s", line->value[i]);
        return true;
    }
    if (form->number == NUMBER_HEX)
        number_format_hex(text, number);
    else
        number_format(text, number, type);
    return isfinite(number);
}

static void write_json_values(const struct record_line *line, const struct form *form)
{
    char text[NUMBER_MAX];

    for (size_t i = 0; i < operation_count(&named) && !line->failed; i++) {
        const enum operation_kind kind = operation_at(&named, i)->kind;
        bool string =
            kind == OPERATION_DIGEST || (form->number == NUMBER_HEX && kind != OPERATION_COUNT);

        if (!line->value[i][0])
            continue;
        if (!show_value(text, line, i, form))
            snprintf(text, sizeof text, "null");
        else if (string)
            printf("\"%s\": \"%s\", ", operation_at(&named, i)->name, text);
        if (!string || strcmp(text, "null") == 0)
            printf("\"%s\": %s, ", operation_at(&named, i)->name, text);
    }
}

static void write_json_nonfinite(const struct record_line *line, const struct form *form)
{
    const char *separator = "";
    char text[NUMBER_MAX];

    fputs("\"nonfinite\": {", stdout);
    for (size_t i = 0; i < operation_count(&named) && !line->failed; i++) {
        if (!line->value[i][0] || operation_at(&named, i)->kind == OPERATION_COUNT ||
            show_value(text, line, i, form))
            continue;
        printf("%s\"%s\": \"%s\"", separator, operation_at(&named, i)->name, text);
        separator = ", ";
    }
    fputs("}, ", stdout);
}

static void write_json(const struct record_line *line, const struct form *form)
{
    static const char *const formats[] = {
        [SOURCE_RAW] = "raw",       [SOURCE_NPY] = "npy",       [SOURCE_ZSTD] = "npy+zstd",
        [SOURCE_RAW_ZSTD] = "zstd", [SOURCE_GZIP] = "npy+gzip", [SOURCE_RAW_GZIP] = "gzip",
        [SOURCE_ZLIB] = "npy+zlib", [SOURCE_RAW_ZLIB] = "zlib"};
    const struct source_options *input = &line->input;
    struct buffer file = {0};

    putchar('{');
    if (form->other_order)
        write_json_nonfinite(line, form);
    write_json_values(line, form);
    if (!form->other_order)
        write_json_nonfinite(line, form);
    if (input->format != SOURCE_AUTO)
        printf("\"format\": \"%s\", ", formats[input->format]);
    if (input->order != ELEMENT_ORDER_UNSAID)
        printf("\"endian\": \"%s\", ", input->order == ELEMENT_ORDER_BIG ? "big" : "little");
    printf("\"skip\": %" PRIu64 ", \"dtype\": \"%s\", \"nan_policy\": \"%s\", ", input->skip,
           element_name(input->type), nan_policy_words[line->nan]);
    if (input->length == SOURCE_UNKNOWN)
        fputs("\"length\": null, ", stdout);
    else
        printf("\"length\": %" PRIu64 ", ", input->length);
    if (line->failed)
        fputs("\"error\": \"\", ", stdout);
    fputs("\"file\": ", stdout);
    buffer_escape(&file, line->file ? line->file : "", ESCAPE_JSON);
    if (line->file)
        printf("\"%.*s\"", (int)file.size, file.data);
    else
        fputs("null", stdout);
    buffer_free(&file);
    puts("}");
}

/* Writes a name in TSV. */
static void write_name(const char *name)
{
    for (; *name; name++) {
        if (*name == '\t')
            fputs("\\t", stdout);
        else if (*name == '\n')
            fputs("\\n", stdout);
        else if (*name == '\r')
            fputs("\\r", stdout);
        else if (*name == '\\')
            fputs("\\\\", stdout);
        else
            putchar(*name);
    }
}

/* The columns of TSV: those of the first line that has values; if none has any, one, since a line
   without a result has no other. */
static uint64_t find_columns(const struct record *record)
{
    uint64_t columns = 0;

    for (size_t i = 0; i < record->count && columns == 0; i++)
        for (size_t j = 0; j < operation_count(&named); j++)
            if (!record->lines[i].binary64 && !record->lines[i].failed &&
                record->lines[i].value[j][0])
                columns |= UINT64_C(1) << j;
    return columns ? columns : 1;
}

/* Writes the heading, if there is no line, or a line of TSV. */
static void write_tsv(const struct record_line *line, uint64_t columns, const struct form *form)
{
    char text[NUMBER_MAX];

    if (!line)
        fputs("file", stdout);
    else if (line->file)
        write_name(line->file);
    else
        fputs("total", stdout);
    for (size_t i = 0; i < operation_count(&named); i++) {
        size_t column = form->other_order ? operation_count(&named) - 1 - i : i;

        if (!(columns >> column & 1)) {
            fuzz_check(!line || line->failed || !line->value[column][0], "%s is not in every line",
                       operation_at(&named, column)->name);
            continue;
        }
        if (!line) {
            printf("\t%s", operation_at(&named, column)->name);
            continue;
        }
        fuzz_check(line->failed || line->value[column][0], "%s is not in every line",
                   operation_at(&named, column)->name);
        if (line->failed)
            snprintf(text, sizeof text, "NA");
        else
            (void)show_value(text, line, column, form);
        printf("\t%s", text);
    }
    putchar('\n');
}

/* Lines of TSV do not stand before those of JSON: the heading decides what is behind it. */
static void write_record(const struct record *record, const struct form *form)
{
    uint64_t columns = find_columns(record);
    bool heading = false;

    begin_record();
    for (size_t i = 0; i < record->count; i++) {
        const struct record_line *line = &record->lines[i];

        fuzz_check(!heading || !line->binary64, "JSON behind TSV");
        if (line->binary64) {
            write_json(line, form);
            continue;
        }
        if (!heading)
            write_tsv(NULL, columns, form);
        heading = true;
        write_tsv(line, columns, form);
    }
}

static bool same_value(const struct operation *op, const char *a, const char *b,
                       enum element_type type)
{
    double x, y;
    uint64_t i, j;

    if (!*a || !*b || op->kind == OPERATION_DIGEST)
        return strcmp(a, b) == 0;
    return parse_value(op, a, type, &x, &i) && parse_value(op, b, type, &y, &j) && i == j &&
           result_same_number(x, y);
}

static bool same_input(const struct record_line *a, const struct record_line *b)
{
    return a->input.format == b->input.format && a->input.type == b->input.type &&
           a->input.order == b->input.order && a->input.skip == b->input.skip &&
           a->input.length == b->input.length && a->nan == b->nan;
}

static bool same_file(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_anew(const struct record *record, const struct session_options *session,
                       const struct form *form)
{
    struct record anew;

    write_record(record, form);
    if (!read_record(&anew, session))
        fuzz_fail("what was taken is refused when it is written anew: %s", fuzz_messages.text);
    fuzz_check(anew.count == record->count, "%zu lines become %zu", record->count, anew.count);
    for (size_t i = 0; i < record->count; i++) {
        const struct record_line *a = &record->lines[i], *b = &anew.lines[i];

        if (!same_file(a->file, b->file) || a->failed != b->failed || a->binary64 != b->binary64 ||
            !same_input(a, b))
            fail_with_record("a line is another when it is written anew", i);
        for (size_t j = 0; j < operation_count(&named) && !a->failed; j++)
            if (!same_value(operation_at(&named, j), a->value[j], b->value[j], type_of(a, form)))
                fail_with_record("a value is another when it is written anew", i);
    }
    record_free(&anew);
}

static void any_bytes(const unsigned char *data, size_t size)
{
    const struct session_options session = {.input = {.length = SOURCE_UNKNOWN}};
    struct record record;
    size_t files = 0;

    begin_record();
    fwrite(data, 1, size, stdout);
    if (!read_record(&record, &session)) {
        check_refused(data, size);
        record_free(&record);
        return;
    }
    for (size_t i = 0; i < record.count; i++) {
        check_line(&record, i);
        files += record.lines[i].file != NULL;
    }
    fuzz_check(files > 0, "a record without a file");
    check_anew(
        &record, &session,
        &(struct form){(enum element_type)(size % ELEMENT_FLOATS), NUMBER_DECIMAL, size & 4});
    check_anew(&record, &session,
               &(struct form){(enum element_type)(size % ELEMENT_FLOATS), NUMBER_HEX, !(size & 4)});
    record_free(&record);
}

/*
 * Output of the program.
 */

#define PRINTED_MAX 4

struct printed {
    struct options options;
    struct reduction reductions[PRINTED_MAX];
    const char *names[PRINTED_MAX]; /* NULL: the total */
    size_t count;
    bool total; /* the last one is a total */
    bool mixed; /* of several types */
};

static uint64_t any_count(struct fuzz_input *in)
{
    uint64_t count = fuzz_odd_number(in);

    return count <= INT64_MAX ? count : INT64_MAX;
}

static double any_number(struct fuzz_input *in, enum element_type type)
{
    uint64_t bits = fuzz_below(in, UINT64_MAX);
    double x;

    memcpy(&x, &bits, sizeof x);
    return element_round(type, x);
}

/* The type that extremes are printed as. */
static enum element_type printed_type(enum element_type type)
{
    return element_is_float(type) ? type : element_is_integer(type) ? ELEMENT_F64 : ELEMENT_F32;
}

static struct integer any_integer(struct fuzz_input *in)
{
    struct integer x = {.high = fuzz_odd_number(in), .low = fuzz_odd_number(in), .known = true};

    x.negative = fuzz_flag(in) && (x.high || x.low);
    return x;
}

/* A result of any numbers: what is printed need not make sense. */
static void make_reduction(struct fuzz_input *in, struct reduction *reduction)
{
    static const char *const formats[] = {"raw", "npy", "zstd", "npy+zstd"};
    struct result *result = &reduction->result;

    memset(reduction, 0, sizeof *reduction);
    reduction->type = (enum element_type)fuzz_below(in, ELEMENT_TYPES);
    reduction->format = formats[fuzz_below(in, 4)];
    reduction->big_endian = fuzz_flag(in);
    reduction->data_offset = any_count(in);
    reduction->shape.known = fuzz_flag(in);
    reduction->shape.dimensions = (unsigned)fuzz_below(in, ARRAY_DIMENSIONS_MAX + 1);
    if (fuzz_below(in, 8) == 0)
        (void)error_set(&reduction->error, ERROR_DATA, "\"\\ \303\251 \377 \n");
    result->sum = any_number(in, ELEMENT_F64);
    result->mean = any_number(in, ELEMENT_F64);
    result->min = any_number(in, printed_type(reduction->type));
    result->max = any_number(in, printed_type(reduction->type));
    if (element_is_integer(reduction->type)) {
        result->sum_integer = any_integer(in);
        if (fuzz_flag(in))
            result->min_integer = any_integer(in);
        if (fuzz_flag(in))
            result->max_integer = any_integer(in);
    }
    result->argmin = fuzz_flag(in) ? any_count(in) : PARTIAL_NO_INDEX;
    result->argmax = fuzz_flag(in) ? any_count(in) : PARTIAL_NO_INDEX;
    result->count = any_count(in);
    result->nan = any_count(in);
    result->infinity = any_count(in);
    reduction->quantiles = fuzz_flag(in) ? UINT32_MAX : 0;
}

/* The operations in any order, perhaps one of them twice. A total has no digest. */
static void choose_operations(struct fuzz_input *in, struct printed *p)
{
    struct options *options = &p->options;
    size_t first = (size_t)fuzz_below(in, operation_count(&named));
    uint64_t set = fuzz_below(in, UINT64_C(1) << operation_count(&named));

    options->operation_count = 0;
    for (size_t i = 0; i < operation_count(&named); i++) {
        size_t place = (first + i) % operation_count(&named);

        if ((set >> place & 1 || set == 0) &&
            !(p->total && operation_at(&named, place)->kind == OPERATION_DIGEST))
            options->operations[options->operation_count++] = operation_at(&named, place);
    }
    if (options->operation_count == 0)
        options->operations[options->operation_count++] = operation_at(&named, 0);
    if (fuzz_flag(in))
        options->operations[options->operation_count++] = options->operations[0];
}

/* Reductions of up to three files, and, perhaps, a total. */
static void make_reductions(struct fuzz_input *in, struct printed *p)
{
    p->count = 1 + (size_t)fuzz_below(in, PRINTED_MAX - 1);
    p->total = fuzz_flag(in);
    p->mixed = p->total && fuzz_flag(in);
    p->count += p->total;
    for (size_t i = 0; i < p->count; i++)
        make_reduction(in, &p->reductions[i]);
}

/* Names of the files, with NULs between them. */
static void set_names(struct printed *p, const char *names, const char *end)
{
    for (size_t i = 0; i < p->count; i++) {
        p->names[i] = p->total && i + 1 == p->count ? NULL : names;
        names += strlen(names);
        names += names < end;
    }
}

static void print(const struct printed *p)
{
    bool json = p->options.output == OUTPUT_JSON;
    static struct total total;
    struct buffer out = {0};
    struct writer w = {.form = json ? WRITER_JSON : WRITER_TSV,
                       .number = p->options.number,
                       .shows = json ? IN_OBJECT : IN_CELLS | IN_FILE,
                       .out = &out,
                       .print = writer_flush};

    w.heading = !json;
    if (!json)
        report_row(&w, &p->options, "", &p->reductions[0], NULL);
    w.heading = false;
    for (size_t i = 0; i < p->count; i++) {
        total.reduction = p->reductions[i];
        total.mixed = p->mixed;
        report_row(&w, &p->options, p->names[i], &p->reductions[i], p->names[i] ? NULL : &total);
    }
    writer_flush(&w);
    writer_close(&w);
    buffer_free(&out);
}

/* The name that is read back from a printed one, to be freed: TSV has another for a file that is
   called as the total is. */
static char *printed_name(const char *name, bool json)
{
    const size_t size = strlen(name) + 3;
    char *text = malloc(size);

    if (!text)
        abort();
    snprintf(text, size, !json && strcmp(name, "total") == 0 ? "./%s" : "%s", name);
    return text;
}

/* Whether line i has a value of the operation. */
static bool is_printed(const struct printed *p, size_t i, const struct operation *op)
{
    if (report_left_out(op, &p->reductions[i]))
        return false;
    /* Every object of JSON has the counts. */
    if (p->options.output == OUTPUT_JSON && op->wants == 0)
        return true;
    for (size_t j = 0; j < p->options.operation_count; j++)
        if (p->options.operations[j] == op)
            return true;
    return false;
}

/* Whether line i stands for a failure: it says so, or is one of TSV without any value. */
static bool is_failure(const struct printed *p, size_t i)
{
    if (p->reductions[i].error.kind != ERROR_NONE || p->options.output == OUTPUT_JSON)
        return p->reductions[i].error.kind != ERROR_NONE;
    for (size_t j = 0; j < operation_count(&named); j++)
        if (is_printed(p, i, operation_at(&named, j)))
            return false;
    return true;
}

static void check_value(const struct printed *p, size_t i, const struct operation *op,
                        const char *text)
{
    const struct reduction *reduction = &p->reductions[i];
    enum element_type type = p->options.output == OUTPUT_TSV && op->kind == OPERATION_ELEMENT
                                 ? printed_type(reduction->type)
                                 : ELEMENT_F64;
    const struct integer *full = operation_exact_integer(op, &reduction->result);
    double number;
    uint64_t integer;

    if (!is_printed(p, i, op)) {
        fuzz_check(!*text, "a value of %s that was not printed: %s", op->name, text);
        return;
    }
    if (op->kind == OPERATION_DIGEST) {
        char digest[DIGEST_TEXT_MAX];

        digest_show(digest, operation_digest(op, &reduction->result));
        if (strcmp(text, digest) != 0)
            fail_with_record(op->name, i);
        return;
    }
    if (full) {
        char digits[NUMBER_MAX];

        number_format_integer(digits, full);
        if (strcmp(text, digits) != 0)
            fail_with_record(op->name, i);
        return;
    }
    if (!parse_value(op, text, type, &number, &integer) ||
        (op->kind == OPERATION_COUNT
             ? integer != operation_integer(op, &reduction->result)
             : !result_same_number(number, operation_number(op, &reduction->result))))
        fail_with_record(op->name, i);
}

/* How a file was read, as the options say that read it so again. */
static void check_input(const struct printed *p, size_t i, const struct session_options *session,
                        const struct record_line *line)
{
    const struct reduction *reduction = &p->reductions[i];
    struct record_line expected = {.input = session->input, .nan = session->nan};

    if (p->options.output == OUTPUT_JSON && reduction->error.kind == ERROR_NONE) {
        expected.nan = p->options.session.nan;
        if (p->names[i] || !p->mixed)
            expected.input.type = reduction->type;
        if (p->names[i]) {
            bool header = strstr(reduction->format, "npy"),
                 zstd = strstr(reduction->format, "zstd");

            expected.input.format = header ? zstd ? SOURCE_ZSTD : SOURCE_NPY
                                    : zstd ? SOURCE_RAW_ZSTD
                                           : SOURCE_RAW;
            expected.input.order = reduction->big_endian ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;
            expected.input.skip = header ? 0 : reduction->data_offset;
            expected.input.length = p->options.session.input.length;
        }
    }
    if (!same_input(line, &expected))
        fail_with_record("read otherwise than it was", i);
}

static void check_printed(const struct printed *p, const struct session_options *session,
                          const struct record *record)
{
    bool json = p->options.output == OUTPUT_JSON;

    fuzz_check(record->count == p->count, "%zu lines were printed, and %zu read", p->count,
               record->count);
    for (size_t i = 0; i < p->count; i++) {
        const struct record_line *line = &record->lines[i];
        char *name = p->names[i] ? printed_name(p->names[i], json) : NULL;

        if (!same_file(line->file, name))
            fail_with_record("another name", i);
        free(name);
        if (line->binary64 != json || line->failed != is_failure(p, i))
            fail_with_record("another line", i);
        check_input(p, i, session, line);
        for (size_t j = 0; j < operation_count(&named) && !line->failed; j++)
            check_value(p, i, operation_at(&named, j), line->value[j]);
    }
}

static void printed(struct fuzz_input *in)
{
    /* Options that JSON overrides. */
    const struct session_options session = {
        .input = {.type = ELEMENT_F16, .order = ELEMENT_ORDER_BIG, .skip = 3, .length = 77},
        .nan = NAN_ERROR};
    static struct printed p;
    struct record record;
    char *names;

    p.options = (struct options){.session = {.input = {.length = SOURCE_UNKNOWN}}};
    p.options.output = fuzz_flag(in) ? OUTPUT_JSON : OUTPUT_TSV;
    p.options.number = fuzz_flag(in) ? NUMBER_HEX : NUMBER_DECIMAL;
    p.options.session.nan = (enum nan_policy)fuzz_below(in, NAN_ERROR + 1);
    if (fuzz_flag(in))
        p.options.session.input.length = any_count(in);
    make_reductions(in, &p);
    choose_operations(in, &p);
    /* The names are what the choices leave. */
    names = malloc(in->size + 1);
    if (!names)
        abort();
    if (in->size > 0)
        memcpy(names, in->data, in->size);
    names[in->size] = '\0';
    set_names(&p, names, names + in->size);

    begin_record();
    print(&p);
    if (!read_record(&record, &session)) {
        fprintf(stderr, "%s\n", fuzz_messages.text);
        fail_with_record("what was printed is refused", 0);
    }
    check_printed(&p, &session, &record);
    record_free(&record);
    free(names);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int fd = memfd_create("record", MFD_CLOEXEC);

    (void)argc;
    (void)argv;
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        fuzz_fail("no file");
    close(fd);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};

    named = (struct operation_set){0};
    if (fuzz_flag(&in))
        printed(&in);
    else
        any_bytes(data, size);
    fuzz_check(size == 0 || lines_read > 0, "the lines of records do not pass through here");
    return 0;
}
