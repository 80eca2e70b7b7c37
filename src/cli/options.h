/*
 * The command line, as a struct. Nothing here opens a file or starts a thread.
 */
#ifndef GPUREDUCE_OPTIONS_H
#define GPUREDUCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/operation.h"
#include "engine/engine.h"
#include "source/source.h"

enum nan_policy { NAN_PROPAGATE, NAN_SKIP, NAN_ERROR };

enum device_choice { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };

/* Operations in one --op list; repeating one is allowed, to no end. */
#define OPTIONS_OPERATIONS_MAX 64

/* The most threads that may be asked for. */
#define OPTIONS_THREADS_MAX 4096

struct options {
    struct source_options input;
    const struct operation *operations[OPTIONS_OPERATIONS_MAX];
    size_t operation_count;
    enum nan_policy nan;

    enum device_choice device;
    int devices[ENGINE_DEVICES_MAX]; /* GPUs by number */
    unsigned device_count;
    unsigned threads;  /* 0: as many as serve well */
    size_t chunk_size; /* bytes; 0: the engine's choice */

    bool json;
    bool quiet;
    bool verbose;
    bool progress; /* show it, if the run takes long */

    char **files; /* "-" is standard input; at least one */
    int file_count;
};

enum options_action {
    OPTIONS_RUN,  /* reduce the files */
    OPTIONS_DONE, /* --help or --version was printed */
    OPTIONS_WRONG /* the command line is wrong, and that has been said */
};

/* Parses argv, reordering it so that `files` can point into it. */
enum options_action options_parse(int argc, char **argv, struct options *options);

/* partial_want bits of all operations asked for. */
unsigned options_wants(const struct options *options);

#endif
