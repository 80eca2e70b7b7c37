/*
 * gpureduce: from argv to the exit status.
 */
#include "config.h"

#include <unistd.h>

#include "cli/axis.h"
#include "cli/check.h"
#include "cli/command_line.h"
#include "cli/diff.h"
#include "cli/list.h"
#include "cli/merge.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/partial_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "run/gpu.h"
#include "run/session.h"
#include "sys/message.h"
#include "sys/stdio.h"

/* Reduces one file after the other, and prints what they come to. */
static void reduce_files(struct session *session, struct options *options)
{
    const struct session_inputs inputs = {.paths = options->files, .count = options->file_count};
    struct total total;

    total_clear(&total);
    total.inputs = total.failed = options->left_out;
    report_begin(options);
    for (int i = 0; i < options->file_count; i++) {
        struct reduction reduction;

        if (options->parts)
            options->session.input.part = options->parts[i];
        (void)session_reduce(session, options->files[i], &reduction);
        report(options, options->files[i], &reduction);
        if (options->total)
            total_add(&total, &reduction);
    }
    report_rows(options);
    if (options->total) {
        total_finish(&total, options->session.nan, options->session.ddof);
        session_survey(session, &options->total_survey, &inputs, &total);
        report_total(options, &total);
    }
    report_end(options);
}

/* Reduces the files of a record, and compares. */
static void check_files(struct session *session, struct check *check, const struct options *options)
{
    for (int i = 0; i < options->file_count; i++) {
        struct reduction reduction;

        check_prepare(check, i);
        (void)session_reduce(session, options->files[i], &reduction);
        check_result(check, session, i, &reduction);
    }
}

int main(int argc, char **argv)
{
    static struct options options; /* large, for a small stack */
    struct session *session = NULL;
    struct check *check = NULL;
    enum command_line_action action;
    struct progress progress = {0};
    struct progress_observer observer = progress_observe(&progress);
    bool quiescent = true, comparing, differs = false;
    int status;

    stdio_open();
    message_program("gpureduce");

    action = command_line_parse(argc, argv, &options);
    if (action == COMMAND_LINE_RUN &&
        !(operands_expand(&options) && partial_choose_shard(&options)))
        action = COMMAND_LINE_WRONG;
    if (action == COMMAND_LINE_RUN)
        gpu_leave_out(&options.session, options.files, options.file_count);
    comparing = action == COMMAND_LINE_RUN && options.diff;
    progress.several = comparing;
    if (comparing) {
        if (options.progress)
            options.session.progress = &observer;
        differs = diff_files(&options, &quiescent);
        report_end(&options);
    } else if (action == COMMAND_LINE_RUN && options.merge) {
        merge_files(&options);
    } else if (action == COMMAND_LINE_RUN && options.axis.asked) {
        progress.several = options.file_count > 1;
        if (options.progress)
            options.session.progress = &observer;
        if (axis_files(&options))
            report_end(&options);
    } else if (action == COMMAND_LINE_RUN && options.list) {
        list_files(&options);
        report_end(&options);
    } else if (action == COMMAND_LINE_RUN) {
        progress.several = options.file_count > 1;
        if (options.progress)
            options.session.progress = &observer;
        if (options.check)
            check = check_open(&options);
        else
            report_by_workers(&options);
        if (options.check ? check != NULL : report_possible(&options))
            session = session_open(&options.session, options.files, options.file_count);
        if (session && check)
            check_files(session, check, &options);
        else if (session)
            reduce_files(session, &options);
        quiescent = !session || session_close(session);
        if (check)
            check_close(check);
    }
    stdio_close();
    operands_free(&options);

    status = comparing ? (int)diff_exit_status(differs) : (int)message_status();
    if (!quiescent)
        _exit(status);
    return status;
}
