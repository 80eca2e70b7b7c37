/*
 * Stands in the place of the modules that need CUDA, in a build without it.
 */
#include "config.h"

#include <string.h>

#include "bench/ladder/ladder.h"
#include "bench/ladder/options.h"
#include "bench/limits/limits_device.h"
#include "cli/arguments.h"
#include "cli/message.h"

void bench_ladder(int argc, char **argv)
{
    struct arguments arguments = ladder_arguments;
    struct ladder_options options = ladder_defaults;
    struct operands operands;

    arguments.summary =
        "Run every rung of reductions on the GPU. This gpureduce-bench was built without\n"
        "CUDA, and cannot.";
    /* Whatever other options there are, they could not help. */
    for (int i = 1; i < argc; i++) {
        static const char *const printing[] = {"--help", "-h", "--version", "-V"};
        char *words[] = {argv[0], argv[i], NULL};

        for (size_t j = 0; j < sizeof printing / sizeof *printing; j++) {
            if (strcmp(argv[i], printing[j]) == 0) {
                (void)arguments_parse(&arguments, 2, words, &options, &operands);
                return;
            }
        }
    }
    message_error(EXIT_NO_GPU, "the ladder needs a GPU, and this gpureduce-bench was built without "
                               "CUDA");
}

struct limits_device *limits_device_open(struct limits *l)
{
    table_fact_text(l->table, "no_gpu", "GPU", "none that can be used: built without CUDA");
    return NULL;
}

void limits_device_measure(struct limits *l, struct limits_device *d)
{
    (void)l;
    (void)d;
}

void limits_device_close(struct limits_device *d)
{
    (void)d;
}
