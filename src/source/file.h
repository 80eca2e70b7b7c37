/*
 * The source of regular files, raw and .npy, that are read in parallel.
 */
#ifndef GPUREDUCE_SOURCE_FILE_H
#define GPUREDUCE_SOURCE_FILE_H

#include "source/source_impl.h"

/* Finds out the layout of an s whose descriptor, name and extent are known, and sees that the file
   holds what its header promises. False on failure. */
bool file_layout(struct source *s);

/* Makes s, whose layout is known, a source of this kind. False on failure; s is to be closed in any
   case. */
bool file_source_open(struct source *s, unsigned workers);

#endif
