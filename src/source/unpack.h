/*
 * Content that is needed at any offset, of inputs that are decompressed, or read, from front to back: it is
 * put into a file of its own, which has no name.
 */
#ifndef GPUREDUCE_SOURCE_UNPACK_H
#define GPUREDUCE_SOURCE_UNPACK_H

#include "source/source_impl.h"

/* Bytes of the files that unpack has made and that are open. Any thread. */
extern _Atomic uint64_t unpack_held;

/* Reads all of a source of bytes (u8), by so many workers, into a file without a name: in memory, or in the
   folder for temporary files. Returns its descriptor, and sets *size to its bytes, by which
   unpack_held is less once the caller has closed it. -1 on failure, or if the source is to be read
   again, with SOURCE_REREAD in *verdict. All files of the process have up to `memory` bytes together, or
   source_memory() if that is less; if there are more, the source fails without an error, and *size is
   that bound. *size is 0 after other failures. */
int unpack(struct source *raw, unsigned workers, uint64_t memory, uint64_t *size,
           enum source_verdict *verdict);

#endif
