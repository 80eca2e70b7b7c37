/*
 * The source of bytes that come in order: pipes, and zstd decoded from front to back.
 */
#ifndef GPUREDUCE_SOURCE_SERIAL_H
#define GPUREDUCE_SOURCE_SERIAL_H

#include "source/reader.h"

/* Makes s, whose descriptor and name are known, a source of this kind, which takes its bytes from
   the reader and closes it in any case. False on failure; s is to be closed in any case. */
bool serial_source_open(struct source *s, struct reader *reader);

/* Makes s, which is laid out as a container or an array of one, one of this kind. The reader stands
   at the beginning; it closes it in any case. False on failure. */
bool serial_source_open_arrays(struct source *s, struct reader *reader);

/* Makes s, a source of another kind with a known layout, one of this kind, from position `good` of
   the decoded bytes on, where an element begins, or what is to be skipped ends. The reader, which
   it closes in any case, has `drop` bytes before that. Closing s closes the other kind. False on
   failure. */
bool serial_source_resume(struct source *s, struct reader *reader, uint64_t good, uint64_t drop);

#endif
