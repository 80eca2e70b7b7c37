#include "config.h"

#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/number.h"
#include "profile/machine_limits.h"
#include "sys/json.h"
#include "sys/message.h"

/* Why standard output failed first; 0 while it has not. */
static int output_error;

/* The text of an operation's value. */
static void format_value(char text[NUMBER_MAX], const struct operation *op,
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

static double rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
}

static double percent_of(uint64_t some, uint64_t all)
{
    return all ? 100 * (double)some / (double)all : 0;
}

static void report_text(const struct options *options, const char *path,
                        const struct reduction *reduction)
{
    char text[NUMBER_MAX], quoted[MESSAGE_QUOTE_MAX];

    if (options->file_count > 1 && !options->quiet)
        printf("%s:\n", message_quote(quoted, path));
    for (size_t i = 0; i < options->operation_count; i++) {
        format_value(text, options->operations[i], reduction);
        if (options->quiet)
            puts(text);
        else
            printf("%s\t%s\n", options->operations[i]->name, text);
    }
}

/* Whether an operation's value is a number in JSON; NaN and infinities are not. */
static bool is_json_number(const struct operation *op, const struct reduction *reduction)
{
    if (op->kind == OPERATION_COUNT)
        return operation_integer(op, &reduction->result) != PARTIAL_NO_INDEX;
    return isfinite(operation_number(op, &reduction->result));
}

static bool asked_before(const struct options *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (options->operations[j] == options->operations[i])
            return true;
    return false;
}

