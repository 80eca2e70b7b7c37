#include "config.h"

#include "bench/common/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/stdio.h"
#include "core/number.h"
#include "sys/escape.h"

/* The value of a cell or a fact. */
struct value {
    enum { VALUE_NONE, VALUE_TEXT, VALUE_NUMBER, VALUE_COUNT, VALUE_FLAG } kind;
    union {
        char *text;
        double number;
        uint64_t count;
        bool flag;
    };
};

struct row {
    char *group;
    struct value *cells;
};

struct fact {
    char *key, *label, *unit;
    struct value value;
    int decimals;
};

struct table {
    char *name;
    const struct table_column *columns;
    size_t column_count;
    struct fact *facts;
    size_t fact_count, facts_printed;
    struct row *rows;
    size_t row_count, rows_printed;
    int *widths;           /* of the columns; set when the first row is printed */
    bool json;             /* printed instead of text */
    const char *json_path; /* of a file to write the JSON to, or NULL */
    bool failed;           /* out of memory */
};

/* The least widths of columns when rows are printed one by one: later cells may be wider than those
   that are known. */
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

    if (t && text && !copied)
        fail(t);
    return copied;
}

static void free_value(struct value *value)
{
    if (value->kind == VALUE_TEXT)
        free(value->text);
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
        free_value(&t->facts[i].value);
        free(t->facts[i].unit);
    }
    for (size_t i = 0; i < t->row_count; i++) {
        for (size_t j = 0; j < t->column_count; j++)
            free_value(&t->rows[i].cells[j]);
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

/* Adds a fact, whose value is the table's from now on. */
static void add_fact(struct table *t, const char *key, const char *label, const char *unit,
                     int decimals, struct value value)
{
    struct fact *facts =
        t && !t->failed ? realloc(t->facts, (t->fact_count + 1) * sizeof *facts) : NULL;

    if (!facts) {
        free_value(&value);
        if (t)
            fail(t);
        return;
    }
    t->facts = facts;
    t->facts[t->fact_count++] = (struct fact){.key = copy(t, key),
                                              .label = copy(t, label),
                                              .unit = copy(t, unit),
                                              .value = value,
                                              .decimals = decimals};
}

void table_fact_text(struct table *t, const char *key, const char *label, const char *value)
{
    add_fact(t, key, label, "", 0, (struct value){VALUE_TEXT, .text = copy(t, value)});
}

void table_fact_number(struct table *t, const char *key, const char *label, double value,
                       int decimals, const char *unit)
{
    add_fact(t, key, label, unit, decimals, (struct value){VALUE_NUMBER, .number = value});
}

void table_fact_count(struct table *t, const char *key, const char *label, uint64_t value,
                      const char *unit)
{
    add_fact(t, key, label, unit, 0, (struct value){VALUE_COUNT, .count = value});
}

void table_row(struct table *t, const char *group)
{
    struct row *rows;
    struct value *cells;

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

/* Sets a cell of the current row to a value, which is the table's from now on. */
static void set_cell(struct table *t, size_t column, struct value value)
{
    if (t && !t->failed && t->row_count > 0) {
        struct value *cell = &t->rows[t->row_count - 1].cells[column];

        free_value(cell);
        *cell = value;
    } else {
        free_value(&value);
    }
}

void table_text(struct table *t, size_t column, const char *value)
{
    set_cell(t, column, (struct value){value ? VALUE_TEXT : VALUE_NONE, .text = copy(t, value)});
}

void table_number(struct table *t, size_t column, double value)
{
    set_cell(t, column, (struct value){VALUE_NUMBER, .number = value});
}

void table_flag(struct table *t, size_t column, bool value)
{
    set_cell(t, column, (struct value){VALUE_FLAG, .flag = value});
}

/*
 * JSON.
 */

static void write_text(FILE *out, const char *text)
{
    char escaped[ESCAPE_MAX];

    putc('"', out);
    while (*text) {
        const size_t length = escape_next(escaped, &text, ESCAPE_JSON);

        fwrite(escaped, 1, length, out);
    }
    putc('"', out);
}

/* Writes a member, and `separator` before it. */
static void write_member(const char *separator, const char *key, const struct value *value,
                         FILE *out)
{
    char text[NUMBER_MAX];

    fprintf(out, "%s\"%s\": ", separator, key);
    switch (value->kind) {
    case VALUE_TEXT:
        write_text(out, value->text);
        return;
    case VALUE_COUNT:
        fprintf(out, "%" PRIu64, value->count);
        return;
    case VALUE_FLAG:
        fputs(value->flag ? "true" : "false", out);
        return;
    case VALUE_NUMBER:
        if (!isfinite(value->number))
            break;
        number_format(text, value->number, ELEMENT_F64);
        fputs(text, out);
        return;
    case VALUE_NONE:
        break;
    }
    fputs("null", out);
}

static void write_row(const struct table *t, const struct row *row, FILE *out)
{
    const struct value group = {.kind = VALUE_TEXT, .text = row->group};
    const char *separator = "";

    putc('{', out);
    if (row->group) {
        write_member("", "group", &group, out);
        separator = ", ";
    }
    for (size_t j = 0; j < t->column_count; j++) {
        write_member(separator, t->columns[j].key, &row->cells[j], out);
        separator = ", ";
    }
    putc('}', out);
}

void table_write_json(const struct table *t, FILE *out)
{
    if (!t || t->failed)
        return;
    fprintf(out, "{\"table\": \"%s\"", t->name);
    for (size_t i = 0; i < t->fact_count; i++)
        write_member(", ", t->facts[i].key, &t->facts[i].value, out);
    fputs(", \"rows\": [", out);
    for (size_t i = 0; i < t->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(t, &t->rows[i], out);
    }
    fputs("\n]}\n", out);
}

/*
 * Text.
 */

/* The size of an array for a number as text: a binary64 has up to 309 digits. */
#define VALUE_MAX 340

/* The text of a value. Numbers are written to `buffer`, with so many decimals. */
static const char *value_text(const struct value *value, int decimals, char buffer[VALUE_MAX])
{
    switch (value->kind) {
    case VALUE_NONE:
        break;
    case VALUE_TEXT:
        return value->text;
    case VALUE_NUMBER:
        snprintf(buffer, VALUE_MAX, "%.*f", decimals, value->number);
        return buffer;
    case VALUE_COUNT:
        snprintf(buffer, VALUE_MAX, "%" PRIu64, value->count);
        return buffer;
    case VALUE_FLAG:
        return value->flag ? "yes" : "no";
    }
    return "-";
}

/* The text of a cell. */
static const char *cell_text(const struct table *t, const struct row *row, size_t column,
                             char buffer[VALUE_MAX])
{
    return value_text(&row->cells[column], t->columns[column].decimals, buffer);
}

/* Whether text shows a column. Those without a heading are for JSON and plots. */
static bool is_shown(const struct table *t, size_t column)
{
    return t->columns[column].heading != NULL;
}

/* Sets the widths by the cells that are there. `more`: wider ones may come. */
static void settle_widths(struct table *t, bool more)
{
    char buffer[VALUE_MAX];

    for (size_t j = 0; j < t->column_count; j++) {
        int width = is_shown(t, j) ? (int)strlen(t->columns[j].heading) : 0;
        int least = t->columns[j].kind == TABLE_TEXT     ? TEXT_WIDTH
                    : t->columns[j].kind == TABLE_NUMBER ? NUMBER_WIDTH
                                                         : 0;

        for (size_t i = 0; i < t->row_count; i++) {
            int length = (int)strlen(cell_text(t, &t->rows[i], j, buffer));
            width = length > width ? length : width;
        }
        t->widths[j] = more && least > width ? least : width;
    }
}

/* Prints a line of cells or, if `row` is NULL, of headings. No spaces are at its end. */
static void print_line(const struct table *t, const struct row *row, bool indent)
{
    char buffer[VALUE_MAX];
    int due = indent ? 2 : 0; /* spaces to print before the next cell */

    for (size_t j = 0; j < t->column_count; j++) {
        const char *text;
        int space;

        if (!is_shown(t, j))
            continue;
        text = row ? cell_text(t, row, j, buffer) : t->columns[j].heading;
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

/* Prints the facts that have not been printed. */
static void print_facts(struct table *t)
{
    char buffer[VALUE_MAX];

    for (; t->facts_printed < t->fact_count; t->facts_printed++) {
        const struct fact *f = &t->facts[t->facts_printed];

        printf("%s: %s%s%s\n", f->label, value_text(&f->value, f->decimals, buffer),
               *f->unit ? " " : "", f->unit);
    }
}

/* Prints the rows that have not been printed. `more`: others may follow. */
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
        struct output_file out;

        if (output_open(&out, t->json_path)) {
            table_write_json(t, out.stream);
            (void)output_close(&out, true);
        }
    }
}

/*
 * Plots.
 */

/* The axis is logarithmic if the longest bar is so many times as long as the shortest. */
#define FAR_APART 30

/* A logarithmic axis is labelled at 1, 2 and 5 of each power of ten up to this ratio of its ends,
   and beyond it at the powers of ten alone. */
#define DECADES_LABELLED 3e5

/* The share of the axis behind the longest bar, for its value, and that of a character of it. */
#define VALUE_SHARE 0.12
#define CHARACTER_SHARE 0.013

/* A plot. From top to bottom there are slots of the same height: one for the heading of each group,
   and one for each bar. */
struct plot {
    const struct table *t;
    const struct table_plot *what;

    /* Set by measure_bars. */
    size_t bars, slots;
    double most; /* the highest whisker, or the limit */
    double low;  /* where a logarithmic axis begins; 0 for a linear one */
};

/* The number of a cell; 0 if there is none. */
static double number(const struct row *row, size_t column)
{
    const struct value *cell = &row->cells[column];

    return cell->kind == VALUE_NUMBER ? cell->number : 0;
}

/* Whether a row has a bar. */
static bool has_bar(const struct plot *p, const struct row *row)
{
    return number(row, p->what->value) > 0;
}

/* The end of a whisker; the end of the bar if the row has none. */
static double whisker(const struct plot *p, const struct row *row, size_t column)
{
    return number(row, number(row, column) > 0 ? column : p->what->value);
}

/* Whether a row with a bar stands under another heading than the bar before it, which is NULL for
   the first. The first bar has a slot above it in any case. */
static bool begins_group(const struct row *row, const struct row *before)
{
    return !before || (row->group && (!before->group || strcmp(before->group, row->group) != 0));
}

/* Counts the bars and the slots, and chooses the axis. */
static void measure_bars(struct plot *p)
{
    const double limit = p->what->limit;
    const struct row *before = NULL;
    double least = limit > 0 ? limit : INFINITY;

    p->most = limit;
    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];

        if (!has_bar(p, row))
            continue;
        p->most = fmax(p->most, whisker(p, row, p->what->highest));
        least = fmin(least, whisker(p, row, p->what->lowest));
        p->slots += 1 + begins_group(row, before);
        p->bars++;
        before = row;
    }
    /* A logarithmic axis begins at a power of ten below all bars, so that each can be seen. */
    p->low = p->most / least < FAR_APART ? 0 : pow(10, floor(log10(least * 0.999)));
}

