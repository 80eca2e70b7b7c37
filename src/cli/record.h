/*
 * Records: results that were printed before, as JSON or TSV, to be compared with what files come to
 * now. Reads them; compares nothing and opens no file but the record.
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
    bool failed;   /* the file had no result */
    bool binary64; /* numbers are those of binary64; otherwise of the operation's type */
    char (*value)[NUMBER_MAX]; /* of each of OPERATIONS_MAX operations; empty where none is recorded
                                */

    /* How the file was read: what the line says, and the session's options for what it does not. */
    struct source_options input;
    enum nan_policy nan;
    uint64_t ddof;
};

struct record {
    struct record_line *lines;
    size_t count;
};

/* Reads the record called `path` ("-" is standard input). False on failure: the record cannot be
   read, or a line of it is not what this program prints. A record without a file is an error, too. Its
   quantiles are added to `named`. */
bool record_read(struct record *record, const char *path, const struct session_options *session,
                 struct operation_set *named);

/* Frees what record_read made, also after it failed. */
void record_free(struct record *record);

#endif
