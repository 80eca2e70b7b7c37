/*
 * --check: compares what files come to with a record, one file after the other, as sha256sum -c
 * does. Called by the main thread alone.
 */
#ifndef GPUREDUCE_CHECK_H
#define GPUREDUCE_CHECK_H

#include "cli/options.h"

/* Reduces the files of the record that --check names, and prints whether each comes to what is
   recorded. If something differs, raises the exit status. Errors are printed. */
void check_files(struct options *options);

#endif
