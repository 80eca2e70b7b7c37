/*
 * Deflate (RFC 1951), by zlib where configure has found it; and by libdeflate, which takes half of the
 * time, what is all in memory.
 */
#ifndef GPUREDUCE_INFLATE_H
#define GPUREDUCE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/format/container.h"

/* Whether there is zlib; and whether there is libdeflate, too. */
extern const bool inflate_possible, inflate_possible_at_once;

/* Whether a member of gzip begins with these bytes, 10 of which decide by 34 bits; or a stream of
   zlib, by 16. */
bool inflate_recognise_gzip(const void *bytes, size_t size);
bool inflate_recognise_zlib(const void *bytes, size_t size);

/* Decompresses the first `size` bytes, or all if there are fewer, of the `compressed` bytes at an
   offset. Returns how many, or -1: then `in` says what is wrong. */
ptrdiff_t inflate_start(struct container_input *in, uint64_t offset, uint64_t compressed,
                        void *bytes, size_t size);

/* Decompresses a member of a zip archive, `compressed` bytes at an offset, and drops what it is. False
   if it is damaged, or has another checksum: `in` says so. */
bool inflate_verify(struct container_input *in, uint64_t offset, uint64_t compressed,
                    uint32_t checksum);

/* A decoder, which takes one member after the other. It belongs to one thread at a time. */
struct inflate;

/* NULL without memory. */
struct inflate *inflate_open(void);
void inflate_close(struct inflate *z);

/* Begins with the `compressed` bytes at an offset of a file. */
void inflate_begin(struct inflate *z, uint64_t offset, uint64_t compressed);

/* The source of compressed bytes: reads exactly `size` of them. False on failure. */
typedef bool inflate_reader(void *context, void *buffer, size_t size, uint64_t offset);

enum inflate_status {
    INFLATE_GOOD,
    INFLATE_UNREAD, /* the reader has failed */
    INFLATE_WRONG   /* inflate_error says why, at inflate_offset */
};

/* Decompresses up to `size` bytes; *got is less only at the end. */
enum inflate_status inflate_read(struct inflate *z, inflate_reader *read, void *context,
                                 void *bytes, size_t size, size_t *got);

/* Decompresses and drops what follows, to the end, where all compressed bytes must have been used and
   the checksum of all must be this one. */
enum inflate_status inflate_finish(struct inflate *z, inflate_reader *read, void *context,
                                   uint32_t checksum);

/* Decompresses what is in memory, with zlib's header and checksum (RFC 1950), which must come to
   exactly `size` bytes. False where it does not: inflate_error says why. */
bool inflate_whole(struct inflate *z, const void *compressed, size_t compressed_size, void *bytes,
                   size_t size);

/* Decompresses a member of a zip archive, which must use all of these bytes and come to exactly
   `size` with this checksum. False where it does not, or without libdeflate: inflate_read then says
   why. */
bool inflate_at_once(struct inflate *z, const void *in, size_t in_size, void *out, size_t size,
                     uint32_t checksum);

/* Begins a member of gzip, or a stream of zlib, for inflate_stream. */
void inflate_begin_stream(struct inflate *z, bool gzip);

/* Decompresses what comes in pieces: takes up to *in_size bytes and gives up to *out_size, and sets
   both to how many they were, and *ended at the end of the member or stream, once its checksum and
   its length are verified. False where it is wrong: inflate_error says why. */
bool inflate_stream(struct inflate *z, const void *in, size_t *in_size, void *out, size_t *out_size,
                    bool *ended);

/* Decompresses a whole member of gzip, which these bytes begin with; *used becomes its size, and
   *size that of its content, which is at most *size. False where that cannot be done. */
bool inflate_member(struct inflate *z, const void *in, size_t in_size, size_t *used, void *out,
                    size_t *size);

const char *inflate_error(const struct inflate *z);

/* The offset in the file of the next compressed byte; of the first one if their checksum is wrong. */
uint64_t inflate_offset(const struct inflate *z);

#endif
