/*
 * The options of gpureduce, and which go with which. Nothing here opens a file or starts a thread.
 */
#ifndef GPUREDUCE_COMMAND_LINE_H
#define GPUREDUCE_COMMAND_LINE_H

#include "cli/options.h"

enum command_line_action {
    COMMAND_LINE_RUN,  /* reduce the files */
    COMMAND_LINE_DONE, /* --help or the like was printed */
    COMMAND_LINE_WRONG /* the command line is wrong; a message says how */
};

/* Says that this is the program `name`, whose processes share out the work: some options are not
   for it. To be called before command_line_parse. */
void command_line_of_ranks(const char *name);

/* Parses argv, reordering it so that `files` can point into it. */
enum command_line_action command_line_parse(int argc, char **argv, struct options *options);

#endif
