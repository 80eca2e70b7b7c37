#include "config.h"

#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/stdio.h"
#include "core/name.h"
#include "run/session.h"
#include "sys/escape.h"

struct check {
    struct options *options;
    struct record record;
    char **files;    /* as the options have them */
    size_t *line_of; /* the line of the record for each file */
    struct total total;
    int total_first; /* the first file of it */
    size_t differing, compared;
};

/* Fills in the files and what they need. False when out of memory. */
static bool take_record(struct check *check)
{
    struct options *options = check->options;
    const struct record *record = &check->record;

    check->files = calloc(record->count + 1, sizeof *check->files);
    check->line_of = calloc(record->count + 1, sizeof *check->line_of);
    if (!check->files || !check->line_of)
        return message_error(EXIT_FAILED, "out of memory");
    options->files = check->files;
    options->file_count = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct record_line *line = &record->lines[i];

        for (size_t j = 0; j < operation_count(&options->named); j++)
            if (line->value[j][0]) {
                const struct operation *op = operation_at(&options->named, j);

                operation_ask(op, &options->session.wants, &options->session.passes);
                options->session.passes.required |= operation_quantile(op);
            }
        if (!line->file)
            continue;
        if (strcmp(line->file, "-") == 0 && strcmp(options->check, "-") == 0)
            return message_error(
                EXIT_FAILED,
                "standard input is both the record and a file in it; give the record as a file");
        check->line_of[options->file_count] = i;
        check->files[options->file_count++] = line->file;
    }
    return true;
}

/* Sets the options of the session to how the file number i, counted from 0, was read. */
static void prepare(struct check *check, int i)
{
    const struct record_line *line = &check->record.lines[check->line_of[i]];

    check->options->session.input = line->input;
    check->options->session.nan = line->nan;
    check->options->session.missing = line->missing;
    check->options->session.ddof = line->ddof;
}

/* Whether plain digits that round to a number are all of its digits. Those of an integer that binary64
   does not have are of another number. */
static bool are_all_digits(const char *recorded, double found)
{
    struct integer integer;
    char text[NUMBER_MAX];

    if (!number_parse_integer(recorded, &integer) || number_compare_mixed(&integer, found) == 0)
        return true;
    /* Other writers of JSON write 1.5e+20 in plain digits, of which the last are zeros. */
    number_format(text, found, ELEMENT_F64);
    for (const char *at = text; *at && *at != 'e'; at++)
        if (*at != '.' && *at != *recorded++)
            return false;
    return recorded[strspn(recorded, "0")] == '\0';
}

/* Whether a value is the recorded one, to the bit; any NaN is one. */
static bool same_value(const struct record_line *line, const char *recorded,
                       const struct operation *op, const struct reduction *reduction)
{
    const enum element_type type = reduction->type;
    const struct integer *full = operation_exact_integer(op, &reduction->result);
    char text[NUMBER_MAX];
    double found, number;

    if (report_left_out(op, reduction))
        return false;
    if (full || op->kind == OPERATION_DIGEST) { /* more digits than a binary64 has */
        const struct field field = report_value(0, op, reduction);

        writer_show(text, &field, NUMBER_DECIMAL);
        return strcmp(recorded, text) == 0;
    }
    if (op->kind == OPERATION_COUNT) {
        uint64_t integer = PARTIAL_NO_INDEX;

        /* A recorded "nan" is an index that there is none of. */
        (void)number_parse_count(recorded, &integer);
        return integer == operation_integer(op, &reduction->result);
    }
    if (!number_parse(recorded, ELEMENT_F64, &number))
        return false;
    found = operation_number(op, &reduction->result);
    if (result_same_number(found, number) && are_all_digits(recorded, found))
        return true;
    /* TSV has the shortest decimals of f32, and that of version 0.1.0 those of f16 and bf16. */
    if (line->binary64 || strchr(recorded, 'x') || op->kind != OPERATION_ELEMENT ||
        reduction->scale.given ||
        (type != ELEMENT_F32 && type != ELEMENT_F16 && type != ELEMENT_BF16))
        return false;
    number_format(text, found, type);
    return number_parse(text, ELEMENT_F64, &found) && result_same_number(found, number);
}

/* Prints what is the matter behind a name, in parentheses. */
static void print_failed(const char *name, const char *text)
{
    printf("%s: FAILED (%s)\n", name, text);
}

