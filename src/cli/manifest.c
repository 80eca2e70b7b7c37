/*
 * --check with a manifest: a record of the digests of arrays, wherever the arrays are now.
 *
 * Recorded arrays and those that are found are paired in turns, from the closest likeness to the
 * least: the name in a file; the name and the digest, in another file; the name alone; the digest
 * alone. So an array has been renamed only if its name is gone. All files of one array have one name,
 * the empty one, which is compared last. Each array that is found has one part in that. Recorded
 * arrays that are left have the error of their file, if that could not be read.
 */
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
#include "sys/grow.h"
#include "sys/search.h"

/* An array that was found. */
struct found {
    const char *file;
    char *array;  /* its name, on the heap; empty if the file is one array */
    char *error;  /* on the heap; NULL if it has a digest */
    bool taken;   /* a recorded array is paired with it */
    bool is_file; /* an error of the whole file */
    char digest[DIGEST_TEXT_MAX];
};

struct manifest {
    struct options *options;
    const struct record *record;
    size_t digest; /* the number of the operation */
    struct found *found;
    size_t count, room;
    struct found **order;          /* what was found, as it is sorted for a turn */
    struct found **pair;           /* for each line of the record; NULL: nothing */
    const struct record_line **by; /* lines of files, sorted by these */
    bool failed;                   /* memory was lacking */
};

/* Ways in which a recorded array is like one that was found. */
struct likeness {
    bool file, array, digest;
    bool named;      /* arrays of files of one array are not like any */
    bool unreadable; /* with errors of whole files, in place of arrays */
};

static const char *array_of(const struct record_line *line)
{
    return line->array ? line->array : "";
}

static const char *digest_of(const struct manifest *m, const struct record_line *line)
{
    return line->value[m->digest];
}

/*
 * Arrays that are there now.
 */

static void add(struct manifest *m, const char *file, const struct reduction *one, bool is_file)
{
    char text[FAILURE_TEXT_MAX];
    struct found *f;

    if (!GROW(m->found, m->room, m->count + 1)) {
        m->failed = true;
        return;
    }
    f = &m->found[m->count++];
    *f = (struct found){
        .file = file, .is_file = is_file, .array = strdup(one->array ? one->array : "")};
    if (one->error.kind != ERROR_NONE)
        f->error = strdup(failure_text(text, &one->error, file));
    else
        (void)digest_show(f->digest, &one->result.digest);
    m->failed = m->failed || !f->array || (one->error.kind != ERROR_NONE && !f->error);
}

/* Reduces a file, and notes the digests of its arrays. */
static void find(struct manifest *m, struct session *session, const char *file)
{
    struct reduction reduction, one = {.array = NULL};

    (void)session_reduce(session, file, &reduction);
    if (reduction.error.kind != ERROR_NONE) {
        failure_print(file, NULL, &reduction.error);
        add(m, file, &reduction, true);
        return;
    }
    report_array_errors(file, &reduction);
    for (size_t k = 0; report_result(&reduction, k, &one); k++)
        add(m, file, &one, false);
    report_fail_on(m->options, file, &reduction);
}

static int compare_files(const void *a, const void *b)
{
    const struct record_line *const *x = a, *const *y = b;
    const int order = strcmp((*x)->file, (*y)->file);

    return order ? order : (*x > *y) - (*x < *y);
}

/* Marks in `first` the lines that are the first of their files. */
static void mark_first(const struct manifest *m, bool *first)
{
    size_t count = 0;

    for (size_t i = 0; i < m->record->count; i++)
        if (m->record->lines[i].file)
            m->by[count++] = &m->record->lines[i];
    if (count > 0)
        qsort(m->by, count, sizeof *m->by, compare_files);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(m->by[i - 1]->file, m->by[i]->file) != 0)
            first[m->by[i] - m->record->lines] = true;
}

/* Reduces a file of the record: one without a header has the type that its digest names. */
static void find_recorded(struct manifest *m, struct session *session,
                          const struct record_line *line)
{
    struct source_options *input = &m->options->session.input;
    const struct source_options before = *input;
    char name[DIGEST_TEXT_MAX];
    enum element_order order;

    *input = line->input;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(digest_of(m, line), ":"), digest_of(m, line));
    if (!line->array && !line->failed && !input->type_given)
        (void)element_parse(name, &input->type, &order);
    find(m, session, line->file);
    *input = before;
}

