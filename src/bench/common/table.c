#include "config.h"

#include "bench/common/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/output.h"
#include "core/number.h"
#include "sys/json.h"
#include "sys/message.h"
#include "sys/stdio.h"

struct cell {
    bool set;
    bool flag;
    double number;
    char *text;
};

struct row {
    char *group;
    struct cell *cells;
};

struct fact {
    char *key, *label;
    enum { FACT_TEXT, FACT_NUMBER, FACT_COUNT } kind;
    char *text;
    double number;
    uint64_t count;
    int decimals;
    char *unit;
};

struct table {
    char *name;
    const struct table_column *columns;
    size_t column_count;
    struct fact *facts;
    size_t fact_count, facts_printed;
    struct row *rows;
    size_t row_count, rows_printed;
    int *widths;           /* of the columns; settled when the first row is printed */
    bool json;             /* printed instead of text */
    const char *json_path; /* to be written beside it, or NULL */
    bool failed;           /* out of memory, which has been said */
};

/* While rows are printed one by one, it is not known how wide the later ones will be. */
#define TEXT_WIDTH 22
#define NUMBER_WIDTH 9

static void fail(struct table *t)
{
    if (!t->failed)
        message_error(EXIT_FAILED, "out of memory");
    t->failed = true;
}

static char *copy(struct table *t, const char *text)
{
    char *copied = text ? strdup(text) : NULL;

    if (text && !copied)
        fail(t);
    return copied;
}

struct table *table_new(const char *name, const struct table_column *columns, size_t column_count)
{
    struct table *t = calloc(1, sizeof *t);

    if (!t) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    t->columns = columns;
    t->column_count = column_count;
    t->name = copy(t, name);
    t->widths = calloc(column_count, sizeof *t->widths);
    if (!t->widths)
        fail(t);
    return t;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->fact_count; i++) {
        free(t->facts[i].key);
        free(t->facts[i].label);
        free(t->facts[i].text);
        free(t->facts[i].unit);
    }
    for (size_t i = 0; i < t->row_count; i++) {
        for (size_t j = 0; j < t->column_count; j++)
            free(t->rows[i].cells[j].text);
        free(t->rows[i].cells);
        free(t->rows[i].group);
    }
    free(t->facts);
    free(t->rows);
    free(t->widths);
    free(t->name);
    free(t);
}

void table_as_json(struct table *t, bool print, const char *path)
{
    if (t) {
        t->json = print;
        t->json_path = path;
    }
}

/*
 * Filling.
 */

/* A new fact, or NULL. */
static struct fact *add_fact(struct table *t, const char *key, const char *label, const char *unit)
{
    struct fact *facts;

    if (!t || t->failed)
        return NULL;
    facts = realloc(t->facts, (t->fact_count + 1) * sizeof *facts);
    if (!facts) {
        fail(t);
        return NULL;
    }
    t->facts = facts;
    t->facts[t->fact_count] =
        (struct fact){.key = copy(t, key), .label = copy(t, label), .unit = copy(t, unit)};
    return &t->facts[t->fact_count++];
}

void table_fact_text(struct table *t, const char *key, const char *label, const char *value)
{
    struct fact *fact = add_fact(t, key, label, "");

    if (fact) {
        fact->kind = FACT_TEXT;
        fact->text = copy(t, value);
    }
}

void table_fact_number(struct table *t, const char *key, const char *label, double value,
                       int decimals, const char *unit)
{
    struct fact *fact = add_fact(t, key, label, unit);

    if (fact) {
        fact->kind = FACT_NUMBER;
        fact->number = value;
        fact->decimals = decimals;
    }
}

void table_fact_count(struct table *t, const char *key, const char *label, uint64_t value,
                      const char *unit)
{
    struct fact *fact = add_fact(t, key, label, unit);

    if (fact) {
        fact->kind = FACT_COUNT;
        fact->count = value;
    }
}

void table_row(struct table *t, const char *group)
{
    struct row *rows;
    struct cell *cells;

    if (!t || t->failed)
        return;
    cells = calloc(t->column_count, sizeof *cells);
    rows = realloc(t->rows, (t->row_count + 1) * sizeof *rows);
    if (rows)
        t->rows = rows;
    if (!rows || !cells) {
        free(cells);
        fail(t);
        return;
    }
    t->rows[t->row_count++] = (struct row){.group = copy(t, group), .cells = cells};
}

