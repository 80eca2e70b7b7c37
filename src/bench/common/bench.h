/*
 * gpureduce-bench: what is common to its commands.
 *
 * Each command is a row of the table in main.c and a file of its own. It parses its own options,
 * prints its errors by message_error and its output on standard output, and is the only code that
 * runs; threads that it starts have ended when it returns. main prints errors of standard output at
 * the end.
 */
#ifndef GPUREDUCE_BENCH_BENCH_H
#define GPUREDUCE_BENCH_BENCH_H

/* The commands, as their names say. argv[0] is the command's name. Errors have been said, and have
   latched the exit status, when they return. */
void bench_ladder(int argc, char **argv);
void bench_limits(int argc, char **argv);
void bench_generate(int argc, char **argv);

#endif
