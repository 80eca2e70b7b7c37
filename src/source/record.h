/*
 * A field of records in bytes that come in order.
 */
#ifndef GPUREDUCE_SOURCE_RECORD_H
#define GPUREDUCE_SOURCE_RECORD_H

#include "source/reader.h"

/* Opens a reader that leaves all but the field out of what `input` reads: the first `skip` bytes are
   passed on as they are, and records follow. It reads no further than to the last byte that it
   returns; a record that the input ends in is an error once more is asked for. It closes `input`,
   also where it returns NULL, without memory. */
struct reader *record_reader_open(struct source *s, const struct source_record *record,
                                  uint64_t skip, struct reader *input);

#endif
