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
    /* Reads ahead. One thread may call it while another calls read; both may wait for the input.
       False if nothing can be read ahead. NULL: never. */
    bool (*ahead)(struct reader *);
    bool many_ahead; /* several threads may call `ahead` at a time */
    bool probing;    /* set by the caller to find the format: a decoder returns only the first
                      piece that has content, since later errors do not matter yet */
    bool at_end;     /* set by a decoder: nothing follows the bytes that it has returned */
    bool passed;     /* set by a decoder: it has reached the mark of zstd/reader.h */
    struct source *source;
    struct reader *input; /* that its bytes come from; NULL: they come from the source's input */
    unsigned char *kept;  /* bytes on the heap that are read again before all others; NULL: none */
    size_t kept_size, kept_at; /* how many they are; those that have been read */
    uint64_t skip;             /* first bytes that are passed on as the input has them */
    size_t pushed;             /* bytes that will be read again first, which end `pushed_bytes` */
    unsigned char pushed_bytes[READER_PUSHED_MAX];
};

/* Makes a reader of `size` bytes that begins with a struct reader, and of which the first `cleared` are 0
   otherwise. It reads ahead as its input does, if it has one, and is closed by reader_close. Without
   memory it makes the source fail, closes the input and returns NULL. */
void *reader_open(struct source *s, struct reader *input,
                  ptrdiff_t (*read)(struct reader *, void *, size_t), size_t size, size_t cleared);

/* Closes the input of a reader, and frees the reader. */
void reader_close(struct reader *r);

/* Reads up to `size` bytes, those that were pushed back first. 0 at the end; -1 on failure. */
ptrdiff_t reader_read(struct reader *r, void *buffer, size_t size);

/* Reads exactly `size` bytes unless the end comes first. Returns how many, or -1. */
ptrdiff_t reader_fill(struct reader *r, void *buffer, size_t size);

/* Puts `size` bytes, at most READER_PUSHED_MAX, back before what is still to be read. */
void reader_push(struct reader *r, const void *bytes, size_t size);

/* Opens a reader of the file from byte `offset` of the input on, which is 0 if its size is unknown. It
   returns s->head first, reads files of known size by pread, so that the descriptor's offset does not
   change, and counts bytes as read. NULL without memory. */
struct reader *input_reader_open(struct source *s, uint64_t offset);

/* Bytes of the largest pipe that an unprivileged process may have on Linux (fs.pipe-max-size).
   With the default of 64 KiB, writer and reader would wait for each other sixteen times as
   often. */
#define READER_PIPE_BYTES (1 << 20)

/*
 * Readers on top of others: of what is compressed (source/zstd.h has zstd's), and of records.
 */

/* A reader of what gzip or zlib, by the source's compression, have made `input` of. It owns `input` and
   closes it, even when it fails and returns NULL. Several threads may read ahead of it, each of which
   decodes other members of gzip, if there are several of which it is soon known where they end:
   blocks of bgzf, and in a file small members of any kind. */
struct reader *gzip_reader_open(struct source *s, struct reader *input);

/* Opens a reader of what is in the records of `input`, one after the other: the first `skip` bytes are
   passed on as they are, and records follow, with markers as s->fortran says. A marker that is wrong, a
   record that does not hold whole elements (or whole records of `record`), and one that is cut off are
   errors. It closes `input`, also where it returns NULL, without memory. */
struct reader *fortran_reader_open(struct source *s, const struct source_record *record,
                                   uint64_t skip, struct reader *input);

/* Reads the first record, or the first part of it, to its end, if that has not been read. With lengths
   of another size or byte order, which the second one tells, the bytes returned so far are others. */
void fortran_reader_see(struct reader *reader);

/* Opens a reader that leaves all but the field out of what `input` reads: the first `skip` bytes are
   passed on as they are, and records follow. It reads no further than to the last byte that it
   returns; a record that the input ends in is an error once more is asked for. It closes `input`,
   also where it returns NULL, without memory. */
struct reader *record_reader_open(struct source *s, const struct source_record *record,
                                  uint64_t skip, struct reader *input);

#endif
