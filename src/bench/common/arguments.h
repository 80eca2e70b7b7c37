/*
 * The command lines of gpureduce-bench: a command describes its options in a table, from which they
 * are parsed and --help is printed. --help and --version are added to every table.
 *
 * Nothing here opens a file or starts a thread. A command line that is wrong ends in one message,
 * which raises the exit status to EXIT_USAGE.
 */
#ifndef GPUREDUCE_BENCH_ARGUMENTS_H
#define GPUREDUCE_BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option is, and what its target points to. */
enum argument_kind {
    ARGUMENT_SET,          /* no argument: bool, becomes true */
    ARGUMENT_CLEAR,        /* no argument: bool, becomes false */
    ARGUMENT_SIZE,         /* bytes, with suffixes: uint64_t */
    ARGUMENT_COUNT,        /* a plain number: uint64_t */
    ARGUMENT_DTYPE,        /* enum element_type; little-endian */
    ARGUMENT_DISTRIBUTION, /* enum distribution */
    ARGUMENT_TEXT,         /* any string: const char *, into argv */
    ARGUMENT_JSON          /* none, or a file's name: struct argument_json */
};

/* How a command prints what it found: as text, or as JSON instead; or as text, and as JSON into a
   file beside it. */
struct argument_json {
    bool print;
    const char *path; /* into argv; NULL for no file */
};

struct argument {
    const char *name; /* the long option, without dashes */
    char letter;      /* the short one, or 0 */
    enum argument_kind kind;
    void *target;         /* keeps its value where the option is not given */
    uint64_t least, most; /* of sizes and counts; most 0 for no bound */
    const char *value;    /* the argument's name in --help, or NULL */
    const char *help;     /* one line or several, without the last newline */
};

/* The most options of a table. */
#define ARGUMENTS_MAX 24

struct arguments {
    const char *program; /* as in usage and messages: "gpureduce-bench limits" */
    const char *usage;   /* what follows it: "[OPTION]... [FILE]" */
    const char *summary; /* a line or several, without the last newline */
    const struct argument *table;
    size_t count;
    int operands;                /* how many words that are no options there may be; -1: whatever
                                    follows the first of them is left alone */
    const char *details;         /* what --help prints behind the options, or NULL */
    void (*print_details)(void); /* likewise, to standard output, before `details`, or NULL */
};

enum arguments_action {
    ARGUMENTS_RUN,
    ARGUMENTS_DONE, /* --help or --version was printed */
    ARGUMENTS_WRONG /* and that has been said */
};

/* Parses argv, moving operands behind options. The operands are argv[*operand] and what follows, up
   to the NULL at the end. */
enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      int *operand);

/* Says that the command line is wrong. The format quotes `value`, made fit to print, by one %s.
   Returns false. */
bool arguments_wrong(const struct arguments *a, const char *format, const char *value);

#endif
