/*
 * Names from files and command lines as text: characters that are not seen, or change what is seen
 * around them, are escaped, so that they do nothing to a terminal and can be read back. These are
 * controls, what Unicode calls format characters, among them those that turn the direction of text
 * and can make a name look like another, and bytes that are no UTF-8.
 */
#ifndef GPUREDUCE_ESCAPE_H
#define GPUREDUCE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum escape_form {
    ESCAPE_FIELD, /* \t, \n, \r, \\, and \ooo for each other byte, octal: as printf's %b reads them
                   */
    ESCAPE_JSON   /* \uXXXX, \" and \\; U+FFFD for a byte that is no UTF-8 */
};

/* The most bytes that a character has when it is escaped. */
#define ESCAPE_MAX 16

/* The bytes of the valid UTF-8 sequence at p, which ends in NUL somewhere; 0 when there is none. */
size_t escape_utf8_length(const unsigned char *p);

/* Writes a character, which is no surrogate, as UTF-8. Returns how many bytes it has. */
size_t escape_utf8(char to[4], uint32_t character);

/* How many characters of `text` stand for themselves in both forms, and have one byte. */
size_t escape_plain_length(const char *text);

/* The bytes of the character at `text`; 0 where it has to be escaped since it is not seen. */
size_t escape_seen_length(const char *text);

/* Whether all characters of a text are seen. */
bool escape_is_seen(const char *text);

/* Writes the character at *text, escaped if it has to be, and moves *text after it. Returns how
   many bytes it wrote, without a NUL. */
size_t escape_next(char to[ESCAPE_MAX], const char **text, enum escape_form form);

/* Replaces the escapes of ESCAPE_FIELD by what they stand for. */
void escape_undo(char *text);

/* Room for any quoted name worth showing. */
#define ESCAPE_QUOTE_MAX 1024

/* Makes a file name fit to print: as it is when all of it is seen, else between single quotes and
   escaped, a single quote as \047. Cuts what does not fit between characters. Returns `out`. */
const char *escape_quote(char out[ESCAPE_QUOTE_MAX], const char *name);

#endif
