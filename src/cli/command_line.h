/*
 * The options of gpureduce, and which go with which. Nothing here opens a file or starts a thread.
 */
#ifndef GPUREDUCE_COMMAND_LINE_H
#define GPUREDUCE_COMMAND_LINE_H

#include "cli/arguments.h"
#include "cli/options.h"

/* Says that this is the program `name`, whose processes share out the work: some options are not
   for it. To be called before command_line_parse. */
void command_line_of_ranks(const char *name);

/* Parses argv, reordering it so that `files` can point into it. */
enum arguments_action command_line_parse(int argc, char **argv, struct options *options);

#endif
