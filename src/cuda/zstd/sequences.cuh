/*
 * Sequences (RFC 8878, 3.1.1.3.2): a thread decodes those of a block, one after another. Their cost
 * is latency: from a state to its entry in the table, to the number of bits that the sequence has,
 * to the bits of the next states. So entries hold all that this chain needs, and the values of the
 * sequence are worked out beside it.
 *
 * A stream that runs out reads stale words of the ring; every few sequences the position and the
 * sums are looked at. States are masked by the size of their table.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_SEQUENCES_CUH
#define GPUREDUCE_CUDA_ZSTD_SEQUENCES_CUH

#include "cuda/zstd/jobs.h"
#include "cuda/zstd/memory.cuh"
#include "cuda/zstd/tuning.h"

#define SEQUENCES_RING (SEQUENCES_RING_CHUNKS * CHUNK_WORDS)
#define STATE_ENTRIES (1 << ZSTD_TABLE_LOG_MAX)
#define OFFSET_STATE_ENTRIES (1 << ZSTD_OFFSET_LOG_MAX)

/*
 * An entry of a table:
 *   bits 0 to 10   the least state that may come next
 *   bits 11 to 15  how many bits are added to it
 *   bits 16 to 21  how many extra bits the symbol has
 *   bits 22 to 27  the symbol
 * The fields are so wide that three entries, one of each table, can be added up: that tells how
 * many bits a sequence has.
 */
#define NEXT_BITS(entry) ((entry) >> 11 & 31)
#define EXTRA_BITS(entry) ((entry) >> 16 & 63)
#define NEXT_STATE(entry) ((entry)&2047)
#define SYMBOL(entry) ((entry) >> 22)

/* Symbols of a kind that are looked up: their base value, and from bit 24 on their extra bits. */
#define SYMBOL_BASE(code) ((code)&0xffffff)
#define SYMBOL_EXTRA(code) ((code) >> 24)

/* A block's ring and tables. The ring's first chunk stands behind the last one once more, so that
   the word behind any is the next. Eight blocks use the banks of shared memory evenly. */
struct sequences_block {
    __align__(16) uint32_t ring[SEQUENCES_RING + CHUNK_WORDS];
    uint32_t lengths[STATE_ENTRIES], matches[STATE_ENTRIES], offsets[OFFSET_STATE_ENTRIES];
};

struct sequences_memory {
    struct sequences_block block[SEQUENCES_BLOCKS];
    uint32_t codes[ZSTD_PARTS][64];
};

__device__ static __forceinline__ uint32_t *block_table(struct sequences_block *block,
                                                        uint32_t part)
{
    return part == ZSTD_LITERAL_LENGTH ? block->lengths
           : part == ZSTD_OFFSET       ? block->offsets
                                       : block->matches;
}

__device__ static __forceinline__ uint32_t code_of(enum zstd_part part, uint32_t symbol)
{
    if (symbol >= zstd_codes(part))
        return 0;
    return (part == ZSTD_OFFSET ? 0 : zstd_code_base(part, symbol)) |
           (uint32_t)zstd_code_bits(part, symbol) << 24;
}

/* Makes an entry of what the shared arithmetic makes of a state. */
__device__ static __forceinline__ uint32_t pack_entry(struct zstd_fse_state state,
                                                      const uint32_t *codes)
{
    return state.base | (uint32_t)state.bits << 11 | SYMBOL_EXTRA(codes[state.code]) << 16 |
           (uint32_t)state.code << 22;
}

/* A stream's ring. Positions are in bits from the base. */
struct bit_ring {
    const uint32_t *base;
    uint32_t *ring;
    int asked; /* the lowest chunk that was asked for */
};

__device__ static __forceinline__ void ask_chunk(struct bit_ring *r)
{
    uint32_t place;

    r->asked--;
    place = (r->asked & (SEQUENCES_RING_CHUNKS - 1)) * CHUNK_WORDS;
    copy_begin(r->ring + place, r->base + r->asked * CHUNK_WORDS);
    if (place == 0)
        copy_begin(r->ring + SEQUENCES_RING, r->base + r->asked * CHUNK_WORDS);
}

/* The 32 bits from a position on. */
__device__ static __forceinline__ uint32_t peek(const uint32_t *ring, int position)
{
    const uint32_t word = (uint32_t)(position >> 5) & (SEQUENCES_RING - 1);

    return __funnelshift_r(ring[word], ring[word + 1], (uint32_t)position & 31);
}

