/*
 * The kernels of slices, and their launch.
 */
#include "config.h"

#include "cuda/slice_kernels.cuh"

cudaError_t cuda_slices(const struct cuda_slice_launch *l, cudaStream_t stream)
{
    const struct slice_choice c = slice_choose(l);

    if (!c.kernel)
        return cudaErrorInvalidValue;
    /* An error that an earlier call left behind, and that was reported then, is not this one's. */
    (void)cudaGetLastError();
    c.kernel<<<(unsigned)((c.threads + SLICE_THREADS - 1) / SLICE_THREADS), SLICE_THREADS, 0,
               stream>>>(*l);
    return cudaGetLastError();
}
