/*
 * Records: results of files that were printed before, as JSON or TSV, for --check. This reads them,
 * compares nothing, and opens no file but the record. Functions that fail have printed why.
 */
#ifndef GPUREDUCE_RECORD_H
#define GPUREDUCE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/number.h"
#include "core/operation.h"
#include "run/session_options.h"

/* A line of a record. */
struct record_line {
    char *file;    /* NULL: the total of the files since the last total */
    char *array;   /* the name of an array of the file; NULL: the file is one array */
    bool failed;   /* the file had no result */
    bool binary64; /* all numbers are binary64; if not, they have the type of the operation */
    char (*value)[NUMBER_MAX]; /* texts of OPERATIONS_MAX operations; empty: not recorded. Those
                                  of missing values follow */

    /* How the file was read, by the line; what it does not say is by the session's options. */
    struct source_options input;
    enum nan_policy nan;
    struct missing_values missing;
    uint64_t ddof;
};

struct record {
    struct record_line *lines;
    size_t count;
    bool arrays; /* it has a column for arrays, and one for their digests */
};

/* Reads the record `path` ("-" is standard input), and adds its quantiles to `named`. False if
   it cannot be read, has a line that this program does not print, or has no file. */
bool record_read(struct record *record, const char *path, const struct session_options *session,
                 struct operation_set *named);

/* Frees a record, also after record_read has failed. */
void record_free(struct record *record);

#endif
