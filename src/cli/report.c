#include "config.h"

#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_parts.h"
#include "cli/rows.h"
#include "run/arrays.h"
#include "sys/gnuplot.h"
#include "sys/message.h"
#include "sys/output.h"
#include "sys/stdio.h"

bool report_possible(const struct options *options)
{
    return (!options->axis_output || output_possible(options->axis_output)) &&
           (!options->plot || gnuplot_possible(options->plot));
}

/* Whether lines of TSV are of arrays, and whether their heading is still to be printed; and whether
   a heading of text stands above what comes next. */
static bool tsv_arrays, heading_due, below_heading;

void report_begin(const struct options *options)
{
    if (options->output != OUTPUT_TSV)
        return;
    tsv_arrays = options->merged_arrays;
    for (int i = 0; i < options->file_count && options->command != COMMAND_MERGE && !tsv_arrays;
         i++) {
        char why[SOURCE_ERROR_MAX];
        struct source_facts facts;

        /* One that cannot be read now is judged when it is reduced (settle_heading). */
        (void)source_probe(options->files[i], &options->session.input, &facts, why);
        tsv_arrays = facts.container;
    }
    heading_due = true;
}

/* Prints the heading of TSV where it is due. A container in a pipe, or compressed, is known as one
   when it has been read: false, with an error, where it is too late for the columns of arrays. */
static bool settle_heading(const struct options *options, const char *path,
                           const struct reduction *reduction)
{
    char name[SOURCE_NAME_MAX];

    if (options->output != OUTPUT_TSV)
        return true;
    if (heading_due) {
        tsv_arrays = tsv_arrays || (reduction && reduction->arrays && !reduction->error[0]);
        if (!options->quiet && options->command != COMMAND_CHECK)
            report_tsv_heading(options, tsv_arrays);
    }
    heading_due = false;
    if (tsv_arrays || !reduction || !reduction->arrays || reduction->error[0])
        return true;
    message_error(EXIT_FAILED,
                  "%s: holds arrays, for which the lines before have no columns: name it first",
                  source_name(name, path));
    return false;
}

/* Room for what list_names writes. */
#define NAMES_TEXT_MAX ((size_t)SOURCE_NAMES_KEPT * (CONTAINER_NAME_SHOWN + 2) + 80)

/* Writes which arrays there are, or the first of them. Returns `text`. */
static const char *list_names(char text[NAMES_TEXT_MAX], const struct source_wanted *wanted)
{
    const size_t shown = wanted->there < SOURCE_NAMES_KEPT ? wanted->there : SOURCE_NAMES_KEPT;
    char name[CONTAINER_NAME_SHOWN];
    int used = sprintf(text, shown > 0 ? "there are " : "there are none");

    for (size_t i = 0; i < shown; i++)
        used += sprintf(text + used, "%s%s",
                        i == 0                                     ? ""
                        : i + 1 == shown && shown == wanted->there ? " and "
                                                                   : ", ",
                        wanted->names[i] ? container_show_name(name, wanted->names[i]) : "?");
    if (wanted->there > shown)
        sprintf(text + used, " and more (--list shows them)");
    return text;
}

void report_end(const struct options *options)
{
    const struct source_wanted *wanted = &options->wanted;
    char quoted[MESSAGE_QUOTE_MAX], names[NAMES_TEXT_MAX];

    /* A shard need not have seen all files, nor one that could not be opened. */
    for (unsigned i = 0; i < wanted->count && !options->parts && !wanted->unknown; i++) {
        const struct container_pattern *p = &wanted->patterns[i];

        (void)message_quote(quoted, p->pattern);
        if (!p->matched && p->exclude)
            message_error(EXIT_FAILED, "--exclude=%s matches no array", quoted);
        else if (!p->matched)
            message_error(EXIT_FAILED, "--array=%s matches no array; %s", quoted,
                          list_names(names, wanted));
        else if (!p->useful && !p->exclude && !options->session.input.skip_unsupported)
            message_error(EXIT_FAILED, "--array=%s matches no array that holds numbers", quoted);
    }
}

