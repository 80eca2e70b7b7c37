#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/report_parts.h"

const char *report_shape(char text[REPORT_SHAPE_MAX], const struct source_shape *shape,
                         uint64_t elements)
{
    char *end = text;

    *end++ = '[';
    if (!shape->known)
        end = number_write(end, elements);
    for (unsigned i = 0;
         shape->known && i < shape->dimensions && end < text + REPORT_SHAPE_MAX - 24; i++) {
        if (i > 0)
            *end++ = ',';
        end = number_write(end, shape->sizes[i]);
    }
    memcpy(end, "]", 2);
    return text;
}

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

/* What separates fields and lines is escaped; all else is left as it is. */
void report_tsv_field_to(FILE *out, const char *text)
{
    static const char special[] = "\t\n\r\\", letters[] = "tnr\\";

    for (;;) {
        const size_t plain = strcspn(text, special);

        fwrite(text, 1, plain, out);
        text += plain;
        if (!*text)
            return;
        fprintf(out, "\\%c", letters[strchr(special, *text) - special]);
        text++;
    }
}

void report_tsv_field(const char *text)
{
    report_tsv_field_to(stdout, text);
}

void report_tsv_name_to(FILE *out, const char *name)
{
    if (!name) {
        fputs("total", out);
        return;
    }
    /* The total has this name. */
    if (strcmp(name, "total") == 0)
        fputs("./", out);
    report_tsv_field_to(out, name);
}

void report_tsv_name(const char *name)
{
    report_tsv_name_to(stdout, name);
}

/* The columns of arrays: the name, which a file that is one array has not, the type and the shape,
   which a total has not. */
static void array_columns(const char *path, const struct reduction *reduction)
{
    const bool known = !reduction->error[0] || reduction->array;
    char shape[REPORT_SHAPE_MAX] = "";

    if (path && known)
        (void)report_shape(shape, &reduction->shape, reduction->elements);
    putchar('\t');
    report_tsv_field(path && reduction->array ? reduction->array : "");
    putchar('\t');
    fputs(path && known ? element_name(reduction->type) : "", stdout);
    putchar('\t');
    fputs(shape, stdout);
}

void report_tsv(const struct options *options, const char *path, const struct reduction *reduction,
                bool arrays)
{
    char text[NUMBER_MAX] = REPORT_MISSING;

    if (options->session.survey.histogram.kind != HISTOGRAM_NONE) {
        report_histogram_tsv(options, path, reduction);
        return;
    }
    report_tsv_name(path);
    if (arrays)
        array_columns(path, reduction);
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (report_repeated(options, i))
            continue;
        if (!reduction->error[0])
            report_value(text, op, reduction, report_type(op, reduction), options->number);
        putchar('\t');
        fputs(text, stdout);
    }
    putchar('\n');
}
