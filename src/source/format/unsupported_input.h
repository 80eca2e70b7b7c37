/*
 * The first bytes of an input, as recognisers of unsupported formats look at them.
 */
#ifndef GPUREDUCE_SOURCE_UNSUPPORTED_INPUT_H
#define GPUREDUCE_SOURCE_UNSUPPORTED_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/element.h"
#include "sys/bytes.h"

/* So many first bytes are looked at, or all if there are fewer. HDF5 may begin at 2048. */
#define UNSUPPORTED_HEAD ((size_t)4096)

/* Properties of the input. */
struct unsupported_input {
    const unsigned char *bytes; /* the first UNSUPPORTED_HEAD of them, unless it ends before */
    size_t size;
    bool ends;              /* these are all */
    bool torn;              /* and as raw elements, the last one would be cut off */
    uint64_t total;         /* bytes of the whole input; UINT64_MAX where that is not known */
    enum element_type type; /* what the elements would be, if it were raw */
    bool big_endian;

    /* Reads bytes further on. False where they are not there. NULL where nothing can be read. */
    bool (*read)(void *user, uint64_t offset, void *bytes, size_t size);
    void *user;
};

/* Whether the input has these bytes at an offset. Most inputs differ in the first of them. */
static inline bool begins(const struct unsupported_input *in, size_t offset, const char *text,
                          size_t length)
{
    return length == 0 || (in->size >= offset && in->size - offset >= length &&
                           in->bytes[offset] == (unsigned char)*text &&
                           memcmp(in->bytes + offset, text, length) == 0);
}

/* Whether the input has a constant string at `offset`, with its zeros, but for the one at its
   end. */
#define BEGINS(in, offset, text) begins(in, offset, text, sizeof(text) - 1)

/* Whether a part of so many bytes from `offset` on can be in the input. */
static inline bool fits(const struct unsupported_input *in, uint64_t offset, uint64_t bytes)
{
    return offset <= in->total && bytes <= in->total - offset;
}

/* Whether the input's length is known, and is this. */
static inline bool is_all(const struct unsupported_input *in, uint64_t bytes)
{
    return in->total != UINT64_MAX && in->total == bytes;
}

/* Text of several kinds: unsupported_text.c. */
bool unsupported_is_json(const struct unsupported_input *in);
bool unsupported_is_numbers(const struct unsupported_input *in);
bool unsupported_is_table(const struct unsupported_input *in);
bool unsupported_is_text(const struct unsupported_input *in);
bool unsupported_is_wide_text(const struct unsupported_input *in);

/* Room for what `detail` says. */
#define UNSUPPORTED_DETAIL_MAX ((size_t)320)

/* Python that reads JSON and tables, and the encoding of wide text. */
void unsupported_say_json(const struct unsupported_input *in, char *said);
void unsupported_say_table(const struct unsupported_input *in, char *said);
void unsupported_say_encoding(const struct unsupported_input *in, char *said);

#endif
