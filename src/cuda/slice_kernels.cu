/*
 * Launches the kernels of slices.
 */
#include "config.h"

#include "cuda/slice_choice.cuh"
#include "cuda/tuning.h"

/* Launches a kernel; none was chosen if it is NULL. */
template <typename Launch>
static cudaError_t launch(void (*kernel)(const Launch), const Launch *l, size_t blocks,
                          unsigned threads, cudaStream_t stream)
{
    if (!kernel)
        return cudaErrorInvalidValue;
    /* An error that an earlier call left behind, and that was reported then, is not this one's. */
    (void)cudaGetLastError();
    kernel<<<(unsigned)blocks, threads, 0, stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t cuda_slices(const struct cuda_slice_launch *l, cudaStream_t stream)
{
    const struct slice_choice c = slice_choose(l);

    return launch(c.kernel, l, (c.threads + SLICE_THREADS - 1) / SLICE_THREADS, SLICE_THREADS,
                  stream);
}

cudaError_t cuda_slices_whole(const struct cuda_slice_again *l, cudaStream_t stream)
{
    return launch(slice_choose_whole(l->type), l, l->blocks, SLICE_THREADS, stream);
}

cudaError_t cuda_slices_exact(const struct cuda_slice_again *l, cudaStream_t stream)
{
    return launch(slice_choose_exact(l->type), l, l->blocks, THREADS, stream);
}
