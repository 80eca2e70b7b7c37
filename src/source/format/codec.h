/*
 * Compressed data in memory whose decompressed size is known, as chunks of HDF5 and Zarr are: one
 * function for all compressions, with the memory that they need.
 */
#ifndef GPUREDUCE_CODEC_H
#define GPUREDUCE_CODEC_H

#include <stddef.h>

enum codec {
    CODEC_ZLIB,
    CODEC_GZIP,
    CODEC_ZSTD,
    CODEC_LZ4,
    CODEC_LZF,
    CODEC_BLOSCLZ,
    CODEC_SNAPPY
};

/* Memory of decoders, which is allocated when it is first needed. One thread's at a time. */
struct codec_memory;

/* NULL without memory. */
struct codec_memory *codec_open(void);

/* NULL is allowed. */
void codec_close(struct codec_memory *m);

/* Memory for `size` bytes, which stays until it is next asked for. NULL if there is none. */
unsigned char *codec_room(struct codec_memory *m, size_t size);

/* Decompresses `size` bytes at `from`, which must come to exactly `out` bytes at `to`. Returns NULL,
   or why that cannot be done: a text that is valid until the next call. */
const char *codec_decode(struct codec_memory *m, enum codec codec, const unsigned char *from,
                         size_t size, unsigned char *to, size_t out);

#endif
