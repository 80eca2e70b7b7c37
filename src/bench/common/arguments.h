/*
 * Shared by the command lines of gpureduce-bench: options that mean the same in every command, as
 * rows of a table (cli/arguments.h), and how their arguments are read.
 *
 * A letter means one thing in all commands: -b bytes, -d distribution, -D device, -j threads of the
 * CPU, -n elements, -q quiet, -r repeat, -s seed, -t element type.
 */
#ifndef GPUREDUCE_BENCH_ARGUMENTS_H
#define GPUREDUCE_BENCH_ARGUMENTS_H

#include <stdbool.h>

#include "cli/arguments.h"

/* How a command prints what it found: as text, or as JSON instead; or as text, and as JSON into a
   file beside it. */
struct argument_json {
    bool print;
    const char *path; /* into argv; NULL for no file */
};

/* Read into an enum element_type, which is little-endian, and the same for floats of 16 bits and
   more; an enum distribution; a struct argument_json. */
argument_parser arguments_parse_dtype, arguments_parse_float, arguments_parse_distribution,
    arguments_parse_json;

/* The words that the first three know. */
const char *arguments_dtype_word(size_t i);
const char *arguments_float_word(size_t i);
const char *arguments_distribution_word(size_t i);

/* Rows, up to `help`; `offset` is where in the command's struct the value goes. */
#define ARGUMENTS_DTYPE(offset)                                                      \
    .name = "dtype", .letter = 't', .value = "TYPE", .parse = arguments_parse_dtype, \
    .target = offset, .word = arguments_dtype_word
#define ARGUMENTS_FLOAT(offset)                                                      \
    .name = "dtype", .letter = 't', .value = "TYPE", .parse = arguments_parse_float, \
    .target = offset, .word = arguments_float_word
#define ARGUMENTS_DISTRIBUTION(offset)                                                     \
    .name = "dist", .letter = 'd', .value = "NAME", .parse = arguments_parse_distribution, \
    .target = offset, .what = "distribution", .word = arguments_distribution_word
#define ARGUMENTS_JSON(offset)                                                        \
    .name = "json", .value = "FILE", .optional = true, .parse = arguments_parse_json, \
    .target = offset, .completion = COMPLETE_FILE
#define ARGUMENTS_PLOT(offset)                                                \
    .name = "plot", .value = "FILE", .kind = ARGUMENT_TEXT, .target = offset, \
    .completion = COMPLETE_FILE
#define ARGUMENTS_SEED(offset) \
    .name = "seed", .letter = 's', .value = "N", .kind = ARGUMENT_COUNT, .target = offset
#define ARGUMENTS_REPEAT(offset, most_)                                                      \
    .name = "repeat", .letter = 'r', .value = "N", .kind = ARGUMENT_COUNT, .target = offset, \
    .least = 1, .most = most_
#define ARGUMENTS_BYTES(offset) \
    .name = "bytes", .letter = 'b', .value = "SIZE", .kind = ARGUMENT_SIZE, .target = offset
#define ARGUMENTS_THREADS(offset, most_)                                                      \
    .name = "threads", .letter = 'j', .value = "N", .kind = ARGUMENT_COUNT, .target = offset, \
    .least = 1, .most = most_
#define ARGUMENTS_PROGRESS(offset) .name = "progress", .kind = ARGUMENT_SET, .target = offset
#define ARGUMENTS_NO_PROGRESS(offset) \
    .name = "no-progress", .kind = ARGUMENT_CLEAR, .target = offset

/* The text of --help about SIZE. */
#define ARGUMENTS_SIZE_DETAILS                                                           \
    "SIZE is in bytes, or has a suffix: kB, MB, GB, TB (powers of 1000), or KiB, MiB,\n" \
    "GiB, TiB, K, M, G, T (powers of 1024)."

#endif
