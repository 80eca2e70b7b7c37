/*
 * gpureduce-bench: what is common to its commands.
 *
 * Each command is a row of the table in main.c and a file of its own. It parses its own options,
 * prints its errors by message_error, which latches the exit status, and its output on standard
 * output. It is the only code that runs; threads that it starts have ended when it returns. main
 * prints errors of standard output at the end.
 */
#ifndef GPUREDUCE_BENCH_BENCH_H
#define GPUREDUCE_BENCH_BENCH_H

#include "cli/arguments.h"

/* The commands, as their names say. argv[0] is the command's name. */
void bench_ladder(int argc, char **argv);
void bench_limits(int argc, char **argv);
void bench_generate(int argc, char **argv);

/* Their tables of options; the ladder's is in ladder/options.h. */
extern const struct arguments limits_arguments, generate_arguments;

#endif
