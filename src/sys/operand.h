/*
 * Operands: files by name, and standard input by -.
 */
#ifndef GPUREDUCE_OPERAND_H
#define GPUREDUCE_OPERAND_H

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gets the status of an operand. False, with errno, if the system refuses. */
static inline bool operand_status(const char *path, struct stat *status)
{
    return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, status) == 0 : stat(path, status) == 0;
}

#endif
