/*
 * --list: what arrays there are, from headers alone.
 */
#ifndef GPUREDUCE_LIST_H
#define GPUREDUCE_LIST_H

#include "cli/options.h"

/* Prints a line for each array of the files. A failure is printed; the other files are listed. */
void list_files(struct options *options);

#endif
