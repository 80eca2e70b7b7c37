#include "config.h"

#include "cli/commands.h"

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/process.h"
#include "cli/report.h"
#include "run/diff.h"

/* Sets of files are open all at a time: descriptors for each file, and for all else. */
#define FILES_EACH 3
#define FILES_MORE 64

/* Expands an operand into the files it stands for, as options of their own. False on failure. */
static bool expand(struct options *side, const struct options *options, int number)
{
    *side = *options;
    side->command = COMMAND_REDUCE;
    side->files = &options->files[number];
    side->file_count = 1;
    return operands_expand(side) && side->left_out == 0;
}

/* Prints what went wrong in a comparison; NULL: there was no memory for one. */
static void print_errors(const struct diff *diff)
{
    const struct error no_memory = {.kind = ERROR_MEMORY, .text = "out of memory"}, *error;
    const char *name;

    if (!diff)
        failure_print(NULL, NULL, &no_memory);
    for (size_t i = 0; diff && (error = diff_error(diff, i, &name)); i++)
        failure_print_named(name, error);
}

void diff_files(struct options *options)
{
    struct options sides[DIFF_SIDES] = {*options, *options};
    struct diff_request request = {.options = &options->session,
                                   .tolerances = &options->tolerances,
                                   .rename = options->rename.count > 0 ? &options->rename : NULL,
                                   .cast = options->cast,
                                   .ignore_dtype = options->ignore_dtype,
                                   .verdict_only =
                                       options->quiet && options->session.nan != NAN_ERROR};
    struct diff *diff = NULL;
    bool good = true;

    for (int side = 0; side < DIFF_SIDES && good; side++) {
        good = expand(&sides[side], options, side);
        request.sides[side].name = options->files[side];
        request.sides[side].paths = sides[side].files;
        request.sides[side].count = sides[side].file_count;
        request.sides[side].index = sides[side].session.input.index;
    }
    if (good) {
        process_allow_files(
            FILES_EACH * ((uint64_t)sides[DIFF_A].file_count + (uint64_t)sides[DIFF_B].file_count) +
            FILES_MORE);
        diff = diff_new(&request);
        good = diff && diff_run(diff);
        print_errors(diff);
    }
    if (good) {
        options->differs = diff_summary(diff).differs;
        report_diff(options, &request, diff);
    }
    report_end(options);
    if (diff)
        diff_close(diff);
    for (int side = 0; side < DIFF_SIDES; side++)
        operands_free(&sides[side]);
    rename_free(&options->rename);
}

enum diff_status diff_exit_status(bool differs)
{
    if (message_status() != EXIT_OK)
        return DIFF_STATUS_TROUBLE;
    return differs ? DIFF_STATUS_DIFFERENT : DIFF_STATUS_SAME;
}