/* The state of a thread in its block. */
struct sequence_reader {
    const uint32_t *ring, *lengths, *offsets, *matches;
    const uint32_t (*codes)[64];
    int position; /* bits below it are left */
    uint32_t length_state, offset_state, match_state;
    uint32_t literals, output; /* bytes so far */
    struct zstd_history history;
};

/* Decodes a sequence. The last one has no next states. */
__device__ static __forceinline__ uint4 decode_sequence(struct sequence_reader *r, int last)
{
    const uint32_t e0 = r->lengths[r->length_state], e1 = r->offsets[r->offset_state],
                   e2 = r->matches[r->match_state];
    const uint32_t sum = e0 + e1 + e2, n0 = NEXT_BITS(e0), n1 = NEXT_BITS(e1), n2 = NEXT_BITS(e2);
    const uint32_t code0 = r->codes[ZSTD_LITERAL_LENGTH][SYMBOL(e0)],
                   code2 = r->codes[ZSTD_MATCH_LENGTH][SYMBOL(e2)];
    const uint32_t x0 = EXTRA_BITS(e0), x1 = EXTRA_BITS(e1), x2 = EXTRA_BITS(e2);
    const int above = r->position - (int)x1; /* the offset's extra bits begin there */
    const int below = r->position - (int)EXTRA_BITS(sum);
    uint32_t extra, length, match, offset, value, next, to, end;
    uint4 sequence;

    /* The next states: of literals on top, then of matches, then of offsets. */
    r->position = last ? below : below - (int)NEXT_BITS(sum);
    next = peek(r->ring, r->position);
    r->offset_state = (NEXT_STATE(e1) + low_bits(next, n1)) & (OFFSET_STATE_ENTRIES - 1);
    next >>= n1;
    r->match_state = (NEXT_STATE(e2) + low_bits(next, n2)) & (STATE_ENTRIES - 1);
    next >>= n2;
    r->length_state = (NEXT_STATE(e0) + low_bits(next, n0)) & (STATE_ENTRIES - 1);

    /* The values: of the offset on top, then of the match, then of the literals. */
    extra = peek(r->ring, below);
    length = SYMBOL_BASE(code0) + low_bits(extra, x0);
    match = SYMBOL_BASE(code2) + low_bits(extra >> x0, x2);
    value = (1U << x1) + low_bits(peek(r->ring, above), x1);
    offset = zstd_offset_select(&r->history, value, length == 0);

    to = r->output + length;
    end = to + match;
    sequence = make_uint4(r->output | end << ZSTD_POSITION_BITS,
                          to | end >> ZSTD_END_LOW_BITS << ZSTD_POSITION_BITS,
                          r->literals - r->output, offset);
    r->literals += length;
    r->output = end;
    return sequence;
}

/* Begins a round of sequences: asks for chunks, and waits for those that the round needs. A
   sequence has 63 extra bits and 26 bits of states at most, a round 44.5 bytes, which is less than
   the 3 chunks that it asks for. The 8 groups that may be under way hold 24 of the 30 chunks ahead,
   so 6 have arrived. */
#define ROUND 4
__device__ static __forceinline__ void begin_round(struct bit_ring *ring, int position)
{
    const int wanted = position / (8 * CHUNK_BYTES) - (SEQUENCES_RING_CHUNKS - 2);

    for (int k = 0; k < 3; k++)
        if (ring->asked > wanted && ring->asked > 0)
            ask_chunk(ring);
    copy_group();
    COPY_WAIT(8);
}

/* Decodes the sequences of a block. Returns false when they are not sound. */
__device__ static __forceinline__ int decode_sequences(const struct zstd_sequences_launch *launch,
                                                       const struct zstd_sequences_job *job,
                                                       struct sequences_block *block,
                                                       const uint32_t (*codes)[64],
                                                       struct zstd_sequences_result *result)
{
    const uint32_t base = stream_base(job->source), last = job->source + job->size - 1;
    const int begin = (int)(job->source - base) * 8; /* of the stream */
    const uint32_t length_bits = launch->tables[job->table[ZSTD_LITERAL_LENGTH]].bits;
    const uint32_t offset_bits = launch->tables[job->table[ZSTD_OFFSET]].bits;
    const uint32_t match_bits = launch->tables[job->table[ZSTD_MATCH_LENGTH]].bits;
    const uint32_t count = job->count, literals = job->literals, limit = job->limit;
    uint4 *to = (uint4 *)launch->batch.pool + job->first;
    struct bit_ring ring;
    struct sequence_reader r;
    uint32_t bits, mark, left = count;

