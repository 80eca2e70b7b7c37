#include "config.h"

#include <stdio.h>

#include "cli/report_parts.h"
#include "sys/message.h"

void report_text(const struct options *options, const char *path, const struct reduction *reduction)
{
    char text[NUMBER_MAX], quoted[MESSAGE_QUOTE_MAX];

    if (options->file_count > 1 && !options->quiet)
        printf("%s:\n", message_quote(quoted, path));
    for (size_t i = 0; i < options->operation_count; i++) {
        report_value(text, options->operations[i], reduction);
        if (options->quiet)
            puts(text);
        else
            printf("%s\t%s\n", options->operations[i]->name, text);
    }
}
