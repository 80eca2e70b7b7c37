/*
 * A zstd file decoded from front to back by several threads: one frame after the other, each by a
 * team (team.h). One thread reads the content in order. It and all that help it decode, until there
 * is nothing to do for them.
 *
 * A stream ends before a frame that is not for a team, such as a small one, and within a frame that
 * a team refuses. The caller then goes on by libzstd (reader.h), which has the last word on what is
 * wrong. So a stream tells of no errors.
 */
#ifndef GPUREDUCE_ZSTD_STREAM_H
#define GPUREDUCE_ZSTD_STREAM_H

#include "zstd/file.h"

struct zstd_stream;

/* A stream for up to `workers` threads. The work is counted in `file`, which is not changed otherwise,
   and must outlive it. NULL where the first frame is not for a team, and without memory. */
struct zstd_stream *zstd_stream_open(struct zstd_file *file, unsigned workers);

/* No thread may be in another function. */
void zstd_stream_close(struct zstd_stream *z);

/* Reads up to `size` bytes, at least 1, of content. Returns how many, 0 when the stream has ended.
   One thread at a time. */
size_t zstd_stream_read(struct zstd_stream *z, void *buffer, size_t size);

/* Decodes a little for the thread that reads. False when there is nothing to do now. Any thread. */
bool zstd_stream_help(struct zstd_stream *z);

/* The place where a stream has ended: in this frame, of which so many bytes have been read. */
struct zstd_stream_end {
    uint64_t offset;   /* of the frame's first byte */
    uint64_t position; /* of its content */
    uint64_t read;     /* bytes of its content */
};
struct zstd_stream_end zstd_stream_end(const struct zstd_stream *z);

#endif
