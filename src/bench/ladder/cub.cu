/*
 * The sums of CUB, which the ladder compares with.
 */
#include "config.h"

#include "bench/ladder/rungs.h"

#include <limits.h>
#include <stdlib.h>

/* The C linker links this file, without the C++ library. CUB needs that library only for what its
   headers include without using it: the constructor of the standard streams, marks for profilers,
   and exceptions. Macros remove these. Those for exceptions are libstdc++'s own, for builds without
   exceptions; what would be thrown ends the program. The headers that use the words try, catch and
   throw themselves must come before the macros. */
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>
#ifndef _GLIBCXX_IOSTREAM
#    define _GLIBCXX_IOSTREAM 1
#endif
#ifndef CCCL_DISABLE_NVTX
#    define CCCL_DISABLE_NVTX 1
#endif
#define try __try
#define catch __catch
#define throw    \
    if (true)    \
        abort(); \
    else         \
        (void)

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* CUB has reproducible sums from version 3.1 on. */
#define REPRODUCIBLE (CUB_VERSION >= 300100)

#if REPRODUCIBLE
#    include <cuda/memory_resource>
#    include <cuda/std/execution>
#    include <cuda/stream_ref>
#    if __has_include(<cuda/execution.determinism.h>)
#        include <cuda/execution.determinism.h>
#        include <cuda/execution.require.h>
#    else
#        include <cuda/__execution/determinism.h>
#        include <cuda/__execution/require.h>
#    endif
#endif

#undef try
#undef catch
#undef throw

/* A sum in the type of its elements. Without temporary memory, only sets *size, to the size that
   the sum needs. */
template <typename T, typename Count> struct plain {
    static cudaError_t sum(void *temporary, size_t *size, const void *data, void *result,
                           Count count, cudaStream_t stream)
    {
        return cub::DeviceReduce::Sum(temporary, *size, (const T *)data, (T *)result, count,
                                      stream);
    }
};

/* A sum of a 16-bit type in binary32. */
template <typename T, typename Count> struct widened {
    static cudaError_t sum(void *temporary, size_t *size, const void *data, void *result,
                           Count count, cudaStream_t stream)
    {
        return cub::DeviceReduce::Reduce(temporary, *size, (const T *)data, (float *)result, count,
                                         cuda::std::plus<float>(), 0.0f, stream);
    }
};

template <typename Count>
static cudaError_t sum(enum element_type type, void *temporary, size_t *size, const void *data,
                       void *result, Count count, cudaStream_t stream)
{
    switch (type) {
    case ELEMENT_F32:
        return plain<float, Count>::sum(temporary, size, data, result, count, stream);
    case ELEMENT_F64:
        return plain<double, Count>::sum(temporary, size, data, result, count, stream);
    case ELEMENT_F16:
        return widened<__half, Count>::sum(temporary, size, data, result, count, stream);
    case ELEMENT_BF16:
        return widened<__nv_bfloat16, Count>::sum(temporary, size, data, result, count, stream);
        ELEMENT_CASES_BEHIND_FLOATS
        break;
    }
    return cudaErrorNotSupported;
}

/* Passes a count that fits an int as one, as most callers of CUB do: it then counts in 32 bits. */
static cudaError_t sum_any(enum element_type type, void *temporary, size_t *size, const void *data,
                           void *result, uint64_t count, cudaStream_t stream)
{
    if (count <= INT_MAX)
        return sum(type, temporary, size, data, result, (int)count, stream);
    return sum(type, temporary, size, data, result, (long long)count, stream);
}

cudaError_t rung_cub_temporary(enum element_type type, uint64_t count, size_t *bytes)
{
    /* The memory that the reproducible sum needs, which its interface does not tell: at most 64
       bytes a block, for at most 5 times as many blocks as are resident. With 264 multiprocessors
       of 32 blocks each that is 2.7 MB. */
    const size_t reproducible = (size_t)4 << 20;
    cudaError_t error;

    *bytes = 0;
    error = sum_any(type, NULL, bytes, NULL, NULL, count, 0);
    if (REPRODUCIBLE && *bytes < reproducible)
        *bytes = reproducible;
    return error;
}

cudaError_t rung_cub(const struct rung_launch *l, cudaStream_t stream)
{
    size_t size = l->temporary_size;

    (void)cudaGetLastError();
    return sum_any(l->type, l->temporary, &size, l->data, l->result, l->count, stream);
}

#if REPRODUCIBLE
/* A memory resource that hands out memory which is there already, so that no allocation is timed.
   It sets *exceeded when it cannot, because it cannot throw. The names are those that CUB looks
   for. */
struct given_memory {
    void *memory;
    size_t size;
    bool *exceeded;

    void *allocate_sync(size_t bytes, size_t = 0)
    {
        if (bytes > size)
            *exceeded = true;
        return bytes > size ? NULL : memory;
    }
    void deallocate_sync(void *, size_t, size_t = 0) noexcept
    {
    }
    void *allocate(cuda::stream_ref, size_t bytes, size_t = 0)
    {
        return allocate_sync(bytes);
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) noexcept
    {
    }
    bool operator==(const given_memory &other) const
    {
        return memory == other.memory;
    }
    bool operator!=(const given_memory &other) const
    {
        return memory != other.memory;
    }
};

template <typename T>
static cudaError_t reproducible(const struct rung_launch *l, cudaStream_t stream)
{
    namespace execution = cuda::std::execution;
    bool exceeded = false;
    const given_memory memory = {l->temporary, l->temporary_size, &exceeded};
    const execution::env environment{
        cuda::stream_ref{stream}, execution::prop{cuda::mr::get_memory_resource_t{}, memory},
        cuda::execution::require(cuda::execution::determinism::gpu_to_gpu)};
    cudaError_t error =
        cub::DeviceReduce::Sum((const T *)l->data, (T *)l->result, (int)l->count, environment);

    return exceeded ? cudaErrorMemoryAllocation : error;
}
#endif

cudaError_t rung_cub_reproducible(const struct rung_launch *l, cudaStream_t stream)
{
#if REPRODUCIBLE
    (void)cudaGetLastError();
    if (l->count > INT_MAX)
        return cudaErrorNotSupported;
    if (l->type == ELEMENT_F32)
        return reproducible<float>(l, stream);
    if (l->type == ELEMENT_F64)
        return reproducible<double>(l, stream);
#else
    (void)l;
    (void)stream;
#endif
    return cudaErrorNotSupported;
}

int rung_cub_version(void)
{
    return CUB_MAJOR_VERSION * 1000000 + CUB_MINOR_VERSION * 1000 + CUB_SUBMINOR_VERSION;
}

int rung_cub_is_reproducible(void)
{
    return REPRODUCIBLE;
}
