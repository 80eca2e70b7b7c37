#include "config.h"

#include "sys/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/grow.h"

void *buffer_extend(struct buffer *b, size_t more)
{
    if (!GROW(b->data, b->room, b->size + more + !b->data)) { /* NULL says no memory alone */
        b->failed = true;
        return NULL;
    }
    return b->data + b->size;
}

void buffer_bytes(struct buffer *b, const void *bytes, size_t size)
{
    char *to = buffer_extend(b, size);

    if (to && size > 0) {
        memcpy(to, bytes, size);
        b->size += size;
    }
}

void buffer_print(struct buffer *b, const char *format, ...)
{
    const size_t usual = 64;
    char *to = buffer_extend(b, usual);
    va_list arguments;
    int length;

    if (!to)
        return;
    va_start(arguments, format);
    length = vsnprintf(to, usual, format, arguments);
    va_end(arguments);
    if ((size_t)length >= usual) {
        to = buffer_extend(b, (size_t)length + 1);
        if (!to)
            return;
        va_start(arguments, format);
        (void)vsnprintf(to, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    b->size += (size_t)length;
}

void buffer_escape(struct buffer *b, const char *text, enum escape_form form)
{
    char escaped[ESCAPE_MAX];

    while (*text) {
        const size_t plain = escape_plain_length(text); /* most are nothing else */

        buffer_bytes(b, text, plain);
        text += plain;
        if (*text)
            buffer_bytes(b, escaped, escape_next(escaped, &text, form));
    }
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}
