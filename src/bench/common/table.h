/*
 * What a command of gpureduce-bench has measured: rows of named figures, printed as text or JSON,
 * or drawn as bars.
 *
 * A table belongs to one thread. Text that it is given is copied. Cells are set by column; one that
 * is not set prints as "-" and is null in JSON. Memory that runs out ends in a message and a table
 * that prints nothing.
 */
#ifndef GPUREDUCE_BENCH_TABLE_H
#define GPUREDUCE_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *key;     /* in JSON: gigabytes_per_second */
    const char *heading; /* in text: GB/s; NULL for a column that text leaves out */
    enum { TABLE_TEXT, TABLE_NUMBER, TABLE_FLAG } kind;
    int decimals; /* of a number in text; JSON has what reads back */
};

struct table;

/* A table named `name` (a word, for JSON), whose columns stay valid as long as it lives. NULL
   without memory, which has been said; the other functions take that for a table that prints
   nothing. */
struct table *table_new(const char *name, const struct table_column *columns, size_t column_count);
void table_free(struct table *t);

/* Facts about the whole run: a heading of the text, members of the JSON object. `key` is for JSON;
   in text, "label: value unit". A number has so many decimals in text, and in JSON what reads back;
   a count has all its digits. */
void table_fact_text(struct table *t, const char *key, const char *label, const char *value);
void table_fact_number(struct table *t, const char *key, const char *label, double value,
                       int decimals, const char *unit);
void table_fact_count(struct table *t, const char *key, const char *label, uint64_t value,
                      const char *unit);

/* Starts a row; the cells set from here on are its. `group` names rows that stand under one heading
   in text, or NULL. */
void table_row(struct table *t, const char *group);
void table_text(struct table *t, size_t column, const char *value);
void table_number(struct table *t, size_t column, double value);
void table_flag(struct table *t, size_t column, bool value);

/* Prints the last row at once when the output is text, so that a long run shows what it has. False
   when standard output does not take it; why will be said at the end. */
bool table_flush(struct table *t);

/* Whether the table prints JSON instead of text, and a file to write as JSON in any case, or NULL.
   Before the first row. `path` stays valid as long as the table lives. */
void table_as_json(struct table *t, bool print, const char *path);

/* Prints what has not been printed yet, and writes the file. An error of that has been said. */
void table_finish(struct table *t);

/* Writes the table as one object of JSON to `out`, whatever is printed. Errors are left to the
   stream. */
void table_write_json(const struct table *t, FILE *out);

/* Draws the rows as bars of `value`, labelled by `label`, with a dashed line at `limit` named
   `limit_name` (none when it is 0), through gnuplot, into `path`, which ends in .svg or .png. Rows
   without a value above 0 are left out; the axis is logarithmic where the values lie far apart. The
   title is the first fact. False when there is no gnuplot, or it failed; that has been said. */
bool table_plot(const struct table *t, const char *path, size_t label, size_t value,
                const char *axis, double limit, const char *limit_name);

/* Whether `path` is one that table_plot can write to, and gnuplot is there to do it; says what is
   wrong when not. */
bool table_plot_possible(const char *path);

#endif
