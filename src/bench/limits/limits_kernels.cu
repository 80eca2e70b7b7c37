/*
 * The kernel that reads device memory and does nothing else.
 */
#include "config.h"

#include "bench/limits/limits_kernels.h"

static const int THREADS = 256;

/* A thread has so many loads of 16 bytes in flight; for a block that makes 32 KiB. */
static const int UNROLL = 8;
static const int TILE = THREADS * UNROLL;

/* Reads all data; the blocks take tiles in turn. Each thread folds what it reads into one word, and
   stores that only if it is one certain value of the 2^32. So the compiler cannot leave out a load,
   and next to nothing is written. */
__global__ static void __launch_bounds__(THREADS)
    read_all(const uint4 *__restrict__ data, size_t count, unsigned *sink)
{
    unsigned folded = 0;

    for (size_t tile = (size_t)blockIdx.x * TILE; tile < count; tile += (size_t)gridDim.x * TILE) {
        size_t first = tile + threadIdx.x;
        uint4 v[UNROLL];

        if (tile + TILE <= count) {
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                v[i] = __ldcs(data + first + i * THREADS);
        } else {
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                v[i] = first + i * THREADS < count ? __ldcs(data + first + i * THREADS)
                                                   : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            folded ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    }
    if (folded == 0x9e3779b9u)
        *sink = folded;
}

extern "C" cudaError_t limits_read(const void *data, size_t size, unsigned blocks, unsigned *sink,
                                   cudaStream_t stream)
{
    size_t count = size / sizeof(uint4), tiles = (count + TILE - 1) / TILE;

    if (blocks == 0 || blocks > tiles)
        blocks = (unsigned)tiles;
    read_all<<<blocks, THREADS, 0, stream>>>((const uint4 *)data, count, sink);
    return cudaGetLastError();
}
