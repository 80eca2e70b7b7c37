/*
 * The commands: what is done with the files of the options. Each is called by the main thread
 * alone, and prints its results and its errors, which raise the exit status; other files are still
 * taken.
 */
#ifndef GPUREDUCE_COMMANDS_H
#define GPUREDUCE_COMMANDS_H

#include "cli/options.h"

/* Reduces one file after the other, and prints the results, and those of all as one with
   --total. */
void reduce_files(struct options *options);

/* Prints what the slices of each file come to as lines on standard output, or writes a .npy
   file. */
void axis_files(struct options *options);

/* Compares two files, sets whether they differ, and prints what does. */
void diff_files(struct options *options);

/* Prints what the partial results in the files come to, or none if something is wrong with them. */
void merge_files(struct options *options);

/* Prints a line for each array of the files, from headers alone. */
void list_files(struct options *options);

/* Reduces the files of the record that --check names, one after the other, as sha256sum -c does,
   and prints whether each comes to what is recorded. */
void check_files(struct options *options);

/* Does so with a record of the digests of arrays (manifest.c): reduces the files of the options, or those of
   the record if there are none, and prints what became of each array of the record, and which ones are
   new. Raises the exit status if one has changed or is missing. */
struct record;
void manifest_check(struct options *options, const struct record *record);

#endif
