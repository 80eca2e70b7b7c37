#include "config.h"

#include "lib/zstd_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "zstd/block.h"
#include "zstd/execute.h"
#include "zstd/frames.h"
#include "zstd/literals.h"
#include "zstd/ring.h"
#include "zstd/sequences.h"

/* Frames with larger windows are refused. */
#define WINDOW_MAX ((uint64_t)128 << 20)

#define CONTENT_MAX ((size_t)ZSTD_BLOCK_CONTENT_MAX)

/* A block with sequences, as it was parsed and decoded. */
struct block {
    const unsigned char *bytes; /* NULL: there is none */
    size_t size;
    struct zstd_block_parts parts;
    struct zstd_tables tables;
    struct zstd_sequence *sequences; /* kept from frame to frame */
    struct zstd_sequences result;
};

struct frame {
    struct zstd_frame header;
    struct zstd_tables tables;
    struct zstd_literals_decoder literals_decoder;
    struct zstd_sequences_decoder decoders[ZSTD_SEQUENCES_JOBS];
    struct zstd_history history;
    struct zstd_ring ring;
    unsigned char *literals; /* kept from frame to frame */
    struct block blocks[2];  /* the one at hand, and the one before, in turns */
    struct block again;      /* the one before, decoded beside the one at hand */
    unsigned number;         /* of the block */
};

/* A place for `size` bytes: all that lies before the window is done with. */
static unsigned char *place(struct frame *f, uint32_t size, uint64_t *run)
{
    uint64_t position = zstd_ring_position(&f->ring);
    uint64_t from = position > f->header.window ? position - f->header.window : 0;

    return zstd_ring_place(&f->ring, size, zstd_ring_offset(&f->ring, from), run);
}

static struct zstd_sequences_job job_of(const struct frame *f, struct block *b,
                                        struct zstd_sequences_decoder *decoder)
{
    return (struct zstd_sequences_job){.decoder = decoder,
                                       .bytes = b->bytes,
                                       .size = b->size,
                                       .parts = &b->parts,
                                       .tables = &b->tables,
                                       .most = (size_t)f->header.block_most,
                                       .window = f->header.window,
                                       .sequences = b->sequences,
                                       .result = &b->result};
}

/* Decodes the sequences of a block beside those of the one before, which must come out as they did. */
static bool decode_sequences(struct frame *f, struct block *block, const struct block *before)
{
    struct zstd_sequences_job jobs[ZSTD_SEQUENCES_JOBS];

    jobs[0] = job_of(f, block, &f->decoders[f->number % 2]);
    if (!before->bytes)
        return zstd_sequences_decode(jobs, 1);
    f->again = (struct block){.bytes = before->bytes,
                              .size = before->size,
                              .parts = before->parts,
                              .tables = before->tables,
                              .sequences = f->again.sequences};
    jobs[1] = job_of(f, &f->again, &f->decoders[1 - f->number % 2]);
    if (!zstd_sequences_decode(jobs, 2))
        return false;
    if (memcmp(&f->again.result, &before->result, sizeof before->result) != 0 ||
        memcmp(f->again.sequences, before->sequences,
               before->result.count * sizeof *before->sequences) != 0)
        abort();
    return true;
}

/* Decodes a compressed block. Returns its content, or NULL. */
static unsigned char *decode_compressed(struct frame *f, enum zstd_blocks_literals how,
                                        const unsigned char *b, size_t size, uint32_t *content)
{
    const size_t most = (size_t)f->header.block_most;
    struct block *const block = &f->blocks[f->number % 2];
    struct zstd_block_parts *const parts = &block->parts;
    struct zstd_sequences result;
    bool apart = how == ZSTD_BLOCKS_APART || (how == ZSTD_BLOCKS_IN_TURNS && f->number % 2);
    struct zstd_place to;
    unsigned char *out;
    uint64_t run;

    block->bytes = NULL;
    if (!zstd_block_parse(b, size, most, &f->tables, parts))
        return NULL;
    block->bytes = b;
    block->size = size;
    block->tables = f->tables;
    if (!decode_sequences(f, block, &f->blocks[1 - f->number % 2]) ||
        !zstd_literals_decode(&f->literals_decoder, b, &parts->literals, &f->tables, f->literals))
        return NULL;
    result = block->result;
    *content = result.content;
    out = place(f, *content, &run);
    if (!out)
        abort(); /* the ring is too small */
    to = zstd_ring_reach(&f->ring, run, out);
    if (apart)
        zstd_place_literals(out, *content, f->literals, parts->literals.size, block->sequences,
                            result.count);
    if (!zstd_execute(&to, *content, f->literals, parts->literals.size, block->sequences,
                      result.count, &f->history, f->header.window, apart))
        return NULL;
    zstd_history_resolve(&result.history, &f->history);
    f->history = result.history;
    return out;
}