static double seconds_of(uint64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

/*
 * The profile, in words and in JSON.
 */

static const char *const stage_names[PROFILE_STAGES] = {
    [PROFILE_READ] = "read",     [PROFILE_DECODE] = "decode", [PROFILE_COPY] = "copy",
    [PROFILE_KERNEL] = "kernel", [PROFILE_REDUCE] = "reduce",
};

static const char *const phase_names[PROFILE_PHASES] = {
    [PROFILE_RAMP_UP] = "ramp-up",
    [PROFILE_STEADY] = "steady",
    [PROFILE_FINISH] = "finish",
};

/* What was too slow, in words, and which of the limits recorded for this machine it is to be
   compared with. */
static const struct cause {
    const char *text;
    const char *limit; /* NULL for none */
    enum { LIMIT_BEST, LIMIT_OF_THREADS, LIMIT_OF_GPUS } by;
    const char *owner; /* of the limit, unless threads are */
} causes[PROFILE_CAUSES] = {
    [PROFILE_STORAGE] = {"reading from storage", "cold-direct", LIMIT_BEST, "storage"},
    [PROFILE_CACHED_COPY] = {"copying from the page cache", "cached-pread", LIMIT_OF_THREADS, NULL},
    [PROFILE_CACHED_PAGES] = {"mapping the page cache", "cached-mapped", LIMIT_OF_THREADS, NULL},
    [PROFILE_PIPE] = {"reading the pipe", NULL, LIMIT_BEST, NULL},
    [PROFILE_WRITER] = {"waiting for the pipe's writer", NULL, LIMIT_BEST, NULL},
    [PROFILE_DECODING] = {"decompressing", "zstd-decode", LIMIT_OF_THREADS, NULL},
    [PROFILE_LINK] = {"host-to-device copy", "host-to-device-pinned", LIMIT_OF_GPUS, "link"},
    [PROFILE_GPU] = {"the kernel on the GPU", "gpu-read", LIMIT_OF_GPUS, "GPU"},
    [PROFILE_MEMORY] = {"the CPU's kernel, reading the mapped file", "cached-mapped",
                        LIMIT_OF_THREADS, NULL},
    [PROFILE_CPU] = {"the CPU's kernel", NULL, LIMIT_BEST, NULL},
};

/* The limits recorded for this machine, read when they are first asked for. That a record had to be
   ignored is said when `verbose`. */
static const struct machine *recorded(bool verbose)
{
    static struct machine machine;
    static bool loaded;
    char reason[MACHINE_REASON_MAX];

    if (!loaded && !machine_load(&machine, reason) && verbose)
        message_line("  recorded limits ignored: %s", reason);
    loaded = true;
    return &machine;
}

/* The recorded limit of what held the run back, GB/s; 0 when there is none. */
static double limit_of(const struct reduction *reduction, const struct profile_limiter *limiter,
                       bool verbose)
{
    const struct cause *cause = &causes[limiter->cause];
    const struct machine *m = recorded(verbose);

    if (!cause->limit)
        return 0;
    if (cause->by == LIMIT_BEST)
        return machine_best(m, cause->limit);
    if (cause->by == LIMIT_OF_THREADS)
        return machine_rate(m, cause->limit, limiter->units);
    for (int i = 0; i < REDUCTION_ENGINES; i++)
        /* The limits of another GPU say nothing. A description of several begins otherwise. */
        if (m->gpu[0] && reduction->shares[i].engine &&
            strstr(reduction->shares[i].description, m->gpu))
            return machine_best(m, cause->limit) * limiter->units;
    return 0;
}

/* Percent of a limit that was measured, in words. */
static void describe_limit(char *text, size_t size, const struct profile_limiter *limiter,
                           double limit)
{
    const struct cause *cause = &causes[limiter->cause];
    double percent = 100 * limiter->rate / limit;
    const char *plural = limiter->units == 1 ? "" : "s";

    if (cause->by == LIMIT_OF_THREADS)
        snprintf(text, size, ", %.0f %% of the measured %.1f GB/s of %u thread%s", percent, limit,
                 limiter->units, plural);
    else if (cause->by == LIMIT_OF_GPUS && limiter->units > 1)
        snprintf(text, size, ", %.0f %% of the %u %ss' measured %.1f GB/s", percent, limiter->units,
                 cause->owner, limit);
    else
        snprintf(text, size, ", %.0f %% of the %s's measured %.1f GB/s", percent, cause->owner,
                 limit);
}

static void json_phases(const struct profile *a)
{
    printf(", \"phases\": {\"start_up\": {\"seconds\": %.6f, \"gpu_seconds\": %.6f}",
           seconds_of(a->start_up), seconds_of(a->gpu_open));
    for (int i = 0; i < PROFILE_PHASES; i++) {
        const struct profile_period *p = &a->phases[i];

        printf(", \"%s\": {\"seconds\": %.6f, \"bytes\": %" PRIu64
               ", \"gigabytes_per_second\": %.3f}",
               i == PROFILE_RAMP_UP ? "ramp_up" : phase_names[i], seconds_of(p->time), p->bytes,
               profile_rate(p->bytes, p->time));
    }
    putchar('}');
}

static void json_stages(const struct profile *a)
{
    const char *separator = "";

    fputs(", \"stages\": {", stdout);
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const struct profile_work *w = &a->stages[i];

        printf("%s\"%s\": {\"bytes\": %" PRIu64
               ", \"gigabytes_per_second\": %.3f, \"busy_seconds\": %.6f, "
               "\"busy_percent\": %.1f, \"gigabytes_per_busy_second\": %.3f}",
               separator, stage_names[i], w->bytes, profile_rate(w->bytes, profile_time(a)),
               seconds_of(w->busy), 100 * profile_utilisation(a, (enum profile_stage)i),
               profile_rate(w->bytes, w->busy));
        separator = ", ";
    }
    printf("}, \"wait_seconds\": %.6f, \"turn_seconds\": %.6f", seconds_of(a->wait),
           seconds_of(a->source_wait));
}

static void json_engines(const struct reduction *reduction)
{
    const char *separator = "";

    fputs(", \"engines\": [", stdout);
    for (int i = 0; i < REDUCTION_ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];

        if (!share->engine || share->elements == 0)
            continue;
        printf("%s{\"engine\": \"%s\", \"device\": \"%s\", \"threads\": %u, \"elements\": %" PRIu64
               ", \"bytes\": %" PRIu64 ", \"percent\": %.2f",
               separator, share->engine, share->description, share->workers, share->elements,
               share->bytes, percent_of(share->bytes, reduction->bytes));
        printf(", \"joined_seconds\": %.6f, \"source_seconds\": %.6f, \"wait_seconds\": %.6f}",
               seconds_of(share->joined), seconds_of(share->source_time), seconds_of(share->wait));
        separator = ", ";
    }
    fputs("], \"gpu_absence\": ", stdout);
    if (reduction->gpu_skipped[0])
        json_string(stdout, reduction->gpu_skipped);
    else
        fputs("null", stdout);
}

