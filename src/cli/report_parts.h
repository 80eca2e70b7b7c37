/*
 * The parts of report.h, a file each; and what they share, which is in report_parts.c.
 */
#ifndef GPUREDUCE_REPORT_PARTS_H
#define GPUREDUCE_REPORT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options.h"
#include "core/number.h"
#include "core/partial_text.h"
#include "profile/bottleneck.h"
#include "run/reduction.h"
#include "run/total.h"

/* The word that stands for a value that there is not; other programs that read TSV know it. */
#define REPORT_MISSING "NA"

/* Functions with a parameter `out` write there, from any thread, except for histograms, which go to
   standard output. */

/* Values as lines of text. A path of NULL is the total, here and below. */
void report_text(FILE *out, const struct options *options, const char *path,
                 const struct reduction *reduction);

/* A line of values, and, on standard output, the heading that stands before all of them. With
   `arrays`, a line is of an array, or of a file that is one: its name, type and shape stand there,
   too. */
void report_tsv(FILE *out, const struct options *options, const char *path,
                const struct reduction *reduction, bool arrays);
void report_tsv_heading(const struct options *options, bool arrays);

/* Prints the values of a container's arrays as a table: a line for each that is to be printed; TSV
   has a heading if that is asked for. Returns false, with nothing printed, if there are none. */
bool report_table(const struct options *options, const char *path,
                  const struct reduction *reduction, bool heading);

/* Whether tables are for people, as on a terminal. A launcher may give ranks one that is none of
   the user's. */
bool report_table_aligned(const struct options *options);

struct rows;

/* Prints rows of several files as a table, without those of files that failed. */
void report_table_rows(const struct options *options, const struct rows *rows);

/* The histogram, if there is one: as lines of text, or, on a terminal, as bars. Without a result,
   what stands for it. */
void report_histogram(const struct options *options, const struct reduction *reduction);

/* The heading of its TSV, and its lines, each with the name of the file in front. */
void report_histogram_tsv_heading(const struct options *options);
void report_histogram_tsv(const struct options *options, const char *path,
                          const struct reduction *reduction);

/* Prints the histogram as a member of the object of JSON. */
void report_histogram_json(const struct options *options, const struct reduction *reduction);

/* Draws it into options->plot. A failure is printed. */
void report_plot(const struct options *options, const char *path,
                 const struct reduction *reduction);

/* An object of JSON, on a line; of an input, and, on standard output, of the total. */
void report_json(FILE *out, const struct options *options, const char *path,
                 const struct reduction *reduction);
void report_json_total(const struct options *options, const struct total *total);

/* A partial result, on a line of standard output. With --total there is none but the total's. */
void report_partial(const struct options *options, const char *path,
                    const struct reduction *reduction);
void report_partial_total(const struct options *options, const struct total *total);

/* Prints the line of a partial result, whose names are left to do: that of the total where `path`
   is NULL. A name that is too long is an error. */
void report_partial_text(const struct options *options, const char *path, const char *array,
                         struct partial_text *text);

/* The members of an object that tell the shape: null where no header does. */
void report_json_shape(FILE *out, const struct source_shape *shape);

/* The line of statistics on standard error, and below it those of -v, which a total has not. */
void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction);

/*
 * Shared by the reports.
 */

/* The name of a NaN policy, as --nan takes it. */
const char *report_policy(enum nan_policy policy);

/* The type that the value of an operation is a number of. */
enum element_type report_type(const struct operation *op, const struct reduction *reduction);

/* Writes the value of an operation, as a number of `type` in this form, as "nan", "inf" or "-inf";
   REPORT_MISSING where it was left out. */
void report_value(char text[NUMBER_MAX], const struct operation *op,
                  const struct reduction *reduction, enum element_type type, enum number_form form);

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

/* Room for a shape as text; longer ones are cut. */
#define REPORT_SHAPE_MAX 256

/* Writes a shape, as [2,3]; without a header that states one, as that of so many elements. Returns
   `text`. */
const char *report_shape(char text[REPORT_SHAPE_MAX], const struct source_shape *shape,
                         uint64_t elements);

/* The shape of a reduction's array; REPORT_MISSING where it cannot be read and none is known. */
const char *report_reduction_shape(char text[REPORT_SHAPE_MAX], const struct reduction *reduction);

/* A name as a field of TSV, escaped; of the total, its own. */
void report_tsv_name(const char *name);
void report_tsv_name_to(FILE *out, const char *name);

/* Prints any other field of TSV. */
void report_tsv_field(const char *text);
void report_tsv_field_to(FILE *out, const char *text);

/* GB/s. 0 when there was no time. */
double report_rate(uint64_t bytes, double seconds);

/* 0 when all is 0. */
double report_percent(uint64_t some, uint64_t all);

/* Nanoseconds as seconds. */
double report_seconds(uint64_t nanoseconds);

#endif
