/*
 * The command line of gpureduce, as a struct. Nothing here opens a file or starts a thread.
 */
#ifndef GPUREDUCE_OPTIONS_H
#define GPUREDUCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/operation.h"
#include "run/session.h"

/* Operations in one --op list; repeating one is allowed, to no end. */
#define OPTIONS_OPERATIONS_MAX 64

/* The most threads that may be asked for. */
#define OPTIONS_THREADS_MAX 4096

struct options {
    struct session_options session;
    const struct operation *operations[OPTIONS_OPERATIONS_MAX];
    size_t operation_count;
    bool json;
    bool quiet;
    bool verbose;
    enum { PROGRESS_UNSAID, PROGRESS_SHOWN, PROGRESS_HIDDEN } asked; /* by the user */
    bool progress; /* show it, if the run takes long */

    char **files; /* "-" is standard input; at least one */
    int file_count;
};

enum options_action {
    OPTIONS_RUN,  /* reduce the files */
    OPTIONS_DONE, /* --help or the like was printed */
    OPTIONS_WRONG /* the command line is wrong; a message says how */
};

/* Parses argv, reordering it so that `files` can point into it. */
enum options_action options_parse(int argc, char **argv, struct options *options);

#endif
