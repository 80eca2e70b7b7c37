/*
 * The kinds of sources that only open.c makes. Each function makes s one of its kind, for `workers`
 * workers. False on failure; s is to be closed in any case.
 */
#ifndef GPUREDUCE_SOURCE_KINDS_H
#define GPUREDUCE_SOURCE_KINDS_H

#include "source/source_impl.h"

/* A regular file, raw or .npy, or an array, of which the layout is known. */
bool file_source_open(struct source *s, unsigned workers);

/* Finds out the layout of an s whose descriptor, name and extent are known, and sees that the file
   holds what its header promises. */
bool file_layout(struct source *s);

/* An array in tiles, of which the layout is known, in runs of consecutive elements. `inputs`: as
   options->consecutive. As many workers get chunks as a gigabyte has bands for, or one. */
bool bands_source_open(struct source *s, unsigned inputs, unsigned workers);

/* Memory: options->view; and a file of which the layout is known and the head is all. */
bool memory_source_open(struct source *s, unsigned workers);
bool memory_source_open_head(struct source *s, unsigned workers);

#endif
