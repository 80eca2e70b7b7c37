/*
 * The source of bytes that come in order: pipes, and zstd decoded from front to back.
 */
#ifndef GPUREDUCE_SOURCE_SERIAL_H
#define GPUREDUCE_SOURCE_SERIAL_H

#include "source/reader.h"

/* Makes s, whose descriptor and name are known, a source of this kind, which takes its bytes from
   the reader and closes it in any case. False on failure; s is to be closed in any case. */
bool serial_source_open(struct source *s, const struct source_options *options,
                        struct reader *reader);

#endif
