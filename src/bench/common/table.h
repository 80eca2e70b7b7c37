/*
 * The measurements of a command of gpureduce-bench: rows of named figures, which are printed as
 * text or JSON, or drawn as bars.
 *
 * A table belongs to one thread. It copies the text that it is given. Cells are set by column; a
 * cell that is not set is "-" in text and null in JSON. Without memory, a table prints an error,
 * and then nothing more. Functions that fail have printed why, unless their comment says otherwise.
 */
#ifndef GPUREDUCE_BENCH_TABLE_H
#define GPUREDUCE_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *key;     /* in JSON: gigabytes_per_second */
    const char *heading; /* in text: GB/s; NULL for a column that text does not show */
    enum { TABLE_TEXT, TABLE_NUMBER, TABLE_FLAG } kind;
    int decimals; /* of a number in text; JSON has all digits */
};

struct table;

/* Makes a table with this name (a word, for JSON). The columns must stay valid as long as it lives.
   NULL without memory; to the other functions, that is a table that prints nothing. */
struct table *table_new(const char *name, const struct table_column *columns, size_t column_count);
void table_free(struct table *t);

/* Adds a fact about the whole run: a line "label: value unit" at the top of the text, a member
   `key` of the JSON object. A number has so many decimals in text, and all digits in JSON; a count
   has all its digits in both. */
void table_fact_text(struct table *t, const char *key, const char *label, const char *value);
void table_fact_number(struct table *t, const char *key, const char *label, double value,
                       int decimals, const char *unit);
void table_fact_count(struct table *t, const char *key, const char *label, uint64_t value,
                      const char *unit);

/* Starts a row, and the functions below set its cells. `group` is the heading under which it stands
   in text, or NULL. */
void table_row(struct table *t, const char *group);
void table_text(struct table *t, size_t column, const char *value);
void table_number(struct table *t, size_t column, double value);
void table_flag(struct table *t, size_t column, bool value);

/* Prints the rows so far if the output is text, so that a long run shows them at once. False,
   without a message, when standard output failed; main reports that. */
bool table_flush(struct table *t);

/* Chooses whether the table prints JSON instead of text, and a file to which it writes JSON in any
   case, or NULL. Call it before the first row. `path` must stay valid as long as the table lives.
 */
void table_as_json(struct table *t, bool print, const char *path);

/* Prints what has not been printed yet, and writes the file. */
void table_finish(struct table *t);

/* Writes the table as one JSON object to `out`, whatever it prints otherwise. The caller looks for
   errors of the stream. */
void table_write_json(const struct table *t, FILE *out);

/* Describes a plot. */
struct table_plot {
    const char *title;      /* the title: the figures shown, and their subject; lines */
    size_t label, value;    /* columns: the name of a bar, and its length */
    size_t lowest, highest; /* columns: where its whisker begins and ends */
    const char *axis;       /* the unit of the values: GB/s */
    double limit;           /* where a dashed line is; 0 for none */
    const char *limit_name; /* the name of the line */
};

/* Draws the rows as bars under the headings of their groups, through gnuplot, into `path`, which
   ends in .svg or .png. Beside each bar stands its value, with the decimals that it has in the
   table. Rows without a value above 0 are left out; the axis is logarithmic, and says so, if the
   values are far apart. */
bool table_plot(const struct table *t, const char *path, const struct table_plot *what);

#endif
