/*
 * Arrays that are stored in tiles, as HDF5's in chunks (container.h): reading a tile, undoing its
 * filters, and handing out its elements that lie in the array.
 *
 * The elements of a tile come in C order, so that their indices in the array rise; they are
 * consecutive row by row only. A chunk lies in one tile, and its `place` is the index in the array.
 * Tiles come in any order, to the worker that asks next, and nothing is shared but the file.
 */
#ifndef GPUREDUCE_TILES_H
#define GPUREDUCE_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source_impl.h"

/* A worker's tile, which it alone uses; NULL before the first. */
struct tile;

/* How many tiles an array has; 1 where it has none. */
uint64_t tiles_count(const struct container_array *a);

/* Bytes of one, as far as workers' shares go; at least 1. */
uint64_t tiles_bytes(const struct container_array *a);

/* How many elements of a tile are among the first `limit` of the array. */
uint64_t tiles_elements(const struct container_array *a, uint64_t number, uint64_t limit);

/* Begins with a tile of an array, which has this place among the source's (struct chunk), and of
   whose elements the first `count` are wanted. *tile: what the worker had before. False on failure;
   if only the array is damaged, that is noted, and the source goes on. */
bool tile_begin(struct tile **tile, struct source *s, size_t of, const struct container_array *a,
                uint64_t number, uint64_t count);

/* Hands out the next elements of the tile, of which there are some. */
void tile_take(struct tile *tile, const struct chunk_request *request, struct chunk *chunk);

/* Copies all elements of the tile that lie in the array to their places in memory that holds its
   elements from the one numbered `first` on. */
void tile_put(const struct tile *tile, unsigned char *to, uint64_t first);

void tile_close(struct tile *tile);

#endif
