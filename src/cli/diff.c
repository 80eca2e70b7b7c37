#include "config.h"

#include "cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/process.h"
#include "cli/report.h"
#include "run/diff_row.h"
#include "sys/escape.h"
#include "sys/plural.h"

/* Sets of files are open all at a time: descriptors for each file, and for all else. */
#define FILES_EACH 3
#define FILES_MORE 64

/*
 * Printing.
 */

/* Prints how much was compared, and how fast. */
static void report_stats_line(const struct diff *diff, bool single)
{
    const struct diff_summary s = diff_summary(diff);
    char verdict[80];

    if (single)
        snprintf(verdict, sizeof verdict, "%s", s.differs ? "different" : "the same");
    else
        snprintf(verdict, sizeof verdict, "%zu of %zu array%s different", s.different,
                 diff_count(diff), plural(diff_count(diff)));
    message_line("%s: %" PRIu64 " element%s, %" PRIu64 " byte%s of both, %.6f s, %.3f GB/s",
                 verdict, s.elements, plural(s.elements), s.bytes, plural(s.bytes), s.seconds,
                 report_rate(s.bytes, s.seconds));
}

/* The value of an item that a key names. */
static struct row_value find_value(const void *results, const struct row_key *key)
{
    const struct diff_item *item = results;
    const bool bad = key->field == ROW_BADNESS;
    struct field field = diff_result(item, bad ? DIFFERENCE_MAX_REL : key->result);
    /* How bad a difference is, for people. The upper half is the class, 3 for arrays that are not
       compared, 2 for elements beyond the tolerance, 1 for other differences, 0 for names; the lower
       one has the bits of the largest relative difference, which are more for a greater number, and
       most for a NaN. */
    struct integer badness = {.known = true, .high = item->kind == DIFF_RENAMED ? 0 : 3};

    if (bad && field.kind == FIELD_NUMBER) {
        badness.high = item->result.different > 0 ? 2 : 1;
        memcpy(&badness.low, &field.number, sizeof badness.low);
        badness.low &= INT64_MAX;
    }
    if (bad)
        field = field_value(0, "", &badness, NAN);
    else if (field.kind == FIELD_ABSENT)
        field.kind = FIELD_MISSING;
    return row_value_of(&field);
}

/* The row of an item, for --where and --sort: type and size are of the first side that has it. */
static struct row row_of_item(const struct diff_request *request, const struct diff_item *item)
{
    const int side = item->sides[DIFF_A].source ? DIFF_A : DIFF_B;

    return (struct row){.path = request->sides[side].name,
                        .name = item->name,
                        .dtype = item->sides[side].type_name,
                        .elements = diff_elements(item, side),
                        .failed = item->kind == DIFF_FAILED,
                        .find = find_value,
                        .results = item};
}

/* Writes the rows of all that differ, as the options ask. People read the worst first. */
static void write_items(const struct options *options, const struct diff_request *request,
                        const struct diff *diff, bool single)
{
    const bool text = options->output == OUTPUT_TEXT, json = options->output == OUTPUT_JSON;
    const bool table = text && !single && writer_is_aligned(false);
    const bool missing = diff_has_missing(diff);
    static const struct diff_item blank = {.name = ""};
    struct rows_request order = options->rows;
    struct rows rows = {0};
    struct buffer out = {0};
    struct writer w = {.form = json             ? WRITER_JSON
                               : text && single ? WRITER_LINES
                               : table          ? WRITER_TABLE
                                                : WRITER_TSV,
                       .number = options->number,
                       .shows = json             ? IN_OBJECT
                                : text && single ? IN_LINES
                                                 : IN_CELLS,
                       .left = 4,
                       .out = &out};

    if (!writer_open(&w))
        return;
    w.heading = w.form == WRITER_TSV || w.form == WRITER_TABLE;
    if (w.heading)
        diff_row_write(&w, request, diff, &blank, missing);
    w.heading = false;
    if (text && order.sort.field == ROW_UNASKED) {
        order.sort.field = ROW_BADNESS;
        order.descending = true;
    }
    for (size_t k = 0; k < diff_count(diff); k++) {
        const struct diff_item *item = diff_get(diff, k);
        const struct row row = row_of_item(request, item);
        const size_t before = out.size;

        if (!diff_differs(item) || !rows_hold(&order, &row))
            continue;
        w.print = order.sort.field == ROW_UNASKED ? writer_flush : NULL;
        diff_row_write(&w, request, diff, item, missing);
        if (!w.print)
            rows_take(&rows, &order, &row, &out, before);
    }
    rows_put(&rows, &out);
    writer_flush(&w);
    writer_close(&w);
    buffer_free(&out);
}

