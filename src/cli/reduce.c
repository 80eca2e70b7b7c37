#include "config.h"

#include "cli/commands.h"

#include "cli/failure.h"
#include "cli/report.h"
#include "run/session.h"

static void reduce_all(struct session *session, struct options *options, struct report *r)
{
    const struct session_inputs inputs = {.paths = options->files, .count = options->file_count};
    struct total total;

    total_clear(&total);
    total.inputs = total.failed = options->left_out;
    report_begin(r);
    for (int i = 0; i < options->file_count; i++) {
        struct reduction reduction;

        if (options->parts)
            options->session.input.part = options->parts[i];
        (void)session_reduce(session, options->files[i], &reduction);
        report(r, options->files[i], &reduction);
        if (options->total)
            total_add(&total, &reduction);
    }
    report_rows(r);
    if (options->total) {
        total_finish(&total, options->session.nan, options->session.ddof);
        session_quantiles(session, &options->total_quantiles, &inputs, &total);
        if (total.cause.kind != ERROR_NONE)
            failure_print(total.cause_path, NULL, &total.cause);
        report_total(r, &total);
    }
    report_end(options);
}

void reduce_files(struct options *options)
{
    struct session *session = NULL;
    struct error error;
    struct report r;

    if (report_open(&r, options) && report_possible(options)) {
        report_by_workers(&r, &options->session);
        session = session_open(&options->session, options->files, options->file_count, &error);
        if (!session)
            failure_print(NULL, NULL, &error);
    }
    if (session) {
        reduce_all(session, options, &r);
        options->threads_left = !session_close(session);
    }
    report_close(&r);
}
