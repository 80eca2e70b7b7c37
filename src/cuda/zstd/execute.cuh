/*
 * Execution of sequences (RFC 8878, 3.1.1.4), into symbols. A thread block executes a unit of
 * consecutive blocks in order, a tile of some bytes at a time. A byte that comes from before the
 * unit becomes the position that it comes from; any other becomes the byte, or the same symbol as
 * the byte it copies, however long the chain: sources before the tile are looked up in the symbols
 * that are made already, sources in the tile are followed in shared memory. Thus units need not
 * wait for each other, and what is left to do (resolve.cuh) is one look a byte for every unit that
 * it comes through.
 *
 * Sizes were checked when the sequences were decoded. Offsets are checked here: one that reaches
 * before the frame's begin or out of its window makes the block refused, and counts as 1, so that
 * every symbol points to a byte before its own, whatever the input.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_EXECUTE_CUH
#define GPUREDUCE_CUDA_ZSTD_EXECUTE_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "cuda/zstd/tuning.h"

/* The bytes of a tile are in words of 32, one for each lane. */
#define TILE_WORDS (EXECUTE_TILE / 32)
#define TILE_PER_THREAD (EXECUTE_TILE / EXECUTE_THREADS)

/* Which sequences begin in a word of the tile, a bit each, and the number of the last one that
   begins before it. */
struct tile_word {
    uint32_t begins;
    uint32_t before;
};

/* For each sequence of the group: the place of its literals, the place of its match, the addend for
   its literals, and its true offset. A group is as many sequences as are in shared memory at a
   time; there are two, so that one can be filled in while the other is read. */
struct execute_memory {
    uint4 sequence[2][EXECUTE_THREADS];
    struct tile_word word[2][TILE_WORDS];
    uint32_t group_end[2];
    uint32_t tile[EXECUTE_TILE];
};

/* A thread's view of the sequence that it puts into a group. */
struct own_sequence {
    uint32_t begin, end;
};

__device__ static __forceinline__ int is_local(uint32_t symbol)
{
    return symbol - ZSTD_LOCAL < ZSTD_BYTE - ZSTD_LOCAL;
}

/* x % y of numbers below 2^18: the quotient of binary32 is off by one at most. */
__device__ static __forceinline__ uint32_t remainder_of(uint32_t x, uint32_t y)
{
    const float quotient = __uint2float_rz(x) * __frcp_rn(__uint2float_rz(y));
    const int rest = (int)(x - (uint32_t)quotient * y);

    return (uint32_t)(rest < 0 ? rest + (int)y : rest >= (int)y ? rest - (int)y : rest);
}

/* Notes this thread's sequence in the words of the tile that begins at `tile` in the block. */
__device__ static __forceinline__ void note_sequence(struct tile_word *words, uint32_t tile,
                                                     const struct own_sequence *own)
{
    const int begin = (int)(own->begin - tile), end = (int)(own->end - tile);
    int word = begin < 0 ? 0 : (begin >> 5) + 1, last = end >> 5;

    if (last > TILE_WORDS - 1)
        last = TILE_WORDS - 1;
    if (begin >= 0 && begin < EXECUTE_TILE)
        atomicOr(&words[begin >> 5].begins, 1U << (begin & 31));
    for (; word <= last; word++)
        words[word].before = threadIdx.x;
}

__device__ static __forceinline__ void clear_words(struct tile_word *words)
{
    for (uint32_t i = threadIdx.x; i < TILE_WORDS; i += EXECUTE_THREADS)
        words[i].begins = 0;
}

/* A block that is being executed. */
struct execute_block {
    const uint8_t *literals; /* none where all are `byte` */
    int one_byte;
    uint32_t byte;
    uint32_t *symbols; /* of the block */
    uint32_t position; /* of the block in the slice, with ZSTD_BIAS */
    int unit;          /* where the unit begins, from the block: not positive */
};

/* The symbols of literals: from literal `literal` of the block on, `count` of them, which go to
   `to` in the block. All threads of the block. */
__device__ static __forceinline__ void
execute_literals(const struct execute_block *block, uint32_t to, uint32_t literal, uint32_t count)
{
    for (uint32_t i = threadIdx.x; i < count; i += EXECUTE_THREADS)
        block->symbols[to + i] =
            ZSTD_BYTE | (block->one_byte ? block->byte : block->literals[literal + i]);
}

/* The symbols of a tile: `count` bytes from `tile` in the block on, which the sequences of a group
   make. All threads of the block. */
