#include "config.h"

#include "cuda/array_launch.h"
#include "cuda/tuning.h"

static_assert(sizeof(struct partial) % sizeof(uint64_t) == 0, "a partial is no whole words");

static const unsigned PARTIAL_WORDS = sizeof(struct partial) / sizeof(uint64_t);

__global__ void __launch_bounds__(THREADS) publish(const __grid_constant__ struct cuda_publish job)
{
    const uint64_t *from = (const uint64_t *)job.from, *cleared = (const uint64_t *)job.cleared;
    uint64_t *to = (uint64_t *)&job.to->partial, *clear = (uint64_t *)job.clear;

    for (unsigned i = threadIdx.x; i < job.words; i += THREADS)
        to[i] = from[i];
    if (clear)
        for (unsigned i = threadIdx.x; i < PARTIAL_WORDS; i += THREADS)
            clear[i] = cleared[i];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile uint64_t *)&job.to->number = job.number;
}

cudaError_t cuda_publish(const struct cuda_publish *job, cudaStream_t stream)
{
    publish<<<1, THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}
