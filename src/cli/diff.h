/*
 * The mode that compares two inputs, --diff: opens and compares them, and prints what differs.
 */
#ifndef GPUREDUCE_CLI_DIFF_H
#define GPUREDUCE_CLI_DIFF_H

#include "cli/options.h"

/* Exit statuses, as those of cmp(1) and diff(1). */
enum diff_status { DIFF_STATUS_SAME = 0, DIFF_STATUS_DIFFERENT = 1, DIFF_STATUS_TROUBLE = 2 };

/* Compares the two operands, and sets whether they differ. Trouble is an error, which is printed. */
void diff_files(struct options *options);

/* The exit status, once everything has been printed. */
enum diff_status diff_exit_status(bool differs);

#endif