/* The cell of the current row, or NULL. */
static struct cell *current(struct table *t, size_t column)
{
    return t && !t->failed && t->row_count > 0 ? &t->rows[t->row_count - 1].cells[column] : NULL;
}

void table_text(struct table *t, size_t column, const char *value)
{
    struct cell *cell = current(t, column);

    if (cell) {
        free(cell->text);
        cell->text = copy(t, value);
        cell->set = cell->text != NULL;
    }
}

void table_number(struct table *t, size_t column, double value)
{
    struct cell *cell = current(t, column);

    if (cell) {
        cell->number = value;
        cell->set = true;
    }
}

void table_flag(struct table *t, size_t column, bool value)
{
    struct cell *cell = current(t, column);

    if (cell) {
        cell->flag = value;
        cell->set = true;
    }
}

/*
 * Text.
 */

/* Room for any number as text: binary64 goes up to 309 digits. */
#define CELL_MAX 340

/* What a cell shows; `room` is for numbers. */
static const char *cell_text(const struct table *t, const struct row *row, size_t column,
                             char room[CELL_MAX])
{
    const struct cell *cell = &row->cells[column];

    if (!cell->set)
        return "-";
    switch (t->columns[column].kind) {
    case TABLE_TEXT:
        return cell->text;
    case TABLE_FLAG:
        return cell->flag ? "yes" : "no";
    default:
        snprintf(room, CELL_MAX, "%.*f", t->columns[column].decimals, cell->number);
        return room;
    }
}

/* Columns without a heading are for JSON and plots alone. */
static bool is_shown(const struct table *t, size_t column)
{
    return t->columns[column].heading != NULL;
}

/* Settles the widths by what is there; with `more`, leaves room for what may come. */
static void settle_widths(struct table *t, bool more)
{
    char room[CELL_MAX];

    for (size_t j = 0; j < t->column_count; j++) {
        int width = is_shown(t, j) ? (int)strlen(t->columns[j].heading) : 0;
        int least = t->columns[j].kind == TABLE_TEXT     ? TEXT_WIDTH
                    : t->columns[j].kind == TABLE_NUMBER ? NUMBER_WIDTH
                                                         : 0;

        for (size_t i = 0; i < t->row_count; i++) {
            int length = (int)strlen(cell_text(t, &t->rows[i], j, room));
            width = length > width ? length : width;
        }
        t->widths[j] = more && least > width ? least : width;
    }
}

/* Prints a line of cells, or of headings where `row` is NULL. Nothing is padded at the end. */
static void print_line(const struct table *t, const struct row *row, bool indent)
{
    char room[CELL_MAX];
    int due = indent ? 2 : 0; /* spaces that are due before the next cell */

    for (size_t j = 0; j < t->column_count; j++) {
        const char *text;
        int space;

        if (!is_shown(t, j))
            continue;
        text = row ? cell_text(t, row, j, room) : t->columns[j].heading;
        space = t->widths[j] - (int)strlen(text);
        space = space > 0 ? space : 0;
        if (t->columns[j].kind == TABLE_NUMBER) {
            printf("%*s%s", due + space, "", text);
            due = 2;
        } else {
            printf("%*s%s", due, "", text);
            due = 2 + space;
        }
    }
    putchar('\n');
}

static void print_facts(struct table *t)
{
    for (; t->facts_printed < t->fact_count; t->facts_printed++) {
        const struct fact *f = &t->facts[t->facts_printed];

        printf("%s: ", f->label);
        switch (f->kind) {
        case FACT_TEXT:
            fputs(f->text, stdout);
            break;
        case FACT_NUMBER:
            printf("%.*f", f->decimals, f->number);
            break;
        case FACT_COUNT:
            printf("%" PRIu64, f->count);
            break;
        }
        printf("%s%s\n", *f->unit ? " " : "", f->unit);
    }
}

static void print_rows(struct table *t, bool more)
{
    bool grouped = t->row_count > 0 && t->rows[0].group;

    for (; t->rows_printed < t->row_count; t->rows_printed++) {
        const struct row *row = &t->rows[t->rows_printed];
        const char *before = t->rows_printed > 0 ? row[-1].group : NULL;

        if (t->rows_printed == 0) {
            settle_widths(t, more);
            print_facts(t);
            if (t->facts_printed > 0)
                putchar('\n');
            print_line(t, NULL, grouped);
        }
        if (row->group && (!before || strcmp(before, row->group) != 0))
            printf("%s\n", row->group);
        print_line(t, row, grouped);
    }
}

