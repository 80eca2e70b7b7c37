#include "config.h"

#include "cli/report_parts.h"

#include <string.h>

#include "profile/machine_limits.h"
#include "sys/message.h"

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

enum element_type report_type(const struct operation *op, const struct reduction *reduction)
{
    if (op->kind != OPERATION_ELEMENT || element_is_integer(reduction->type))
        return ELEMENT_F64;
    /* The shortest decimals of narrow types have few digits: an f8e4m3 of 448 would be 450, and the
       mean of equal f16 would not be between their minimum and maximum. */
    return element_size(reduction->type) <= 2 ? ELEMENT_F64 : reduction->type;
}

const char *report_type_name(const struct reduction *reduction)
{
    if (!reduction->type_name)
        return element_name(reduction->type);
    return reduction->type_name[0] ? reduction->type_name : WRITER_MISSING;
}

bool report_left_out(const struct operation *op, const struct reduction *reduction)
{
    return operation_quantile(op) & ~reduction->quantiles;
}

bool report_repeated(const struct options *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (options->operations[j] == options->operations[i])
            return true;
    return false;
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
