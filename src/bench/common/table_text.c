/*
 * Tables: filling them in, and printing them as text.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/table_impl.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/stdio.h"

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