static void json_limiter(const struct options *options, const struct reduction *reduction)
{
    struct profile_limiter limiter;
    double limit;

    fputs(", \"held_back_by\": ", stdout);
    if (!profile_limiter(&reduction->profile, &limiter)) {
        fputs("null", stdout);
        return;
    }
    limit = limit_of(reduction, &limiter, options->verbose);
    printf("{\"stage\": \"%s\", \"text\": \"%s\", \"gigabytes_per_second\": %.3f",
           stage_names[limiter.stage], causes[limiter.cause].text, limiter.rate);
    if (limit > 0)
        printf(", \"limit_gigabytes_per_second\": %.3f, \"percent_of_limit\": %.1f}", limit,
               100 * limiter.rate / limit);
    else
        fputs(", \"limit_gigabytes_per_second\": null, \"percent_of_limit\": null}", stdout);
}

static void report_json(const struct options *options, const char *path,
                        const struct reduction *reduction)
{
    const struct result *result = &reduction->result;
    char text[NUMBER_MAX];
    const char *separator = "";

    fputs("{\"file\": ", stdout);
    json_string(stdout, path);
    printf(", \"format\": \"%s\", \"dtype\": \"%s\"", reduction->format,
           element_name(reduction->type));
    /* The counts stand in every object, below. */
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (asked_before(options, i) || op->wants == 0)
            continue;
        format_value(text, op, reduction);
        printf(", \"%s\": %s", op->name, is_json_number(op, reduction) ? text : "null");
    }
    /* What stands behind a null. */
    fputs(", \"nonfinite\": {", stdout);
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (asked_before(options, i) || op->kind == OPERATION_COUNT ||
            is_json_number(op, reduction))
            continue;
        format_value(text, op, reduction);
        printf("%s\"%s\": \"%s\"", separator, op->name, text);
        separator = ", ";
    }
    printf("}, \"count\": %" PRIu64 ", \"nan\": %" PRIu64 ", \"inf\": %" PRIu64, result->count,
           result->nan, result->infinity);
    printf(", \"elements\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"input_bytes\": %" PRIu64,
           reduction->elements, reduction->bytes, reduction->input_bytes);
    printf(", \"seconds\": %.6f, \"gigabytes_per_second\": %.3f", reduction->seconds,
           rate(reduction->bytes, reduction->seconds));
    json_phases(&reduction->profile);
    json_stages(&reduction->profile);
    json_engines(reduction);
    json_limiter(options, reduction);
    puts("}");
}

/* The lines of -v about engines. */
static void verbose_engines(const struct options *options, const struct reduction *reduction)
{
    for (int i = 0; i < REDUCTION_ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];
        char joined[40] = "";

        if (!share->engine || share->elements == 0)
            continue;
        if (options->session.device == DEVICE_AUTO && strcmp(share->engine, "gpu") == 0)
            snprintf(joined, sizeof joined, ", joined in after %.3f s", seconds_of(share->joined));
        message_line("  %-9s %s, %u thread%s", share->engine, share->description, share->workers,
                     share->workers == 1 ? "" : "s");
        message_line("            %" PRIu64 " bytes, %.1f %% of all%s", share->bytes,
                     percent_of(share->bytes, reduction->bytes), joined);
    }
    if (reduction->gpu_skipped[0])
        message_line("  gpu       not used: %.77s", reduction->gpu_skipped);
}

static void verbose_phases(const struct profile *a)
{
    message_line("  phase        seconds               bytes      GB/s");
    if (a->gpu_open)
        message_line("  start-up  %10.3f (GPU ready in %.3f)", seconds_of(a->start_up),
                     seconds_of(a->gpu_open));
    else
        message_line("  start-up  %10.3f", seconds_of(a->start_up));
    for (int i = 0; i < PROFILE_PHASES; i++)
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f", phase_names[i],
                     seconds_of(a->phases[i].time), a->phases[i].bytes,
                     profile_rate(a->phases[i].bytes, a->phases[i].time));
}

/* Less than this part of its capacity is no time to divide by. */
#define BUSY_MIN 0.001

