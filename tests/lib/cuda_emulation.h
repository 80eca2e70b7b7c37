/*
 * As much of CUDA as the kernels of the zstd decoder use, for C on the host: their sources are
 * included behind this header, and run a thread block at a time, its threads as fibers of one
 * thread. So sanitizers see every access, and libzstd can be compared with, on any machine.
 *
 * Mistakes that hardware would let pass are found: asynchronous copies arrive only when they are
 * waited for; between two barriers threads run in an order that is drawn anew each time; and all
 * threads of a block must come to the same barrier, or the program ends with a message.
 */
#ifndef TESTS_CUDA_EMULATION_H
#define TESTS_CUDA_EMULATION_H

#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) _Alignas(bytes)
#define UNROLL
#define UNROLL_BY(rounds)

typedef struct {
    _Alignas(16) uint32_t x;
    uint32_t y, z, w;
} uint4;

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return (uint4){x, y, z, w};
}

struct emulation_index {
    uint32_t x, y, z;
};
extern struct emulation_index threadIdx, blockIdx;

/* Runs a kernel: `body` calls it with what `argument` points to. `threads` of a block, at most
   1024, and a grid of width times height blocks. */
void emulation_run(uint32_t width, uint32_t height, uint32_t threads, void (*body)(const void *),
                   const void *argument);

/* The seed of the order of threads in emulation_run. */
extern uint64_t emulation_seed;

/* A barrier, at which `flag` is collected: whether any thread's is set. `line` tells barriers
   apart. */
int emulation_barrier(int flag, int line);
#define __syncthreads() ((void)emulation_barrier(0, __LINE__))
#define __syncthreads_or(flag) emulation_barrier(flag, __LINE__)

/* Waits for all threads of the warp, and hands them each other's values. `line` tells places apart.
   Returns the thread's number in the warp. */
uint64_t emulation_warp(uint64_t value, int line, uint64_t all[32]);

/* Asynchronous copies of the thread that runs. */
void copy_begin(uint32_t *to, const uint32_t *from);
void copy_group(void);
void emulation_copy_wait(unsigned groups);
#define COPY_WAIT(groups) emulation_copy_wait(groups)

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}

static inline float __uint2float_rz(uint32_t x)
{
    return (float)x; /* of numbers below 2^24 */
}

static inline float __frcp_rn(float x)
{
    return 1.0F / x;
}

static inline uint8_t emulation_load(const uint8_t *from)
{
    return *from;
}
#define __ldcg(from) emulation_load(from)

static inline void atomicMin(uint32_t *at, uint32_t value)
{
    if (value < *at)
        *at = value;
}

static inline void atomicOr(uint32_t *at, uint32_t value)
{
    *at |= value;
}

#define NEXT_KERNEL_MAY_BEGIN() ((void)0)
#define AWAIT_KERNEL_BEFORE() ((void)0)

#endif
