/*
 * gzip and zlib: the reader that decodes them from front to back.
 */
#ifndef GPUREDUCE_SOURCE_GZIP_H
#define GPUREDUCE_SOURCE_GZIP_H

#include "source/reader.h"

/* A reader of what `input` decompresses to, by the source's compression. It owns `input` and closes
   it, even when it fails and returns NULL. Several threads may read ahead of it, each of which
   decodes other members of gzip, if there are several of which it is soon known where they end:
   blocks of bgzf, and in a file small members of any kind. */
struct reader *gzip_reader_open(struct source *s, struct reader *input);

#endif
