/*
 * Scripts that complete a program's command line in a shell, made out of its table of options.
 *
 * They stand in completions/, as files under the names that the shells look for; make
 * update-completions writes them anew, and tests/cli/completions.sh compares them with the tables.
 */
#ifndef GPUREDUCE_COMPLETION_H
#define GPUREDUCE_COMPLETION_H

#include <stddef.h>

#include "cli/arguments.h"

/* Prints the script of a program for a shell. */
void completion_print(const struct arguments *a, enum completion_shell shell);

#endif
