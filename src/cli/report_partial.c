#include "config.h"

#include <limits.h>
#include <stdio.h>

#include "cli/report_parts.h"
#include "sys/message.h"
#include "sys/stdio.h"

void report_partial_text(const struct options *options, const char *path, const char *array,
                         struct partial_text *text)
{
    const char *name = options->label ? options->label : path ? path : "total";
    char line[PARTIAL_TEXT_MAX], quoted[MESSAGE_QUOTE_MAX];

    text->has_array = false;
    if (!partial_text_set_input(text, name)) {
        message_error(EXIT_FAILED,
                      "%s: the name is too long for a partial result: give another by --label",
                      message_quote(quoted, name));
        return;
    }
    if (array && !partial_text_set_array(text, array)) {
        message_error(EXIT_FAILED, "%s: the name of an array is too long for a partial result: %s",
                      source_name((char[SOURCE_NAME_MAX]){""}, name), message_quote(quoted, array));
        return;
    }
    (void)partial_text_write(line, text);
    puts(line);
    /* A line at a time, which a pipe takes whole: others may be writing to it. */
    _Static_assert(PARTIAL_TEXT_MAX <= PIPE_BUF, "no line is torn");
    (void)stdio_flush();
}

/* Prints the partial result of a range of elements. */
static void print(const struct options *options, const char *path,
                  const struct reduction *reduction, uint64_t of)
{
    struct partial_text text = {
        .type = reduction->type,
        .holds = options->session.wants,
        .of = of,
        .ranges = {{reduction->first, reduction->first + reduction->elements}},
        .range_count = reduction->elements > 0,
        .partial = reduction->partial,
    };

    report_partial_text(options, path, reduction->array, &text);
}

/* Whether the part that a shard has of an input tells anything: of an input without elements, the
   first part does. */
static bool has_part(const struct reduction *reduction)
{
    return reduction->error[0] || reduction->elements > 0 ||
           (reduction->of == 0 && !reduction->behind);
}

void report_partial(const struct options *options, const char *path,
                    const struct reduction *reduction)
{
    struct reduction none;

    if (options->total || !has_part(reduction))
        return;
    if (!reduction->error[0]) {
        print(options, path, reduction, reduction->of);
    } else if (reduction->array) { /* --merge is to find that it is missing */
        none = *reduction;
        none.first = none.elements = 0;
        partial_clear(&none.partial);
        print(options, path, &none, none.of > 0 ? none.of : 1);
    }
}

void report_partial_total(const struct options *options, const struct total *total)
{
    const struct reduction *reduction = &total->reduction;

    if (reduction->error[0])
        return;
    if (total->mixed) {
        message_error(EXIT_FAILED, "no total: a partial result needs files of one type");
        return;
    }
    print(options, NULL, reduction, reduction->elements);
}