static void write_terminal(const struct plot *p, FILE *out, const char *format)
{
    const bool svg = strcmp(format, "svg") == 0;

    gnuplot_write_terminal(out, format, svg ? 900 : 1200,
                           svg ? 150 + 22 * p->slots : 160 + 26 * p->slots);
}

/* The end of the axis: there is room for a value after the longest bar. */
static double axis_end(const struct plot *p)
{
    return p->low > 0 ? p->most * pow(p->most / p->low, VALUE_SHARE) : p->most * (1 + VALUE_SHARE);
}

/* How far along the axis x is: from 0 to 1. */
static double along_axis(const struct plot *p, double x)
{
    return p->low > 0 ? log(x / p->low) / log(axis_end(p) / p->low) : x / axis_end(p);
}

/* The beginning of the text of a bar that ends at `end`: there or, if the dashed line would cross
   it, at that line. */
static double text_begin(const struct plot *p, double end, const char *text)
{
    const double limit = p->what->limit, width = CHARACTER_SHARE * (double)(strlen(text) + 2);

    return end < limit && along_axis(p, end) + width > along_axis(p, limit) ? limit : end;
}

/* Writes the bars as a data block: slot, value, lowest, highest, color, the value in words, the
   label, and where the words begin. All values have the decimals that they have in the table. */
