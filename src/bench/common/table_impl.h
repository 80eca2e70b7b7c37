/*
 * The content of a table, for the files that implement table.h: table.c (filling, and text),
 * table_json.c and table_plot.c.
 */
#ifndef GPUREDUCE_BENCH_TABLE_IMPL_H
#define GPUREDUCE_BENCH_TABLE_IMPL_H

#include "bench/common/table.h"

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

#endif
