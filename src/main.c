/*
 * gpureduce: from argv to the exit status.
 */
#include <unistd.h>

#include "message.h"
#include "options.h"
#include "reduction.h"
#include "report.h"

int main(int argc, char **argv)
{
    struct options options;
    struct session *session;
    enum options_action action;
    bool quiescent = true;

    report_open();
    message_program("gpureduce");

    action = options_parse(argc, argv, &options);
    if (action == OPTIONS_RUN) {
        session = session_open(&options);
        for (int i = 0; session && i < options.file_count; i++) {
            struct reduction reduction;

            if (session_reduce(session, options.files[i], &reduction))
                report(&options, options.files[i], &reduction);
        }
        quiescent = !session || session_close(session);
    }
    report_close();

    if (!quiescent)
        _exit(message_status());
    return message_status();
}
