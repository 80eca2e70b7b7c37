/*
 * gpureduce: from argv to the exit status.
 */
#include "config.h"

#include <unistd.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "run/session.h"
#include "sys/message.h"
#include "sys/stdio.h"

int main(int argc, char **argv)
{
    struct options options;
    struct session *session;
    enum options_action action;
    struct progress progress = {0};
    struct progress_observer observer = progress_observe(&progress);
    bool quiescent = true;

    stdio_open();
    message_program("gpureduce");

    action = options_parse(argc, argv, &options);
    if (action == OPTIONS_RUN) {
        progress.several = options.file_count > 1;
        if (options.progress)
            options.session.progress = &observer;
        session = session_open(&options.session, options.files, options.file_count);
        for (int i = 0; session && i < options.file_count; i++) {
            struct reduction reduction;

            if (session_reduce(session, options.files[i], &reduction))
                report(&options, options.files[i], &reduction);
        }
        quiescent = !session || session_close(session);
    }
    stdio_close();

    if (!quiescent)
        _exit(message_status());
    return message_status();
}