bool table_flush(struct table *t)
{
    if (!t || t->failed || t->json)
        return true;
    print_rows(t, true);
    return stdio_flush();
}

/*
 * JSON.
 */

static void write_number(FILE *out, double x)
{
    char text[NUMBER_MAX];

    if (isfinite(x))
        number_format(text, x, ELEMENT_F64);
    fputs(isfinite(x) ? text : "null", out);
}

static void write_row(const struct table *t, const struct row *row, FILE *out)
{
    const char *separator = "";

    putc('{', out);
    if (row->group) {
        fputs("\"group\": ", out);
        json_string(out, row->group);
        separator = ", ";
    }
    for (size_t j = 0; j < t->column_count; j++) {
        const struct cell *cell = &row->cells[j];

        fprintf(out, "%s\"%s\": ", separator, t->columns[j].key);
        separator = ", ";
        if (!cell->set)
            fputs("null", out);
        else if (t->columns[j].kind == TABLE_TEXT)
            json_string(out, cell->text);
        else if (t->columns[j].kind == TABLE_FLAG)
            fputs(cell->flag ? "true" : "false", out);
        else
            write_number(out, cell->number);
    }
    putc('}', out);
}

void table_write_json(const struct table *t, FILE *out)
{
    if (!t || t->failed)
        return;
    fprintf(out, "{\"table\": \"%s\"", t->name);
    for (size_t i = 0; i < t->fact_count; i++) {
        const struct fact *f = &t->facts[i];

        fprintf(out, ", \"%s\": ", f->key);
        switch (f->kind) {
        case FACT_TEXT:
            json_string(out, f->text);
            break;
        case FACT_NUMBER:
            write_number(out, f->number);
            break;
        case FACT_COUNT:
            fprintf(out, "%" PRIu64, f->count);
            break;
        }
    }
    fputs(", \"rows\": [", out);
    for (size_t i = 0; i < t->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(t, &t->rows[i], out);
    }
    fputs("\n]}\n", out);
}

void table_finish(struct table *t)
{
    if (!t || t->failed)
        return;
    if (t->json) {
        table_write_json(t, stdout);
    } else {
        print_rows(t, false);
        if (t->facts_printed < t->fact_count && t->rows_printed > 0)
            putchar('\n');
        print_facts(t);
    }
    (void)stdio_flush();
    if (t->json_path) {
        FILE *out = output_open(t->json_path);

        if (out) {
            table_write_json(t, out);
            (void)output_close(out, t->json_path);
        }
    }
}

/*
 * Plots.
 */

/* Axes are logarithmic where the longest bar is so many times the shortest. */
#define FAR_APART 30

extern char **environ;

/* Runs gnuplot with these standard streams, -1 for those of ours; its exit status, or -1 with errno
   when it cannot be started. */
static int run_gnuplot(const char *argument, int in, int out, int err)
{
    char program[] = "gnuplot", word[32];
    char *argv[] = {program, word, NULL};
    const int streams[] = {in, out, err};
    posix_spawn_file_actions_t actions;
    int error, status;
    pid_t child;

    snprintf(word, sizeof word, "%s", argument);
    error = posix_spawn_file_actions_init(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    for (int i = 0; i < 3 && error == 0; i++)
        if (streams[i] >= 0)
            error = posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    if (error == 0)
        error = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a path's ending asks for: "svg" or "png"; NULL for any other. */
static const char *plot_format(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0))
        return dot + 1;
    return NULL;
}

bool table_plot_possible(const char *path)
{
    char quoted[MESSAGE_QUOTE_MAX];
    int null, status;

    if (!plot_format(path)) {
        message_error(EXIT_USAGE, "%s: a plot's name ends in .svg or .png",
                      message_quote(quoted, path));
        return false;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    status = run_gnuplot("--version", null, null, null);
    if (null >= 0)
        close(null);
    if (status != 0) {
        message_error(EXIT_FAILED,
                      "cannot plot: there is no gnuplot here that works (install gnuplot, or leave "
                      "out --plot)");
        return false;
    }
    return output_possible(path);
}

/* A string of gnuplot's, for titles and data blocks. */
static void write_gnuplot_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        putc(*text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? '?' : *text, out);
    putc('"', out);
}

