/*
 * Stands for what needs CUDA in a build without it.
 */
#include "../message.h"
#include "arguments.h"
#include "bench.h"
#include "limits.h"

void bench_ladder(int argc, char **argv)
{
    (void)argc;
    (void)argv;
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
