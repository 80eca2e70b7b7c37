/*
 * Printing what differs between two inputs. Called by the main thread alone.
 */
#ifndef GPUREDUCE_REPORT_DIFF_H
#define GPUREDUCE_REPORT_DIFF_H

#include "cli/options.h"
#include "run/diff.h"

/* Prints what differs, as the options ask: lines for two arrays, rows for sets of them, objects;
   and the line of statistics. */
void report_diff(const struct options *options, const struct diff *diff);

#endif