/* A line about what threads waited for, where that took any time. */
static void verbose_waiting(const struct profile *a, const char *name, uint64_t time)
{
    uint64_t capacity = a->stages[PROFILE_READ].capacity;

    if ((double)time >= BUSY_MIN * (double)capacity && capacity > 0)
        message_line("  %-9s %10.3f %39.1f", name, seconds_of(time),
                     100 * (double)time / (double)capacity);
}

static void verbose_stages(const struct profile *a)
{
    message_line("  stage         busy s               bytes      GB/s    busy %%  GB/s busy");
    for (int i = 0; i < PROFILE_STAGES; i++) {
        const struct profile_work *w = &a->stages[i];
        double busy = profile_utilisation(a, (enum profile_stage)i);
        char busy_rate[32] = "-";

        if (w->busy == 0 || w->bytes == 0)
            continue;
        if (busy >= BUSY_MIN)
            snprintf(busy_rate, sizeof busy_rate, "%.2f", profile_rate(w->bytes, w->busy));
        message_line("  %-9s %10.3f %19" PRIu64 " %9.2f %9.1f %10s", stage_names[i],
                     seconds_of(w->busy), w->bytes, profile_rate(w->bytes, profile_time(a)),
                     100 * busy, busy_rate);
    }
    verbose_waiting(a, "wait", a->wait);
    verbose_waiting(a, "turn", a->source_wait);
}

static void verbose_limiter(const struct reduction *reduction)
{
    struct profile_limiter limiter;
    char text[100] = "";
    double limit;

    if (!profile_limiter(&reduction->profile, &limiter))
        return;
    limit = limit_of(reduction, &limiter, true);
    if (limit > 0)
        describe_limit(text, sizeof text, &limiter, limit);
    message_line("  held back by: %s%s", causes[limiter.cause].text, text);
}

static void report_verbose(const struct options *options, const struct reduction *reduction)
{
    message_line("  format    %s, %s%s", reduction->format, element_name(reduction->type),
                 reduction->in_order ? "; elements lie across frames: decoded once more, in order"
                                     : "");
    verbose_engines(options, reduction);
    verbose_phases(&reduction->profile);
    verbose_stages(&reduction->profile);
    verbose_limiter(reduction);
}

static void report_statistics(const struct options *options, const char *path,
                              const struct reduction *reduction)
{
    char quoted[MESSAGE_QUOTE_MAX], compressed[80] = "";

    if (reduction->compressed)
        snprintf(compressed, sizeof compressed, " (%" PRIu64 " compressed, %.3f GB/s)",
                 reduction->input_bytes, rate(reduction->input_bytes, reduction->seconds));
    message_line("%s%s%" PRIu64 " element%s, %" PRIu64 " bytes, %.6f s, %.3f GB/s%s",
                 options->file_count > 1 ? message_quote(quoted, path) : "",
                 options->file_count > 1 ? ": " : "", reduction->elements,
                 reduction->elements == 1 ? "" : "s", reduction->bytes, reduction->seconds,
                 rate(reduction->bytes, reduction->seconds), compressed);
    if (options->verbose)
        report_verbose(options, reduction);
}

bool report_flush(void)
{
    if (fflush(stdout) != 0 && output_error == 0)
        output_error = errno;
    return output_error == 0;
}

void report(const struct options *options, const char *path, const struct reduction *reduction)
{
    if (options->json)
        report_json(options, path, reduction);
    else
        report_text(options, path, reduction);
    /* Results of earlier files are not held back while a large one is reduced. */
    (void)report_flush();
    if (options->verbose || (!options->quiet && !options->json))
        report_statistics(options, path, reduction);
}

void report_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    signal(SIGXFSZ, SIG_IGN);
}

void report_close(void)
{
    /* Flushing tells about what was written; closing a standard output that was never open tells
       nothing, where there was nothing to write. */
    (void)report_flush();
    if (ferror(stdout) && output_error == 0)
        output_error = EIO;
    if (fclose(stdout) != 0 && errno != EBADF && output_error == 0)
        output_error = errno;
    if (output_error)
        message_error(EXIT_FAILED, "standard output: %s", strerror(output_error));
}
