/*
 * zstd: the source of files whose frames are decoded in parallel, and the reader that decodes any
 * zstd data from front to back.
 */
#ifndef GPUREDUCE_SOURCE_ZSTD_H
#define GPUREDUCE_SOURCE_ZSTD_H

#include "source/reader.h"

/* Makes s, whose descriptor, name and extent are known, a source of this kind. False on failure; s
   is to be closed in any case. */
bool zstd_source_open(struct source *s, const struct source_options *options, unsigned workers);

/* For a part that was cut (options->part): makes s, as above, a source that decodes it from front
   to back. */
bool zstd_part_open_in_order(struct source *s, const struct source_options *options);

/* A reader of the decompressed bytes of `input`, which begins at offset `origin` of the compressed
   ones, as messages count them, and at this position of what is decoded. It owns `input` and closes it, even when it fails and returns NULL.
 */
struct reader *zstd_reader_open(struct source *s, struct reader *input, uint64_t origin,
                                uint64_t position);

/* Has the reader stop, with a message, where no frame
   ends at offset `offset` of the input and position `content`; reader->passed says that it has come
   so far, to the ends of all frames before. */
void zstd_reader_mark(struct reader *r, uint64_t offset, uint64_t content);

/* The verdict on the whole input, which decodes to `total` bytes: whether that is what its header
   promises. If it holds more, it prints a warning; or, if elements were numbered by provisional
   positions (index.h), it is to be read again, since the excess was handed out, too. */
enum source_verdict zstd_finish_total(struct source *s, uint64_t total, bool true_positions);

#endif
