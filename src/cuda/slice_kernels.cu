/*
 * Launches the kernels of slices.
 */
#include "config.h"

#include "cuda/shared.cuh"
#include "cuda/slice_choice.cuh"
#include "cuda/tuning.h"

/* Launches a kernel; none was chosen if it is NULL. */
template <typename Launch>
static cudaError_t launch(void (*kernel)(const Launch), const Launch *l, size_t blocks,
                          unsigned threads, cudaStream_t stream, size_t shared = 0, size_t most = 0)
{
    cudaError_t error = cudaSuccess;

    if (!kernel)
        return cudaErrorInvalidValue;
    if (shared > 0)
        error = allow_shared(kernel, shared, most);
    if (error != cudaSuccess)
        return error;
    kernel<<<(unsigned)blocks, threads, shared, stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t cuda_slices(const struct cuda_slice_launch *l, cudaStream_t stream)
{
    const struct slice_choice c = slice_choose(l);

    return launch(c.kernel, l, (c.threads + SLICE_THREADS - 1) / SLICE_THREADS, SLICE_THREADS,
                  stream);
}

cudaError_t cuda_slices_whole(const struct cuda_slice_job *l, cudaStream_t stream)
{
    return launch(slice_choose_whole(l->type), l, l->blocks, SLICE_THREADS, stream);
}

cudaError_t cuda_slices_exact(const struct cuda_slice_job *l, cudaStream_t stream)
{
    return launch(slice_choose_exact(l), l, l->blocks, THREADS, stream);
}

cudaError_t cuda_slices_look(const struct cuda_slice_job *l, cudaStream_t stream)
{
    const struct slice_look_kernels kernels = slice_choose_look(l);
    const cudaError_t error = launch(kernels.look, l, l->blocks, CUDA_LOOK_THREADS, stream);

    return error != cudaSuccess || l->parts == 1
               ? error
               : launch(kernels.parts, l, l->blocks, CUDA_LOOK_THREADS, stream);
}

cudaError_t cuda_slices_select(const struct cuda_slice_job *l, cudaStream_t stream)
{
    return launch(slice_choose_select(l), l, l->blocks, CUDA_SELECT_THREADS, stream,
                  cuda_select_bytes(l), l->shared);
}
