/*
 * Files that a program writes beside standard output. Functions that fail have printed why, unless
 * they say otherwise.
 *
 * A regular file is written under another name and takes the place of the old one when it is
 * complete: nobody sees a part of it, and the last of several writers has it whole. A process that
 * ends earlier leaves the old file, and nothing else. Symbolic links are followed. Pipes, devices
 * and descriptors (/dev/stdout, /dev/fd/3) are written in place. One file is open at a time.
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

/* Whether both names are those of one regular file, by whatever links.
   `input` of "-" is standard input. Prints nothing. */
bool output_is_input(const char *path, const char *input);

/* Whether there is a file of this name in a store, which is a directory, or in one below it. No part of a
   store has the name of a result, which may have been written there before. Prints nothing. */
bool output_is_part(const char *path, const char *folder);

/* A file that is written. */
struct output_file {
    FILE *stream;
    const char *path; /* the caller's */
    char *target;     /* the file that is replaced; NULL where it is written in place */
};

/* Opens the file of this name for writing. `path` must outlive it. */
bool output_open(struct output_file *out, const char *path);

/* Writes to the file; a lot of bytes at once are not copied before. False on failure, which it
   leaves to the caller to print: errno says what it was. */
bool output_put(FILE *out, const void *bytes, size_t size);

/* Whether the file has places, for output_place: it is no pipe, and no terminal. Earlier output has
   then been written. */
bool output_has_places(FILE *out);

/* Writes to the file at an offset, as output_put otherwise. Any thread may call it at any time. */
bool output_place(FILE *out, const void *bytes, size_t size, uint64_t offset);

/* Closes the file; the old one stays unless the new one is to be kept. False if it is not, or if
   anything that was written could not be stored; prints why in the latter case only. */
bool output_close(struct output_file *out, bool keep);

#endif