__device__ static __forceinline__ void execute_tile(const struct execute_block *block,
                                                    struct execute_memory *shared, uint32_t group,
                                                    uint32_t tile, uint32_t count)
{
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t up_to_lane = 0xffffffffU >> (31 - lane);
    const uint32_t *const literals = (const uint32_t *)((uintptr_t)block->literals & ~(uintptr_t)3);
    const uint32_t odd = (uint32_t)((uintptr_t)block->literals & 3);
    uint32_t symbol[TILE_PER_THREAD];
    int open = 0; /* whether any of them comes from the tile */

    UNROLL
    for (int begin = 0; begin < TILE_PER_THREAD; begin += EXECUTE_LOADS) {
        uint32_t match[EXECUTE_LOADS], offset[EXECUTE_LOADS], literal[EXECUTE_LOADS];
        int along[EXECUTE_LOADS], shift[EXECUTE_LOADS];

        /* Which sequence the byte is of, and how far behind the begin of its match it stands. */
        UNROLL
        for (int k = 0; k < EXECUTE_LOADS; k++) {
            const uint32_t w = (uint32_t)(begin + k) * (EXECUTE_THREADS / 32) + warp;
            const uint32_t i = w * 32 + lane;
            const struct tile_word word = shared->word[group][w];
            const uint32_t j = i < count ? word.before + __popc(word.begins & up_to_lane) : 0;
            const uint4 sequence = shared->sequence[group][j];

            match[k] = sequence.y;
            offset[k] = sequence.w;
            literal[k] = sequence.z + tile + i + odd;
            along[k] = (int)(tile + i - sequence.y);
            /* A match that is longer than its offset repeats its own begin. */
            if (along[k] >= 0 && (uint32_t)along[k] >= offset[k] && i < count)
                along[k] = (int)remainder_of((uint32_t)along[k], offset[k]);
        }
        /* Literals and symbols made before the tile are loaded side by side. */
        UNROLL
        for (int k = 0; k < EXECUTE_LOADS; k++) {
            const uint32_t i = ((uint32_t)(begin + k) * (EXECUTE_THREADS / 32) + warp) * 32 + lane;
            const int is_literal = along[k] < 0;
            const int from = (int)(match[k] - offset[k]) + along[k];
            const int local = !is_literal && from >= (int)tile;
            const uint32_t *const load =
                is_literal ? literals + (literal[k] >> 2) : block->symbols + from;
            uint32_t s = is_literal ? ZSTD_BYTE | block->byte
                         : local    ? ZSTD_LOCAL | (uint32_t)(from - (int)tile)
                                    : block->position + (uint32_t)from;

            shift[k] = -1;
            if (i < count && (is_literal ? !block->one_byte : !local && from >= block->unit)) {
                s = *load;
                if (is_literal)
                    shift[k] = (int)(literal[k] & 3) * 8;
            }
            symbol[begin + k] = s;
            open |= i < count && local;
        }
        UNROLL
        for (int k = 0; k < EXECUTE_LOADS; k++) {
            const uint32_t i = ((uint32_t)(begin + k) * (EXECUTE_THREADS / 32) + warp) * 32 + lane;

            if (shift[k] >= 0)
                symbol[begin + k] = ZSTD_BYTE | (symbol[begin + k] >> shift[k] & 255);
            shared->tile[i] = symbol[begin + k];
        }
    }

    /* Chains within the tile. Their links are not changed while anyone follows them. */
    while (__syncthreads_or(open)) {
        open = 0;
        UNROLL
        for (int k = 0; k < TILE_PER_THREAD; k++) {
            const uint32_t i = (uint32_t)k * EXECUTE_THREADS + threadIdx.x;

            if (i < count) {
                for (int hop = 0; hop < EXECUTE_HOPS && is_local(symbol[k]); hop++)
                    symbol[k] = shared->tile[symbol[k] & (EXECUTE_TILE - 1)];
                open |= is_local(symbol[k]);
            }
        }
        if (!__syncthreads_or(open))
            break;
        UNROLL
        for (int k = 0; k < TILE_PER_THREAD; k++)
            shared->tile[(uint32_t)k * EXECUTE_THREADS + threadIdx.x] = symbol[k];
    }
    UNROLL
    for (int k = 0; k < TILE_PER_THREAD; k++) {
        const uint32_t i = (uint32_t)k * EXECUTE_THREADS + threadIdx.x;

        if (i < count)
            block->symbols[tile + i] = symbol[k];
    }
}

