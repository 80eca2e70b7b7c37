/*
 * Rows: what is printed of an array, of a file that is one, or, by --list, of either. Which of them
 * are printed (--where), and in which order (--sort). Nothing here prints; one thread at a time.
 *
 * Values are compared as they are, not as binary64: an integer of up to 128 bits with another one,
 * or with a number of any kind.
 */
#ifndef GPUREDUCE_CLI_ROWS_H
#define GPUREDUCE_CLI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/rows_request.h"
#include "core/operation.h"
#include "run/reduction.h"
#include "sys/buffer.h"

/* A row. Names are not its own. */
struct row {
    const char *path, *name; /* the file, and the array; NULL where the file is one */
    const char *dtype;
    uint64_t elements, bytes;          /* SOURCE_UNKNOWN where that is so */
    const struct reduction *reduction; /* NULL: of a list, which has no results */
};

/* The row of a reduction. */
struct row row_of(const char *path, const struct reduction *reduction);

/* The operations that conditions and the order are about; `all` has room for ROWS_OPERATIONS_MAX.
   Returns how many they are; some may be the same. */
#define ROWS_OPERATIONS_MAX (ROWS_CONDITIONS_MAX + 1)
unsigned rows_operations(const struct rows_request *request,
                         const struct operation *all[ROWS_OPERATIONS_MAX]);

/* Whether a row is to be printed. One without a result, for an error, always is. */
bool rows_hold(const struct rows_request *request, const struct row *row);

/* A value by which rows are compared. Rows without one come last. */
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

/* A row that is kept, as it has been written. */
struct kept_row {
    char *text;             /* in one form, and then in another, after the first `first` bytes */
    size_t first, length;   /* bytes, of both forms together */
    bool named, typed;      /* the row has the name of an array, and a type */
    size_t number;          /* in the order of the input */
    struct row_value value; /* what it is sorted by */
    bool descending;
};

/* Rows that are kept until all of them are there. */
struct rows {
    struct kept_row *kept;
    size_t count, room;
    bool failed; /* there was no memory for one of them, which is not there */
};

/* Keeps a row as it has been written, in one or two forms, of which the first has `first` bytes. */
void rows_keep(struct rows *rows, const struct rows_request *request, const struct row *row,
               const struct buffer *text, size_t first);

/* Puts them in the order that is asked for. */
void rows_sort(struct rows *rows);

/* Row number i. */
const struct kept_row *rows_get(const struct rows *rows, size_t i);

/* Frees all of them; an error where there was no memory for one. */
void rows_free(struct rows *rows);

/* The type that the value of an operation is a number of. */
enum element_type row_number_type(const struct operation *op, const struct reduction *reduction);

/* The name of a reduction's type: as the container spells it where it cannot be read. */
const char *row_type_name(const struct reduction *reduction);

/* Whether the result has no value of an operation: a quantile that could not be had, and was not
   asked for by its name. */
bool row_left_out(const struct operation *op, const struct reduction *reduction);

#endif
