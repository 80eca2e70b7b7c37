/*
 * Content that is needed at any offset, of inputs that are decompressed, or read, from front to back: it is
 * put into a file of its own, which has no name.
 */
#ifndef GPUREDUCE_SOURCE_UNPACK_H
#define GPUREDUCE_SOURCE_UNPACK_H

#include "source/source_impl.h"

/* Reads all of a source of bytes (u8), by so many workers, into a file without a name: in memory, or in the
   folder for temporary files. Returns its descriptor, and sets *size to its bytes, by which *held grows;
   the caller subtracts them once it has closed the file. -1 on failure, or if the source is to be read
   again, with SOURCE_REREAD in *verdict. *held has up to `memory` bytes, or source_memory() if that is
   less: if there are more, the source fails without an error, and *size is what was left of them. *size
   is 0 after other failures. */
int unpack(struct source *raw, unsigned workers, uint64_t memory, _Atomic uint64_t *held,
           uint64_t *size, enum source_verdict *verdict);

#endif
