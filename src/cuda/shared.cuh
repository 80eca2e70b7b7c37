/*
 * Shared memory of blocks whose size is told at a launch.
 */
#ifndef GPUREDUCE_CUDA_SHARED_CUH
#define GPUREDUCE_CUDA_SHARED_CUH

#include <cuda_runtime_api.h>
#include <stddef.h>

/* Shared memory that a block has without asking, bytes: together with what its kernel has anyway. */
static const size_t SHARED_USUAL = (size_t)48 << 10;

/* Lets launches of a kernel have so many bytes of such memory: if that takes asking, as many as a block of
   the device has, `most`, so that no thread that launches it takes what another one needs. */
template <typename Kernel>
static cudaError_t allow_shared(Kernel *kernel, size_t bytes, size_t most)
{
    struct cudaFuncAttributes a;
    const cudaError_t error = cudaFuncGetAttributes(&a, kernel);

    if (error != cudaSuccess || bytes + a.sharedSizeBytes <= SHARED_USUAL)
        return error;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)(most - a.sharedSizeBytes));
}

#endif
