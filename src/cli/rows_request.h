/*
 * The requests of --where and --sort: see rows.h.
 */
#ifndef GPUREDUCE_CLI_ROWS_REQUEST_H
#define GPUREDUCE_CLI_ROWS_REQUEST_H

#include <stdbool.h>

#include "core/operation.h"

/* The values by which rows are compared. */
enum row_field { ROW_UNASKED, ROW_NAME, ROW_DTYPE, ROW_ELEMENTS, ROW_BYTES, ROW_OPERATION };

struct row_key {
    enum row_field field;
    const struct operation *op; /* of ROW_OPERATION */
};

enum row_relation { ROW_LESS, ROW_AT_MOST, ROW_EQUAL, ROW_UNEQUAL, ROW_AT_LEAST, ROW_GREATER };

struct row_condition {
    struct row_key key; /* of numbers */
    enum row_relation relation;
    const char *number; /* any but nan, as number_parse reads it */
};

/* The most conditions that may be given. */
#define ROWS_CONDITIONS_MAX 64

/* A request of --where or --sort. */
struct rows_request {
    struct row_condition conditions[ROWS_CONDITIONS_MAX]; /* all have to hold */
    unsigned count;
    struct row_key sort; /* ROW_UNASKED: rows stay in the order of the input */
    bool descending;
};

#endif
