#include "config.h"

#include "cli/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/stdio.h"
#include "core/name.h"
#include "sys/float_mode.h"
#include "sys/signals.h"

static void (*const commands[])(struct options *options) = {
    [COMMAND_REDUCE] = reduce_files, [COMMAND_AXIS] = axis_files, [COMMAND_DIFF] = diff_files,
    [COMMAND_MERGE] = merge_files,   [COMMAND_LIST] = list_files, [COMMAND_CHECK] = check_files,
};

/* Leaves only those files that the shard has a part of, and notes which part. The files are on the
   heap. False on failure, which is printed. */
static bool choose_shard(struct options *options)
{
    char name[NAME_INPUT_MAX];
    struct shard_part *parts;
    const char *failed;
    struct error error;
    int kept = 0;

    if (options->shard.of == 0)
        return true;
    parts = calloc((size_t)options->file_count + 1, sizeof *parts);
    options->parts = calloc((size_t)options->file_count + 1, sizeof *options->parts);
    if (!parts || !options->parts) {
        free(parts);
        return message_error(EXIT_FAILED, "out of memory");
    }
    if (!shard_plan(&options->shard, options->files, options->file_count, &options->session.input,
                    parts, &failed, &error)) {
        failure_print(failed, NULL, &error);
        free(parts);
        return false;
    }
    for (int i = 0; i < options->file_count; i++) {
        char *const file = options->files[i];

        if (!parts[i].any) {
            /* Another shard has the only part of a file that cannot be used. Processes that do see it have
               made another plan, and some elements may be in nobody's. */
            if (parts[i].error)
                message_error(EXIT_FAILED, "%s: %s", name_input(name, file),
                              strerror(parts[i].error));
            continue;
        }
        options->files[i] = options->files[kept]; /* the set frees all of them */
        options->files[kept] = file;
        options->parts[kept++] = parts[i].part;
    }
    options->file_count = kept;
    free(parts);
    return true;
}

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
    if (command_line_parse(argc, argv, &options) == ARGUMENTS_RUN && operands_expand(&options) &&
        choose_shard(&options)) {
        options.session.input.tuning = source;
        options.session.tuning = session;
        progress.several = options.file_count > 1;
        if (options.progress)
            options.session.progress = &observer;
        commands[options.command](&options);
    }
    stdio_close();
    operands_free(&options);
    status = message_status();
    if (options.command == COMMAND_DIFF) /* as those of cmp(1) and diff(1) */
        status = status != EXIT_OK ? EXIT_USAGE : options.differs;
    if (options.threads_left)
        _exit(status);
    return status;
}