static bool find_all(struct manifest *m)
{
    struct options *options = m->options;
    bool *first = calloc(m->record->count + 1, sizeof *first);
    struct session *session = NULL;
    struct error error;

    if (first)
        session = session_open(&options->session, options->files, options->file_count, &error);
    else
        m->failed = true;
    if (first && !session)
        failure_print(NULL, NULL, &error);
    for (int i = 0; i < options->file_count && session; i++)
        find(m, session, options->files[i]);
    if (options->file_count == 0 && session)
        mark_first(m, first);
    for (size_t i = 0; i < m->record->count && session; i++)
        if (first[i])
            find_recorded(m, session, &m->record->lines[i]);
    options->threads_left = session && !session_close(session);
    free(first);
    return session;
}

/*
 * Pairs.
 */

/* The likeness by which arrays are sorted. It is here since qsort has no argument for it. */
static struct likeness turn;

/* An array, recorded or found, as texts to compare. */
struct texts {
    const char *array, *digest, *file;
};

static int compare_texts(struct texts a, struct texts b)
{
    int order = turn.array ? strcmp(a.array, b.array) : 0;

    if (order == 0 && turn.digest)
        order = strcmp(a.digest, b.digest);
    return order == 0 && turn.file ? strcmp(a.file, b.file) : order;
}

static struct texts texts_of(const struct found *f)
{
    return (struct texts){f->array, f->digest, f->file};
}

static int compare_found(const void *a, const void *b)
{
    const struct found *x = *(struct found *const *)a, *y = *(struct found *const *)b;
    const int order = compare_texts(texts_of(x), texts_of(y));

    return order ? order : (x > y) - (x < y);
}

/* Whether an array comes before the first that a line of these texts can have. Arrays that are alike are
   taken from the first on. */
static bool comes_before(const struct found *f, struct texts texts)
{
    const int order = compare_texts(texts_of(f), texts);

    return order < 0 || (order == 0 && f->taken);
}

/* Pairs the lines that have none with arrays that are like them. */
static void pair(struct manifest *m, struct likeness how)
{
    size_t count = 0;

    turn = how;
    for (size_t i = 0; i < m->count; i++) {
        struct found *f = &m->found[i];

        if (!f->taken && f->is_file == how.unreadable && !(how.digest && f->error))
            m->order[count++] = f;
    }
    if (count > 0)
        qsort(m->order, count, sizeof *m->order, compare_found);
    for (size_t i = 0; i < m->record->count; i++) {
        const struct record_line *line = &m->record->lines[i];
        const struct texts texts = {array_of(line), digest_of(m, line), line->file};
        size_t low = 0, high = count;

        if (!line->file || m->pair[i] || (line->failed && how.digest) ||
            (how.named && !array_of(line)[0]))
            continue;
        SEARCH(low, high, comes_before(m->order[middle], texts));
        /* A record may have several lines of one array, as one that grows by a line a day. */
        if (how.file && low > 0 &&
            (low == count || compare_texts(texts_of(m->order[low]), texts) != 0))
            low--;
        if (low < count && compare_texts(texts_of(m->order[low]), texts) == 0) {
            m->pair[i] = m->order[low];
            m->pair[i]->taken = true;
        }
    }
}

/*
 * Printing.
 */

static void print_name(const char *file, const char *array)
{
    char quoted[ESCAPE_QUOTE_MAX];

    fputs(escape_quote(quoted, file), stdout);
    if (*array)
        printf(": %s", escape_quote(quoted, array));
}

