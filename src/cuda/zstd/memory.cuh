/*
 * Bit streams that are read backwards (RFC 8878, 4.1): through rings in shared memory, which
 * asynchronous copies fill ahead of the reader. A ring belongs to one thread, which asks for chunks
 * of 16 bytes and waits for its own copies only, so no thread waits for another.
 *
 * The kernels of the decoder are C as well as CUDA C++: tests compile them for the host.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_MEMORY_CUH
#define GPUREDUCE_CUDA_ZSTD_MEMORY_CUH

#include <stdint.h>

#include "cuda/zstd/jobs.h"

#define CHUNK_WORDS 4
#define CHUNK_BYTES 16

#ifdef __CUDACC__
/* Before a loop: all its rounds are written out, or so many of them. */
#    define UNROLL _Pragma("unroll")
#    define UNROLL_BY(rounds) UNROLL_PRAGMA(unroll rounds)
#    define UNROLL_PRAGMA(text) _Pragma(#    text)

/* Lets the next kernel begin beside this one, and waits for the end of the one before: only where a
   GPU can launch kernels so. */
#    if __CUDA_ARCH__ >= 900
#        define NEXT_KERNEL_MAY_BEGIN() cudaTriggerProgrammaticLaunchCompletion()
#        define AWAIT_KERNEL_BEFORE() cudaGridDependencySynchronize()
#    else
#        define NEXT_KERNEL_MAY_BEGIN() ((void)0)
#        define AWAIT_KERNEL_BEFORE() ((void)0)
#    endif

#    if __CUDA_ARCH__ >= 800
/* Begins to copy 16 bytes from global memory to shared memory; both are aligned to that. */
__device__ static __forceinline__ void copy_begin(uint32_t *to, const uint32_t *from)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}

/* Ends a group of copies of this thread. */
__device__ static __forceinline__ void copy_group(void)
{
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

/* Waits until no more than `groups` of them are under way; a constant. */
#        define COPY_WAIT(groups) asm volatile("cp.async.wait_group %0;\n" ::"n"(groups) : "memory")
#    else
/* Older GPUs copy at once. */
__device__ static __forceinline__ void copy_begin(uint32_t *to, const uint32_t *from)
{
    *(uint4 *)to = *(const uint4 *)from;
}

__device__ static __forceinline__ void copy_group(void)
{
}
#        define COPY_WAIT(groups) ((void)0)
#    endif
#endif

/* The lowest `bits` bits, below 32. */
__device__ static __forceinline__ uint32_t low_bits(uint32_t word, uint32_t bits)
{
    return word & ((1U << bits) - 1);
}

/* A stream's chunks begin so far below its first byte that no check of every step is needed: what
   one step reads too much is found at its end. Bytes from the begin of the buffer. */
__device__ static __forceinline__ uint32_t stream_base(uint32_t source)
{
    return (source - ZSTD_SOURCE_AHEAD) & ~(uint32_t)(CHUNK_BYTES - 1);
}

#endif
