/*
 * The requests of --where and --sort: see rows.h.
 */
#ifndef GPUREDUCE_CLI_ROWS_REQUEST_H
#define GPUREDUCE_CLI_ROWS_REQUEST_H

#include <stdbool.h>

#include "core/difference.h"
#include "core/operation.h"

/* A value of a row. */
enum row_field {
    ROW_UNASKED,
    ROW_NAME,
    ROW_DTYPE,
    ROW_ELEMENTS,
    ROW_BYTES,
    ROW_OPERATION,
    ROW_DIFFERENCE, /* a result of a comparison */
    ROW_BADNESS     /* how bad a difference is; the order of --diff for people */
};

/* A value of a row that a condition or an order names. */
struct row_key {
    enum row_field field;
    const struct operation *op;   /* of ROW_OPERATION */
    enum difference_value result; /* of ROW_DIFFERENCE */
};

/* The relations of conditions. */
enum row_relation { ROW_LESS, ROW_AT_MOST, ROW_EQUAL, ROW_UNEQUAL, ROW_AT_LEAST, ROW_GREATER };

/* A condition of --where. */
struct row_condition {
    struct row_key key; /* its values are numbers */
    enum row_relation relation;
    const char *number; /* the text of the number, which number_parse reads and which is not nan */
};

/* The most conditions that may be given. */
#define ROWS_CONDITIONS_MAX 64

/* A request of --where or --sort. */
struct rows_request {
    struct row_condition conditions[ROWS_CONDITIONS_MAX]; /* all must hold */
    unsigned count;                                       /* conditions */
    struct row_key sort; /* value to sort by; ROW_UNASKED: keep the order of the input */
    bool descending;     /* sort in descending order */
};

#endif
