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

/* Copies an element, which may not be aligned to its size. */
template <typename Element>
__device__ static __forceinline__ void copy_element(unsigned char *to, const unsigned char *from)
{
    if ((uintptr_t)from % sizeof(Element) == 0)
        *(Element *)to = *(const Element *)from;
    else
        for (unsigned i = 0; i < sizeof(Element); i++)
            to[i] = from[i];
}

template <typename Element>
__global__ void __launch_bounds__(THREADS) gather(const __grid_constant__ struct cuda_gather job)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.count; i += step)
        copy_element<Element>(job.to + i * sizeof(Element), cuda_gather_from(&job, i));
}

cudaError_t cuda_gather(const struct cuda_gather *job, int multiprocessors, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)multiprocessors * (RESIDENT_THREADS / THREADS);

    switch (job->size) {
    case 1:
        gather<uint8_t><<<blocks, THREADS, 0, stream>>>(*job);
        break;
    case 2:
        gather<uint16_t><<<blocks, THREADS, 0, stream>>>(*job);
        break;
    case 4:
        gather<uint32_t><<<blocks, THREADS, 0, stream>>>(*job);
        break;
    default:
        gather<uint64_t><<<blocks, THREADS, 0, stream>>>(*job);
        break;
    }
    return cudaGetLastError();
}

cudaError_t cuda_publish(const struct cuda_publish *job, cudaStream_t stream)
{
    publish<<<1, THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}

__device__ static void append(const struct cuda_list *list, uint64_t number)
{
    const unsigned long long at = atomicAdd((unsigned long long *)list->found, 1ull);

    if (at < list->room)
        list->found[1 + at] = number;
}

/* A warp takes a group of the parts of a slice, and each of its lanes every 32nd part; or a thread,
   if they are few. */
__global__ void __launch_bounds__(THREADS)
    merge_sums(const __grid_constant__ struct cuda_merge_sums job)
{
    const unsigned lanes = job.parts / job.groups > 4 ? 32 : 1, lane = threadIdx.x % lanes;
    const uint64_t step = (uint64_t)gridDim.x * (THREADS / lanes);

    for (uint64_t i = (uint64_t)blockIdx.x * (THREADS / lanes) + threadIdx.x / lanes;
         i < job.slices * job.groups; i += step) {
        const uint64_t slice = i / job.groups, end = cuda_merge_first(&job, i % job.groups + 1);
        struct cuda_pair sum = {0, 0, false};

        for (uint64_t part = cuda_merge_first(&job, i % job.groups) + lane; part < end;
             part += lanes) {
            const uint64_t at = job.columns ? part * job.slices + slice : slice * job.parts + part;

            cuda_pair_add(&sum, job.high[at], job.low[at]);
        }
        for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
            const double high = __shfl_xor_sync(0xffffffffu, sum.high, distance);
            const double low = __shfl_xor_sync(0xffffffffu, sum.low, distance);

            sum.left = (__shfl_xor_sync(0xffffffffu, (int)sum.left, distance) != 0) || sum.left;
            cuda_pair_add(&sum, high, low);
        }
        if (lane == 0 && !cuda_merge_put(&job, i, &sum))
            append(&job.unknown, job.first + i);
    }
}

__global__ void __launch_bounds__(THREADS)
    find_nans(const __grid_constant__ struct cuda_find_nans job)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.count; i += step) {
        const double x = job.numbers[job.first + i];

        if (!(x == x))
            append(&job.nans, job.first + i);
    }
}

cudaError_t cuda_merge_sums(const struct cuda_merge_sums *job, int multiprocessors,
                            cudaStream_t stream)
{
    merge_sums<<<(unsigned)multiprocessors *(RESIDENT_THREADS / THREADS), THREADS, 0, stream>>>(
        *job);
    return cudaGetLastError();
}

cudaError_t cuda_find_nans(const struct cuda_find_nans *job, int multiprocessors,
                           cudaStream_t stream)
{
    find_nans<<<(unsigned)multiprocessors *(RESIDENT_THREADS / THREADS), THREADS, 0, stream>>>(
        *job);
    return cudaGetLastError();
}
