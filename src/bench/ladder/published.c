#include "config.h"

#include "bench/ladder/published.h"

#include <string.h>

static const struct published_run rtx_3090 = {"RTX 3090", 936, "2^25 elements"};
static const struct published_run rtx_5070_ti = {"RTX 5070 Ti", 896, "2^29 elements, 50 repeats"};

const struct published published[] = {
    {&rtx_3090, "lower bound", 0, 0, 0.1396},
    {&rtx_3090, "atomic", 0, 2.47, 0},
    {&rtx_3090, "vector-atomic", 0, 9.9, 0},
    {&rtx_3090, "shared-divergent", 0, 223, 0},
    {&rtx_3090, "shared-strided", 0, 317, 0},
    {&rtx_3090, "sequential", 0, 331, 0},
    {&rtx_3090, "first-add", 0, 618, 0},
    {&rtx_3090, "warp-unrolled", 0, 859, 0},
    {&rtx_3090, "jnp.sum", 0, 871, 0},
    {&rtx_5070_ti, "batched-divergent", 128, 431.4, 0},
    {&rtx_5070_ti, "batched-divergent", 256, 423.2, 0},
    {&rtx_5070_ti, "batched-divergent", 512, 380.7, 0},
    {&rtx_5070_ti, "batched-divergent", 1024, 210.9, 0},
    {&rtx_5070_ti, "batched-strided", 128, 436.1, 0},
};

const size_t published_count = sizeof published / sizeof *published;

const struct published *published_find(const char *rung, unsigned threads)
{
    for (size_t i = 0; i < published_count; i++)
        if (strcmp(published[i].rung, rung) == 0 &&
            (published[i].threads == 0 || published[i].threads == threads))
            return &published[i];
    return NULL;
}

double published_percent(const struct published *p)
{
    return 100 * p->gigabytes / p->run->peak;
}
