/*
 * The launch of the kernel of digests.
 */
#include "config.h"

#include "cuda/digest_kernel.cuh"

cudaError_t cuda_digest(const struct cuda_launch *l, cudaStream_t stream)
{
    const unsigned most = 2 * (unsigned)l->multiprocessors;
    const struct digest_choice c = digest_choose(l, most);
    const uint64_t runs = (c.job.tiles + c.job.run - 1) / c.job.run;
    const unsigned blocks = runs < most ? (unsigned)runs : most;

    c.kernel<<<blocks, THREADS, 0, stream>>>(c.job);
    return cudaGetLastError();
}
