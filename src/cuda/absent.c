/*
 * Stands for the CUDA engine in a build without CUDA: it never opens.
 */
#include "../engine.h"

#include <stdio.h>

static struct engine_state *absent_open(const int *devices, unsigned device_count,
                                        char reason[ENGINE_REASON_MAX])
{
    (void)devices;
    (void)device_count;
    snprintf(reason, ENGINE_REASON_MAX, "this gpureduce was built without CUDA");
    return NULL;
}

const struct engine engine_cuda = {.name = "gpu", .open = absent_open};
