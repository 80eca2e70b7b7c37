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

/* Rows that are kept until all of them are there. */
struct rows {
    struct kept_row *kept;
    size_t count, room;
    bool failed; /* there was no memory for one of them, which is not there */
};

/* Keeps a copy of a row, of its names and of its reduction, but for a histogram; and with it `size`
   bytes of the caller's, if that is not 0. */
void rows_keep(struct rows *rows, const struct row *row, const void *own, size_t size);

/* Keeps a row of an array whose line has been written: that, and what the row is to be sorted by,
   in place of its reduction. */
void rows_keep_line(struct rows *rows, const struct rows_request *request, const struct row *row,
                    const char *line, size_t length);

/* Puts them in the order that is asked for. */
void rows_sort(struct rows *rows, const struct rows_request *request);

/* Row number i, and what was kept with it. */
const struct row *rows_get(const struct rows *rows, size_t i);
const void *rows_get_own(const struct rows *rows, size_t i);

/* The line that was kept of row number i, of *length bytes; NULL where none was. */
const char *rows_get_line(const struct rows *rows, size_t i, size_t *length);

/* Frees all of them; an error where there was no memory for one. */
void rows_free(struct rows *rows);

#endif
