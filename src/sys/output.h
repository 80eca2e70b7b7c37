/*
 * Files that a program writes beside standard output. The caller owns the
 * streams. Functions that fail have printed why, unless they say otherwise.
 */
#ifndef GPUREDUCE_OUTPUT_H
#define GPUREDUCE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Prints errno as the error of the file of this name. */
void output_error(const char *path);

/* Whether a file of this name can be written; ask before making its contents takes minutes. Changes
   nothing: an old file stays as it is, and no new file is left behind. */
bool output_possible(const char *path);

/* Whether both names are those of one regular file, which opening it for writing would empty.
   `input` of "-" is standard input. Prints nothing. */
bool output_is_input(const char *path, const char *input);

/* Writes all of it to the descriptor. False on failure, which it leaves to the caller to print:
   errno says what it was. */
bool output_write(int fd, const void *bytes, size_t size);

/* Opens the file of this name for writing, and truncates it. NULL on failure. */
FILE *output_open(const char *path);

/* Closes the file. False if anything that was written could not be stored. */
bool output_close(FILE *out, const char *path);

#endif
