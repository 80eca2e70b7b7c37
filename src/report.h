/*
 * Printing results: text and JSON on standard output, statistics on standard error.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include "options.h"
#include "reduction.h"

/* Prints the result of one input as the options ask. Errors of standard output are left to
   report_close. */
void report(const struct options *options, const char *path, const struct reduction *reduction);

/* Flushes and closes standard output. A failure is said, and raises the exit status. */
void report_close(void);

#endif
