/*
 * Facts about a zstd file before it is read.
 */
#ifndef GPUREDUCE_ZSTD_LOOK_H
#define GPUREDUCE_ZSTD_LOOK_H

#include "source/source_impl.h"
#include "source/zstd/frames.h"

/* The first frame that is not skippable, as far as these bytes, the first of the input, hold its
   header; otherwise window and content are SOURCE_UNKNOWN. */
struct zstd_frame zstd_first_frame(const unsigned char *bytes, size_t size);

/* Fills in the facts about a file whose first bytes have been read. `closely`: its beginning is
   decoded, too. The source fails where it cannot be read. */
void zstd_look(struct source *s, bool closely, struct source_facts *facts);

#endif
