/*
 * Readers: streams of bytes in order. A decoder of compressed bytes is a reader on top of another.
 * A reader belongs to one thread at a time; functions that fail have made the source fail.
 */
#ifndef GPUREDUCE_SOURCE_READER_H
#define GPUREDUCE_SOURCE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "source/source_impl.h"

/* The most bytes that are read ahead to tell what an input is. */
#define READER_PUSHED_MAX 4096

struct reader {
    /* Reads up to `size` bytes; 0 at the end; -1 on failure. */
    ptrdiff_t (*read)(struct reader *, void *buffer, size_t size);
    void (*close)(struct reader *);
    /* Reads ahead. One thread may call it while another calls read; both may have to wait for the
       input. False when there is nothing to read ahead. NULL where that is always so. */
    bool (*ahead)(struct reader *);
    /* Only the kind of the input is to be found: a decoder ends with the first piece that has
       content, since errors after it do not matter yet. */
    bool probing;
    bool at_end;   /* of a decoder: it knows that nothing follows what it has given */
    bool passed;   /* of a decoder: it has come to the mark, see zstd/reader.h */
    size_t pushed; /* bytes to be read again before any other: the last of these */
    unsigned char pushed_bytes[READER_PUSHED_MAX];
};

/* Reads up to `size` bytes, first those pushed back. 0 at the end; -1 on failure. */
ptrdiff_t reader_read(struct reader *r, void *buffer, size_t size);

/* Reads exactly `size` bytes unless the end comes first. Returns how many, or -1. */
ptrdiff_t reader_fill(struct reader *r, void *buffer, size_t size);

/* Puts `size` bytes, at most READER_PUSHED_MAX, back before what is still to be read. */
void reader_push(struct reader *r, const void *bytes, size_t size);

/* A reader of s->fd from s->start: the head first; files of known extent by pread, so that other
   users of the descriptor are not disturbed. It counts what it reads. NULL without memory. */
struct reader *input_reader_open(struct source *s);

/* Opens a reader of a file of known extent, from byte `offset` of the input on. */
struct reader *input_reader_open_at(struct source *s, uint64_t offset);

/* The largest pipe that an unprivileged process may have on Linux (fs.pipe-max-size). In the
   default pipe of 64 KiB writer and reader would take turns sixteen times as often. */
#define READER_PIPE_BYTES (1 << 20)

#endif
