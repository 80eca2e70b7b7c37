/*
 * Huffman-coded literals (RFC 8878, 3.1.1.3.1 and 4.2): a thread decodes a stream, four threads a
 * block. Codes are looked up in a table of all words of 11 bits in shared memory.
 *
 * A stream that runs out reads stale bytes until it has as many symbols as it should, and is then
 * found not to end where it should. Every access is bounded by that number and by the masks of ring
 * and table.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_LITERALS_CUH
#define GPUREDUCE_CUDA_ZSTD_LITERALS_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "cuda/zstd/tuning.h"

#define LITERALS_RING (LITERALS_RING_CHUNKS * CHUNK_WORDS)

/* A table's entries: the length of the word (4 bits), and the symbol from bit 8 on. */
struct literals_memory {
    __align__(16) uint32_t ring[LITERALS_BLOCKS * 4][LITERALS_RING];
    uint16_t table[LITERALS_BLOCKS][ZSTD_HUFFMAN_TABLE_MAX];
    struct zstd_weights code[LITERALS_BLOCKS];
    int sound[LITERALS_BLOCKS];
};

/* Four threads make a table: each the entries of every fourth word. `place` has room for a weight
   each, and is the thread's own. */
__device__ static __forceinline__ void code_table(const struct zstd_weights *code, uint16_t *table,
                                                  uint16_t *place, uint32_t quarter)
{
    const uint32_t spread = ZSTD_HUFFMAN_BITS_MAX - code->bits;
    uint32_t position = 0;

    for (uint32_t w = 0; w <= ZSTD_HUFFMAN_BITS_MAX; w++)
        place[w] = 0;
    for (uint32_t s = 0; s < code->count; s++)
        place[code->weights[s]]++;
    for (uint32_t w = 1; w <= code->bits; w++) {
        const uint32_t symbols = place[w];

        place[w] = (uint16_t)position;
        position += symbols << (w - 1 + spread);
    }
    for (uint32_t s = 0; s < code->count; s++) {
        const uint32_t w = code->weights[s];

        if (w > 0) {
            const uint32_t words = 1U << (w - 1 + spread), first = place[w];
            const uint16_t entry = (uint16_t)((code->bits + 1 - w) | s << 8);

            place[w] = (uint16_t)(first + words);
            for (uint32_t i = quarter; i < words; i += 4)
                table[first + i] = entry;
        }
    }
}

/* A stream that is being read. `buffer` has `available` bits, the next one on top. */
struct bit_reader {
    uint64_t buffer;
    int available;
    uint32_t next;        /* the word that comes into the buffer next */
    int word;             /* which one that is, from the base */
    int asked;            /* the lowest chunk that was asked for */
    const uint32_t *base; /* of the chunks */
    uint32_t *ring;
};

__device__ static __forceinline__ void ask_for_chunk(struct bit_reader *r)
{
    r->asked--;
    copy_begin(r->ring + (r->asked & (LITERALS_RING_CHUNKS - 1)) * CHUNK_WORDS,
               r->base + r->asked * CHUNK_WORDS);
}

/* Asks for up to two more chunks, where the ring has room for them. */
__device__ static __forceinline__ void ask_ahead(struct bit_reader *r)
{
    const int wanted = r->word / CHUNK_WORDS - (LITERALS_RING_CHUNKS - 2);

    for (int i = 0; i < 2; i++)
        if (r->asked > wanted && r->asked > 0)
            ask_for_chunk(r);
    copy_group();
}

__device__ static __forceinline__ void next_word(struct bit_reader *r)
{
    r->word--;
    r->next = r->ring[r->word & (LITERALS_RING - 1)];
}

/* Opens the stream of `size` bytes at `first`. False when it has no end mark. */
__device__ static __forceinline__ int open_stream(struct bit_reader *r, const uint8_t *source,
                                                  uint32_t first, uint32_t size, uint32_t *ring)
{
    const uint32_t base = stream_base(first), last = first + size - 1;
    uint32_t mark, above;

    if (size == 0)
        return 0;
    mark = source[last];
    if (mark == 0)
        return 0;
    r->base = (const uint32_t *)(source + base);
    r->ring = ring;
    r->word = (int)((last - base) / 4);
    r->asked = r->word / CHUNK_WORDS + 1;
    for (int i = 0; i < LITERALS_RING_CHUNKS - 1 && r->asked > 0; i++)
        ask_for_chunk(r);
    copy_group();
    COPY_WAIT(0);
    /* Drops the mark, and the bits above it, from the last word. */
    above = 8 * (3 - (last & 3)) + (8 - zstd_high_bit(mark));
    r->buffer = above < 32 ? (uint64_t)(ring[r->word & (LITERALS_RING - 1)] << above) << 32 : 0;
    r->available = 32 - (int)above;
    next_word(r);
    return 1;
}

