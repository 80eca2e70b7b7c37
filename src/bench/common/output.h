/*
 * Files that a command of gpureduce-bench writes beside standard output. They belong to the
 * caller.
 */
#ifndef GPUREDUCE_BENCH_OUTPUT_H
#define GPUREDUCE_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Whether a file of this name can be written, to be asked before what is to stand in it takes
   minutes. False when it cannot be, which has been said. Changes nothing: an older file stays as it
   is, and a new one is not left there. */
bool output_possible(const char *path);

/* Opens the file of this name to be written anew. NULL when it cannot be, which has been said. */
FILE *output_open(const char *path);

/* Closes it. False when anything that was written has not arrived there, which has been said. */
bool output_close(FILE *out, const char *path);

#endif