/* Decodes the block at f->header.position. Returns its content, or NULL. */
static const unsigned char *decode_block(struct frame *f, enum zstd_blocks_literals how,
                                         const unsigned char *b, size_t size, uint32_t *content)
{
    const uint64_t at = f->header.position;
    struct zstd_frame walked = f->header;
    uint32_t header;
    unsigned char *out;
    uint64_t run;

    if (at + 3 > size)
        return NULL;
    header = b[at] | (uint32_t)b[at + 1] << 8 | (uint32_t)b[at + 2] << 16;
    walked.end = ZSTD_UNKNOWN;
    walked.position += 3 + ((header >> 1 & 3) == 1 ? 1 : header >> 3);
    if ((header >> 1 & 3) == 3 || header >> 3 > f->header.block_most || walked.position > size)
        return NULL;
    if (header & 1)
        walked.end = walked.position + (f->header.checksum ? 4 : 0);
    f->header = walked;
    f->number++;
    if ((header >> 1 & 3) == 2)
        return decode_compressed(f, how, b + at + 3, header >> 3, content);
    *content = header >> 3;
    out = place(f, *content, &run);
    if (!out)
        abort();
    if ((header >> 1 & 3) == 0)
        memcpy(out, b + at + 3, *content);
    else
        memset(out, b[at + 3], *content);
    return out;
}

static size_t decode(struct frame *f, const unsigned char *b, size_t size,
                     enum zstd_blocks_literals how, unsigned char *out, size_t capacity,
                     size_t *held)
{
    *held = 0;
    while (f->header.end == ZSTD_UNKNOWN) {
        uint32_t content;
        const unsigned char *block = decode_block(f, how, b, size, &content);

        if (!block || content > capacity - *held)
            return 0;
        memcpy(out + *held, block, content);
        *held += content;
    }
    return f->header.end <= size ? (size_t)f->header.end : 0;
}

static struct zstd_sequence *new_sequences(void)
{
    const uint32_t most = zstd_sequences_room((uint32_t)CONTENT_MAX / ZSTD_MATCH_MIN, CONTENT_MAX);
    struct zstd_sequence *sequences = calloc(most, sizeof *sequences);

    if (!sequences)
        abort();
    return sequences;
}

/* `size` bytes at the end of memory that is kept from call to call: whoever writes behind them is
   found out, and nobody waits for fresh pages. */
static unsigned char *ring_memory(size_t size)
{
    static unsigned char *memory;
    static size_t capacity;

    if (size > capacity) {
        free(memory);
        memory = malloc(size);
        if (!memory)
            abort();
        capacity = size;
    }
    return memory + (capacity - size);
}

size_t zstd_blocks_decode(const unsigned char *b, size_t size, enum zstd_blocks_literals how,
                          size_t ahead, unsigned char *out, size_t capacity, size_t *held)
{
    static struct frame f;
    size_t taken = 0, ring;

    if (!zstd_read_header(b, size, 0, &f.header) || f.header.reserved || f.header.dictionary != 0 ||
        f.header.window > WINDOW_MAX)
        return 0;
    /* A match may reach no more than there is. */
    ring = zstd_ring_capacity(f.header.window < capacity ? f.header.window : capacity, ahead);
    if (!f.literals) {
        f.literals = malloc(CONTENT_MAX + ZSTD_EXECUTE_BEHIND);
        if (!f.literals)
            abort();
        for (unsigned i = 0; i < 2; i++)
            f.blocks[i].sequences = new_sequences();
        f.again.sequences = new_sequences();
    }
    for (unsigned i = 0; i < 2; i++)
        f.blocks[i].bytes = NULL;
    zstd_ring_init(&f.ring, ring_memory(ring + ZSTD_EXECUTE_BEHIND), ring);
    zstd_ring_begin(&f.ring, 0);
    zstd_tables_begin(&f.tables);
    f.literals_decoder.tree_number = 0;
    for (unsigned i = 0; i < ZSTD_SEQUENCES_JOBS; i++)
        memset(f.decoders[i].numbers, 0, sizeof f.decoders[i].numbers);
    zstd_history_begin(&f.history);
    f.number = 0;
    taken = decode(&f, b, size, how, out, capacity, held);
    if (taken > 0 && f.header.content != ZSTD_UNKNOWN && f.header.content != *held)
        taken = 0;
    return taken;
}
