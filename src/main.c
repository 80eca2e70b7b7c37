/*
 * gpureduce: from argv to the exit status.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "message.h"
#include "options.h"
#include "reduction.h"
#include "report.h"

/* A program may be started with a standard descriptor closed; the next file it opens would then
   take its place. Such a descriptor is opened the wrong way round, so that using it still fails. */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct options options;
    struct session *session;
    enum options_action action;
    bool quiescent = true;

    occupy_standard_descriptors();
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
