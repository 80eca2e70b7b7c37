#include "config.h"

#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/report.h"
#include "cli/rows.h"
#include "core/merger.h"
#include "core/name.h"

/* Room for the name of a file and a line of it. */
#define PLACE_MAX (NAME_INPUT_MAX + 24)

struct merge {
    const struct options *options;
    struct merger merger;
    bool failed;
};

/*
 * Reading.
 */

/* Writes where a partial result came from. Returns `text`. */
static const char *show_place(const struct merge *m, struct merger_origin origin,
                              char text[PLACE_MAX])
{
    (void)name_input(text, m->options->files[origin.file]);
    sprintf(text + strlen(text), ":%" PRIu64, origin.line);
    return text;
}

/* Reads a line of a file, without its newline, as far as there is room: *length is more if there is
   not. False at the end. */
static bool read_line(FILE *in, char line[PARTIAL_TEXT_MAX], size_t *length)
{
    int c = getc(in);

    *length = 0;
    if (c == EOF)
        return false;
    for (; c != EOF && c != '\n'; c = getc(in)) {
        if (*length == PARTIAL_TEXT_MAX) {
            (*length)++;
            break;
        }
        line[(*length)++] = (char)c;
    }
    return true;
}

/* Takes a partial result. False if it does not go with those before. */
static bool take(struct merge *m, const struct partial_text *part, struct merger_origin origin)
{
    char place[PLACE_MAX], other[PLACE_MAX];
    const struct merged *merged;
    const enum merger_verdict verdict = merger_take(&m->merger, part, origin, &merged);

    switch (verdict) {
    case MERGER_TAKEN:
        return true;
    case MERGER_TYPE:
        return message_error(EXIT_FAILED, "%s: has type %s, but the same input at %s has type %s",
                             show_place(m, origin, place), element_name(part->type),
                             show_place(m, merged->first, other), element_name(merged->type));
    case MERGER_MISSING:
    case MERGER_SCALE:
        return message_error(EXIT_FAILED, "%s: has other %s than the same input at %s",
                             show_place(m, origin, place),
                             verdict == MERGER_SCALE ? "scale or offset" : "missing values",
                             show_place(m, merged->first, other));
    case MERGER_LENGTH:
        return message_error(EXIT_FAILED,
                             "%s: its input has %" PRIu64
                             " elements, but that of the same name at %s has %" PRIu64,
                             show_place(m, origin, place), part->of,
                             show_place(m, merged->first, other), merged->of);
    case MERGER_MEMORY:
        return message_error(EXIT_FAILED, "out of memory");
    }
    return false;
}

/* Takes the lines of a file, up to the first that is wrong. False if one is, or on failure. */
static bool take_lines(struct merge *m, FILE *in, size_t number)
{
    struct merger_origin origin = {.file = number};
    char line[PARTIAL_TEXT_MAX], place[PLACE_MAX], error[PARTIAL_TEXT_ERROR_MAX];
    struct partial_text part;
    size_t length;

    while (read_line(in, line, &length)) {
        origin.line++;
        if (length == 0)
            continue;
        *error = '\0';
        if (length > PARTIAL_TEXT_MAX)
            snprintf(error, sizeof error, "is longer than a partial result can be");
        else if (partial_text_read(&part, line, length, error) && part.bag)
            snprintf(error, sizeof error,
                     "is of a bag, which does not say what elements of an array it has");
        if (*error)
            return message_error(EXIT_FAILED, "%s: %s", show_place(m, origin, place), error);
        if (!take(m, &part, origin))
            return false;
    }
    return true;
}

static bool take_file(struct merge *m, size_t number)
{
    const char *path = m->options->files[number];
    char name[NAME_INPUT_MAX];
    const bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "re");
    bool good = in && take_lines(m, in, number);

    if (!in || ferror(in))
        good = message_error(EXIT_FAILED, "%s: %s", name_input(name, path), strerror(errno));
    if (in && !standard)
        fclose(in);
    return good;
}

/*
 * Errors of the whole.
 */

