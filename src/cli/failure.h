/*
 * Errors of what stands below, as users see them: with the file's name, and with advice in the
 * words of the command line.
 */
#ifndef GPUREDUCE_FAILURE_H
#define GPUREDUCE_FAILURE_H

#include "core/error.h"

/* Room for an error with its advice. */
#define FAILURE_TEXT_MAX (ERROR_TEXT_MAX + 256)

/* Writes what is wrong, and what to do about it. `path` is the input's; NULL where that does not
   matter. Returns `text`. */
const char *failure_text(char text[FAILURE_TEXT_MAX], const struct error *error, const char *path);

/* Prints an error of the input `path`, or of an array in it, if `array` is not NULL; of none, if
   `path` is NULL. Raises the exit status as the error's kind demands. */
void failure_print(const char *path, const char *array, const struct error *error);

/* Prints an error of what is called `name`, which may be empty, in the input `path`, if that is not
   NULL. */
void failure_print_as(const char *name, const char *path, const struct error *error);

/* Prints warnings. */
extern const struct log failure_log;

#endif
