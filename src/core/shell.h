/*
 * Commands that messages suggest, in the words of a shell. Pure.
 */
#ifndef GPUREDUCE_SHELL_H
#define GPUREDUCE_SHELL_H

#include <stddef.h>

#include "core/compression.h"

/* Room for a word of a command. */
#define SHELL_WORD_MAX ((size_t)160)

/* Writes a name as a word for a shell, or `otherwise` where that does not fit or the name has
   characters that are not seen. A backslash stands before characters of `escaped`. */
void shell_word(char *word, size_t size, const char *name, size_t length, const char *escaped,
                const char *otherwise);

/* Writes a path as a shell takes it: in quotes if it needs them, with ./ in front where it would be
   an option or a host; or FILE where it is too long, or has characters that are not seen. */
void shell_operand(char word[SHELL_WORD_MAX], const char *path);

/* Writes the command that decompresses a file, and the name of the result, as shell_operand
   does. */
#define SHELL_DECOMPRESSION_MAX (2 * SHELL_WORD_MAX + 32)
void shell_decompression(char command[SHELL_DECOMPRESSION_MAX], char word[SHELL_WORD_MAX],
                         const char *path, enum compression compressed);

/* The command that decompresses a file, or standard input, into a pipe. */
const char *shell_decompression_to_pipe(enum compression compressed);

#endif
