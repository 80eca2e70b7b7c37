/*
 * Printing results: text, JSON and TSV on standard output, statistics on standard error. Called by
 * the main thread alone. Failures of standard output are left to stdio_close.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include "cli/options.h"
#include "cli/rows.h"
#include "cli/writer.h"
#include "run/reduction.h"
#include "run/total.h"

/* Whether all that the options ask for can be written, as far as that can be told beforehand. If
   not, an error says why. */
bool report_possible(const struct options *options);

/* The results of all inputs, as they are printed. It must not be moved. */
struct report {
    const struct options *options;
    struct buffer out, cells; /* rows that are not printed yet; the cells of a table */
    struct writer files,
        arrays; /* rows of files that are one array, of merged arrays and of totals;
                                     and those of arrays in containers */
    struct line_writer by_worker; /* see session_options.h */
    struct rows held_back;        /* to be sorted */
    bool heading_due;             /* the heading of TSV is to be printed with the first row */
    bool below_heading;           /* a heading of arrays stands above the next row of text */
};

/* Opens a report. The options must outlive it, but for report_close. False, with an error, without
   memory. */
bool report_open(struct report *r, const struct options *options);

/* Has workers write the rows of the arrays of containers, where that can be: they are many, and it
   takes longer than to reduce small ones. The report must outlive the session. */
void report_by_workers(struct report *r, struct session_options *session);

/* Sees what stands before all results, which is the heading of TSV. It is printed with the first.
 */
void report_begin(struct report *r);

/* Prints the result of one input as the options ask, or, where there is none, what stands for it;
   with --sort its rows are held back. Rows that --where leaves out are not printed.
   Prints an error for what --fail-on asks for. */
void report(struct report *r, const char *path, const struct reduction *reduction);

/* Prints the results that were held back to be sorted: behind those of all inputs, and before the
   total. */
void report_rows(struct report *r);

/* Prints the finished total; where there is none, an error says so. */
void report_total(struct report *r, const struct total *total);

void report_close(struct report *r);

/* Prints, after all results, an error for each --array that matched none. */
void report_end(const struct options *options);

/* Prints an error for each condition of --fail-on that the input meets. */
void report_fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction);

#endif
