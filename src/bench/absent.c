/*
 * What takes the place of the modules that need CUDA, in a build without it.
 */
#include "config.h"

#include <string.h>

#include "bench/common/arguments.h"
#include "bench/ladder/ladder.h"
#include "bench/limits/limits_device.h"
#include "sys/message.h"

void bench_ladder(int argc, char **argv)
{
    /* Whatever options of the ladder's there are, they could not help. */
    const struct arguments arguments = {
        .program = "gpureduce-bench ladder",
        .usage = "[OPTION]...",
        .summary =
            "Run every rung of reductions on the GPU. This gpureduce-bench was built without\n"
            "CUDA, and cannot; the manual page describes the options.",
    };
    int operand;

    for (int i = 1; i < argc; i++) {
        char *words[] = {argv[0], argv[i], NULL};

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0) {
            (void)arguments_parse(&arguments, 2, words, &operand);
            return;
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
