/*
 * Shared by writing and reading partial results as text.
 */
#ifndef GPUREDUCE_PARTIAL_TEXT_IMPL_H
#define GPUREDUCE_PARTIAL_TEXT_IMPL_H

#include <stddef.h>
#include <stdint.h>

struct partial_text;

/* The beginning of every line. */
#define PARTIAL_TEXT_MAGIC "{\"gpureduce\":\"partial\",\"version\":"

/* The text before the checksum, its length, and the length of the rest of the line. */
#define PARTIAL_TEXT_CHECKSUM ",\"crc32\":\""
#define PARTIAL_TEXT_CHECKSUM_DIGITS 8
#define PARTIAL_TEXT_TAIL \
    (sizeof PARTIAL_TEXT_CHECKSUM - 1 + PARTIAL_TEXT_CHECKSUM_DIGITS + sizeof "\"}" - 1)

/* Writes the line, for which there is room as for partial_text_write, up to its checksum. Returns
   its length. */
size_t partial_text_write_body(char *line, const struct partial_text *t);

/* The checksum: CRC-32 as in ISO/IEC/IEEE 8802-3, gzip and zlib. */
uint32_t partial_text_checksum(const char *bytes, size_t size);

#endif
