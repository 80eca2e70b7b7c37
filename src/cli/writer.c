#include "config.h"

#include "cli/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/stdio.h"

bool writer_is_aligned(bool ranks)
{
    return isatty(STDOUT_FILENO) && !ranks;
}

bool writer_open(struct writer *w)
{
    if (buffer_extend(w->out, WRITER_PRINTED + WRITER_PRINTED / 4))
        return true;
    w->out->failed = false; /* it is said here */
    return message_error(EXIT_FAILED, "out of memory");
}

/* The columns that a UTF-8 text takes, but for characters that take two or none. */
static size_t width_of(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void print_table(const struct writer *w)
{
    const char *const end = w->out->data + w->out->size;
    size_t *widths = calloc(w->columns + 1, sizeof *widths);
    unsigned column = 0;

    if (!widths || w->out->failed)
        message_error(EXIT_FAILED, "out of memory");
    for (const char *cell = w->out->data; widths && cell < end; cell += strlen(cell) + 1) {
        const size_t width = width_of(cell);

        if (width > widths[column])
            widths[column] = width;
        column = (column + 1) % w->columns;
    }
    for (const char *cell = w->out->data; widths && !w->out->failed && cell < end;
         cell += strlen(cell) + 1) {
        const int pad = (int)(widths[column] - width_of(cell));
        const bool last = column + 1 == w->columns;

        if (column >= w->left)
            printf("%*s%s", pad, "", cell);
        else
            printf("%s%*s", cell, last ? 0 : pad, "");
        fputs(last ? "\n" : "  ", stdout);
        column = last ? 0 : column + 1;
    }
    free(widths);
}

void writer_flush(struct writer *w)
{
    if (w->form == WRITER_TABLE) {
        print_table(w);
    } else {
        stdio_write(w->out->data, w->out->size);
        if (w->out->failed)
            message_error(EXIT_FAILED, "out of memory");
    }
    w->out->size = 0;
    w->out->failed = false;
    (void)stdio_flush();
}
