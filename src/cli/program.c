#include "config.h"

#include "cli/program.h"

#include <unistd.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/option_values.h"
#include "cli/progress.h"
#include "cli/stdio.h"
#include "sys/float_mode.h"
#include "sys/signals.h"

static void (*const commands[])(struct options *options) = {
    [COMMAND_REDUCE] = reduce_files, [COMMAND_AXIS] = axis_files, [COMMAND_DIFF] = diff_files,
    [COMMAND_MERGE] = merge_files,   [COMMAND_LIST] = list_files, [COMMAND_CHECK] = check_files,
};

int program_main(int argc, char **argv, const struct source_tuning *source,
                 const struct session_tuning *session)
{
    /* Libraries that are loaded before may have set another. */
    FLOAT_MODE_DEFAULT;
    static struct options options; /* large, for a small stack */
    struct progress progress = {0};
    struct progress_observer observer = progress_observe(&progress);
    int status;

    stdio_open();
    signals_open();
    message_program("gpureduce");
    if (command_line_parse(argc, argv, &options) == COMMAND_LINE_RUN && operands_expand(&options) &&
        partial_choose_shard(&options)) {
        options.session.input.tuning = source;
        options.session.tuning = session;
        progress.several = options.file_count > 1;
        if (options.progress)
            options.session.progress = &observer;
        commands[options.command](&options);
    }
    stdio_close();
    operands_free(&options);
    status = options.command == COMMAND_DIFF ? (int)diff_exit_status(options.differs)
                                             : (int)message_status();
    if (options.threads_left)
        _exit(status);
    return status;
}
