#include "config.h"

#include <stdio.h>

#include "cli/report_parts.h"
#include "sys/message.h"

/* Without names and headings, results are told by their places: those that are missing have one,
   too. */
static void quiet_error(FILE *out, const struct options *options)
{
    for (size_t i = 0; i < options->operation_count; i++)
        fputs(REPORT_MISSING "\n", out);
}

void report_text(FILE *out, const struct options *options, const char *path,
                 const struct reduction *reduction)
{
    const struct container_array array = {.name = reduction->array};
    char text[NUMBER_MAX], name[SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN];

    if (reduction->error[0]) {
        if (options->quiet) {
            quiet_error(out, options);
            report_histogram(options, reduction);
        }
        return;
    }
    if ((options->file_count > 1 || options->total) && !options->quiet) {
        if (path && reduction->array) /* merged, or with a histogram: others stand in a table */
            source_name_array(name, path, &array);
        else if (path)
            (void)message_quote(name, path);
        fprintf(out, "%s:\n", path ? name : "total");
    }
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_left_out(op, reduction) && !options->quiet)
            continue;
        report_value(text, op, reduction, report_type(op, reduction), options->number);
        if (options->quiet)
            fprintf(out, "%s\n", text);
        else
            fprintf(out, "%s\t%s\n", op->name, text);
    }
    report_histogram(options, reduction);
}
