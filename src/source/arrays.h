/*
 * Inputs that are containers: which of their arrays are read, and how. file.c hands out the chunks.
 */
#ifndef GPUREDUCE_SOURCE_ARRAYS_H
#define GPUREDUCE_SOURCE_ARRAYS_H

#include "source/source_impl.h"

/* The container that a file begins as, or that the user says it is; NULL for none. */
const struct container_format *arrays_recognise(const struct source *s,
                                                const struct source_options *options);

/* The container's format that the user asked for; NULL where it was none. */
const struct container_format *arrays_asked(const struct source_options *options);

/* Reads what arrays there are, picks those that are wanted and can be reduced, warns of those that
   are wanted and cannot, and sets the layout. False on failure. */
bool arrays_layout(struct source *s, const struct container_format *format,
                   const struct source_options *options);

/* Sets the layout to that of options->array alone, whose container was read before. False on
   failure. */
bool arrays_layout_one(struct source *s, const struct source_options *options);

#endif
