/*
 * Printing rows (core/writer.h) on standard output. Called by the main thread alone.
 */
#ifndef GPUREDUCE_CLI_WRITER_H
#define GPUREDUCE_CLI_WRITER_H

#include "core/writer.h"

/* Whether standard output is a terminal of the user, where tables are aligned. `ranks`: the
   process is a rank of a job, whose launcher may give it a terminal that nobody sees. */
bool writer_is_aligned(bool ranks);

/* Allocates memory for rows of usual length, so that writing them cannot fail. False, with a
   message, without memory. */
bool writer_open(struct writer *w);

/* Writes the contents of `out` to standard output, tables aligned, and empties it. */
void writer_flush(struct writer *w);

#endif
