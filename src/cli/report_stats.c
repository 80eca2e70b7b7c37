#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report_parts.h"
#include "run/arrays.h"
#include "sys/message.h"

/* The lines of -v about engines. */
static void verbose_engines(const struct options *options, const struct reduction *reduction)
{
    for (int i = 0; i < ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];
        char joined[40] = "";

        if (!share->engine || share->elements == 0)
            continue;
        if (options->session.device == DEVICE_AUTO && i == ENGINE_CUDA)
            snprintf(joined, sizeof joined, ", joined in after %.3f s",
                     report_seconds(share->joined));
        message_line("  %-9s %s, %u thread%s", share->engine, share->description, share->workers,
                     message_s(share->workers));
        message_line("            %" PRIu64 " byte%s, %.1f %% of all%s", share->bytes,
                     message_s(share->bytes), report_percent(share->bytes, reduction->bytes),
                     joined);
    }
    if (reduction->gpu_skipped[0])
        message_line("  gpu       not used: %.77s", reduction->gpu_skipped);
}

static void verbose_phases(const struct profile *p)
{
    message_line("  phase        seconds               bytes      GB/s");
    if (p->gpu_open)
        message_line("  start-up  %10.3f (GPU ready in %.3f)", report_seconds(p->start_up),
                     report_seconds(p->gpu_open));
    else
        message_line("  start-up  %10.3f", report_seconds(p->start_up));
    for (int i = 0; i < PROFILE_PHASES; i++)
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f", profile_phase_name((enum profile_phase)i),
                     report_seconds(p->phases[i].time), p->phases[i].bytes,
                     profile_rate(p->phases[i].bytes, p->phases[i].time));
}

/* Less than this part of its capacity is no time to divide by. */
#define BUSY_MIN 0.001

/* A line about what threads waited for, where that took any time. */
static void verbose_waiting(const struct profile *p, const char *name, uint64_t time)
{
    uint64_t capacity = p->stages[PROFILE_READ].capacity;

    if ((double)time >= BUSY_MIN * (double)capacity && capacity > 0)
        message_line("  %-9s %10.3f %39.1f", name, report_seconds(time),
                     100 * (double)time / (double)capacity);
}

static void verbose_stages(const struct profile *p)
{
    message_line("  stage         busy s               bytes      GB/s    busy %%  GB/s busy");
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const struct profile_work *w = &p->stages[i];
        double busy = profile_utilisation(p, (enum profile_stage)i);
        char busy_rate[32] = "-";

        if (w->busy == 0 || w->bytes == 0)
            continue;
        if (busy >= BUSY_MIN)
            snprintf(busy_rate, sizeof busy_rate, "%.2f", profile_rate(w->bytes, w->busy));
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f %9.1f %10s",
                     profile_stage_name((enum profile_stage)i), report_seconds(w->busy), w->bytes,
                     profile_rate(w->bytes, profile_time(p)), 100 * busy, busy_rate);
    }
    verbose_waiting(p, "wait", p->wait);
    verbose_waiting(p, "turn", p->source_wait);
}

static void verbose_bottleneck(const struct options *options, const struct reduction *reduction)
{
    struct bottleneck b;
    char text[BOTTLENECK_TEXT_MAX] = "";
    double limit;

    if (!bottleneck_find(&reduction->profile, &b))
        return;
    limit = report_limit(options, reduction, &b);
    if (limit > 0)
        bottleneck_compare(text, &b, limit);
    message_line("  bottleneck: %s%s%s", bottleneck_text(&b), text[0] ? ", " : "", text);
}

static void report_verbose(const struct options *options, const struct reduction *reduction)
{
    message_line("  format    %s%s%s%s", reduction->format, reduction->arrays ? "" : ", ",
                 reduction->arrays ? "" : element_name(reduction->type),
                 reduction->in_order ? "; elements lie across frames: decoded once more, in order"
                                     : "");
    if (reduction->passes > 1)
        message_line("  passes  %u", reduction->passes);
    verbose_engines(options, reduction);
    verbose_phases(&reduction->profile);
    verbose_stages(&reduction->profile);
    verbose_bottleneck(options, reduction);
}

void report_stats(const struct options *options, const char *path,
                  const struct reduction *reduction)
{
    char quoted[MESSAGE_QUOTE_MAX], compressed[80] = "", arrays[40] = "";
    bool named = options->file_count > 1 || options->total;

    if (reduction->compressed)
        snprintf(compressed, sizeof compressed, " (%" PRIu64 " compressed, %.3f GB/s)",
                 reduction->input_bytes, report_rate(reduction->input_bytes, reduction->seconds));
    if (reduction->arrays)
        snprintf(arrays, sizeof arrays, "%zu array%s, ", arrays_count(reduction->arrays),
                 message_s(arrays_count(reduction->arrays)));
    message_line("%s%s%s%" PRIu64 " element%s, %" PRIu64 " byte%s, %.6f s, %.3f GB/s%s",
                 !named ? ""
                 : path ? message_quote(quoted, path)
                        : "total",
                 named ? ": " : "", arrays, reduction->elements, message_s(reduction->elements),
                 reduction->bytes, message_s(reduction->bytes), reduction->seconds,
                 report_rate(reduction->bytes, reduction->seconds), compressed);
    if (options->verbose && path)
        report_verbose(options, reduction);
}
