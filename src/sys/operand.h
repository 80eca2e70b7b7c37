/*
 * Operands: files by name, and standard input by -.
 */
#ifndef GPUREDUCE_OPERAND_H
#define GPUREDUCE_OPERAND_H

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gets the status of an operand. False, with errno, if the system refuses. */
static inline bool operand_status(const char *path, struct stat *status)
{
    return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, status) == 0 : stat(path, status) == 0;
}

/* Changes the end of the path of one of a pair of NIfTI's files, .hdr or .img, into the other one.
   False where it has neither, or is too long. An image whose header is not NIfTI's, or is missing, fails
   unless the user names its format. */
static inline bool operand_pair(const char *path, char other[PATH_MAX])
{
    const size_t length = strlen(path);
    const char *const end = length >= 4 && length < PATH_MAX ? path + length - 4 : "";
    const bool header = strcmp(end, ".hdr") == 0;

    if (!header && strcmp(end, ".img") != 0)
        return false;
    memcpy(other, path, length - 3);
    memcpy(other + length - 3, header ? "img" : "hdr", 4);
    return true;
}

#endif
