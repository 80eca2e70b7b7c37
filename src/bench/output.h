/*
 * Files that a command of gpureduce-bench writes beside standard output. They belong to the
 * caller.
 */
#ifndef GPUREDUCE_BENCH_OUTPUT_H
#define GPUREDUCE_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens the file of this name to be written anew. NULL when it cannot be, which has been said. */
FILE *output_open(const char *path);

/* Closes it. False when anything that was written has not arrived there, which has been said. */
bool output_close(FILE *out, const char *path);

#endif
