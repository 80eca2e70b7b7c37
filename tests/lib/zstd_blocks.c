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

struct frame {
    struct zstd_frame header;
    struct zstd_tables tables;
    struct zstd_literals_decoder literals_decoder;
    struct zstd_sequences_decoder sequences_decoder;
    struct zstd_history history;
    struct zstd_ring ring;
    unsigned char *literals; /* these two are kept from frame to frame */
    struct zstd_sequence *sequences;
    unsigned number; /* of the block */
};

/* A place for `size` bytes: all that lies before the window is done with. */
static unsigned char *place(struct frame *f, uint32_t size, uint64_t *run)
{
    uint64_t position = zstd_ring_position(&f->ring);
    uint64_t from = position > f->header.window ? position - f->header.window : 0;

    return zstd_ring_place(&f->ring, size, zstd_ring_offset(&f->ring, from), run);
}

/* Decodes a compressed block. Returns its content, or NULL. */
static unsigned char *decode_compressed(struct frame *f, enum zstd_blocks_literals how,
                                        const unsigned char *b, size_t size, uint32_t *content)
{
    const size_t most = (size_t)f->header.block_most;
    struct zstd_block_parts parts;
    struct zstd_sequences sequences;
    bool apart = how == ZSTD_BLOCKS_APART || (how == ZSTD_BLOCKS_IN_TURNS && f->number % 2);
    struct zstd_place to;
    unsigned char *out;
    uint64_t run;

    if (!zstd_block_parse(b, size, most, &f->tables, &parts) ||
        !zstd_sequences_decode(&f->sequences_decoder, b, size, &parts, &f->tables, most,
                               f->header.window, f->sequences, &sequences) ||
        !zstd_literals_decode(&f->literals_decoder, b, &parts.literals, &f->tables, f->literals))
        return NULL;
    *content = sequences.content;
    out = place(f, *content, &run);
    if (!out)
        abort(); /* the ring is too small */
    to = zstd_ring_reach(&f->ring, run, out);
    if (apart)
        zstd_place_literals(out, *content, f->literals, parts.literals.size, f->sequences,
                            sequences.count);
    if (!zstd_execute(&to, *content, f->literals, parts.literals.size, f->sequences,
                      sequences.count, &f->history, f->header.window, apart))
        return NULL;
    zstd_history_resolve(&sequences.history, &f->history);
    f->history = sequences.history;
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
        f.sequences =
            malloc(zstd_sequences_room((uint32_t)CONTENT_MAX / ZSTD_MATCH_MIN, CONTENT_MAX) *
                   sizeof *f.sequences);
        if (!f.literals || !f.sequences)
            abort();
    }
    zstd_ring_init(&f.ring, ring_memory(ring + ZSTD_EXECUTE_BEHIND), ring);
    zstd_ring_begin(&f.ring, 0);
    zstd_tables_begin(&f.tables);
    zstd_literals_begin(&f.literals_decoder);
    zstd_sequences_begin(&f.sequences_decoder);
    zstd_history_begin(&f.history);
    f.number = 0;
    taken = decode(&f, b, size, how, out, capacity, held);
    if (taken > 0 && f.header.content != ZSTD_UNKNOWN && f.header.content != *held)
        taken = 0;
    return taken;
}
