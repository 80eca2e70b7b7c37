/*
 * A block under way: walked over, decoded, carried out. Its processing does not depend on other
 * blocks, except where it says so, and needs no lock: a block belongs to one worker at a time.
 *
 * Its bytes are the mapped input's: whoever walks over or decodes one does so under mapping_guard.
 */
#ifndef GPUREDUCE_ZSTD_FLIGHT_H
#define GPUREDUCE_ZSTD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "zstd/block.h"
#include "zstd/execute.h"
#include "zstd/frames.h"
#include "zstd/literals.h"
#include "zstd/sequences.h"

/* The decoding tables of a worker. */
struct zstd_scratch {
    uint64_t frame; /* number of the frame that they are of */
    struct zstd_literals_decoder literals;
    struct zstd_sequences_decoder sequences;
};

enum zstd_flight_state {
    ZSTD_FLIGHT_WALKED,   /* its parts are known */
    ZSTD_FLIGHT_DECODING, /* a worker has it */
    ZSTD_FLIGHT_DECODED,  /* its literals, or all of its content, are in its memory */
    ZSTD_FLIGHT_PLACING,  /* a worker has it */
    ZSTD_FLIGHT_READY     /* it can be carried out, or is where it belongs */
};

struct zstd_flight {
    /* Owned by the worker that has the block. */
    const unsigned char *bytes;
    uint32_t size;
    bool last;                     /* of its frame */
    struct zstd_block_parts parts; /* of raw blocks and runs, too: literals alone */
    struct zstd_tables tables;     /* that it uses */
    unsigned char *literals;       /* ZSTD_BLOCK_CONTENT_MAX + ZSTD_EXECUTE_BEHIND bytes */
    struct zstd_sequence *sequences;
    uint32_t room;                /* for sequences */
    struct zstd_sequences result; /* of decoding them */

    /* Its team's, under the mutex. */
    enum zstd_flight_state state;
    bool sized;           /* its content is known */
    uint32_t content;     /* bytes */
    uint64_t behind;      /* offset in the input behind it */
    unsigned char *place; /* in the ring; NULL before it has one */
    uint64_t run;         /* of the ring */
};

/* Frees the memory that a block took; one that is all zeros has none. */
void zstd_flight_close(struct zstd_flight *f);

enum zstd_flight_walked {
    ZSTD_FLIGHT_SOUND,
    ZSTD_FLIGHT_FAULT,  /* *fault says what */
    ZSTD_FLIGHT_REFUSED /* the block is not sound: libzstd will say why */
};

/* Walks over the next block of a frame. The blocks of a frame are walked over in order: *walk and
 *tables go from one to the next. */
enum zstd_flight_walked zstd_flight_walk(struct zstd_flight *f, struct zstd_view *view,
                                         struct zstd_frame *walk, struct zstd_tables *tables,
                                         struct zstd_fault *fault);

/* Whether a block with sequences is mostly literals: these are placed before it is carried out. */
bool zstd_flight_sparse(const struct zstd_flight *f);

/* Decodes the sequences: then f->result.content is the block's size. False where they are not
   sound, or there is no memory. */
bool zstd_flight_decode_sequences(struct zstd_flight *f, struct zstd_scratch *scratch,
                                  const struct zstd_frame *frame);

/* Decodes the literals to `out`, or to the block's own memory where that is NULL. False where they
   are not sound, or there is no memory. */
bool zstd_flight_decode_literals(struct zstd_flight *f, struct zstd_scratch *scratch,
                                 unsigned char *out);

/* Puts what is decoded of a block where it belongs, but for matches. */
void zstd_flight_place(struct zstd_flight *f, unsigned char *out);

/* Carries the sequences out, after all blocks in front. *history: before it, and then behind. */
bool zstd_flight_execute(struct zstd_flight *f, const struct zstd_place *place,
                         struct zstd_history *history, uint64_t window);

#endif