    if (job->size == 0)
        return 0;
    mark = launch->batch.source[last];
    if (mark == 0)
        return 0;
    ring.base = (const uint32_t *)(launch->batch.source + base);
    ring.ring = block->ring;
    r.ring = block->ring;
    r.lengths = block->lengths;
    r.offsets = block->offsets;
    r.matches = block->matches;
    r.codes = codes;
    r.literals = r.output = 0;
    zstd_history_symbols(&r.history);
    r.position = (int)(last - base) * 8 + (int)zstd_high_bit(mark);
    ring.asked = r.position / (8 * CHUNK_BYTES) + 1;
    for (int k = 0; k < SEQUENCES_RING_CHUNKS - 1 && ring.asked > 0; k++)
        ask_chunk(&ring);
    copy_group();
    COPY_WAIT(0);

    r.position -= (int)(length_bits + offset_bits + match_bits);
    bits = peek(r.ring, r.position);
    r.match_state = low_bits(bits, match_bits);
    bits >>= match_bits;
    r.offset_state = low_bits(bits, offset_bits);
    bits >>= offset_bits;
    r.length_state = low_bits(bits, length_bits);

    /* If the stream or the block is exceeded, the last round is left out, and `left` tells. */
    while (left > ROUND && r.position >= begin && r.literals <= literals && r.output <= limit) {
        begin_round(&ring, r.position);
        UNROLL
        for (int k = 0; k < ROUND; k++)
            to[k] = decode_sequence(&r, 0);
        to += ROUND;
        left -= ROUND;
    }
    if (left <= ROUND) {
        begin_round(&ring, r.position);
        for (; left > 0; left--)
            *to++ = decode_sequence(&r, left == 1);
    }
    COPY_WAIT(0);
    result->size = r.output + (literals - r.literals);
    result->history = r.history;
    return left == 0 && r.position == begin && r.literals <= literals && result->size <= limit;
}

/* Three of a block's four threads make a table each, in entries as the shared arithmetic has them;
   then all of them pack those. */
__device__ static __forceinline__ void make_tables(const struct zstd_sequences_launch *launch,
                                                   const struct zstd_sequences_job *job,
                                                   struct sequences_block *block,
                                                   const uint32_t (*codes)[64], uint32_t part)
{
    if (part < ZSTD_PARTS) {
        const struct zstd_counts *const counts = &launch->tables[job->table[part]];
        struct zstd_fse_state *const table = (struct zstd_fse_state *)block_table(block, part);

        if (counts->bits == 0) {
            table->base = 0;
            table->bits = 0;
            table->code = counts->symbols;
        } else {
            zstd_fse_build(table, counts->bits, counts->count, counts->symbols,
                           (uint16_t *)block->ring + part * 64);
        }
    }
    __syncthreads();
    for (uint32_t p = 0; p < ZSTD_PARTS; p++) {
        const uint32_t states = 1U << launch->tables[job->table[p]].bits;
        uint32_t *const table = block_table(block, p);

        for (uint32_t i = part; i < states; i += 4)
            table[i] = pack_entry(((const struct zstd_fse_state *)table)[i], codes[p]);
    }
    __syncthreads();
}

/* A grid of as many blocks as SEQUENCES_BLOCKS takes, of four threads each: three of them make the
   tables. */
__global__ static void __launch_bounds__(SEQUENCES_BLOCKS * 4)
    zstd_sequences_kernel(const __grid_constant__ struct zstd_sequences_launch launch)
{
    __shared__ struct sequences_memory shared;
    const uint32_t slot = threadIdx.x / 4, part = threadIdx.x % 4;
    const uint32_t index = blockIdx.x * SEQUENCES_BLOCKS + slot;
    /* Threads without a block make the tables of the last one once more, so that all meet. */
    const struct zstd_sequences_job *const job =
        &launch.jobs[index < launch.count ? index : launch.count - 1];

    for (uint32_t i = threadIdx.x; i < ZSTD_PARTS * 64; i += SEQUENCES_BLOCKS * 4)
        shared.codes[i / 64][i % 64] = code_of((enum zstd_part)(i / 64), i % 64);
    __syncthreads();
    make_tables(&launch, job, &shared.block[slot], (const uint32_t(*)[64])shared.codes, part);
    if (index < launch.count && part == 0) {
        struct zstd_sequences_result result;

        if (!decode_sequences(&launch, job, &shared.block[slot],
                              (const uint32_t(*)[64])shared.codes, &result)) {
            result.size = ZSTD_REFUSED;
            zstd_history_begin(&result.history);
        }
        launch.results[index] = result;
    }
}

#endif
