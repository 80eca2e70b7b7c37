/*
 * Inputs that are containers: which of their arrays are read, and how. file.c hands out the chunks.
 */
#ifndef GPUREDUCE_SOURCE_ARRAYS_H
#define GPUREDUCE_SOURCE_ARRAYS_H

#include "source/reader.h"
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

/* Whether the input is read without regard to records; if not, the source fails: `article`, its format,
   describes the elements. */
bool arrays_take_record(struct source *s, const struct source_options *options,
                        const char *article);

/* Sets the layout to that of options->array alone, whose container was read before. The array is the
   one pick of s if it is inside compressed data. False on failure. */
bool arrays_layout_one(struct source *s, const struct source_options *options);

/* Bytes that tell such a container. No more is read than of other inputs: what is wrong after
   these may be theirs to say. */
#define ARRAYS_HEAD 10

/* The format of a container that comes in order and begins with these bytes, ARRAYS_HEAD at least
   or all there are. NULL where it is none, where such ones are not taken from a pipe, or if it
   cannot be read from front to back. */
const struct container_format *arrays_recognise_in_order(const struct source *s,
                                                         const struct source_options *options,
                                                         const unsigned char *head, size_t size);

/* Lays s out as a container that the reader, which is closed in any case, reads from front to back.
   s->info.parallel: its arrays are only listed, or opened one by one. Otherwise *reader becomes a
   reader of the same from its beginning on; NULL: the input is to be read again for that. False on
   failure. */
bool arrays_layout_in_order(struct source *s, const struct container_format *format,
                            const struct source_options *options, struct reader **reader);

#endif