/* Prints what differs, as the options ask: lines for two arrays, rows for sets of them, objects;
   and the line of statistics. */
static void report_diff(const struct options *options, const struct diff_request *request,
                        const struct diff *diff)
{
    const struct diff_summary s = diff_summary(diff);
    const bool single = diff_count(diff) == 1 && !diff_get(diff, 0)->name;

    if (options->quiet)
        return;
    if (options->output != OUTPUT_TEXT || s.differs || s.failed)
        write_items(options, request, diff, single);
    if (!s.failed && (options->verbose || options->output == OUTPUT_TEXT))
        report_stats_line(diff, single);
}

/*
 * Comparing.
 */

/* Expands an operand into the files it stands for, as options of their own. False on failure. */
static bool expand(struct options *side, const struct options *options, int number)
{
    *side = *options;
    side->command = COMMAND_REDUCE;
    side->files = &options->files[number];
    side->file_count = 1;
    return operands_expand(side) && side->left_out == 0;
}

/* Tells of tolerances that are of no array. */
static void print_unmatched(const struct diff *diff)
{
    char quoted[ESCAPE_QUOTE_MAX];
    const char *pattern;

    for (unsigned next = 0; (pattern = diff_unmatched(diff, &next));)
        message_error(EXIT_FAILED, "--tolerance: %s matches no array",
                      escape_quote(quoted, pattern));
}

/* Prints what went wrong in a comparison; NULL: there was no memory for one. */
static void print_errors(const struct diff *diff)
{
    const struct error no_memory = {.kind = ERROR_MEMORY, .text = "out of memory"}, *error;
    const char *name, *array;

    if (!diff)
        failure_print(NULL, NULL, &no_memory);
    for (size_t i = 0; diff && (error = diff_error(diff, i, &name, &array)); i++)
        /* Names of arrays, and those that are shown in another form, are no paths. */
        failure_print_as(name, *name && !strpbrk(name, " '") ? name : NULL, error);
}

void diff_files(struct options *options)
{
    struct options *sides = calloc(DIFF_SIDES, sizeof *sides); /* large for a small stack */
    struct diff_request request = {.options = &options->session,
                                   .tolerances = &options->tolerances,
                                   .rename = options->rename.count > 0 ? &options->rename : NULL,
                                   .cast = options->cast,
                                   .ignore_dtype = options->ignore_dtype,
                                   .verdict_only =
                                       options->quiet && options->session.nan != NAN_ERROR};
    struct diff *diff = NULL;
    bool good = sides;

    if (!sides)
        print_errors(NULL);
    for (int side = 0; side < DIFF_SIDES && good; side++) {
        good = expand(&sides[side], options, side);
        request.sides[side].name = options->files[side];
        request.sides[side].paths = sides[side].files;
        request.sides[side].count = sides[side].file_count;
        request.sides[side].input = &sides[side].session.input;
    }
    if (good) {
        process_allow_files(
            FILES_EACH * ((uint64_t)sides[DIFF_A].file_count + (uint64_t)sides[DIFF_B].file_count) +
            FILES_MORE);
        diff = diff_new(&request);
        good = diff && diff_run(diff);
        print_errors(diff);
    }
    if (good) {
        options->differs = diff_summary(diff).differs;
        report_diff(options, &request, diff);
        print_unmatched(diff);
    }
    report_end(options);
    if (diff)
        diff_close(diff);
    for (int side = 0; sides && side < DIFF_SIDES; side++)
        operands_free(&sides[side]);
    free(sides);
    rename_free(&options->rename);
}
