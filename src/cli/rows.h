/*
 * Rows: the output for an array, or for a file that is one array. --where selects rows, and --sort
 * orders them. One thread at a time. Nothing here prints.
 *
 * Values are compared exactly: integers of up to 128 bits with integers and with other numbers.
 */
#ifndef GPUREDUCE_CLI_ROWS_H
#define GPUREDUCE_CLI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/rows_request.h"
#include "core/operation.h"
#include "run/diff_item.h"
#include "run/reduction.h"
#include "sys/buffer.h"

/* A row. It does not own its texts. */
struct row {
    const char *path;                  /* the file */
    const char *name;                  /* the array; NULL if the file is one array */
    const char *dtype;                 /* NULL if there is none */
    uint64_t elements, bytes;          /* SOURCE_UNKNOWN if unknown */
    const struct reduction *reduction; /* NULL: the row is of --list, which has no results */
    const struct diff_item *item;      /* a pair of --diff; NULL: the row is of no pair */
};

/* The row of a reduction. */
struct row row_of(const char *path, const struct reduction *reduction);

/* Sets `all` to the operations that the conditions and the order need, some perhaps twice. Returns
   their number. */
#define ROWS_OPERATIONS_MAX (ROWS_CONDITIONS_MAX + 1)
unsigned rows_operations(const struct rows_request *request,
                         const struct operation *all[ROWS_OPERATIONS_MAX]);

/* Whether a row fulfils all conditions, or is of an error. */
bool rows_hold(const struct rows_request *request, const struct row *row);

/* A value by which rows are sorted. Rows without a value come last. */
struct row_value {
    enum row_value_kind {
        ROW_VALUE_TEXT,
        ROW_VALUE_INTEGER,
        ROW_VALUE_NUMBER,
        ROW_VALUE_NAN,
        ROW_VALUE_NONE
    } kind;
    const char *text;
    struct integer integer;
    double number;
};

/* The output of a row, kept to be sorted. */
struct kept_row {
    char *text;             /* one form, of `first` bytes, and then another */
    size_t first, length;   /* bytes of the first form, and of both */
    bool named, typed;      /* the row has the name of an array; it has a type */
    size_t number;          /* number in the order of the input */
    struct row_value value; /* value to sort by */
    bool descending;        /* the order is descending */
};

/* Rows that are kept until they can be sorted. */
struct rows {
    struct kept_row *kept;
    size_t count, room; /* rows, and rows that there is memory for */
    bool failed;        /* a row is missing because memory was lacking */
};

/* Keeps the output of a row, in one or two forms, of which the first has `first` bytes. Sets
   rows->failed without memory. */
void rows_keep(struct rows *rows, const struct rows_request *request, const struct row *row,
               const struct buffer *text, size_t first);

/* Sorts the rows. */
void rows_sort(struct rows *rows);

/* Row number i. */
const struct kept_row *rows_get(const struct rows *rows, size_t i);

/* Frees the rows. Prints an error if one of them failed. */
void rows_free(struct rows *rows);

/* The name of a reduction's type; of an array that cannot be read, its name in the container. */
const char *row_type_name(const struct reduction *reduction);

/* Whether an operation is a quantile that was not computed, since it was not required. */
bool row_left_out(const struct operation *op, const struct reduction *reduction);

#endif