/* Statistics stand beside text; the other forms are read by programs, for many files. */
static bool wants_stats(const struct options *options, const struct reduction *reduction)
{
    const bool nothing =
        options->wanted.included > 0 && reduction->arrays && arrays_count(reduction->arrays) == 0;

    return !reduction->error[0] && options->command != COMMAND_MERGE && !nothing &&
           (options->verbose || (!options->quiet && options->output == OUTPUT_TEXT));
}

/* Prints an error for what one array, or a file that is one, holds. */
static void fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction)
{
    const struct result *result = &reduction->result;
    const struct container_array array = {.name = reduction->array};
    char name[SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN];

    if (reduction->error[0])
        return;
    source_name_array(name, path, reduction->array ? &array : NULL);
    if ((options->fail_on & FAIL_ON_NAN) && result->nan > 0)
        message_error(EXIT_FAILED, "%s: NaNs: %" PRIu64 " of %" PRIu64 " element%s", name,
                      result->nan, reduction->elements, message_s(reduction->elements));
    if ((options->fail_on & FAIL_ON_INF) && result->infinity > 0)
        message_error(EXIT_FAILED, "%s: infinities: %" PRIu64 " of %" PRIu64 " element%s", name,
                      result->infinity, reduction->elements, message_s(reduction->elements));
    /* A part of an input is not empty since it has no elements. */
    if ((options->fail_on & FAIL_ON_EMPTY) && result->count == 0 &&
        reduction->elements == reduction->of)
        message_error(EXIT_FAILED, "%s: empty: %s", name,
                      reduction->elements > 0 ? "no elements but NaNs" : "no elements");
}

void report_fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction)
{
    struct reduction one;

    if (!options->fail_on)
        return;
    if (!reduction->arrays || reduction->error[0]) {
        fail_on(options, path, reduction);
        return;
    }
    memset(&one, 0, sizeof one);
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        arrays_get(reduction->arrays, k, &one);
        fail_on(options, path, &one);
    }
}

/* Prints the result of one array, or of a file that is one. */
static void report_one(const struct options *options, const char *path,
                       const struct reduction *reduction)
{
    switch (options->output) {
    case OUTPUT_TEXT:
        report_text(stdout, options, path, reduction);
        below_heading = false;
        break;
    case OUTPUT_JSON:
        report_json(stdout, options, path, reduction);
        break;
    case OUTPUT_TSV:
        report_tsv(stdout, options, path, reduction, tsv_arrays);
        break;
    case OUTPUT_PARTIAL:
        report_partial(options, path, reduction);
        break;
    }
}

/* Rows that are to be sorted. */
static struct rows held_back;

/* Prints the result of one array, or of a file that is one, if it is to be printed; or holds it
   back. */
static void report_row(const struct options *options, const char *path,
                       const struct reduction *reduction)
{
    const struct row row = row_of(path, reduction);

    if (!rows_hold(&options->rows, &row))
        return;
    if (options->rows.sort.field != ROW_UNASKED)
        rows_keep(&held_back, &row, NULL, 0);
    else
        report_one(options, path, reduction);
}

/* Writes the line of an array: what report_table and report_row print of one. Workers call it. */
static void write_line(const void *context, const char *path, const struct reduction *one,
                       FILE *out)
{
    const struct options *options = context;
    const struct row row = row_of(path, one);

    if (!rows_hold(&options->rows, &row))
        return;
    if (options->output == OUTPUT_JSON)
        report_json(out, options, path, one);
    else if (options->quiet && options->output == OUTPUT_TEXT)
        report_text(out, options, path, one);
    else
        report_tsv(out, options, path, one, true);
}

/* Holds the line of an array back. */
static void hold_back(const struct options *options, const char *path, const struct reduction *one,
                      const char *line, size_t length)
{
    const struct row row = row_of(path, one);

    if (length > 0) /* --where may leave it out */
        rows_keep_line(&held_back, &options->rows, &row, line, length);
}

/* Holds an array back whose line is not written yet: it takes less memory than its result. */
static void write_back(const struct options *options, const char *path, const struct reduction *one)
{
    char *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);

    if (out)
        write_line(options, path, one, out);
    if (out && fclose(out) == 0)
        hold_back(options, path, one, line, length);
    else
        held_back.failed = true;
    free(line);
}

