#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/report_parts.h"

void report_tsv_heading(const struct options *options, bool arrays)
{
    if (options->session.survey.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_tsv_heading(options);
        return;
    }
    fputs(arrays ? "file\tarray\tdtype\tshape" : "file", stdout);
    for (size_t i = 0; i < options->operation_count; i++)
        if (!report_repeated(options, i))
            printf("\t%s", options->operations[i]->name);
    putchar('\n');
}

/* The columns of arrays: the name, which a file that is one array has not, the type and the shape,
   which a total has not. Partial results do not tell the shape. */
static void array_columns(FILE *out, const struct options *options, const char *path,
                          const struct reduction *reduction)
{
    const bool known = !reduction->error[0] || reduction->array;
    char text[REPORT_SHAPE_MAX];
    const char *shape = "";

    if (path && known)
        shape = options->command == COMMAND_MERGE ? REPORT_MISSING
                                                  : report_reduction_shape(text, reduction);
    putc('\t', out);
    report_tsv_field_to(out, path && reduction->array ? reduction->array : "");
    putc('\t', out);
    fputs(path && known ? report_type_name(reduction) : "", out);
    putc('\t', out);
    fputs(shape, out);
}

void report_tsv(FILE *out, const struct options *options, const char *path,
                const struct reduction *reduction, bool arrays)
{
    char text[NUMBER_MAX] = REPORT_MISSING;

    if (options->session.survey.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_tsv(options, path, reduction);
        return;
    }
    report_tsv_name_to(out, path);
    if (arrays)
        array_columns(out, options, path, reduction);
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i))
            continue;
        if (!reduction->error[0])
            report_value(text, op, reduction, report_type(op, reduction), options->number);
        putc('\t', out);
        fputs(text, out);
    }
    putc('\n', out);
}
