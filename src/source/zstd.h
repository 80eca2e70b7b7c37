/*
 * zstd: the source of files whose frames are decoded in parallel, and the reader that decodes any
 * zstd data from front to back, both by src/zstd.
 */
#ifndef GPUREDUCE_SOURCE_ZSTD_H
#define GPUREDUCE_SOURCE_ZSTD_H

#include "source/reader.h"

/* The input as a zstd file: where it is. */
struct zstd_file *zstd_source_file(struct source *s);

/* Makes the source fail if something is wrong with its zstd file, and says what. */
void zstd_source_error(struct source *s);

/* Fills in the facts about a file whose first bytes have been read. `closely`: its beginning is
   decoded, too. The source fails where it cannot be read. */
void zstd_source_look(struct source *s, bool closely, struct source_facts *facts);

/* Makes s, whose descriptor, name and extent are known, a source of this kind. False on failure; s
   is to be closed in any case. */
bool zstd_source_open(struct source *s, unsigned workers);

/* For a part that was cut (options->part): makes s, as above, a source that decodes it from front
   to back. reader->passed says whether it has come to the ends of its frames. */
bool zstd_part_open_in_order(struct source *s);

/* A reader of the decompressed bytes of `input`, which begins at offset `origin` of the compressed
   ones, as messages count them, and at this position of what is decoded. It owns `input` and closes
   it, even when it fails and returns NULL. NULL, too, if `input` is NULL, for which there was no
   memory. */
struct reader *zstd_source_reader(struct source *s, struct reader *input, uint64_t origin,
                                  uint64_t position);

/* Reads the start of the decompressed bytes of `input`, likewise, as formats_layout does. */
bool zstd_source_layout(struct source *s, struct reader *input);

/* A reader of the decompressed bytes of the source's input, from its beginning, where `input` stands.
   If it is a file of large frames, these are decoded by all that read or call `ahead`: up to
   `workers` threads. */
struct reader *zstd_source_reader_by_all(struct source *s, struct reader *input, unsigned workers);

/* The verdict on the whole input, which decodes to `total` bytes: whether that is what its header
   promises. If it holds more, it warns; or, if elements were numbered by provisional
   positions (index.h), it is to be read again, since the excess was handed out, too. */
enum source_verdict zstd_source_finish_total(struct source *s, uint64_t total, bool true_positions);

#endif
