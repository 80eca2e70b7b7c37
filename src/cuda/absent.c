/*
 * Stands for the CUDA engine in a build without CUDA: it never opens.
 */
#include "config.h"

#include "engine/engine.h"

#include <stdio.h>

static struct engine_state *absent_open(const struct engine_needs *needs,
                                        char reason[ENGINE_REASON_MAX])
{
    (void)needs;
    snprintf(reason, ENGINE_REASON_MAX, "this gpureduce was built without CUDA");
    return NULL;
}

static unsigned absent_workers(unsigned device_count, unsigned cores)
{
    (void)device_count;
    (void)cores;
    return 1;
}

const struct engine engine_cuda = {.name = "gpu", .open = absent_open, .workers = absent_workers};
