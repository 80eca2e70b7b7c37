/*
 * The options of reductions along an axis: their values, and what they go with.
 */
#include "config.h"

#include <string.h>

#include "cli/argument_parser.h"
#include "cli/axis.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "core/number.h"

bool option_parse_axis(const struct arguments *a, const struct argument *x, const char *text,
                       void *target)
{
    struct axis_request *axis = &((struct options *)target)->axis;
    const bool negative = *text == '-';
    uint64_t number;

    (void)x;
    if (!number_parse_count(text + negative, &number))
        return arguments_wrong(a, "bad axis %s: must be an integer", text);
    axis->axis = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool option_parse_shape(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct source_shape *shape = &((struct options *)target)->axis.shape;
    const char *at = text;
    bool open = false;

    (void)x;
    *shape = (struct source_shape){.known = true};
    for (;;) {
        const size_t length = strcspn(at, ",");
        char size[32] = "";
        uint64_t number = AXIS_SIZE_OPEN;

        if (length < sizeof size)
            memcpy(size, at, length);
        if (strcmp(size, "-1") == 0 && !open)
            open = true;
        else if (!number_parse_count(size, &number))
            return arguments_wrong(
                a, "bad shape %s: must be sizes separated by commas, of which one may be -1", text);
        if (shape->dimensions == SOURCE_DIMENSIONS_MAX)
            return arguments_wrong(a, "the shape %s has more than 64 dimensions", text);
        _Static_assert(SOURCE_DIMENSIONS_MAX == 64, "as the message says");
        shape->sizes[shape->dimensions++] = number;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

bool axis_goes_with(struct options *options, const struct arguments *a)
{
    if (options->command != COMMAND_AXIS)
        return true;
    for (size_t i = 0; i < options->operation_count; i++)
        if (operation_quantile(options->operations[i]) & options->session.passes.required)
            return arguments_wrong(a, "quantiles along an axis are not supported; leave out %s",
                                   options->operations[i]->name);
    if (options->axis_output && options->output != OUTPUT_TEXT)
        return arguments_wrong(a, "option %s does not go with --output",
                               options->output == OUTPUT_JSON ? "--json" : "--tsv");
    if (options->axis_output && options->file_count > 1)
        return arguments_wrong(a, "option %s is for one file", "--output");
    /* --op=summary leaves its quantiles out. */
    for (size_t i = 0, kept = 0, count = options->operation_count; i < count; i++) {
        if (!operation_quantile(options->operations[i]))
            options->operations[kept++] = options->operations[i];
        options->operation_count = kept;
    }
    return true;
}
