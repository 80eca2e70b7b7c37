/*
 * The source of small files, which were read whole when they were opened.
 */
#ifndef GPUREDUCE_SOURCE_WHOLE_H
#define GPUREDUCE_SOURCE_WHOLE_H

#include "source/source_impl.h"

/* Makes s, whose layout is known and whose head is all of the file, a source of this kind. False on
   failure; s is to be closed in any case. */
bool whole_source_open(struct source *s);

#endif
