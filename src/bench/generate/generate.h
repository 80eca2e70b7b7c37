/*
 * gpureduce-bench generate: the command.
 */
#ifndef GPUREDUCE_BENCH_GENERATE_H
#define GPUREDUCE_BENCH_GENERATE_H

#include "cli/arguments.h"

/* The options of generate. */
extern const struct arguments generate_arguments;

/* Runs the command; argv[0] is its name. Errors have been printed, and have set the exit status,
   when it returns; all threads that it started have ended. */
void bench_generate(int argc, char **argv);

#endif
