/*
 * For tests of calls that may print nothing: standard error goes to a file, and warnings are kept.
 */
#ifndef TESTS_WARNINGS_H
#define TESTS_WARNINGS_H

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "lib/tap.h"

static int warnings_printed;
static char warnings[1024]; /* since the last look */

/* Has the file of this name be standard error. */
static inline void warnings_open(const char *path)
{
    warnings_printed = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (warnings_printed < 0 || dup2(warnings_printed, STDERR_FILENO) < 0)
        bail(path);
}

static inline bool is_silent(void)
{
    struct stat status;

    return fstat(warnings_printed, &status) == 0 && status.st_size == 0;
}

static inline void warn(void *context, const char *name, const struct error *warning)
{
    const size_t used = strlen(warnings);

    (void)context;
    snprintf(warnings + used, sizeof warnings - used, "%s: %s\n", name, warning->text);
}

static const struct log warnings_log = {.warn = warn};

/* Whether these are the warnings since the last look, and nothing was printed. */
static inline bool warned(const char *text)
{
    const bool good = strcmp(warnings, text) == 0 && is_silent();

    if (!good)
        tap_note("warnings: %s", warnings);
    warnings[0] = '\0';
    return good;
}

#endif
