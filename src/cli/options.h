/*
 * The command line of gpureduce, as a struct.
 */
#ifndef GPUREDUCE_OPTIONS_H
#define GPUREDUCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/rows.h"
#include "core/axis_layout.h"
#include "core/difference.h"
#include "core/number.h"
#include "core/operation.h"
#include "core/rename.h"
#include "run/session.h"
#include "run/shard.h"
#include "source/sets.h"

/* Operations in one --op list; repeating one is allowed, to no end. */
#define OPTIONS_OPERATIONS_MAX 64

/* The most threads that may be asked for. */
#define OPTIONS_THREADS_MAX 4096

/* The form of results. */
enum options_output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_TSV, OUTPUT_PARTIAL };

/* Conditions besides errors that make the exit status 1; bits. */
enum options_fail_on { FAIL_ON_NAN = 1, FAIL_ON_INF = 2, FAIL_ON_EMPTY = 4, FAIL_ON_MISSING = 8 };

/* The command: what to do with the files. */
enum command {
    COMMAND_REDUCE,
    COMMAND_AXIS,  /* --axis: a result for each slice */
    COMMAND_DIFF,  /* --diff: compare two files */
    COMMAND_MERGE, /* --merge: the files hold partial results */
    COMMAND_LIST,  /* --list: only print what arrays there are */
    COMMAND_CHECK  /* --check: compare with a record */
};

struct options {
    enum command command;
    struct session_options session;
    const struct operation *operations[OPTIONS_OPERATIONS_MAX];
    struct operation_set named; /* quantiles that were named */
    size_t operation_count;     /* 0 with --check, or for a histogram alone */
    enum options_output output;
    enum number_form number;
    const char *plot;                    /* a file to draw the histogram into; NULL for none */
    bool total;                          /* prints a result of all files as one */
    struct pass_request total_quantiles; /* quantiles and histogram of the total */
    struct rows_request rows;            /* which rows are printed, and in which order */
    unsigned fail_on;                    /* options_fail_on bits */
    const char *check; /* the record that files are compared with, NULL for none: then the files and
                          the operations stand there, and `files` is empty */
    struct source_wanted wanted; /* arrays of containers */
    bool merged_arrays;          /* some partial results are of arrays of containers */
    bool allow_gaps;             /* even where elements are in no partial result */
    const char *label;           /* the name of a partial result; NULL: by its file */
    bool ranks;                  /* the work is shared out among processes of this program */
    struct shard shard;          /* reduce only this; of 0 shards: all */
    struct difference_tolerances tolerances; /* of --diff */
    struct rename rename;                    /* of --diff: how names are changed before */
    bool cast;                               /* --diff: is B what rounding A gives? */
    bool ignore_dtype;                       /* --diff: types alone are no difference */
    struct axis_request axis;                /* a result for each slice along it */
    const char *axis_output;                 /* a .npy for these; NULL: standard output */
    bool quiet;
    bool verbose;
    enum { PROGRESS_UNSAID, PROGRESS_SHOWN, PROGRESS_HIDDEN } asked; /* by the user */
    bool progress; /* show it, if the run takes long */

    char **files; /* "-" is standard input; at least one, unless there is `check` */
    int file_count;
    struct source_part *parts; /* of each file, on the heap; NULL: all of it */
    unsigned left_out;         /* operands that stand for files, and it is not known for which */
    bool expanded;             /* `files` are those of `set`: see operands.h */
    struct source_set set;

    /* Set by commands. */
    bool differs;      /* what --diff compares */
    bool threads_left; /* threads of this process are still at work: it should leave by _exit */
};

#endif