static void write_bars(const struct plot *p, FILE *out)
{
    static const unsigned colors[] = {0x4878a8, 0x6a9a5b, 0x9a6fa0, 0xb08040};
    const struct table_plot *what = p->what;
    const struct row *before = NULL;
    size_t slot = 0, groups = 0;

    fputs("$rows << END_OF_ROWS\n", out);
    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];
        const double numbers[] = {number(row, what->value), whisker(p, row, what->lowest),
                                  whisker(p, row, what->highest)};
        char words[400];

        if (!has_bar(p, row))
            continue;
        if (begins_group(row, before)) {
            slot++;
            groups++;
        }
        before = row;
        fprintf(out, "%zu", slot++);
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            char text[NUMBER_MAX];

            number_format(text, numbers[j], ELEMENT_F64);
            fprintf(out, " %s", text);
        }
        snprintf(words, sizeof words, "%.*f", p->t->columns[what->value].decimals, numbers[0]);
        fprintf(out, " %u \"%s\" ", colors[(groups - 1) % (sizeof colors / sizeof *colors)], words);
        gnuplot_write_string(
            out, row->cells[what->label].kind == VALUE_TEXT ? row->cells[what->label].text : "");
        fprintf(out, " %g\n", text_begin(p, numbers[2], words));
    }
    fputs("END_OF_ROWS\n", out);
}

