#include "config.h"

#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report_parts.h"
#include "profile/machine_limits.h"
#include "sys/message.h"
#include "sys/stdio.h"

double report_rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

double report_percent(uint64_t some, uint64_t all)
{
    return all ? 100 * (double)some / (double)all : 0;
}

double report_seconds(uint64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

void report_value(char text[NUMBER_MAX], const struct operation *op,
                  const struct reduction *reduction)
{
    uint64_t integer;

    switch (op->kind) {
    case OPERATION_COUNT:
        integer = operation_integer(op, &reduction->result);
        if (integer == PARTIAL_NO_INDEX)
            snprintf(text, NUMBER_MAX, "nan");
        else
            snprintf(text, NUMBER_MAX, "%" PRIu64, integer);
        break;
    case OPERATION_ELEMENT:
        number_format(text, operation_number(op, &reduction->result), reduction->type);
        break;
    case OPERATION_BINARY64:
        number_format(text, operation_number(op, &reduction->result), ELEMENT_F64);
        break;
    }
}

double report_limit(const struct options *options, const struct reduction *reduction,
                    const struct bottleneck *bottleneck)
{
    const struct reduction_share *gpus = &reduction->shares[ENGINE_CUDA];
    const char *refused;
    const struct machine *m = machine_recorded(&refused);

    if (refused && options->verbose)
        message_line("  recorded limits ignored: %s", refused);
    return bottleneck_limit(bottleneck, m, gpus->engine ? gpus->description : NULL);
}

void report(const struct options *options, const char *path, const struct reduction *reduction)
{
    if (options->json)
        report_json(options, path, reduction);
    else
        report_text(options, path, reduction);
    /* Results of earlier files are not held back while a large one is reduced. */
    (void)stdio_flush();
    if (options->verbose || (!options->quiet && !options->json))
        report_stats(options, path, reduction);
}
