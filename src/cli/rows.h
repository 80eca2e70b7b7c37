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

#include "core/difference.h"
#include "core/operation.h"
#include "sys/buffer.h"

/* The values of a row that can be asked for. */
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

/* Takes the output of a row, in one form, out of `out`, where it begins at byte `begin`, and keeps it. */
void rows_take(struct rows *rows, const struct rows_request *request, const struct row *row,
               struct buffer *out, size_t begin);

/* Sorts the rows. */
void rows_sort(struct rows *rows);

/* Adds what was taken to `out`, sorted, and frees the rows. */
void rows_put(struct rows *rows, struct buffer *out);

/* Frees the rows. Prints an error if one of them failed. */
void rows_free(struct rows *rows);

#endif