static void write_headings(const struct plot *p, FILE *out)
{
    const struct row *before = NULL;
    size_t slot = 0;

    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];

        if (!has_bar(p, row))
            continue;
        if (begins_group(row, before)) {
            fputs("set label ", out);
            gnuplot_write_string(out, row->group ? row->group : "");
            fprintf(out, " at graph 0.006, first %zu left front textcolor rgb '#202020'\n", slot++);
        }
        before = row;
        slot++;
    }
}

/* The labels of a logarithmic axis: 1, 2 and 5 of each power of ten, or 1 alone if there are many.
 */
static void write_log_tics(const struct plot *p, FILE *out)
{
    static const double steps[] = {1, 2, 5};
    const double end = axis_end(p);
    const size_t count = end / p->low > DECADES_LABELLED ? 1 : 3;
    const char *separator = "";
    double decade = p->low;

    fputs("set xtics (", out);
    while (decade <= end) {
        for (size_t i = 0; i < count && decade * steps[i] <= end; i++) {
            fprintf(out, "%s\"%g\" %g", separator, decade * steps[i], decade * steps[i]);
            separator = ", ";
        }
        decade *= 10;
    }
    fputs(")\n", out);
}

static void write_axes(const struct plot *p, FILE *out)
{
    fputs("set title ", out);
    gnuplot_write_string(out, p->what->title);
    fprintf(out, "\nset xlabel \"%s%s\"\n", p->what->axis, p->low > 0 ? ", logarithmic scale" : "");
    fprintf(out,
            "set key off\nset style fill solid noborder\nset grid xtics\nset border 3\n"
            "set xtics nomirror\nset ytics nomirror scale 0\nset bars 0.6\n"
            "set yrange [%zu - 0.4 : -0.6]\n",
            p->slots);
    fprintf(out, "set xrange [%g:%g]\n", p->low, axis_end(p));
    if (p->low > 0) {
        fputs("set logscale x\n", out);
        write_log_tics(p, out);
    }
}

/* Writes the dashed line at the limit, and its name in the topmost slot, which has no bar. */
static void write_limit(const struct plot *p, FILE *out)
{
    const double limit = p->what->limit;

    fprintf(out,
            "set arrow from %g, graph 0 to %g, graph 1 nohead back dashtype 2 linewidth 2 "
            "linecolor rgb '#c03020'\nset label ",
            limit, limit);
    gnuplot_write_string(out, p->what->limit_name);
    fprintf(out, " at %g, first 0 right offset -0.5,0 front textcolor rgb '#c03020'\n", limit);
}

/* Writes the script that draws the bars. False when there are none. */
static bool write_script(struct plot *p, FILE *out, const char *format)
{
    measure_bars(p);
    if (p->bars == 0)
        return false;
    write_terminal(p, out, format);
    write_bars(p, out);
    write_headings(p, out);
    write_axes(p, out);
    if (p->what->limit > 0)
        write_limit(p, out);
    fprintf(out,
            "plot $rows using 2:1:(%g):2:($1 - 0.38):($1 + 0.38):5:ytic(7) with boxxyerror "
            "linecolor rgb variable, \\\n"
            "     $rows using 2:1:3:4 with xerrorbars pointtype -1 linewidth 1.5 "
            "linecolor rgb '#202020', \\\n"
            "     $rows using 8:1:6 with labels left offset 0.7,0\n",
            p->low);
    return true;
}

bool table_plot(const struct table *t, const char *path, const struct table_plot *what)
{
    struct plot plot = {.t = t, .what = what};
    char quoted[ESCAPE_QUOTE_MAX];
    const char *format = gnuplot_format(path);
    FILE *script;
    bool good = false;

    if (!t || t->failed || !format)
        return false;
    script = tmpfile();
    if (!script)
        return message_error(EXIT_FAILED, "cannot make a temporary file: %s", strerror(errno));
    if (!write_script(&plot, script, format))
        message_error(EXIT_FAILED, "%s: there is nothing to plot", escape_quote(quoted, path));
    else if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        message_error(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
    else
        good = gnuplot_draw(script, path);
    fclose(script);
    return good;
}
