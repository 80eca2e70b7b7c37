#include "config.h"

#include "cli/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/message.h"

/* The columns that a UTF-8 text takes, but for characters that take two or none. */
static size_t width(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

void columns_add(struct columns *t, const char *text)
{
    const size_t length = strlen(text) + 1;
    size_t *widest = &t->widths[t->next];

    t->next = (t->next + 1) % t->count;
    if (!t->failed && t->room - t->used < length) {
        size_t room = 2 * t->room + length + 4096;
        char *more = realloc(t->text, room);

        if (more) {
            t->text = more;
            t->room = room;
        }
        t->failed = !more;
    }
    if (t->failed)
        return;
    memcpy(t->text + t->used, text, length);
    t->used += length;
    if (width(text) > *widest)
        *widest = width(text);
}

void columns_print(struct columns *t)
{
    const char *cell = t->text;
    unsigned column = 0;

    if (t->failed)
        message_error(EXIT_FAILED, "out of memory");
    while (!t->failed && cell < t->text + t->used) {
        const int pad = (int)(t->widths[column] - width(cell));
        const bool last = column + 1 == t->count;

        if (column >= t->left)
            printf("%*s%s", pad, "", cell);
        else
            printf("%s%*s", cell, last ? 0 : pad, "");
        fputs(last ? "\n" : "  ", stdout);
        cell += strlen(cell) + 1;
        column = last ? 0 : column + 1;
    }
    free(t->text);
    t->text = NULL;
}
