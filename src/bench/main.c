/*
 * gpureduce-bench: from argv to the exit status.
 */
#include "config.h"

#include <string.h>

#include "bench/generate/generate.h"
#include "bench/ladder/ladder.h"
#include "bench/ladder/options.h"
#include "bench/limits/limits.h"
#include "cli/arguments.h"
#include "cli/message.h"
#include "cli/stdio.h"
#include "sys/signals.h"

/* The commands. Each parses its own options, prints its errors by message_error and its output on
   standard output; its threads have ended when it returns. Errors of standard output are printed at
   the end of main. */
static const struct argument_command commands[] = {
    {"ladder", "sum on the GPU by kernels, from the naive to the production one", &ladder_arguments,
     bench_ladder},
    {"limits", "measure the limits of memory, links, files and decoders", &limits_arguments,
     bench_limits},
    {"generate", "write test data of a chosen distribution to standard output", &generate_arguments,
     bench_generate},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static const struct arguments arguments = {
    .program = "gpureduce-bench",
    .usage = "COMMAND [OPTION]...",
    .summary = "Measure how fast this machine and its GPU reduce floats, and make test data.",
    .commands = commands,
    .command_count = COMMANDS,
    .details = "'gpureduce-bench COMMAND --help' explains a command.\n"
               "\n"
               "Exit status: 0 success; 1 input, output or device failure; 2 wrong usage; 3 a\n"
               "GPU is needed and there is none to use.\n"
               "\n"
               "Example: gpureduce-bench generate --dist=normal --bytes=1GB > normal.f32",
};

/* Runs the command that argv[1] or a later word names. */
static void run(int argc, char **argv)
{
    struct operands operands;
    char nothing = 0;

    if (arguments_parse(&arguments, argc, argv, &nothing, &operands) != ARGUMENTS_RUN)
        return;
    if (operands.count == 0) {
        message_error(EXIT_USAGE, "no command (try 'gpureduce-bench --help')");
        return;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(operands.words[0], commands[i].name) == 0) {
            commands[i].run(operands.count, operands.words);
            return;
        }
    }
    arguments_wrong("unknown command %s", operands.words[0]);
}

int main(int argc, char **argv)
{
    stdio_open();
    signals_open();
    message_program("gpureduce-bench");
    run(argc, argv);
    stdio_close();
    return message_status();
}
