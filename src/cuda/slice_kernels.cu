/*
 * Launches the kernels of slices.
 */
#include "config.h"

#include "cuda/slice_choice.cuh"

/* Launches what was chosen. */
template <typename Choice, typename Launch>
static cudaError_t launch(const Choice &c, const Launch *l, cudaStream_t stream)
{
    if (!c.kernel)
        return cudaErrorInvalidValue;
    /* An error that an earlier call left behind, and that was reported then, is not this one's. */
    (void)cudaGetLastError();
    c.kernel<<<(unsigned)((c.threads + SLICE_THREADS - 1) / SLICE_THREADS), SLICE_THREADS, 0,
               stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t cuda_slices(const struct cuda_slice_launch *l, cudaStream_t stream)
{
    return launch(slice_choose(l), l, stream);
}

cudaError_t cuda_slices_whole(const struct cuda_slice_whole_launch *l, cudaStream_t stream)
{
    return launch(slice_choose_whole(l), l, stream);
}
