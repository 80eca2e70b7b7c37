/*
 * Printing results: text, JSON and TSV on standard output, statistics on standard error. Called by
 * the main thread alone. Failures of standard output are left to stdio_close.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include "cli/options.h"
#include "run/reduction.h"
#include "run/total.h"

/* Whether all that the options ask for can be written, as far as that can be told beforehand. If
   not, an error says why. */
bool report_possible(const struct options *options);

/* Has workers write what `report` prints of the arrays of containers, where that can be: they are
   many, and it takes longer than to reduce small ones. The options must outlive the session. */
void report_by_workers(struct options *options);

/* Sees what stands before all results, which is the heading of TSV. It is printed with the first.
 */
void report_begin(const struct options *options);

/* Prints, after all results, an error for each --array that matched none. */
void report_end(const struct options *options);

/* Prints the result of one input as the options ask, or, where there is none, what stands for it;
   with --sort its rows are held back. Rows that --where leaves out are not printed.
   Prints an error for what --fail-on asks for. */
void report(const struct options *options, const char *path, const struct reduction *reduction);

/* Prints the results that were held back to be sorted: behind those of all inputs, and before the
   total. */
void report_rows(const struct options *options);

/* Prints the finished total; where there is none, an error says so. */
void report_total(const struct options *options, const struct total *total);

/* Prints an error for each condition of --fail-on that the input meets. */
void report_fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction);

#endif