/* Prints what became of a recorded array. False if it is not there as it was. */
static bool print_line(const struct manifest *m, size_t i)
{
    const struct record_line *line = &m->record->lines[i];
    const struct found *f = m->pair[i];
    const bool same = f && !line->failed && strcmp(f->digest, digest_of(m, line)) == 0;
    const bool here = f && strcmp(f->file, line->file) == 0;
    const bool renamed = f && strcmp(f->array, array_of(line)) != 0;
    char quoted[ESCAPE_QUOTE_MAX];

    if (same && m->options->quiet)
        return true;
    print_name(line->file, array_of(line));
    if (same && here && !renamed) {
        puts(": OK");
        return true;
    }
    if (same) {
        printf(": %s", renamed ? "renamed" : "moved");
        if (renamed)
            printf(" to %s", *f->array ? escape_quote(quoted, f->array) : "the array");
        if (!here)
            printf(" %s %s", renamed ? "in" : "to", escape_quote(quoted, f->file));
        puts("");
        return true;
    }
    if (f && f->error)
        printf(": FAILED (%s)\n", f->error);
    else if (line->failed)
        puts(": FAILED (it has no digest in the record)");
    else if (!f)
        puts(": FAILED (missing)");
    else
        printf(": FAILED (changed%s%s: recorded %s, found %s)\n", here ? "" : " in ",
               here ? "" : escape_quote(quoted, f->file), digest_of(m, line), f->digest);
    return false;
}

static void print_all(const struct manifest *m)
{
    char name[NAME_INPUT_MAX];
    size_t compared = 0, differing = 0;

    for (size_t i = 0; i < m->record->count; i++) {
        if (!m->record->lines[i].file)
            continue;
        compared++;
        differing += !print_line(m, i);
        (void)stdio_flush();
    }
    for (size_t i = 0; i < m->count && !m->options->quiet; i++) {
        const struct found *f = &m->found[i];

        if (f->taken || f->is_file)
            continue;
        print_name(f->file, f->array);
        puts(": new");
    }
    if (differing > 0)
        message_error(EXIT_FAILED, "%zu of %zu arrays of %s have changed or are missing", differing,
                      compared, name_input(name, m->options->check));
}

/* Whether the record can be checked so: all lines have digests, and standard input is read once. */
static bool is_possible(const struct manifest *m)
{
    const struct record *record = m->record;
    const struct options *options = m->options;
    const bool piped = strcmp(options->check, "-") == 0;
    char name[NAME_INPUT_MAX];
    bool twice = false;

    for (size_t i = 0; i < record->count; i++) {
        const struct record_line *line = &record->lines[i];

        twice = twice ||
                (piped && options->file_count == 0 && line->file && strcmp(line->file, "-") == 0);
        if (!line->file || line->failed || digest_of(m, line)[0])
            continue;
        return message_error(
            EXIT_FAILED, "%s: has no digests (--op=digest), by which --check finds arrays in files",
            name_input(name, options->check));
    }
    for (int i = 0; i < options->file_count; i++)
        twice = twice || (piped && strcmp(options->files[i], "-") == 0);
    if (twice)
        message_error(EXIT_FAILED, "standard input is both the record and a file in it; give the "
                                   "record as a file");
    return !twice;
}

void manifest_check(struct options *options, const struct record *record)
{
    static const struct likeness turns[] = {{.file = true, .array = true},
                                            {.array = true, .digest = true},
                                            {.array = true, .named = true},
                                            {.digest = true},
                                            {.array = true},
                                            {.file = true, .unreadable = true}};
    const struct operation *op = operation_find(&options->named, "digest", strlen("digest"));
    struct manifest m = {.options = options, .record = record, .digest = operation_number_of(op)};

    options->session.wants = op->wants;
    m.pair = calloc(record->count + 1, sizeof *m.pair);
    m.by = calloc(record->count + 1, sizeof *m.by);
    m.failed = !m.pair || !m.by;
    if (!m.failed && is_possible(&m) && find_all(&m)) {
        m.order = malloc((m.count + 1) * sizeof *m.order);
        m.failed = m.failed || !m.order;
        for (size_t i = 0; i < sizeof turns / sizeof *turns && !m.failed; i++)
            pair(&m, turns[i]);
        if (!m.failed)
            print_all(&m);
    }
    if (m.failed)
        message_error(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < m.count; i++) {
        free(m.found[i].array);
        free(m.found[i].error);
    }
    free(m.found);
    free(m.order);
    free(m.pair);
    free(m.by);
}
