/*
 * Compressed input: zstd whose bytes are handed out as they are, for an engine that decodes them.
 *
 *     workers: compressed_read --> memory --> compressed_bytes: the one that feeds the engine
 *                                    ^                                              |
 *                                    '---------------- compressed_pass <----------------'
 *
 * Workers read pieces of the input into memory that the engine has given, a ring. They read several
 * pieces of a file at once, or a piece of a pipe at a time. One of them feeds the engine with the
 * pieces, in order; bytes that the engine is done with make room.
 *
 * The engine need not be able to decode all of it. For a file it then says so (compressed_refuse),
 * and the verdict of source_finish is SOURCE_REREAD: all is read again, and libzstd decodes it. A
 * pipe cannot be read again: compressed_resume has libzstd go on from the frame that was refused,
 * as long as that is still in the memory.
 *
 * A file of several frames can be for several engines: each has a ring, whose input is made of
 * parts of the file, cut between frames. The engine that asks next has the next part, so that all
 * end together; elements are whole in their parts. Offsets are then in a ring's input: its parts
 * one after the other. The assumptions about parts are checked: a frame ends where a part does, and
 * each part decodes to what its frames state. If not, it is as if a frame had been refused.
 *
 * If frames do not state their content size, elements are numbered by provisional positions
 * (zstd/index.h) until all parts are decoded. A part is then assumed to begin with an element,
 * which is checked: if one does not, all is to be read again for one engine (SOURCE_TORN).
 *
 * Any worker may call compressed_read at any time, and any thread compressed_refuse.
 * compressed_bytes, compressed_pass and compressed_complete are called by one thread at a time for
 * each ring; the rest by one thread. Functions that fail make the source fail, unless their comment
 * says otherwise.
 */
#ifndef GPUREDUCE_SOURCE_COMPRESSED_H
#define GPUREDUCE_SOURCE_COMPRESSED_H

#include "core/stream.h"
#include "source/reader.h"

/* The memory begins with so many bytes that the ring is not made of. The bytes that an engine has
   not taken when compressed_bytes is asked for more must not be longer. It is more than a block of
   zstd. */
#define COMPRESSED_BEFORE ((size_t)256 << 10)

/* Makes s, a compressed input whose descriptor and name are known, a source of this kind. `pipe` is
   NULL for a file; otherwise the reader of the pipe, which it closes in any case. False on failure;
   s is to be closed in any case. */
bool compressed_source_open(struct source *s, const struct source_options *options,
                            struct reader *pipe);

/* The properties that a decoder has to know, in bytes; positions are in decoded bytes. */
struct compressed_layout {
    uint64_t window;     /* of the first frame; SOURCE_UNKNOWN where that cannot be told */
    uint64_t window_max; /* the largest that is accepted */
    uint64_t begin;      /* position of the first element */
    uint64_t end;        /* behind the last; SOURCE_UNKNOWN where that is not known */
    bool stop;           /* what lies behind is not to be looked at: --length */
    uint64_t content;    /* bytes that the first frame states; SOURCE_UNKNOWN where it does not */
    bool checked;        /* that frame has a checksum, which is to be verified */
    size_t piece;        /* bytes of a piece: the ring is a multiple of it */
};
struct compressed_layout compressed_layout(const struct source *s);

/* A part of the input is about so long at most, bytes: shorter where that makes fewer than
   COMPRESSED_PARTS for each ring, but never below source_tuning.part_least. A decoder makes its
   batches of one part each. */
#define COMPRESSED_PART_MOST ((uint64_t)256 << 20)
#define COMPRESSED_PARTS 8

/* Has the input be for `rings` rings, or fewer: for how many it is then. One takes all of it; so it
   is without this, with pipes, where there is nothing to cut, and where not all elements are
   wanted: only at its end is it known that each ring had what it was said to have. Before
   compressed_begin. 0 without memory. */
unsigned compressed_cut(struct source *s, unsigned rings);

/* Gives a ring its memory: COMPRESSED_BEFORE bytes and two pieces at least, which stays as long as
   the source. Before any other worker. */
void compressed_begin(struct source *s, unsigned ring, unsigned char *memory, size_t size);

enum compressed_read {
    COMPRESSED_READ, /* a piece was read, or some of one, or the next part was looked for */
    COMPRESSED_BUSY, /* nothing can be read now: there is no room, or another worker reads the
                        pipe, or looks for the next part */
    COMPRESSED_END,  /* all has been read, or is being read by others */
    COMPRESSED_FAILED
};

/* Reads a ring's next piece, if there is room for it. */
enum compressed_read compressed_read(struct source *s, unsigned ring);

/* A ring's bytes at offset `from`, as far as they have come and lie in one piece, and in one part.
 */
struct stream_bytes compressed_bytes(struct source *s, unsigned ring, uint64_t from);

/* A ring's bytes before offset `offset` are not needed any more. */
void compressed_pass(struct source *s, unsigned ring, uint64_t offset);

/* All of a ring's input is decoded, to `total` bytes; or all of it that is wanted: then `total` is
   how far it came, and `stopped_at` the offset behind the block with the last of it, or
   SOURCE_UNKNOWN. */
void compressed_complete(struct source *s, unsigned ring, uint64_t total, uint64_t stopped_at);

/* Notes, if there are several rings, that the next part of this one is decoded, to `content` bytes.
   False if that shows that all has to be decoded once more. */
bool compressed_pass_part(struct source *s, unsigned ring, uint64_t content);

/* The engine has refused a frame, or failed: it has to be decoded once more. */
void compressed_refuse(struct source *s);

/* Makes s, a pipe that no worker reads any more, a source of decoded elements, from place->good on,
   which the engine has reached. False if the frame is not there any more, or on failure. */
bool compressed_resume(struct source *s, const struct stream_refusal *place);

/* Fails since the checksum of the frame at offset `frame` is wrong, as libzstd would. */
void compressed_wrong_checksum(struct source *s, uint64_t frame);

#endif
