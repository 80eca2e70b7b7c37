#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "message.h"
#include "number.h"

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
            strcpy(text, "nan");
        else
            snprintf(text, NUMBER_MAX, "%" PRIu64, integer);
        break;
    case OPERATION_ELEMENT:
        number_format(text, operation_number(op, &reduction->result), reduction->type);
        break;
    default:
        number_format(text, operation_number(op, &reduction->result), ELEMENT_F64);
    }
}

static double rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / seconds / 1e9 : 0;
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
    printf(", \"seconds\": %.6f, \"start_up_seconds\": %.6f, \"gigabytes_per_second\": %.3f",
           reduction->seconds, reduction->start_up, rate(reduction->bytes, reduction->seconds));
    printf(", \"stages\": {\"read_seconds\": %.6f, \"decode_seconds\": %.6f}",
           seconds_of(reduction->read_time), seconds_of(reduction->decode_time));
    fputs(", \"engines\": [", stdout);
    separator = "";
    for (int i = 0; i < REDUCTION_ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];

        if (!share->engine || share->elements == 0)
            continue;
        printf("%s{\"engine\": \"%s\", \"device\": \"%s\", \"threads\": %u, \"elements\": %" PRIu64
               ", \"bytes\": %" PRIu64,
               separator, share->engine, share->description, share->lanes, share->elements,
               share->bytes);
        printf(", \"source_seconds\": %.6f, \"wait_seconds\": %.6f, \"copy_seconds\": %.6f"
               ", \"kernel_seconds\": %.6f, \"reduce_seconds\": %.6f}",
               seconds_of(share->source_time), seconds_of(share->times.wait),
               seconds_of(share->times.copy), seconds_of(share->times.kernel),
               seconds_of(share->times.reduce));
        separator = ", ";
    }
    puts("]}");
}

/* One stage of -v: nothing when it took no time. */
static void verbose_stage(const char *name, uint64_t bytes, uint64_t nanoseconds, unsigned threads)
{
    if (nanoseconds && bytes)
        message_line("  %-9s %10.3f s in all, %.3f s a thread, %.2f GB/s a thread", name,
                     seconds_of(nanoseconds), seconds_of(nanoseconds) / threads,
                     rate(bytes, seconds_of(nanoseconds)));
}

static void report_verbose(const struct reduction *reduction)
{
    unsigned threads = 0;

    for (int i = 0; i < REDUCTION_ENGINES; i++)
        threads += reduction->shares[i].lanes;
    message_line("  format    %s, %s%s", reduction->format, element_name(reduction->type),
                 reduction->in_order ? "; elements lie across frames: decoded once more, in order"
                                     : "");
    message_line("  start-up  %10.3f s before the first read", reduction->start_up);
    verbose_stage("read", reduction->input_bytes, reduction->read_time, threads);
    verbose_stage("decode", reduction->bytes, reduction->decode_time, threads);
    for (int i = 0; i < REDUCTION_ENGINES; i++) {
        const struct reduction_share *share = &reduction->shares[i];

        if (!share->engine || share->elements == 0)
            continue;
        message_line("  %-9s %s, %u thread%s: %" PRIu64 " bytes, %.1f %% of all", share->engine,
                     share->description, share->lanes, share->lanes == 1 ? "" : "s", share->bytes,
                     reduction->bytes ? 100.0 * (double)share->bytes / (double)reduction->bytes
                                      : 0.0);
        verbose_stage("reduce", share->bytes, share->times.reduce, share->lanes);
        verbose_stage("copy", share->bytes, share->times.copy, share->lanes);
        verbose_stage("kernel", share->bytes, share->times.kernel, share->lanes);
        verbose_stage("wait", share->bytes, share->times.wait, share->lanes);
    }
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
        report_verbose(reduction);
}

void report_flush(void)
{
    if (fflush(stdout) != 0 && output_error == 0)
        output_error = errno;
}

void report(const struct options *options, const char *path, const struct reduction *reduction)
{
    if (options->json)
        report_json(options, path, reduction);
    else
        report_text(options, path, reduction);
    /* Results of earlier files are not held back while a large one is reduced. */
    report_flush();
    if (options->verbose || (!options->quiet && !options->json))
        report_statistics(options, path, reduction);
}

void report_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void report_close(void)
{
    /* Flushing tells about what was written; closing a standard output that was never open tells
       nothing, where there was nothing to write. */
    report_flush();
    if (ferror(stdout) && output_error == 0)
        output_error = EIO;
    if (fclose(stdout) != 0 && errno != EBADF && output_error == 0)
        output_error = errno;
    if (output_error)
        message_error(EXIT_FAILED, "standard output: %s", strerror(output_error));
}
