/*
 * zstd decoded from front to back: pipes, and files whose frames depend on each other.
 */
#ifndef GPUREDUCE_ZSTD_READER_H
#define GPUREDUCE_ZSTD_READER_H

#include "zstd/file.h"

struct zstd_reader;

/* Reads up to `size` bytes of input; 0 at the end, -1 on failure. One thread at a time calls it. */
typedef ptrdiff_t zstd_input_read(void *input, void *buffer, size_t size);

/* A reader of what `read` reads, which begins at offset `origin`, as messages count it, and at this
   position of what is decoded. NULL without memory. */
struct zstd_reader *zstd_reader_open(struct zstd_file *file, zstd_input_read *read, void *input,
                                     uint64_t origin, uint64_t position);
void zstd_reader_close(struct zstd_reader *z);

/* Reads up to `size` decoded bytes; 0 at the end; -1 on failure, which is noted in the file unless
   it is that of reading. `probing`: it ends with the first piece that has content. */
ptrdiff_t zstd_reader_read(struct zstd_reader *z, void *buffer, size_t size, bool probing);

/* Reads ahead. One thread may call it while another calls zstd_reader_read. False when there is
   nothing to read ahead. */
bool zstd_reader_ahead(struct zstd_reader *z);

/* Its ends, whose mark the caller may set: the reader stops, with an error, where no frame ends at this
   offset and position; offset 0: there is none. */
struct zstd_reader_ends {
    uint64_t mark, mark_position;
    bool passed; /* it has come to the mark, to the ends of all frames before */
    bool at_end; /* nothing follows what it has given */
};
struct zstd_reader_ends *zstd_reader_ends(struct zstd_reader *z);

#endif
