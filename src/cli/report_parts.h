/*
 * The parts of report.h, a file each; and what they share, which is in report_parts.c.
 */
#ifndef GPUREDUCE_REPORT_PARTS_H
#define GPUREDUCE_REPORT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/writer.h"
#include "core/partial_text.h"
#include "profile/bottleneck.h"
#include "run/reduction.h"
#include "run/total.h"

/* Writes the row of a result: its values, and what else the form tells. A path of NULL is the total,
   here and below, of which JSON tells what `total` says. Nothing on lines, if there is no result. */
void report_row(struct writer *w, const struct options *options, const char *path,
                const struct reduction *reduction, const struct total *total);

/* Writes the histogram, if there is one, below values on lines: as lines of text, or, on a terminal,
   as bars. Without a result, what stands for it. */
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

/* A partial result, on a line of standard output. With --total there is none but the total's. */
void report_partial(const struct options *options, const char *path,
                    const struct reduction *reduction);
void report_partial_total(const struct options *options, const struct total *total);

/* Prints the line of a partial result, whose names are left to do: that of the total where `path`
   is NULL. A name that is too long is an error. */
void report_partial_text(const struct options *options, const char *path, const char *array,
                         struct partial_text *text);

/* Adds a shape to an object: null where no header tells it. */
void report_shape(struct writer *w, const struct source_shape *shape);

/* The line of statistics on standard error, and below it those of -v, which a total has not. */
void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction);

/*
 * Shared by the reports.
 */

/* The type that the value of an operation is a number of. */
enum element_type report_type(const struct operation *op, const struct reduction *reduction);

/* The value of an operation, as a field. */
struct field report_value(unsigned in, const struct operation *op,
                          const struct reduction *reduction);

/* Whether the result has no value of an operation: a quantile that could not be had, and was not
   asked for by its name. */
bool report_left_out(const struct operation *op, const struct reduction *reduction);

/* Whether the operation number i was asked for before: it stands once in an object, or in a line.
 */
bool report_repeated(const struct options *options, size_t i);

/* The recorded limit that a run's bottleneck is compared with, GB/s; 0 when there is none. With -v,
   a record that had to be ignored is told about on standard error, once. */
double report_limit(const struct options *options, const struct reduction *reduction,
                    const struct bottleneck *bottleneck);

/* The name of a reduction's type: as the container spells it where it cannot be read. */
const char *report_type_name(const struct reduction *reduction);

/* GB/s. 0 when there was no time. */
double report_rate(uint64_t bytes, double seconds);

/* 0 when all is 0. */
double report_percent(uint64_t some, uint64_t all);

/* Nanoseconds as seconds. */
double report_seconds(uint64_t nanoseconds);

#endif