/* Prints the values that differ; false when none do. */
static bool print_differences(const struct check *check, const char *name,
                              const struct record_line *line, const struct reduction *reduction)
{
    bool differs = false;

    for (size_t i = 0; i < operation_count(&check->options->named); i++) {
        const struct operation *op = operation_at(&check->options->named, i);
        const char *recorded = line->value[i];
        struct field value;
        char found[NUMBER_MAX];

        if (!recorded[0] || same_value(line, recorded, op, reduction))
            continue;
        value = report_value(0, op, reduction);
        if (value.kind == FIELD_NUMBER) /* as one of the type that the recorded value has */
            value.type = line->binary64
                             ? ELEMENT_F64
                             : operation_shown_type(op, reduction->type, &reduction->scale);
        writer_show(found, &value, strstr(recorded, "0x") ? NUMBER_HEX : NUMBER_DECIMAL);
        if (differs)
            fputs("; ", stdout);
        else
            printf("%s: FAILED (", name);
        printf("%s: recorded %s, found %s", op->name, recorded, found);
        differs = true;
    }
    if (differs)
        puts(")");
    return differs;
}

/* Compares what a line of the record is about, and prints a line about it. */
static void compare(struct check *check, const char *name, const struct record_line *line,
                    const struct reduction *reduction)
{
    char text[FAILURE_TEXT_MAX];
    bool good = false;

    if (reduction->error.kind != ERROR_NONE)
        print_failed(name, failure_text(text, &reduction->error, line->file));
    else if (line->failed)
        print_failed(name, "it has no result in the record");
    else
        good = !print_differences(check, name, line, reduction);
    if (good && !check->options->quiet)
        printf("%s: OK\n", name);
    check->compared++;
    check->differing += !good;
    (void)stdio_flush();
}

static void prepare_of_total(void *context, int number)
{
    struct check *check = context;

    prepare(check, check->total_first + number);
}

/* Compares the total of the files up to number `last` with the line of the record. */
static void compare_total(struct check *check, struct session *session,
                          const struct record_line *line, int last)
{
    const struct session_inputs inputs = {.paths = check->files + check->total_first,
                                          .count = last + 1 - check->total_first,
                                          .first = check->total_first,
                                          .prepare = prepare_of_total,
                                          .context = check};
    bool quantiles = false;

    total_finish(&check->total, line->nan, line->ddof);
    for (size_t i = 0; i < operation_count(&check->options->named); i++)
        quantiles = quantiles || (line->value[i][0] &&
                                  operation_quantile(operation_at(&check->options->named, i)));
    if (quantiles)
        session_quantiles(session, &check->options->session.passes, &inputs, &check->total);
    if (check->total.cause.kind != ERROR_NONE)
        failure_print(check->total.cause_path, NULL, &check->total.cause);
    compare(check, "total", line, &check->total.reduction);
    total_clear(&check->total);
    check->total_first = last + 1;
}

/* Prints whether that file comes to what is recorded, and, behind the last of those that a recorded
   total is of, whether the total does. */
static void take_result(struct check *check, struct session *session, int i,
                        const struct reduction *reduction)
{
    const struct record *record = &check->record;
    size_t number = check->line_of[i];
    const struct record_line *line = &record->lines[number];
    char quoted[ESCAPE_QUOTE_MAX];

    (void)escape_quote(quoted, line->file);
    if (reduction->error.kind != ERROR_NONE)
        failure_print(line->file, NULL, &reduction->error);
    if (reduction->arrays && reduction->error.kind == ERROR_NONE) { /* it was one when recorded */
        struct reduction other = {
            .error = {.kind = ERROR_CHANGED, .text = "now holds several arrays"}};

        failure_print(line->file, NULL, &other.error);
        compare(check, quoted, line, &other);
        total_add(&check->total, &other);
        return;
    }
    compare(check, quoted, line, reduction);
    if (check->options->verbose && reduction->error.kind == ERROR_NONE)
        report_stats(check->options, line->file, reduction);
    report_fail_on(check->options, line->file, reduction);
    total_add(&check->total, reduction);
    line = &record->lines[number + 1];
    if (number + 1 < record->count && !line->file)
        compare_total(check, session, line, i);
}

/* Reduces the files of the record, and compares what they come to. */
static void check_record(struct check *check)
{
    struct options *options = check->options;
    char name[NAME_INPUT_MAX];
    struct session *session;
    struct error error;

    /* Others of the files may have had no quantiles; which have is compared. */
    options->session.passes.required = 0;
    session = session_open(&options->session, options->files, options->file_count, &error);
    if (!session)
        failure_print(NULL, NULL, &error);
    for (int i = 0; i < options->file_count && session; i++) {
        struct reduction reduction;

        prepare(check, i);
        (void)session_reduce(session, options->files[i], &reduction);
        take_result(check, session, i, &reduction);
    }
    options->threads_left = session && !session_close(session);
    if (check->differing > 0)
        message_error(EXIT_FAILED, "%zu of %zu results differ from those in %s", check->differing,
                      check->compared, name_input(name, options->check));
}

void check_files(struct options *options)
{
    struct check check = {.options = options};

    total_clear(&check.total);
    if (record_read(&check.record, options->check, &options->session, &options->named)) {
        if (check.record.arrays || options->file_count > 0)
            manifest_check(options, &check.record);
        else if (take_record(&check))
            check_record(&check);
    }
    record_free(&check.record);
    free(check.files);
    free(check.line_of);
}
