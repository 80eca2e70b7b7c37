/*
 * Checksums of frames, XXH64 (xxh64_arithmetic.h), where their content lies: in the ring. It is
 * serial within a frame, so a frame has a thread block, and many frames make up for that.
 *
 * The block works on a tile at a time. Four threads of the first warp, one for each lane of the
 * hash, go through a tile's words, which wait in shared memory and have been multiplied with what
 * does not depend on the lane. Meanwhile the other warps do that to the next tile, and load the one
 * behind it.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_HASH_CUH
#define GPUREDUCE_CUDA_ZSTD_HASH_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "zstd/xxh64_arithmetic.h"

#define HASH_LOADERS 96
#define HASH_THREADS (32 + HASH_LOADERS)
#define HASH_LOADS 4 /* words of a tile that a loader loads */
#define HASH_AHEAD 8 /* words of a lane that are loaded before the lane goes through them */
#define HASH_TILE_WORDS (HASH_LOADERS * HASH_LOADS)

/* Eight bytes of the ring from offset `at` on, a multiple of 8 below twice the ring's size. */
__device__ static __forceinline__ uint64_t hash_load(const struct zstd_hash_launch *launch, uint64_t at)
{
    return *(const uint64_t *)(launch->ring +
                               (at < launch->ring_size ? at : at - launch->ring_size));
}

/* Word `i` of a frame's content is 8 bytes that begin at any offset: it is put together from two of
   the ring's words, where it does not lie in one. Both are loaded in any case, so that no load
   waits for another. */
struct hash_words {
    uint64_t low, high;
};

__device__ static __forceinline__ struct hash_words
hash_load_word(const struct zstd_hash_launch *launch, const struct zstd_hash_job *job, uint64_t i)
{
    const uint64_t at = (job->begin & ~(uint64_t)7) + 8 * i;
    const uint64_t behind = (job->begin & 7) == 0 ? at : at + 8;
    const struct hash_words words = {hash_load(launch, at), hash_load(launch, behind)};

    return words;
}

__device__ static __forceinline__ uint64_t hash_word(struct hash_words words,
                                                     const struct zstd_hash_job *job)
{
    const uint32_t shift = (uint32_t)(job->begin & 7) * 8;

    return words.low >> shift | (shift == 0 ? 0 : words.high << (64 - shift));
}

__device__ static __forceinline__ uint8_t hash_byte(const struct zstd_hash_launch *launch,
                                                    const struct zstd_hash_job *job, uint64_t i)
{
    const uint64_t at = job->begin + i;

    return launch->ring[at < launch->ring_size ? at : at - launch->ring_size];
}

/* Adds the bytes from offset `i` of the content on, which fill no stripe. */
__device__ static __forceinline__ uint64_t hash_rest(const struct zstd_hash_launch *launch,
                                                     const struct zstd_hash_job *job, uint64_t hash,
                                                     uint64_t i)
{
    for (; job->size - i >= 8; i += 8)
        hash = xxh64_add8(hash, hash_word(hash_load_word(launch, job, i / 8), job));
    if (job->size - i >= 4) {
        uint32_t word = 0;

        for (uint32_t k = 0; k < 4; k++)
            word |= (uint32_t)hash_byte(launch, job, i + k) << 8 * k;
        hash = xxh64_add4(hash, word);
        i += 4;
    }
    for (; i < job->size; i++)
        hash = xxh64_add1(hash, hash_byte(launch, job, i));
    return hash;
}

/* A lane behind `count` words of a tile, which are XXH64_LANES apart. */
__device__ static __forceinline__ uint64_t hash_tile(uint64_t lane, const uint64_t *weighed,
                                                     uint32_t count)
{
    uint32_t i = 0;

    for (; count - i >= HASH_AHEAD; i += HASH_AHEAD) {
        uint64_t words[HASH_AHEAD];

        UNROLL
        for (uint32_t k = 0; k < HASH_AHEAD; k++)
            words[k] = weighed[(i + k) * XXH64_LANES];
        UNROLL
        for (uint32_t k = 0; k < HASH_AHEAD; k++)
            lane = xxh64_mix(lane, words[k]);
    }
    for (; i < count; i++)
        lane = xxh64_mix(lane, weighed[i * XXH64_LANES]);
    return lane;
}

/* Begins to load what is this loader's of the words of a tile, as far as there are such. */
__device__ static __forceinline__ void hash_fetch(struct hash_words *next,
                                                  const struct zstd_hash_launch *launch,
                                                  const struct zstd_hash_job *job, uint64_t first,
                                                  uint64_t words)
{
    UNROLL
    for (uint32_t k = 0; k < HASH_LOADS; k++) {
        const uint64_t i = first + HASH_LOADERS * k;

        if (i < words)
            next[k] = hash_load_word(launch, job, i);
    }
}

/* A grid over the jobs. */
__global__ static void __launch_bounds__(HASH_THREADS)
    zstd_hash_kernel(const __grid_constant__ struct zstd_hash_launch launch)
{
    __shared__ uint64_t weighed[2][HASH_TILE_WORDS];
    __shared__ uint64_t lanes[XXH64_LANES];
    const struct zstd_hash_job job = launch.jobs[blockIdx.x];
    const uint64_t words = job.size / XXH64_STRIPE * XXH64_LANES;
    const bool loads = threadIdx.x >= HASH_THREADS - HASH_LOADERS;
    const uint32_t loader = threadIdx.x - (HASH_THREADS - HASH_LOADERS);
    uint64_t lane = xxh64_lane(threadIdx.x % XXH64_LANES);
    struct hash_words next[HASH_LOADS];
    uint32_t half = 0;

    UNROLL
    for (uint32_t k = 0; k < HASH_LOADS; k++)
        next[k].low = next[k].high = 0;
    if (loads)
        hash_fetch(next, &launch, &job, loader, words);
    for (uint64_t tile = 0; tile < words; tile += HASH_TILE_WORDS) {
        const uint32_t count =
            words - tile < HASH_TILE_WORDS ? (uint32_t)(words - tile) : HASH_TILE_WORDS;

        if (loads) {
            UNROLL
            for (uint32_t k = 0; k < HASH_LOADS; k++)
                weighed[half][HASH_LOADERS * k + loader] = xxh64_weigh(hash_word(next[k], &job));
            hash_fetch(next, &launch, &job, tile + HASH_TILE_WORDS + loader, words);
        }
        __syncthreads();
        if (threadIdx.x < XXH64_LANES)
            lane = hash_tile(lane, weighed[half] + threadIdx.x, count / XXH64_LANES);
        half ^= 1;
    }
    if (threadIdx.x < XXH64_LANES)
        lanes[threadIdx.x] = lane;
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64_t hash =
            hash_rest(&launch, &job, xxh64_join(lanes, job.size), words * sizeof(uint64_t));

        if ((uint32_t)xxh64_finish(hash) != job.checksum)
            atomicMin(launch.wrong, blockIdx.x);
    }
}

#endif