/* Whether each element was taken once. */
static bool is_complete(const struct merge *m, const struct merged *a)
{
    char name[NAME_BOTH_MAX], place[PLACE_MAX], other[PLACE_MAX];
    const struct merger_piece *one, *two;
    struct partial_range gap;
    /* Pipes and totals that nobody has given a name are called so. */
    const bool nameless = strcmp(a->input, "-") == 0 || strcmp(a->input, "total") == 0;

    if (merged_overlap(a, &one, &two))
        return message_error(EXIT_FAILED, "%s: element %" PRIu64 " of %s is also counted at %s%s",
                             show_place(m, two->origin, place), two->range.begin,
                             name_both(name, a->input, a->array), show_place(m, one->origin, other),
                             nameless ? " (--label tells them apart)" : "");
    if (!m->options->allow_gaps && a->piece_count == 0 && a->of > 0)
        return message_error(EXIT_FAILED,
                             "%s: none of its elements is in a partial result (--allow-gaps "
                             "leaves it out)",
                             name_both(name, a->input, a->array));
    if (!m->options->allow_gaps && merged_gap(a, &gap))
        return message_error(EXIT_FAILED,
                             "%s: elements %" PRIu64 " to %" PRIu64 " of %" PRIu64
                             " are in no partial result (--allow-gaps accepts that)",
                             name_both(name, a->input, a->array), gap.begin, gap.end - 1, a->of);
    return true;
}

/* Whether the partial results hold what the operations take, and what rows are compared by. The first that
   lack data have an error, and *lacking counts all of them. */
static bool is_held(const struct merge *m, const struct merged *a, size_t *lacking)
{
    const struct options *options = m->options;
    const struct operation *compared[ROWS_OPERATIONS_MAX];
    const size_t count = options->operation_count;
    const size_t all = count + rows_operations(&options->rows, compared);
    char name[NAME_BOTH_MAX], place[PLACE_MAX];
    struct partial_range gap;

    for (size_t i = 0; i < all; i++) {
        const struct operation *op = i < count ? options->operations[i] : compared[i - count];

        if (op->kind == OPERATION_DIGEST && merged_gap(a, &gap))
            return message_error(EXIT_FAILED, "%s: has no digest, since elements are missing",
                                 name_both(name, a->input, a->array));
        if (!(scale_wants(&a->scale, op->wants) & ~a->holds) || operation_quantile(op))
            continue;
        return (*lacking)++ == 0 &&
               message_error(EXIT_FAILED, "%s: lacks the data for %s; give --partial the same --op",
                             show_place(m, a->lacks, place), op->name);
    }
    return true;
}

static bool check(const struct merge *m)
{
    size_t lacking = 0;
    bool good = true;

    if (m->merger.count == 0)
        return message_error(EXIT_FAILED, "there are no partial results to merge");
    for (size_t i = 0; i < m->merger.count; i++)
        good = is_complete(m, &m->merger.merged[i]) && is_held(m, &m->merger.merged[i], &lacking) &&
               good;
    if (lacking > 1)
        message_error(EXIT_FAILED, "%zu other partial result%s data, too", lacking - 1,
                      lacking == 2 ? " lacks" : "s lack");
    return good;
}

/*
 * Printing.
 */

/* Prints an array as a partial result; without elements if it failed, so that the next --merge finds
   that it is missing. */
static void print_partial(const struct options *options, const struct merged *a, bool failed)
{
    struct merged none = *a;
    char name[NAME_BOTH_MAX];
    struct partial_text text;

    memset(&text, 0, sizeof text);
    if (failed) {
        none.piece_count = 0;
        partial_clear(&none.partial);
    }
    if (!merged_text(&none, &text)) {
        message_error(EXIT_FAILED,
                      "%s: has gaps at more than %d places, which a partial result cannot express",
                      name_both(name, a->input, a->array), PARTIAL_TEXT_RANGES_MAX - 1);
        return;
    }
    if (options->operation_count > 0)
        text.holds &= scale_wants(&a->scale, options->session.wants);
    report_partial_text(options, a->input, a->array, &text);
}

/* Adds an array to the total, in which its elements follow those of the arrays before, with all that
   are in no part. */
static void add_to_total(struct total *total, struct reduction *one)
{
    struct reduction *sum = &total->reduction;
    uint64_t *const indices[] = {&one->partial.min_index, &one->partial.max_index,
                                 &one->partial.first_nan};

    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        if (*indices[i] != PARTIAL_NO_INDEX)
            *indices[i] += sum->of - sum->elements;
    total->arrays = total->arrays || one->array;
    total_add(total, one);
    if (one->of > (uint64_t)INT64_MAX - sum->of)
        (void)error_set(&sum->error, ERROR_REQUEST, "there are more elements than can be counted");
    else
        sum->of += one->of;
}

