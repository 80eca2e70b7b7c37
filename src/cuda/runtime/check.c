#include "config.h"

#include "cuda/runtime/check.h"

#include <stdio.h>

bool cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX])
{
    if (error == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* the next launch would find it, too */
    if (error == cudaErrorInsufficientDriver)
        snprintf(reason, ENGINE_REASON_MAX,
                 "no NVIDIA driver, or one that is older than CUDA %d.%d", CUDART_VERSION / 1000,
                 CUDART_VERSION % 1000 / 10);
    else
        snprintf(reason, ENGINE_REASON_MAX, "%s: %s", what, cudaGetErrorString(error));
    return false;
}

bool cuda_no_memory(char reason[ENGINE_REASON_MAX])
{
    snprintf(reason, ENGINE_REASON_MAX, "out of memory");
    return false;
}
