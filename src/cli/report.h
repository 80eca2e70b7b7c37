/*
 * Printing results: text, JSON and TSV on standard output, statistics on standard error. Called by
 * the main thread alone. Failures of standard output are left to stdio_close.
 */
#ifndef GPUREDUCE_REPORT_H
#define GPUREDUCE_REPORT_H

#include "cli/options.h"
#include "cli/rows.h"
#include "cli/writer.h"
#include "core/meaning.h"
#include "core/partial_text.h"
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
   Prints an error for what --fail-on asks for. Sets the error of a reduction whose arrays have no
   columns in the table so far. */
void report(struct report *r, const char *path, struct reduction *reduction);

/* Prints the results that were held back to be sorted: after those of all inputs, and before the
   total. */
void report_rows(struct report *r);

/* Prints the finished total; where there is none, an error says so. */
void report_total(struct report *r, const struct total *total);

void report_close(struct report *r);

/* Prints, after all results, an error for each --array that matched none. */
void report_end(const struct options *options);

/* Prints the errors of the arrays of the input `path`, if it is a container: those with the same
   words together, and the first of these only. */
void report_array_errors(const char *path, const struct reduction *input);

/* Sets *one, which must be all zeros before the first call, to the result number k of an input: its
   own, or that of an array of a container. False if there is none of that number. */
bool report_result(const struct reduction *input, size_t k, struct reduction *one);

/* Prints an error for each condition of --fail-on that the input meets. */
void report_fail_on(const struct options *options, const char *path,
                    const struct reduction *reduction);

/*
 * For other commands, and for the parts of a report in files of their own: histograms and plots.
 */

/* Writes the row of a result: its values, and what else the form tells. A path of NULL is the
   total, here and below, of which JSON tells what `total` says. Nothing on lines, if there is no
   result. */
void report_row(struct writer *w, const struct options *options, const char *path,
                const struct reduction *reduction, const struct total *total);

/* Writes the histogram, if there is one, below values on lines: as lines of text, or, on a
   terminal, as bars. Without a result, what stands for it. */
void report_histogram(struct writer *w, const struct options *options,
                      const struct reduction *reduction);

/* Writes its rows of TSV. */
void report_histogram_rows(struct writer *w, const struct options *options, const char *path,
                           const struct reduction *reduction);

/* Adds it to an object of JSON. */
void report_histogram_object(struct writer *w, const struct reduction *reduction);

/* Draws it into options->plot. A failure is printed. */
void report_plot(const struct options *options, const char *path,
                 const struct reduction *reduction);

/* Prints the line of a partial result, whose names are left to do: that of the total where `path`
   is NULL. A name that is too long is an error. */
void report_partial_text(const struct options *options, const char *path, const char *array,
                         struct partial_text *text);

/* Adds a shape to an object: null where no header tells it. */
void report_shape(struct writer *w, const struct array_shape *shape);

/* The line of statistics on standard error, and below it those of -v, which a total has not. */
void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction);

/* Whether an operation is a quantile that was not computed, since it was not required. */
bool report_left_out(const struct operation *op, const struct reduction *reduction);

/* The value of an operation, as a field. */
struct field report_value(unsigned in, const struct operation *op,
                          const struct reduction *reduction);

/* Whether the operation number i was asked for before: it stands once in an object, or in a line.
 */
bool report_repeated(const struct options *options, size_t i);

/* GB/s. 0 when there was no time. */
double report_rate(uint64_t bytes, double seconds);

#endif
