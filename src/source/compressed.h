/*
 * Compressed input: the bytes of zstd files and pipes, undecoded, for an engine that decodes them.
 *
 *     workers: compressed_read --> memory --> compressed_bytes: the one that feeds the engine
 *                                    ^                                              |
 *                                    '---------------- compressed_pass <----------------'
 *
 * Workers read pieces of the input into a ring, which is memory of the engine: several pieces of a
 * file at once, or one piece of a pipe at a time. One worker passes the pieces to the engine, in
 * order, and frees the bytes that the engine does not need any more.
 *
 * If the engine cannot decode a frame of a file, compressed_refuse notes that, and the verdict of
 * source_finish is SOURCE_REREAD: the file is read again and decoded by libzstd. A pipe cannot be
 * read again: compressed_resume continues with libzstd from the refused frame, as long as that is
 * still in memory.
 *
 * A file of several frames can be shared by several engines. Each has a ring, and gets parts of the
 * file that are cut between frames; the engine that is ready first gets the next part, so that all
 * end together. Each element lies in one part. Offsets are then those in the input of a ring, which
 * is its parts one after the other. If a frame does not end where its part ends, or a part does not
 * decode to the size that its frames state, the file is treated like one with a refused frame.
 *
 * An array in tiles is an input of this kind, too: of the tiles that are zstd and lie in the array as
 * a whole, as if they were the frames of a file. It always has parts. source_next hands out the
 * elements of all other tiles, while and after the engine decodes.
 *
 * If frames do not state their content size, elements are numbered by provisional positions
 * (zstd/index.h) until all parts are decoded, and each part is assumed to begin with an element. If
 * one does not, the file is read again for one engine (SOURCE_TORN).
 *
 * Threads: any worker may call compressed_read at any time, and any thread compressed_refuse. One
 * thread at a time may call compressed_bytes, compressed_pass and compressed_complete of a ring.
 * All other functions belong to the thread that owns the source. Functions that fail make the
 * source fail, unless their comment says otherwise.
 */
#ifndef GPUREDUCE_SOURCE_COMPRESSED_H
#define GPUREDUCE_SOURCE_COMPRESSED_H

#include "core/stream.h"
#include "source/reader.h"

/* Bytes at the beginning of a ring's memory that are not part of the ring: room to put the bytes
   that the engine has not taken in front of those that follow them. It is more than a block of
   zstd. The engine may leave at most so many bytes when it asks for more. */
#define COMPRESSED_BEFORE ((size_t)256 << 10)

/* Makes s, an opened zstd file or pipe, a source of this kind. `pipe` is the reader of a pipe,
   which this function closes in any case, and NULL for a file. False on failure; the caller
   closes s in any case. */
bool compressed_source_open(struct source *s, struct reader *pipe);

/* Finds the facts about an array of a container as an input of this kind: facts->compressed tells
   whether its tiles are zstd, and `size` is 0 where an engine has nothing to decode of it. False
   without memory. */
bool compressed_array_look(const struct source *container, const struct container_array *a,
                           const struct source_options *options, struct source_facts *facts);

/* Makes s, whose layout is that of such an array, of which there is something to decode, a source of
   this kind for `workers` workers. False on failure; the caller closes s in any case. */
bool compressed_array_open(struct source *s, unsigned workers);

/* The properties that a decoder has to know, in bytes; positions are in decoded bytes. */
struct compressed_layout {
    uint64_t window;     /* window of the first frame; SOURCE_UNKNOWN if it is not known */
    uint64_t window_max; /* the largest window that is accepted */
    uint64_t begin;      /* position of the first element */
    uint64_t end;        /* position after the last element; SOURCE_UNKNOWN if it is not known */
    bool stop;           /* do not decode what is after `end` (--length) */
    bool in_parts;       /* compressed_pass_part is to be called */
    bool check;          /* verify checksums: always those of tiles */
    size_t piece;        /* size of a piece; the size of the ring is a multiple of it */
};
struct compressed_layout compressed_layout(const struct source *s);

/* The size of a part, in bytes: at most about COMPRESSED_PART_MOST; less if there would be fewer
   than COMPRESSED_PARTS for each ring, but at least source_tuning.part_least. */
#define COMPRESSED_PART_MOST ((uint64_t)256 << 20)
#define COMPRESSED_PARTS 8

/* Divides the input among up to `rings` rings, before compressed_begin. Returns the number of
   rings; 0 without memory. It is 1 without this call, for a pipe, if there are no frames to cut
   between, and if not all elements are requested, since the sizes of parts are only verified at
   the end. */
unsigned compressed_cut(struct source *s, unsigned rings);

/* Gives ring number `ring` its memory: COMPRESSED_BEFORE bytes and at least two pieces, which must
   outlive the source. Before other workers begin. */
void compressed_begin(struct source *s, unsigned ring, unsigned char *memory, size_t size);

enum compressed_read {
    COMPRESSED_READ,  /* some bytes were read, or the next part was found */
    COMPRESSED_BUSY,  /* nothing can be read now: there is no room, or another worker reads the
                         pipe or finds the next part */
    COMPRESSED_END,   /* everything has been read, or is being read by others */
    COMPRESSED_FAILED /* the source has failed */
};

/* Reads the next piece of a ring, if there is room for it. */
enum compressed_read compressed_read(struct source *s, unsigned ring);

/* The bytes of a ring from offset `from` on that have been read, up to the end of the ring's memory
   or of the part. */
struct stream_bytes compressed_bytes(struct source *s, unsigned ring, uint64_t from);

/* Frees the bytes of a ring before offset `offset`. */
void compressed_pass(struct source *s, unsigned ring, uint64_t offset);

/* Notes that all requested elements of a ring's input are decoded. `total`: bytes decoded.
   `stopped_at`: if the input was not decoded to its end, the offset after the block that holds the
   last element; SOURCE_UNKNOWN if it was. */
void compressed_complete(struct source *s, unsigned ring, uint64_t total, uint64_t stopped_at);

/* Notes, if the input is divided into parts, that the next part of this ring was decoded to `content`
   bytes. False if that is not what it should have been: then everything has to be decoded again. */
bool compressed_pass_part(struct source *s, unsigned ring, uint64_t content);

/* Notes that the engine has refused a frame, or failed, so that everything has to be decoded
   again. */
void compressed_refuse(struct source *s);

/* Makes s, a pipe that no worker reads any more, a source of decoded elements from place->good on.
   False if the refused frame is not in memory any more, or on failure. */
bool compressed_resume(struct source *s, const struct stream_refusal *place);

/* Makes the source fail because the checksum of the frame at offset `frame` is wrong, with the
   error of libzstd. */
void compressed_wrong_checksum(struct source *s, uint64_t frame);

#endif
