/*
 * The parts of report.h, a file each, and what they share.
 */
#ifndef GPUREDUCE_REPORT_PARTS_H
#define GPUREDUCE_REPORT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "core/number.h"
#include "profile/bottleneck.h"
#include "run/reduction.h"

/* Values as lines of text, on standard output. */
void report_text(const struct options *options, const char *path,
                 const struct reduction *reduction);

/* An object of JSON, on a line of standard output. */
void report_json(const struct options *options, const char *path,
                 const struct reduction *reduction);

/* The line of statistics on standard error, and below it those of -v. */
void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction);

/* Writes the value of an operation as a decimal, "nan", "inf" or "-inf". */
void report_value(char text[NUMBER_MAX], const struct operation *op,
                  const struct reduction *reduction);

/* The recorded limit that a run's bottleneck is compared with, GB/s; 0 when there is none. With -v,
   a record that had to be ignored is told about on standard error, once. */
double report_limit(const struct options *options, const struct reduction *reduction,
                    const struct bottleneck *bottleneck);

/* GB/s. 0 when there was no time. */
double report_rate(uint64_t bytes, double seconds);

/* 0 when all is 0. */
double report_percent(uint64_t some, uint64_t all);

/* Nanoseconds as seconds. */
double report_seconds(uint64_t nanoseconds);

#endif