/* Puts this thread's sequence into a group, if it has one. */
__device__ static __forceinline__ void fill_group(const struct zstd_device_batch *batch,
                                                  const struct zstd_execution *execution,
                                                  struct execute_memory *shared, uint32_t group,
                                                  uint32_t count, uint32_t tile, uint4 sequence,
                                                  struct own_sequence *own)
{
    const uint32_t match = sequence.y & ZSTD_POSITION_MASK;
    uint32_t offset;

    if (threadIdx.x >= count)
        return;
    offset = zstd_offset_resolve(sequence.w, &execution->history);
    if (offset == 0 || offset > execution->window || offset > execution->produced + match) {
        atomicMin(batch->refused, execution->block);
        offset = 1;
    }
    own->begin = sequence.x & ZSTD_POSITION_MASK;
    own->end = sequence.x >> ZSTD_POSITION_BITS | sequence.y >> ZSTD_POSITION_BITS
                                                                    << ZSTD_END_LOW_BITS;
    shared->sequence[group][threadIdx.x] = make_uint4(own->begin, match, sequence.z, offset);
    if (threadIdx.x + 1 == count)
        shared->group_end[group] = own->end;
    if (threadIdx.x == 0)
        shared->word[group][0].before = 0xffffffffU; /* and one more for the first that begins */
    note_sequence(shared->word[group], tile, own);
}

/* A grid of the units. */
__global__ static void __launch_bounds__(EXECUTE_THREADS, EXECUTE_RESIDENT)
    zstd_execute_kernel(const __grid_constant__ struct zstd_execute_launch launch)
{
    __shared__ struct execute_memory shared;
    const uint32_t first = launch.units[blockIdx.x], end = launch.units[blockIdx.x + 1];
    const uint32_t unit = launch.blocks[first].position;
    uint32_t group = 0;

    clear_words(shared.word[0]);
    clear_words(shared.word[1]);
    __syncthreads();
    for (uint32_t b = first; b < end; b++) {
        const struct zstd_execution *const e = &launch.blocks[b];
        const uint32_t count = e->sequences;
        const uint4 *const sequences = (const uint4 *)launch.batch.pool + e->first;
        struct execute_block block;
        uint32_t done = 0; /* bytes of the block */
        uint32_t per_group = 0;
        uint4 sequence = make_uint4(0, 0, 0, 0);

        block.one_byte = e->place == ZSTD_ONE_BYTE;
        block.byte = block.one_byte ? e->literals : 0;
        block.literals = e->place == ZSTD_IN_SOURCE     ? launch.batch.source + e->literals
                         : e->place == ZSTD_IN_LITERALS ? launch.batch.pool + e->literals
                                                        : launch.batch.pool;
        block.symbols = launch.symbols + e->position;
        block.position = e->position + ZSTD_BIAS;
        block.unit = (int)(unit - e->position);

        /* As many sequences as make nearly a tile. */
        if (count > 0) {
            per_group = (uint32_t)((uint64_t)count * (EXECUTE_TILE - EXECUTE_TILE / 10) / e->size);
            per_group = per_group < 16                ? 16
                        : per_group > EXECUTE_THREADS ? EXECUTE_THREADS
                                                      : per_group;
            if (threadIdx.x < per_group && threadIdx.x < count)
                sequence = sequences[threadIdx.x];
        }
        for (uint32_t j = 0; j < count; j += per_group) {
            const uint32_t in_group = count - j < per_group ? count - j : per_group;
            struct own_sequence own = {0, 0};
            uint32_t group_end;

            fill_group(&launch.batch, e, &shared, group, in_group, done, sequence, &own);
            if (threadIdx.x < per_group && j + per_group + threadIdx.x < count)
                sequence = sequences[j + per_group + threadIdx.x];
            __syncthreads();
            group_end = shared.group_end[group];
            clear_words(shared.word[group ^ 1]);
            for (;;) {
                const uint32_t left = group_end - done;

                execute_tile(&block, &shared, group, done,
                             left < EXECUTE_TILE ? left : EXECUTE_TILE);
                if (left <= EXECUTE_TILE)
                    break;
                done += EXECUTE_TILE;
                clear_words(shared.word[group]);
                __syncthreads();
                if (threadIdx.x < in_group)
                    note_sequence(shared.word[group], done, &own);
                __syncthreads();
            }
            done = group_end;
            group ^= 1;
        }
        execute_literals(&block, done, e->literal_count - (e->size - done), e->size - done);
    }
}

#endif
