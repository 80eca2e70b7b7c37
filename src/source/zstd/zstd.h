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

/* A reader of the decompressed bytes of `input`, which begins at offset `origin` of the compressed
   ones, as messages count them. It owns `input` and closes it, even when it fails and returns NULL.
 */
struct reader *zstd_reader_open(struct source *s, struct reader *input, uint64_t origin);

/* Whether the whole input, which decodes to `total` bytes, is what its header promises; says so
   where it holds more. */
bool zstd_check_total(struct source *s, uint64_t total);

#endif
