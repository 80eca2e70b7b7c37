/*
 * The command that reduces files, and prints the results of each.
 */
#ifndef GPUREDUCE_CLI_REDUCE_H
#define GPUREDUCE_CLI_REDUCE_H

#include "cli/options.h"

/* Reduces one file after the other, and prints the results, and those of all as one with --total.
   Errors are printed. */
void reduce_files(struct options *options);

#endif
