/*
 * Files that a program writes beside standard output. The caller owns the
 * streams. Functions that fail have printed why, unless they say otherwise.
 */
#ifndef GPUREDUCE_OUTPUT_H
#define GPUREDUCE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
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

/* Writes to the file; a lot of bytes at once are not copied before. False on failure, which it
   leaves to the caller to print: errno says what it was. */
bool output_put(FILE *out, const void *bytes, size_t size);

/* Whether the file has places, for output_place: it is no pipe, and no terminal. What has been put
   into it is written then. */
bool output_has_places(FILE *out);

/* The same as output_put, at an offset in the file. Any thread may call it at any time. */
bool output_place(FILE *out, const void *bytes, size_t size, uint64_t offset);

/* Makes a regular file end after so many bytes, if it has more. */
void output_cut(FILE *out, uint64_t size);

/* Closes the file. False if anything that was written could not be stored. */
bool output_close(FILE *out, const char *path);

#endif