/* Prints an array, and adds it to the total. */
static void print_one(struct report *r, const struct merged *a, struct total *total)
{
    const struct options *options = r->options;
    const bool absent = a->partial.count == 0 && a->of > 0;
    struct reduction reduction;

    memset(&reduction, 0, sizeof reduction);
    reduction.array = a->array;
    reduction.type = a->type;
    reduction.missing = a->missing;
    reduction.scale = a->scale;
    reduction.partial = a->partial;
    reduction.elements = a->partial.count;
    reduction.of = a->of;
    reduction.bytes = reduction.elements * element_size(a->type);
    reduction_round(&reduction.result, &a->partial, a->type, &a->scale,
                    options->session.nan == NAN_SKIP, options->session.ddof);
    if (options->session.nan == NAN_ERROR && a->partial.nan > 0)
        (void)error_set(&reduction.error, ERROR_NAN, "element %" PRIu64 " is a NaN",
                        a->partial.first_nan);
    if (absent && options->output != OUTPUT_PARTIAL)
        (void)error_set(&reduction.error, ERROR_OTHERS,
                        "none of its elements is in a partial result");
    if (options->output != OUTPUT_PARTIAL) {
        report(r, a->input, &reduction);
    } else {
        const bool failed = reduction.error.kind != ERROR_NONE;

        if (failed)
            failure_print(a->input, a->array, &reduction.error);
        if (!options->total)
            print_partial(options, a, failed);
        report_fail_on(options, a->input, &reduction);
    }
    if (absent) /* the total is of the others */
        reduction.error.kind = ERROR_NONE;
    add_to_total(total, &reduction);
}

/* Puts all arrays behind each other, and prints them as a partial result. NULL, or why they have
   none together. */
static const char *print_together(const struct options *options, const struct merger *m)
{
    struct partial_text all;

    memset(&all, 0, sizeof all);
    partial_clear(&all.partial);
    all.holds = m->merged[0].holds & ~(unsigned)PARTIAL_DIGEST;
    all.missing = m->merged[0].missing;
    for (size_t i = 0; i < m->count; i++) {
        const struct merged *a = &m->merged[i];

        if (a->type != m->merged[0].type)
            return "the partial results are of several types";
        if (!scale_same(&a->scale, &m->merged[0].scale))
            return "the partial results have several scales";
        if (!merged_append(&all, a))
            return "there are too many gaps, or more elements than can be counted";
        all.holds &= a->holds;
    }
    if (options->operation_count > 0)
        all.holds &= scale_wants(&all.scale, options->session.wants);
    report_partial_text(options, NULL, NULL, &all);
    return NULL;
}

static void print_total(struct report *r, const struct merger *m, struct total *total)
{
    const struct options *options = r->options;
    struct reduction *sum = &total->reduction;
    const char *refusal = NULL;

    total_finish(total, options->session.nan, options->session.ddof);
    if (options->output == OUTPUT_PARTIAL && sum->error.kind == ERROR_NONE)
        refusal = print_together(options, m);
    if (refusal)
        (void)error_set(&sum->error, ERROR_REQUEST, "%s", refusal);
    if (options->output != OUTPUT_PARTIAL || sum->error.kind != ERROR_NONE)
        report_total(r, total);
}

static void print(const struct merge *m)
{
    const struct merger *merger = &m->merger;
    struct options options = *m->options;
    struct report r;
    struct total total;

    total_clear(&total);
    options.file_count = merger->count > 1 ? 2 : 1; /* names stand above several results */
    for (size_t i = 0; i < merger->count; i++)
        options.merged_arrays = options.merged_arrays || merger->merged[i].array;
    if (report_open(&r, &options))
        report_begin(&r);
    for (size_t i = 0; i < merger->count; i++)
        print_one(&r, &merger->merged[i], &total);
    report_rows(&r);
    if (options.total)
        print_total(&r, merger, &total);
    report_close(&r);
}

void merge_files(struct options *options)
{
    struct merge m = {.options = options};

    merger_open(&m.merger);
    for (int i = 0; i < options->file_count; i++)
        m.failed = !take_file(&m, (size_t)i) || m.failed;
    merger_finish(&m.merger);
    if (!m.failed && check(&m))
        print(&m);
    merger_close(&m.merger);
}