/* Prints the results of a container's arrays, or holds them back. */
static void report_each(const struct options *options, const char *path,
                        const struct reduction *reduction)
{
    const bool sorted = options->rows.sort.field != ROW_UNASKED;
    struct reduction one;

    memset(&one, 0, sizeof one);
    one.histogram = reduction->histogram;
    for (size_t k = 0; k < arrays_count(reduction->arrays); k++) {
        size_t length, next = k;
        const char *line = arrays_line(reduction->arrays, k, &length);

        if (line && !sorted) {
            line = arrays_lines(reduction->arrays, &next, &length);
            stdio_write(line, length);
            below_heading = below_heading && length == 0;
            k = next - 1;
            continue;
        }
        arrays_get(reduction->arrays, k, &one);
        if (line)
            hold_back(options, path, &one, line, length);
        else if (sorted && !report_table_aligned(options))
            write_back(options, path, &one);
        else
            report_row(options, path, &one);
    }
}

void report_by_workers(struct options *options)
{
    static struct line_writer writer = {.write = write_line};

    if (options->output == OUTPUT_PARTIAL ||
        options->session.survey.histogram.kind != HISTOGRAM_NONE || report_table_aligned(options))
        return;
    writer.context = options;
    options->session.lines = &writer;
    options->session.keep_results = options->fail_on || options->rows.sort.field != ROW_UNASKED;
}

void report_rows(const struct options *options)
{
    bool arrays = false;

    (void)settle_heading(options, NULL, NULL);
    rows_sort(&held_back, &options->rows);
    for (size_t i = 0; i < held_back.count; i++)
        arrays = arrays || rows_get(&held_back, i)->name;
    if (arrays && options->output == OUTPUT_TEXT && !options->quiet &&
        options->command != COMMAND_MERGE) {
        report_table_rows(options, &held_back);
    } else {
        for (size_t i = 0; i < held_back.count; i++) {
            const struct row *row = rows_get(&held_back, i);
            size_t length;
            const char *line = rows_get_line(&held_back, i, &length);

            if (line)
                stdio_write(line, length);
            else
                report_one(options, row->path, row->reduction);
        }
    }
    rows_free(&held_back);
    (void)stdio_flush();
}

void report(const struct options *options, const char *path, const struct reduction *reduction)
{
    if (!settle_heading(options, path, reduction)) {
        report_fail_on(options, path, reduction);
        return;
    }
    if (!reduction->arrays || reduction->error[0]) {
        report_row(options, path, reduction);
    } else if (options->output == OUTPUT_TEXT && !options->quiet &&
               options->rows.sort.field == ROW_UNASKED &&
               options->session.survey.histogram.kind == HISTOGRAM_NONE) {
        if (report_table(options, path, reduction, !below_heading))
            below_heading = true;
    } else {
        report_each(options, path, reduction);
    }
    /* Results of earlier files are not held back while a large one is reduced. */
    (void)stdio_flush();
    if (wants_stats(options, reduction))
        report_stats(options, path, reduction);
    /* An array that cannot be reduced, or that another file has, leaves nothing to draw. */
    if (options->plot && !reduction->error[0] && reduction->histogram)
        report_plot(options, path, reduction);
    report_fail_on(options, path, reduction);
}

void report_total(const struct options *options, const struct total *total)
{
    if (total->inputs == 0 && options->wanted.included > 0) /* report_end says why */
        return;
    (void)settle_heading(options, NULL, NULL);
    switch (options->output) {
    case OUTPUT_TEXT:
        report_text(stdout, options, NULL, &total->reduction);
        break;
    case OUTPUT_JSON:
        report_json_total(options, total);
        break;
    case OUTPUT_TSV:
        report_tsv(stdout, options, NULL, &total->reduction, tsv_arrays);
        break;
    case OUTPUT_PARTIAL:
        report_partial_total(options, total);
        break;
    }
    (void)stdio_flush();
    if (wants_stats(options, &total->reduction))
        report_stats(options, NULL, &total->reduction);
    if (total->reduction.error[0])
        message_error(
            EXIT_FAILED, "no total: %s%s", total->reduction.error,
            total->unreadable ? "; --skip-unsupported leaves out arrays that cannot be read" : "");
}
