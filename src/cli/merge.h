/*
 * Merging partial results that --partial printed.
 */
#ifndef GPUREDUCE_MERGE_H
#define GPUREDUCE_MERGE_H

#include "cli/options.h"

/* Reads the lines of the options' files, and prints what the partial results come to, as the
   options ask. Whatever is wrong with a line, or with what the lines are of, is an error, which is
   printed; then there are no results. */
void merge_files(struct options *options);

#endif
