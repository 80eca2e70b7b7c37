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
#include "sys/buffer.h"

/* A value of a row. Rows without one come last. */
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
    enum element_type type; /* of a number: it is shown as one of this type */
};

/* The value that a field shows: none of one that is absent, and of others that are no number NaN. */
struct row_value row_value_of(const struct field *field);

/* A row. It does not own its texts. */
struct row {
    const char *path;         /* the file */
    const char *name;         /* the array; NULL if the file is one array */
    const char *dtype;        /* NULL if there is none */
    uint64_t elements, bytes; /* UINT64_MAX if unknown */
    bool failed;              /* the row is of an error */
    /* Finds the value of a key that is a result. NULL: there are no results, as in --list. */
    struct row_value (*find)(const void *results, const struct row_key *key);
    const void *results; /* the first argument of `find` */
};

/* Sets `all` to the operations that the conditions and the order need, some perhaps twice. Returns
   their number. */
#define ROWS_OPERATIONS_MAX (ROWS_CONDITIONS_MAX + 1)
unsigned rows_operations(const struct rows_request *request,
                         const struct operation *all[ROWS_OPERATIONS_MAX]);

/* Whether a row fulfils all conditions, or is of an error. */
bool rows_hold(const struct rows_request *request, const struct row *row);

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

#endif
