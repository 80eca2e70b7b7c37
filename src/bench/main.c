/*
 * gpureduce-bench: from argv to the exit status.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/arguments.h"
#include "bench/common/bench.h"
#include "sys/message.h"
#include "sys/stdio.h"

static const struct command {
    const char *name;
    const char *summary;
    void (*function)(int argc, char **argv);
} commands[] = {
    {"ladder", "sum on the GPU by kernels, from the naive to the production one", bench_ladder},
    {"limits", "measure what memory, links, files and decoders of this machine allow",
     bench_limits},
    {"generate", "write test data of a chosen distribution to standard output", bench_generate},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void print_commands(void)
{
    puts("\nCommands:");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s%s\n", commands[i].name, commands[i].summary);
}

static const struct arguments arguments = {
    .program = "gpureduce-bench",
    .usage = "COMMAND [OPTION]...",
    .summary = "Measure how fast this machine and its GPU reduce floats, and make test data.",
    .operands = -1,
    .print_details = print_commands,
    .details = "'gpureduce-bench COMMAND --help' explains a command.\n"
               "\n"
               "Exit status: 0 all well; 1 input, output or device failure; 2 wrong usage; 3 a\n"
               "GPU is needed and there is none to use.\n"
               "\n"
               "Example: gpureduce-bench generate --dist=normal --bytes=1GB > normal.f32",
};

/* Runs the command that argv[1] or a later word names. */
static void run(int argc, char **argv)
{
    int operand;

    if (arguments_parse(&arguments, argc, argv, &operand) != ARGUMENTS_RUN)
        return;
    if (operand == argc) {
        message_error(EXIT_USAGE, "no command (try 'gpureduce-bench --help')");
        return;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[operand], commands[i].name) == 0) {
            commands[i].function(argc - operand, argv + operand);
            return;
        }
    }
    arguments_wrong(&arguments, "unknown command %s", argv[operand]);
}

int main(int argc, char **argv)
{
    stdio_open();
    message_program("gpureduce-bench");
    run(argc, argv);
    stdio_close();
    return message_status();
}
