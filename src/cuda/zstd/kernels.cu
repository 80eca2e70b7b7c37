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

cudaError_t zstd_launch_literals(const struct zstd_literals_launch *l, cudaStream_t stream)
{
    if (l->count > 0)
        zstd_literals_kernel<<<divide_up(l->count, LITERALS_BLOCKS), LITERALS_BLOCKS * 4, 0,
                               stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t zstd_launch_sequences(const struct zstd_sequences_launch *l, cudaStream_t stream)
{
    if (l->count > 0)
        zstd_sequences_kernel<<<divide_up(l->count, SEQUENCES_BLOCKS), SEQUENCES_BLOCKS * 4, 0,
                                stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t zstd_launch_execute(const struct zstd_execute_launch *l, cudaStream_t stream)
{
    if (l->unit_count > 0)
        zstd_execute_kernel<<<l->unit_count, EXECUTE_THREADS, 0, stream>>>(*l);
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
        const struct resolve_launch launch = {*slice, symbols, begin, end};
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

cudaError_t zstd_launch_copy(const struct zstd_copy_launch *l, cudaStream_t stream)
{
    if (l->count > 0 && l->largest > 0)
        zstd_copy_kernel<<<dim3(l->count, divide_up(l->largest, COPY_BYTES)), COPY_THREADS, 0,
                           stream>>>(*l);
    return cudaGetLastError();
}

cudaError_t zstd_launch_hash(const struct zstd_hash_launch *l, cudaStream_t stream)
{
    if (l->count > 0)
        zstd_hash_kernel<<<l->count, HASH_THREADS, 0, stream>>>(*l);
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