/* Writes the script that draws the rows that have a value. False when none has one. */
static bool write_script(const struct table *t, FILE *out, const char *format, size_t label,
                         size_t value, const char *axis, double limit, const char *limit_name)
{
    double most = limit, least = limit, low;
    size_t bars = 0;

    for (size_t i = 0; i < t->row_count; i++) {
        const struct cell *cell = &t->rows[i].cells[value];

        if (!cell->set || !(cell->number > 0))
            continue;
        most = cell->number > most ? cell->number : most;
        least = bars == 0 && limit <= 0 ? cell->number
                : cell->number < least  ? cell->number
                                        : least;
        bars++;
    }
    if (bars == 0)
        return false;
    /* A logarithmic axis begins at a power of ten below all bars, so that each can be seen. */
    low = most / least < FAR_APART ? 0 : pow(10, floor(log10(least * 0.999)));

    if (strcmp(format, "svg") == 0)
        fprintf(out, "set terminal svg size 900,%zu noenhanced background 'white'\n",
                110 + 24 * bars);
    else
        fprintf(out,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
                "    set terminal pngcairo size 1200,%zu noenhanced background 'white'\n"
                "} else {\n"
                "    set terminal png size 1200,%zu noenhanced\n"
                "}\n",
                120 + 28 * bars, 120 + 28 * bars);
    fputs("$rows << END_OF_ROWS\n", out);
    bars = 0;
    for (size_t i = 0; i < t->row_count; i++) {
        const struct cell *cells = t->rows[i].cells;
        char text[NUMBER_MAX];

        if (!cells[value].set || !(cells[value].number > 0))
            continue;
        number_format(text, cells[value].number, ELEMENT_F64);
        fprintf(out, "%zu %s ", bars++, text);
        write_gnuplot_string(out, cells[label].set ? cells[label].text : "");
        putc('\n', out);
    }
    fputs("END_OF_ROWS\nset title ", out);
    write_gnuplot_string(out, t->fact_count > 0 && t->facts[0].kind == FACT_TEXT ? t->facts[0].text
                                                                                 : t->name);
    fputs("\nset xlabel ", out);
    write_gnuplot_string(out, axis);
    fprintf(out,
            "\nset key off\nset style fill solid noborder\nset grid xtics\nset border 3\n"
            "set xtics nomirror\nset ytics nomirror scale 0\nset yrange [%zu - 0.4 : -0.6]\n",
            bars);
    if (low > 0)
        fprintf(out, "set logscale x\nset xrange [%g:%g]\n", low, most * 2);
    else
        fprintf(out, "set xrange [0:%g]\n", most * 1.12);
    if (limit > 0) {
        fprintf(out,
                "set arrow from %g, graph 0 to %g, graph 1 nohead front dashtype 2 linewidth 2 "
                "linecolor rgb '#c03020'\nset label ",
                limit, limit);
        write_gnuplot_string(out, limit_name ? limit_name : "");
        fprintf(out, " at %g, graph 0.02 right offset -0.5,0 front textcolor rgb '#c03020'\n",
                limit);
    }
    fprintf(out,
            "plot $rows using 2:1:(%g):2:($1 - 0.36):($1 + 0.36):ytic(3) with boxxyerror "
            "linecolor rgb '#4070a8', \\\n"
            "     $rows using 2:1:(sprintf('%%.4g', $2)) with labels left offset 0.5,0\n",
            low);
    return true;
}

bool table_plot(const struct table *t, const char *path, size_t label, size_t value,
                const char *axis, double limit, const char *limit_name)
{
    char quoted[MESSAGE_QUOTE_MAX];
    const char *format = plot_format(path);
    FILE *script;
    int out, status;
    bool good;

    if (!t || t->failed || !format)
        return false;
    script = tmpfile();
    if (!script) {
        message_error(EXIT_FAILED, "cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    good = write_script(t, script, format, label, value, axis, limit, limit_name);
    if (!good)
        message_error(EXIT_FAILED, "%s: there is nothing to plot", message_quote(quoted, path));
    if (good && (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)) {
        message_error(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
        good = false;
    }
    out = good ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (good && out < 0) {
        message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, path), strerror(errno));
        good = false;
    }
    if (good) {
        status = run_gnuplot("-", fileno(script), out, -1);
        good = status == 0;
        if (status < 0)
            message_error(EXIT_FAILED, "cannot run gnuplot: %s", strerror(errno));
        else if (status != 0)
            message_error(EXIT_FAILED, "%s: gnuplot failed with status %d",
                          message_quote(quoted, path), status);
    }
    if (out >= 0 && close(out) != 0 && good) {
        message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, path), strerror(errno));
        good = false;
    }
    fclose(script);
    return good;
}
