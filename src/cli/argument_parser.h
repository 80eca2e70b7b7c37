/*
 * The parser of command lines: of gpureduce, of gpureduce-bench, and of its commands. struct
 * arguments describes the command line.
 */
#ifndef GPUREDUCE_CLI_ARGUMENT_PARSER_H
#define GPUREDUCE_CLI_ARGUMENT_PARSER_H

#include "cli/arguments.h"

/* Parses argv into *target, which is something even where no option has a target. */
enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      void *target, struct operands *operands);

/* Prints that `text` is none of the option's words, and what they are. Returns false. */
bool arguments_unknown_word(const struct arguments *a, const struct argument *x, const char *text);

/* Prints that `text`, which messages call `what`, is no number, and which may be meant. Returns
   false. */
bool arguments_bad_number(const struct arguments *a, const struct argument *x, const char *what,
                          const char *text);

/* Finds which of the option's words `text` is. */
bool arguments_find_word(const struct arguments *a, const struct argument *x, const char *text,
                         size_t *place);

#endif
