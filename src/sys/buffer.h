/*
 * Bytes on the heap that grow as they are written. A buffer belongs to one thread at a time; of all
 * zeros it is empty. Functions print nothing.
 */
#ifndef GPUREDUCE_BUFFER_H
#define GPUREDUCE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sys/escape.h"

struct buffer {
    char *data;
    size_t size, room;
    bool failed; /* there was no memory: something is missing */
};

/* Makes room for `more` bytes after those there are. Returns where they go, and the caller adds
   them to the size; NULL without memory. */
void *buffer_extend(struct buffer *b, size_t more);

/* Adds bytes, a text, a text as printf has it, or an escaped one. */
void buffer_bytes(struct buffer *b, const void *bytes, size_t size);
void buffer_print(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_escape(struct buffer *b, const char *text, enum escape_form form);

static inline void buffer_text(struct buffer *b, const char *text)
{
    buffer_bytes(b, text, strlen(text));
}

static inline void buffer_char(struct buffer *b, char c)
{
    char *to = buffer_extend(b, 1);

    if (to) {
        *to = c;
        b->size++;
    }
}

/* Frees the bytes; the buffer is empty then. */
void buffer_free(struct buffer *b);

#endif
