/*
 * Tiles of an array as compressed input (compressed.h): one after the other, as the frames of a zstd
 * file are. They are those that are zstd and nothing else, and lie in the array as a whole. The
 * others, at edges or never written, are left to who reads tiles one by one (tiles.h).
 *
 * Offsets are in bytes of the stream. It does not change once it is open.
 */
#ifndef GPUREDUCE_TILE_STREAM_H
#define GPUREDUCE_TILE_STREAM_H

#include "source/tiles.h"
#include "zstd/cutter.h"

struct tile_stream {
    const struct container_array *array;
    bool placed;       /* its positions are those of the elements in the array */
    uint64_t *numbers; /* of the array's tiles: first those of the stream, in order */
    uint64_t *begins;  /* offset of each tile of the stream, and after the last */
    size_t count;      /* tiles of the stream */
    size_t total;      /* tiles of the array */
    size_t runs;       /* stretches that it has at least */
};

/* Whether the tiles of an array are compressed by zstd alone. */
bool tile_stream_fits(const struct container_array *a);

/* Whether the elements of such tiles follow one another in the array, too. */
bool tile_stream_is_ordered(const struct container_array *a);

/* Opens the stream of an array that fits, of the tiles whose elements have indices less than
   `limit`. `placed`: see there; only for arrays that are ordered. False without memory; it may be
   closed then, too. */
bool tile_stream_open(struct tile_stream *t, const struct container_array *a, uint64_t limit,
                      bool placed);
void tile_stream_close(struct tile_stream *t);

/* Bytes of the stream. */
uint64_t tile_stream_size(const struct tile_stream *t);

/* Bytes that each tile decodes to. */
uint64_t tile_stream_content(const struct tile_stream *t);

/* The position, in decoded bytes, of tile `i` of the stream. */
uint64_t tile_stream_position(const struct tile_stream *t, size_t i);

/* Finds the stretch that begins with tile `i` of the stream, of consecutive positions and at least
   `least` bytes, or as many as there are. Returns the number of the tile after it. */
size_t tile_stream_cut(const struct tile_stream *t, size_t i, uint64_t least,
                       struct zstd_stretch *stretch);

/* Reads `size` bytes from `offset` on. False on failure. Any worker. */
bool tile_stream_read(struct source *s, const struct tile_stream *t, unsigned char *bytes,
                      size_t size, uint64_t offset);

#endif
