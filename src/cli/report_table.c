/*
 * Results of many arrays: a line for each, aligned on a terminal, and otherwise as TSV, which other
 * programs read.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/columns.h"
#include "cli/report_parts.h"
#include "cli/rows.h"
#include "run/arrays.h"
#include "sys/message.h"
#include "sys/stdio.h"

/* Columns before those of the values; the first is there where rows are of several files. */
static const char *const names[] = {"file", "array", "dtype", "shape"};
#define NAMES (sizeof names / sizeof *names)

_Static_assert(NAMES + OPTIONS_OPERATIONS_MAX <= COLUMNS_MAX, "all operations have a column");

static void add_heading(struct columns *t, const struct options *options, bool files)
{
    t->count = t->left = files ? NAMES : NAMES - 1;
    for (size_t i = 0; i < options->operation_count; i++)
        t->count += !report_repeated(options, i);
    for (size_t i = !files; i < NAMES; i++)
        columns_add(t, names[i]);
    for (size_t i = 0; i < options->operation_count; i++)
        if (!report_repeated(options, i))
            columns_add(t, options->operations[i]->name);
}

/* Adds a row; without its file where `path` is NULL. */
static void add_row(struct columns *t, const struct options *options, const char *path,
                    const struct reduction *one)
{
    char quoted[MESSAGE_QUOTE_MAX], shape[REPORT_SHAPE_MAX], text[NUMBER_MAX] = REPORT_MISSING;

    if (path)
        columns_add(t, message_quote(quoted, path));
    columns_add(t, one->array ? message_quote(quoted, one->array) : "");
    columns_add(t, report_type_name(one));
    columns_add(t, report_reduction_shape(shape, one));
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i))
            continue;
        if (!one->error[0])
            report_value(text, op, one, report_type(op, one), options->number);
        columns_add(t, text);
    }
}

bool report_table_aligned(const struct options *options)
{
    return isatty(STDOUT_FILENO) && !options->ranks;
}

bool report_table(const struct options *options, const char *path,
                  const struct reduction *reduction, bool heading)
{
    const bool aligned = report_table_aligned(options);
    char quoted[MESSAGE_QUOTE_MAX];
    struct columns t = {0};
    struct reduction one;
    bool any = false;

    memset(&one, 0, sizeof one);
    one.histogram = reduction->histogram;
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        size_t length, next = k;
        const char *lines = arrays_lines(reduction->arrays, &next, &length);
        struct row row;

        if (lines) {
            if (!any && heading && length > 0)
                report_tsv_heading(options, true);
            any = any || length > 0;
            stdio_write(lines, length);
            k = next - 1;
            continue;
        }
        arrays_get(reduction->arrays, k, &one);
        row = row_of(path, &one);
        if (!rows_hold(&options->rows, &row))
            continue;
        if (aligned && !any)
            add_heading(&t, options, false);
        else if (!any && heading)
            report_tsv_heading(options, true);
        any = true;
        if (aligned)
            add_row(&t, options, NULL, &one);
        else
            report_tsv(stdout, options, path, &one, true);
    }
    if (!any || !aligned)
        return any;
    if (options->file_count > 1 || options->total)
        printf("%s:\n", message_quote(quoted, path));
    columns_print(&t);
    report_histogram(options, &one);
    return true;
}

void report_table_rows(const struct options *options, const struct rows *rows)
{
    const bool aligned = report_table_aligned(options), files = options->file_count > 1;
    struct columns t = {0};

    if (aligned)
        add_heading(&t, options, files);
    else
        report_tsv_heading(options, true);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = rows_get(rows, i);
        size_t length;
        const char *line = rows_get_line(rows, i, &length);

        if (!row->dtype)
            continue;
        if (line) /* there are none where tables are aligned */
            stdio_write(line, length);
        else if (aligned)
            add_row(&t, options, files ? row->path : NULL, row->reduction);
        else
            report_tsv(stdout, options, row->path, row->reduction, true);
    }
    if (aligned)
        columns_print(&t);
}
