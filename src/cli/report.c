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
                               .prints = true};
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

/* Writes the heading of rows. */
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
        char why[SOURCE_ERROR_MAX];
        struct source_facts facts;

        /* One that cannot be read now is judged when it is reduced (settle_heading). */
        (void)source_look(options->files[i], &options->session.input, &facts, why);
        arrays = facts.container;
    }
    r->files.shows |= arrays ? IN_ARRAY : 0;
    r->heading_due = true;
}

/* Prints the heading of TSV where it is due. A container in a pipe, or compressed, is known as one
   when it has been read: false, with an error, where it is too late for the columns of arrays. */
static bool settle_heading(struct report *r, const char *path, const struct reduction *reduction)
{
    const struct options *options = r->options;
    const bool arrays = reduction && reduction->arrays && !reduction->error[0];
    char name[SOURCE_NAME_MAX];

    if (options->output != OUTPUT_TSV)
        return true;
    if (r->heading_due) {
        r->files.shows |= arrays ? IN_ARRAY : 0;
        if (!options->quiet && options->command != COMMAND_CHECK)
            write_heading(r, &r->files);
    }
    r->heading_due = false;
    if ((r->files.shows & IN_ARRAY) || !arrays)
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

/* Writes a row into a buffer of its own. */
static void write_apart(const struct report *r, const struct writer *like, const char *path,
                        const struct reduction *one, struct buffer *out)
{
    struct writer w = *like;

    w.out = out;
    w.prints = false;
    w.other = (struct buffer){0};
    report_row(&w, r->options, path, one, NULL);
    writer_close(&w);
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

/* Prints rows that workers have written. */
static void print_lines(struct report *r, const char *lines, size_t length)
{
    writer_flush(&r->files);
    stdio_write(lines, length);
}

/* Prints the results of a container's arrays, or holds them back. */
static void report_each(struct report *r, const char *path, const struct reduction *reduction)
{
    const struct options *options = r->options;
    const struct arrays *arrays = reduction->arrays;
    const bool sorted = options->rows.sort.field != ROW_UNASKED;
    char quoted[MESSAGE_QUOTE_MAX];
    struct reduction one;
    bool any = false;

    memset(&one, 0, sizeof one);
    one.histogram = reduction->histogram;
    for (size_t k = 0; k < arrays_count(arrays); k++) {
        size_t length = 0, next = k;
        const char *lines = sorted ? NULL : arrays_lines(arrays, &next, &length);
        struct row row;

        if (lines && length > 0 && !any)
            head_arrays(r);
        if (lines) {
            print_lines(r, lines, length);
            any = any || length > 0;
            k = next - 1;
            continue;
        }
        lines = arrays_line(arrays, k, &length);
        arrays_get(arrays, k, &one);
        row = row_of(path, &one);
        if (lines) {
            struct buffer text = {.data = (char *)(uintptr_t)lines, .size = length};

            if (length > 0) /* --where may leave it out */
                rows_keep(&r->held_back, &options->rows, &row, &text, length);
        } else if (sorted) {
            hold_back(r, path, &one);
        } else if (rows_hold(&options->rows, &row)) {
            if (!any)
                head_arrays(r);
            any = true;
            if (options->output == OUTPUT_PARTIAL)
                report_partial(options, path, &one);
            else
                report_row(&r->arrays, options, path, &one, NULL);
        }
    }
    if (!any || r->arrays.form != WRITER_TABLE)
        return;
    if (options->file_count > 1 || options->total)
        buffer_print(&r->out, "%s:\n", message_quote(quoted, path));
    writer_flush(&r->files);
    writer_flush(&r->arrays);
}

void report_rows(struct report *r)
{
    struct rows *rows = &r->held_back;
    bool table = false;

    (void)settle_heading(r, NULL, NULL);
    rows_sort(rows);
    if (r->files.form == WRITER_LINES && r->arrays.form != WRITER_LINES)
        for (size_t i = 0; i < rows->count; i++)
            table = table || rows_get(rows, i)->named;
    if (table)
        write_heading(r, &r->arrays);
    for (size_t i = 0; i < rows->count; i++) {
        const struct kept_row *row = rows_get(rows, i);

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

void report(struct report *r, const char *path, const struct reduction *reduction)
{
    const struct options *options = r->options;

    if (!settle_heading(r, path, reduction)) {
        report_fail_on(options, path, reduction);
        return;
    }
    if (!reduction->arrays || reduction->error[0])
        report_one(r, path, reduction);
    else
        report_each(r, path, reduction);
    /* Results of earlier files are not held back while a large one is reduced. */
    writer_flush(&r->files);
    if (wants_stats(options, reduction))
        report_stats(options, path, reduction);
    /* An array that cannot be reduced, or that another file has, leaves nothing to draw. */
    if (options->plot && !reduction->error[0] && reduction->histogram)
        report_plot(options, path, reduction);
    report_fail_on(options, path, reduction);
}

void report_total(struct report *r, const struct total *total)
{
    const struct options *options = r->options;

    if (total->inputs == 0 && options->wanted.included > 0) /* report_end says why */
        return;
    (void)settle_heading(r, NULL, NULL);
    if (options->output == OUTPUT_PARTIAL)
        report_partial_total(options, total);
    else
        report_row(&r->files, options, NULL, &total->reduction, total);
    writer_flush(&r->files);
    if (wants_stats(options, &total->reduction))
        report_stats(options, NULL, &total->reduction);
    if (total->reduction.error[0])
        message_error(
            EXIT_FAILED, "no total: %s%s", total->reduction.error,
            total->unreadable ? "; --skip-unsupported leaves out arrays that cannot be read" : "");
}
