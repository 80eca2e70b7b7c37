/*
 * Operands: files by name, and standard input by -.
 */
#ifndef GPUREDUCE_OPERAND_H
#define GPUREDUCE_OPERAND_H

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the system says of an operand. False, with errno, where it says nothing. */
static inline bool operand_status(const char *path, struct stat *status)
{
    return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, status) == 0 : stat(path, status) == 0;
}

#endif
