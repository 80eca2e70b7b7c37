/*
 * Printing results: text and JSON on standard output, statistics on standard error. Called by the
 * main thread alone. Failures of standard output are left to stdio_close.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include "cli/options.h"
#include "run/reduction.h"

/* Prints the result of one input as the options ask. */
void report(const struct options *options, const char *path, const struct reduction *reduction);

#endif
