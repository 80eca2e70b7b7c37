/*
 * Decodes the sequences of a block (RFC 8878, section 3.1.1.3.2), without carrying them out: how
 * many literals, and the match after them. Offsets may be symbols, as entropy.h has them, so no
 * other block needs to be decoded before. Prints nothing.
 */
#ifndef GPUREDUCE_ZSTD_SEQUENCES_H
#define GPUREDUCE_ZSTD_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "zstd/block.h"

/* Copy `literals` bytes, then `match` bytes from `offset` bytes before. A length that does not fit
   16 bits is cut into several of these, with no match, or no literals. */
struct zstd_sequence {
    uint32_t offset; /* never 0 */
    uint16_t literals;
    uint16_t match;
};

/* The shortest match of the format. Bytes. */
#define ZSTD_MATCH_MIN 3

/* Room for the sequences of a block that holds up to `most` bytes: pieces of long lengths, too. */
static inline uint32_t zstd_sequences_room(uint32_t sequences, size_t most)
{
    return sequences + 2 * (uint32_t)(most / UINT16_MAX + 1);
}

/* A state of a part's decoding table, in one number, so that those of the three parts can be added
   up: from the lowest bits on how many bits are to be added to what the code stands for (8 bits),
   how many tell the next state (8), what these are added to (16), and what the code stands for
   (32). */
typedef uint64_t zstd_sequence_state;

/* The decoding tables built last. They belong to one thread. */
struct zstd_sequences_decoder {
    uint64_t numbers[ZSTD_PARTS]; /* of the distributions they are of; 0: of none */
    zstd_sequence_state tables[ZSTD_PARTS][1 << ZSTD_TABLE_LOG_MAX];
};

/* The result of decoding the sequences of a block. */
struct zstd_sequences {
    uint32_t count;              /* written, pieces included */
    uint32_t literals;           /* that they take */
    uint32_t content;            /* bytes that the block holds, the literals after them included */
    struct zstd_history history; /* after the block: symbols, and offsets of its own */
};

/* A block whose sequences are to be decoded. */
struct zstd_sequences_job {
    struct zstd_sequences_decoder *decoder; /* no other job's */
    const unsigned char *bytes;
    size_t size;
    const struct zstd_block_parts *parts; /* that it was parsed as */
    const struct zstd_tables *tables;     /* that it uses */
    size_t most;                          /* bytes that it may hold */
    uint64_t window;                      /* bytes that a match may lie back, but for symbols */
    struct zstd_sequence *sequences; /* room for zstd_sequences_room of them, which are written */
    struct zstd_sequences *result;
};

/* Jobs that one call takes at most: two blocks take about 1.3 times as long as one. */
#define ZSTD_SEQUENCES_JOBS 2

/* Decodes the sequences of some blocks. False where one of them is not sound. */
bool zstd_sequences_decode(const struct zstd_sequences_job *jobs, unsigned count);

#endif
