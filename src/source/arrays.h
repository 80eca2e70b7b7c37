/*
 * Inputs that are containers: which of their arrays are read, and how. file.c hands out the chunks.
 */
#ifndef GPUREDUCE_SOURCE_ARRAYS_H
#define GPUREDUCE_SOURCE_ARRAYS_H

#include "source/reader.h"
#include "source/source_impl.h"

/* The container that an input is that begins with these bytes, or that the user says it is; NULL for
   none. */
const struct container_format *arrays_recognise(const struct source_options *options,
                                                const unsigned char *head, size_t size);

/* The container's format that the user asked for; NULL where it was none. */
const struct container_format *arrays_asked(const struct source_options *options);

/* The number of the first place that an index has in the file of this path; index->count where there is
   none. */
size_t arrays_find_path(const struct source_index *index, const char *path);

/* Reads what arrays there are, picks those that are wanted and can be reduced, warns of those that
   are wanted and cannot, and sets the layout. False on failure. */
bool arrays_layout(struct source *s, const struct container_format *format);

/* Whether the input is read without regard to records; if not, the source fails: `article`, its format,
   describes the elements. */
bool arrays_take_record(struct source *s, const char *article);

/* Sets the layout to that of options->array alone, whose container was read before. False on
   failure. */
bool arrays_layout_one(struct source *s);

/* Lays s out as a container that the reader, which is closed on failure, reads from front to back; its
   format can be read so. *reader becomes a reader of the same from its beginning on; NULL with
   options->headers_only. s->container is NULL where bytes at any offset are needed. False on
   failure. */
bool arrays_layout_in_order(struct source *s, const struct container_format *format,
                            struct reader **reader);

#endif
