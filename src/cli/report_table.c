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
#include "run/arrays.h"
#include "sys/message.h"

/* Columns before those of the values. */
static const char *const names[] = {"array", "dtype", "shape"};
#define NAMES (sizeof names / sizeof *names)

_Static_assert(NAMES + OPTIONS_OPERATIONS_MAX <= COLUMNS_MAX, "all operations have a column");

static void add_heading(struct columns *t, const struct options *options)
{
    t->count = t->left = NAMES;
    for (size_t i = 0; i < options->operation_count; i++)
        t->count += !report_repeated(options, i);
    for (size_t i = 0; i < NAMES; i++)
        columns_add(t, names[i]);
    for (size_t i = 0; i < options->operation_count; i++)
        if (!report_repeated(options, i))
            columns_add(t, options->operations[i]->name);
}

static void add_row(struct columns *t, const struct options *options, const struct reduction *one)
{
    char quoted[MESSAGE_QUOTE_MAX], shape[REPORT_SHAPE_MAX], text[NUMBER_MAX] = REPORT_ERROR;

    columns_add(t, message_quote(quoted, one->array));
    columns_add(t, element_name(one->type));
    columns_add(t, report_shape(shape, &one->shape, one->elements));
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i))
            continue;
        if (!one->error[0])
            report_value(text, op, one, report_type(op, one), options->number);
        columns_add(t, text);
    }
}

static void report_aligned(const struct options *options, const char *path,
                           const struct reduction *reduction)
{
    char quoted[MESSAGE_QUOTE_MAX];
    struct columns t = {0};
    struct reduction one;

    memset(&one, 0, sizeof one);
    add_heading(&t, options);
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        arrays_get(reduction->arrays, k, &one);
        add_row(&t, options, &one);
    }
    if (options->file_count > 1 || options->total)
        printf("%s:\n", message_quote(quoted, path));
    columns_print(&t);
    one.histogram = reduction->histogram;
    report_histogram(options, &one);
}

static void report_lines(const struct options *options, const char *path,
                         const struct reduction *reduction, bool heading)
{
    struct reduction one;

    memset(&one, 0, sizeof one);
    one.histogram = reduction->histogram;
    if (heading)
        report_tsv_heading(options, true);
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        arrays_get(reduction->arrays, k, &one);
        report_tsv(options, path, &one, true);
    }
}

void report_table(const struct options *options, const char *path,
                  const struct reduction *reduction, bool heading)
{
    /* A launcher may give ranks a terminal that is none of the user's. */
    if (isatty(STDOUT_FILENO) && !options->ranks)
        report_aligned(options, path, reduction);
    else
        report_lines(options, path, reduction, heading);
}
