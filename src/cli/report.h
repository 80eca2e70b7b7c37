/*
 * Printing results: text and JSON on standard output, statistics on standard error.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include <stdbool.h>

#include "cli/options.h"
#include "run/reduction.h"

/* Prints the result of one input as the options ask. Errors of standard output are left to
   report_close. */
void report(const struct options *options, const char *path, const struct reduction *reduction);

/* A program may be started with a standard descriptor closed; the next file it opens would then
   take its place. Such a descriptor is opened the wrong way round, so that using it still fails.
   And writing beyond a limit on the size of files becomes an error, as other failures of standard
   output are, in place of a signal. To be called before any file is opened. */
void report_open(void);

/* Flushes standard output; why it failed first is kept for report_close. False once it has. */
bool report_flush(void);

/* Flushes and closes standard output. A failure is said, and raises the exit status. */
void report_close(void);

#endif
