#include "config.h"

#include "cli/operands.h"

#include <limits.h>
#include <stdlib.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/output.h"
#include "sys/escape.h"
#include "sys/operand.h"

/* Says whether the file of this path is an operand, "", or one of the files of an operand, "in "; NULL: it
   is neither. */
static const char *find_operand(const struct options *options, const char *path)
{
    char other[PATH_MAX];

    for (int i = 0; i < options->file_count; i++) {
        const char *const file = options->files[i];

        if (output_is_input(path, file) ||
            (operand_pair(file, other) && output_is_input(path, other)))
            return "";
        /* A directory that still is one is a store; others have become their files. */
        if (options->expanded && output_is_part(path, file))
            return "in ";
    }
    for (const struct source_index *i = options->expanded ? options->set.index : NULL; i;
         i = i->next)
        if (i->path && output_is_input(path, i->path))
            return "in ";
    return NULL;
}

/* Whether the file that an option is to write, if it is, is none of the operands. */
static bool is_no_operand(const struct options *options, const char *option, const char *path)
{
    const char *const found = path ? find_operand(options, path) : NULL;
    char quoted[ESCAPE_QUOTE_MAX];

    if (found)
        message_error(EXIT_FAILED, "%s: is %sthe input, which %s would overwrite",
                      escape_quote(quoted, path), found, option);
    return !found;
}

static bool spares_operands(const struct options *options)
{
    return is_no_operand(options, "--output", options->axis_output) &&
           is_no_operand(options, "--plot", options->plot);
}

bool operands_expand(struct options *options)
{
    struct source_set set = {.log = &failure_log};
    struct error error;
    const char *about;

    options->expanded = false;
    if (!spares_operands(options))
        return false;
    if ((options->command == COMMAND_CHECK && options->file_count == 0) ||
        options->command == COMMAND_MERGE || options->command == COMMAND_DIFF)
        return true;
    for (int i = 0; i < options->file_count; i++) {
        if (source_set_add(&set, options->files[i], options->session.input.format, &error, &about))
            continue;
        failure_print(about, NULL, &error);
        options->left_out++;
        if (error.kind == ERROR_MEMORY) {
            source_set_free(&set);
            return false;
        }
    }
    source_set_check(&set);
    options->expanded = true;
    options->set = set;
    options->files = set.paths;
    options->file_count = (int)set.count;
    options->session.input.index = set.index;
    if (spares_operands(options))
        return true;
    operands_free(options);
    return false;
}

void operands_free(struct options *options)
{
    if (!options->expanded)
        return;
    source_set_free(&options->set);
    free(options->parts);
    options->parts = NULL;
    options->expanded = false;
}
