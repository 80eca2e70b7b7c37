/*
 * The formats of inputs: a table with a row for each. A row tells how a format is recognised by its
 * first bytes, and how to read the header that describes its elements; or it is a compression, and
 * the other formats lie inside it.
 */
#ifndef GPUREDUCE_SOURCE_FORMATS_H
#define GPUREDUCE_SOURCE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "source/reader.h"
#include "source/source_impl.h"

/* The most bytes that are needed to recognise a compression. */
#define FORMATS_MAGIC_MAX 10

struct format {
    enum source_format id;            /* source_format_words has the name that --format takes */
    const char *inside[COMPRESSIONS]; /* the names of data of this format inside compressions */
    /* Whether data that begin with these bytes have this format. NULL: it cannot be recognised. */
    bool (*recognise)(const void *bytes, size_t size);
    /* Reads the header, whose first `had` bytes are in `prefix`, and sets the layout: info.type,
       info.swap, data_offset and stated. The reader then stands after the header. NULL for a
       compression. */
    bool (*layout)(struct source *, struct reader *, const unsigned char *prefix, size_t had);
    enum compression compression; /* of a format that others lie inside */
    bool named_only;              /* it is read only where the user names it: few bytes tell it */
    const char *wrong; /* the error if the user named this format and the input has another */
};

/* The compression of an input that begins with these bytes. */
enum compression formats_compression(const struct source_options *options, const void *bytes,
                                     size_t size);

/* Sets info.compressed and info.compression: whether the input begins like compressed data. The reader will return
   the bytes that were read for that again. False on failure. */
bool formats_detect_compression(struct source *s, struct reader *reader);

/* The format of the container that the reader's bytes begin, or that the user says they are; NULL for
   none, and on failure. The reader returns the bytes that were read for that again. */
const struct container_format *formats_find_container(struct source *s, struct reader *reader);

/* Reads the start of the decoded bytes and sets the layout: type, byte order, data_offset,
   stated and elements (from the stated number and --length alone). The reader then stands after
   the header, or at the very start of raw input, before what is to be skipped. If the bytes
   begin a container that is accepted, it sets s->inner, fails, and the source does not. */
bool formats_layout(struct source *s, struct reader *reader);

#endif