/* Afterwards there are more than 32 bits, as many as two symbols take, and more. */
__device__ static __forceinline__ void refill(struct bit_reader *r)
{
    if (r->available <= 32) {
        r->buffer |= (uint64_t)r->next << (32 - r->available);
        r->available += 32;
        next_word(r);
    }
}

__device__ static __forceinline__ uint32_t decode_symbol(struct bit_reader *r,
                                                         const uint16_t *table)
{
    const uint32_t entry = table[(uint32_t)(r->buffer >> 32) >> (32 - ZSTD_HUFFMAN_BITS_MAX)];
    const uint32_t bits = entry & 15;

    r->buffer <<= bits;
    r->available -= (int)bits;
    return entry >> 8;
}

/* Decodes `count` symbols of a stream; returns whether it ends with them. */
__device__ static __forceinline__ int decode_stream(const uint8_t *source, uint32_t first,
                                                    uint32_t size, uint8_t *to, uint32_t count,
                                                    const uint16_t *table, uint32_t *ring)
{
    struct bit_reader r;
    uint32_t i = 0;

    if (!open_stream(&r, source, first, size, ring))
        return 0;
    for (; i < count && ((uintptr_t)(to + i) & 15) != 0; i++) {
        refill(&r);
        to[i] = (uint8_t)decode_symbol(&r, table);
    }
    ask_ahead(&r);
    for (; i + 16 <= count; i += 16) {
        uint32_t words[4];

        /* 16 symbols take 22 bytes at most. After the two groups that may be under way, and with
           this round's bytes, 5 of the 6 chunks ahead are used up. */
        COPY_WAIT(2);
        UNROLL
        for (int k = 0; k < 16; k++) {
            uint32_t symbol;

            if (k % 2 == 0)
                refill(&r);
            symbol = decode_symbol(&r, table);
            /* cppcheck-suppress uninitvar ; the first of four symbols sets the word */
            words[k / 4] = k % 4 == 0 ? symbol : words[k / 4] | symbol << (k % 4 * 8);
        }
        *(uint4 *)(to + i) = make_uint4(words[0], words[1], words[2], words[3]);
        ask_ahead(&r);
    }
    COPY_WAIT(0);
    for (; i < count; i++) {
        refill(&r);
        to[i] = (uint8_t)decode_symbol(&r, table);
    }
    return (r.word + 1) * 32 + r.available == (int)(first - stream_base(first)) * 8;
}

/* Decodes the stream of a block that is this thread's. Returns false when it is not sound. */
__device__ static __forceinline__ int decode_literals(const struct zstd_device_batch *batch,
                                                      const struct zstd_literals_job *job,
                                                      uint32_t stream, const uint16_t *table,
                                                      uint32_t *ring)
{
    const uint32_t segment = job->streams == 1 ? job->count : (job->count + 3) / 4;
    const uint32_t done = stream * segment, left = job->count - done;

    if (stream >= job->streams)
        return 1;
    return decode_stream(batch->source, job->stream[stream],
                         job->stream[stream + 1] - job->stream[stream],
                         batch->pool + job->target + done,
                         stream + 1 < job->streams ? segment : left, table, ring);
}

/* A grid of as many blocks as LITERALS_BLOCKS takes. */
__global__ static void __launch_bounds__(LITERALS_BLOCKS * 4)
    zstd_literals_kernel(const __grid_constant__ struct zstd_literals_launch launch)
{
    __shared__ struct literals_memory shared;
    const uint32_t slot = threadIdx.x / 4, stream = threadIdx.x % 4;
    const uint32_t index = blockIdx.x * LITERALS_BLOCKS + slot;
    uint32_t *const ring = shared.ring[threadIdx.x];
    const struct zstd_literals_job *const job = &launch.jobs[index];

    if (index < launch.count && stream == 0) {
        const struct zstd_tree *const tree = &launch.codes[job->code];

        shared.sound[slot] = zstd_weights_read(&shared.code[slot], tree->bytes, tree->size);
    }
    __syncthreads();
    if (index < launch.count && shared.sound[slot])
        code_table(&shared.code[slot], shared.table[slot], (uint16_t *)ring, stream);
    __syncthreads();
    if (index < launch.count &&
        !(shared.sound[slot] && decode_literals(&launch.batch, job, stream, shared.table[slot], ring)))
        atomicMin(launch.batch.refused, job->block);
}

#endif
