/*
 * The source of memory: a view (core/view.h) whose parts workers claim. A contiguous one is read
 * where it lies, as a small file is that was read whole when it was opened; others are gathered into
 * the workers' buffers, in C order, and so are the elements that a mask leaves.
 */
#ifndef GPUREDUCE_SOURCE_MEMORY_H
#define GPUREDUCE_SOURCE_MEMORY_H

#include "source/source_impl.h"

/* Makes s a source of this kind, of options->view, for `workers` workers. False on failure; s is to
   be closed in any case. */
bool memory_source_open(struct source *s, unsigned workers);

/* Makes s, whose layout is known and whose head is all of a file, a source of this kind, as above. */
bool memory_source_open_head(struct source *s, unsigned workers);

#endif
