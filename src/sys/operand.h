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

/* Changes the end of the path of one of a pair of NIfTI's files, .hdr or .img, before a .gz, into the other
   one, and returns where it begins. NULL where it has neither, or is too long. An image whose header is not
   NIfTI's, or is missing, fails unless the user names its format. */
static inline const char *operand_pair(const char *path, char other[PATH_MAX])
{
    const size_t length = strlen(path),
                 after = length >= 3 && strcmp(path + length - 3, ".gz") == 0 ? 3 : 0;
    const char *const end =
        length >= 4 + after && length < PATH_MAX ? path + length - after - 4 : "";
    const bool header = strncmp(end, ".hdr", 4) == 0;

    if (!header && strncmp(end, ".img", 4) != 0)
        return NULL;
    memcpy(other, path, length + 1);
    return memcpy(other + (end - path) + 1, header ? "img" : "hdr", 3);
}

#endif
