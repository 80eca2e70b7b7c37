/*
 * --check: compares what files come to with a record, one file after the other, as sha256sum -c
 * does. Called by the main thread alone.
 */
#ifndef GPUREDUCE_CHECK_H
#define GPUREDUCE_CHECK_H

#include "cli/options.h"
#include "run/reduction.h"
#include "run/session.h"

struct check;

/* Reads the record that --check names, and sets the files of the options, and what their reduction
   has to find. The options and what they point to belong to the check until check_close, which
   leaves no files. NULL on failure. */
struct check *check_open(struct options *options);

/* Sets the options of the session to how the file number i, counted from 0, was read. */
void check_prepare(struct check *check, int i);

/* Prints whether that file comes to what is recorded, and, behind the last of those that a recorded
   total is of, whether the total does. */
void check_result(struct check *check, struct session *session, int i,
                  const struct reduction *reduction);

/* Ends the check. If something differs, prints how much, and raises the exit status. */
void check_close(struct check *check);

#endif
