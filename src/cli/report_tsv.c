#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/report_parts.h"

void report_tsv_heading(const struct options *options)
{
    if (options->session.survey.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_tsv_heading(options);
        return;
    }
    fputs("file", stdout);
    for (size_t i = 0; i < options->operation_count; i++)
        if (!report_repeated(options, i))
            printf("\t%s", options->operations[i]->name);
    putchar('\n');
}

/* What separates fields and lines is escaped; all else is left as it is. */
void report_tsv_name(const char *name)
{
    static const char special[] = "\t\n\r\\", letters[] = "tnr\\";

    if (!name) {
        fputs("total", stdout);
        return;
    }
    /* The total has this name. */
    if (strcmp(name, "total") == 0)
        fputs("./", stdout);
    for (; *name; name++) {
        const char *found = strchr(special, *name);

        if (found)
            printf("\\%c", letters[found - special]);
        else
            putchar(*name);
    }
}

void report_tsv(const struct options *options, const char *path, const struct reduction *reduction)
{
    char text[NUMBER_MAX] = REPORT_MISSING;

    if (options->session.survey.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_tsv(options, path, reduction);
        return;
    }
    report_tsv_name(path);
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i))
            continue;
        if (!reduction->error[0])
            report_value(text, op, reduction, report_type(op, reduction), options->number);
        printf("\t%s", text);
    }
    putchar('\n');
}
