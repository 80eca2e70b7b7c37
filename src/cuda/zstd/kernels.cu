#include "config.h"

#include "cuda/zstd/kernels.h"

#include "cuda/zstd/copy.cuh"
#include "cuda/zstd/execute.cuh"
#include "cuda/zstd/hash.cuh"
#include "cuda/zstd/literals.cuh"
#include "cuda/zstd/resolve.cuh"
#include "cuda/zstd/sequences.cuh"

static uint32_t divide_up(uint32_t x, uint32_t y)
{
    return (x + y - 1) / y;
}

cudaError_t zstd_launch_literals(const struct zstd_device_batch *batch,
                                 const struct zstd_literals_job *jobs, uint32_t count,
                                 const struct zstd_tree *codes, cudaStream_t stream)
{
    const struct literals_launch launch = {batch->source, jobs,        count,
                                           codes,         batch->pool, batch->refused};

    if (count > 0)
        zstd_literals_kernel<<<divide_up(count, LITERALS_BLOCKS), LITERALS_BLOCKS * 4, 0, stream>>>(
            launch);
    return cudaGetLastError();
}

cudaError_t zstd_launch_sequences(const struct zstd_device_batch *batch,
                                  const struct zstd_sequences_job *jobs, uint32_t count,
                                  const struct zstd_counts *tables,
                                  struct zstd_sequences_result *results, cudaStream_t stream)
{
    const struct sequences_launch launch = {batch->source,        jobs,   count, tables,
                                            (uint4 *)batch->pool, results};

    if (count > 0)
        zstd_sequences_kernel<<<divide_up(count, SEQUENCES_BLOCKS), SEQUENCES_BLOCKS * 4, 0,
                                stream>>>(launch);
    return cudaGetLastError();
}

cudaError_t zstd_launch_execute(const struct zstd_device_batch *batch,
                                const struct zstd_execution *blocks, const uint32_t *units,
                                uint32_t unit_count, uint32_t *symbols, cudaStream_t stream)
{
    const struct execute_launch launch = {batch->source, batch->pool, (const uint4 *)batch->pool,
                                          blocks,        units,       symbols,
                                          batch->refused};

    if (unit_count > 0)
        zstd_execute_kernel<<<unit_count, EXECUTE_THREADS, 0, stream>>>(launch);
    return cudaGetLastError();
}

cudaError_t zstd_launch_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols,
                                uint32_t wave, cudaStream_t stream)
{
    int device = 0, major = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    for (uint32_t begin = 0; begin < slice->size && error == cudaSuccess;) {
        const uint32_t end = slice->size - begin > wave ? begin + wave : slice->size;
        const struct resolve_launch launch = {symbols,      slice->ring, slice->ring_size,
                                              slice->begin, begin,       end};
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute beside = {};

        config.gridDim = divide_up(end - begin, RESOLVE_THREADS * RESOLVE_SYMBOLS);
        config.blockDim = RESOLVE_THREADS;
        config.stream = stream;
        beside.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        beside.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &beside;
        /* The first wave needs the symbols of this slice: it is not launched beside what is in
           front of it. Older GPUs cannot do that. */
        config.numAttrs = begin > 0 && major >= 9;
        error = cudaLaunchKernelEx(&config, zstd_resolve_kernel, launch);
        begin = end;
    }
    return error == cudaSuccess ? cudaGetLastError() : error;
}

cudaError_t zstd_launch_copy(const struct zstd_device_batch *batch,
                             const struct zstd_execution *blocks, uint32_t count, uint32_t largest,
                             const struct zstd_ring_slice *slice, cudaStream_t stream)
{
    const struct copy_launch launch = {batch->source, batch->pool,      blocks,
                                       slice->ring,   slice->ring_size, slice->begin};

    if (count > 0 && largest > 0)
        zstd_copy_kernel<<<dim3(count, divide_up(largest, COPY_BYTES)), COPY_THREADS, 0, stream>>>(
            launch);
    return cudaGetLastError();
}

cudaError_t zstd_launch_hash(const uint8_t *ring, uint64_t ring_size,
                             const struct zstd_hash_job *jobs, uint32_t count, uint32_t *wrong,
                             cudaStream_t stream)
{
    const struct hash_launch launch = {ring, ring_size, jobs, wrong};

    if (count > 0)
        zstd_hash_kernel<<<count, HASH_THREADS, 0, stream>>>(launch);
    return cudaGetLastError();
}

cudaError_t zstd_launch_move(void *to, const void *from, size_t size, cudaStream_t stream)
{
    const size_t words = size / 4;
    const uint32_t blocks = (uint32_t)((words + MOVE_WORDS - 1) / MOVE_WORDS);

    if (words > 0)
        zstd_move_kernel<<<blocks, COPY_THREADS, 0, stream>>>((uint32_t *)to,
                                                              (const uint32_t *)from, words);
    return cudaGetLastError();
}
