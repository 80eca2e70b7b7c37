/*
 * Partial results as text: a line of JSON with all that is known of a part of an array, and of
 * which part. gpureduce-partial(5) describes it. There is one text for each partial result, byte
 * for byte: what was reduced by several, in whatever order, comes to the same line as what was
 * reduced at once.
 *
 * Numbers are written as an odd integer in hexadecimal times a power of two, which C's strtod and
 * Python's float.fromhex read where binary64 holds them. The end of a line is the CRC-32 of what
 * stands before it.
 *
 * Pure functions, without I/O and without memory of their own. Nothing here prints.
 */
#ifndef GPUREDUCE_PARTIAL_TEXT_H
#define GPUREDUCE_PARTIAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/missing.h"
#include "core/partial.h"
#include "core/ranges.h"
#include "core/scale.h"

/* The version that is written. All up to it are read. */
#define PARTIAL_TEXT_VERSION 2

/* A line with its newline, at most. Bytes. */
#define PARTIAL_TEXT_MAX 4096

/* Names have up to so many bytes as they stand in the line, the quotes not included; with a NUL
   there is room for them in as many and one. */
#define PARTIAL_TEXT_INPUT_MAX 400
#define PARTIAL_TEXT_ARRAY_MAX 256

/* Both names and the missing values have up to so many bytes together, with their quotes and
   brackets; an array that has no name counts as an empty one. Not in version 1. */
#define PARTIAL_TEXT_TEXTS_MAX 512

/* A part of an array is up to so many ranges of elements. */
#define PARTIAL_TEXT_RANGES_MAX 16

/* The end of a line: its checksum, CRC-32 as in ISO/IEC/IEEE 8802-3, gzip and zlib, of what stands
   before it. */
#define PARTIAL_TEXT_CHECKSUM ",\"crc32\":\""
#define PARTIAL_TEXT_CHECKSUM_DIGITS 8
#define PARTIAL_TEXT_TAIL \
    (sizeof PARTIAL_TEXT_CHECKSUM - 1 + PARTIAL_TEXT_CHECKSUM_DIGITS + sizeof "\"}" - 1)
uint32_t partial_text_checksum(const char *bytes, size_t size);

/* Room for what is wrong with a line. */
#define PARTIAL_TEXT_ERROR_MAX 160

/* A partial result and the elements it is of: some of an array, or, of a bag, any, in any order. */
struct partial_text {
    bool bag; /* nothing is known of an array: it has no names, ranges and indices */
    char input[PARTIAL_TEXT_INPUT_MAX + 1]; /* valid UTF-8 */
    char array[PARTIAL_TEXT_ARRAY_MAX + 1]; /* valid UTF-8 */
    bool has_array; /* the input is a container, and `array` is the name of one of it */
    enum element_type type;
    struct missing missing; /* the missing values of the array; `value` is not kept */
    struct scale scale;     /* that of its elements, of which the partial result knows nothing */
    unsigned holds;         /* partial_want bits: what of the partial result is known */
    uint64_t of;            /* elements of the whole array, at most INT64_MAX */

    /* Which of them were reduced: in ascending order, none of them empty, and with elements between
       each and the next. */
    struct partial_range ranges[PARTIAL_TEXT_RANGES_MAX];
    unsigned range_count;
    struct partial partial; /* indices are those of elements of the whole array */
};

/* Sets a name, in which U+FFFD takes the place of what is no UTF-8. False where it is too long. */
bool partial_text_set_input(struct partial_text *t, const char *name);
bool partial_text_set_array(struct partial_text *t, const char *name);

/* Makes what is not held that of no elements. */
void partial_text_forget(struct partial *p, unsigned holds);

/* Writes the line, without a newline but with a NUL. Returns its length; 0, without a line, if
   names and missing values together are too long. */
size_t partial_text_write(char line[PARTIAL_TEXT_MAX], const struct partial_text *t);

/* Reads a line of `length` bytes, without its newline. False where it is none that
   partial_text_write could have written: then `error` says what is wrong, in words that follow
   the line's name, and *t is undefined. */
bool partial_text_read(struct partial_text *t, const char *line, size_t length,
                       char error[PARTIAL_TEXT_ERROR_MAX]);

#endif
