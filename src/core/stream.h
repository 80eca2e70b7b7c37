/*
 * Compressed input on its way from a source to an engine that decodes it. Offsets are in bytes of a
 * decoder's input, which may be made of several parts of the whole input, each of whole frames.
 * Positions are in bytes of the decoded whole input.
 */
#ifndef GPUREDUCE_STREAM_H
#define GPUREDUCE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part. One that begins within a frame is refused. Each part begins with an element, except for
   the part that begins the whole input. The caller of the engine verifies that. */
struct stream_part {
    uint64_t offset;   /* of its first byte */
    uint64_t position; /* of its first decoded byte; elements are numbered by it */
    bool provisional;  /* `position` is larger than the true one, which is not known yet */

    /* The places where the pieces of the part begin; NULL if it is not made of pieces. Each piece is
       of whole frames, which decode to `piece_content` bytes. The first place stands for `offset`.
       The engine verifies all this. */
    const uint64_t *pieces;
    size_t piece_count;
    uint64_t piece_content; /* bytes */
};

/* Bytes in a row, of one part. */
struct stream_bytes {
    const unsigned char *bytes;
    size_t size;
    uint64_t rest;           /* bytes to the end of the part; very many if unknown */
    bool full;               /* more bytes will only come after some of these are taken */
    bool last;               /* the decoder's input ends after them */
    bool part_ends;          /* the part ends after them; `full` is true, too */
    struct stream_part part; /* all zero if the input is not divided */
};

/* The place of a frame that a decoder refused. */
struct stream_refusal {
    uint64_t frame;         /* offset of the frame */
    uint64_t begin;         /* position of the frame's first decoded byte */
    uint64_t good;          /* position of the first element that is not reduced */
    unsigned char tail[16]; /* the bytes from `good` to before `begin` */
    size_t tail_size;       /* their number; 1 if `tail` has no room for all: then they lie after
                               the last element, and the byte only shows that there are some */
};

#endif
