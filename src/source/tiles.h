/*
 * Tiles of arrays, which HDF5 calls chunks (container.h): reads a tile, undoes its filters, and
 * hands out its elements, without those that lie outside of the array.
 *
 * The elements of a tile are in C order, so their indices in the array rise, but only those of a
 * row are consecutive. A chunk lies in one tile, and its `place` is the index of its first element
 * in the array. Workers read tiles in any order and share nothing but the file.
 */
#ifndef GPUREDUCE_TILES_H
#define GPUREDUCE_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source_impl.h"

/* The tile of a worker, which nobody else uses. NULL before the first. */
struct tile;

/* Bytes of a tile, to divide the work; at least 1. */
uint64_t tiles_bytes(const struct container_array *a);

/* The number of elements of tile number `number` whose indices in the array are less than
   `limit`. */
uint64_t tiles_elements(const struct container_array *a, uint64_t number, uint64_t limit);

/* Bytes that tile number `number` has in the file, from *offset of the input on, if it can be
   decoded from a mapping; else 0. */
uint64_t tiles_stored(const struct container_array *a, uint64_t number, uint64_t *offset);

/* The index in the array of the first element of tile number `number`. */
uint64_t tiles_first(const struct container_array *a, uint64_t number);

/* Whether all elements of tile number `number` lie in the array, at indices less than `limit`, and
   the file has them as all filters have left them. */
bool tile_is_whole(const struct container_array *a, uint64_t number, uint64_t limit);

/* Reads `size` bytes of tile number `number`, which the file has, from its byte `from` on, as they
   are stored. False on failure, as tile_begin has it; the source reads this array alone. Any
   worker. */
bool tile_read(struct source *s, const struct container_array *a, uint64_t number, uint64_t from,
               unsigned char *bytes, size_t size);

/* Reads up to `size` of the first bytes of such a tile, which do not count as read. Returns how many
   there are; 0 if they cannot be read, which is no failure of the source. *cached: the page cache
   had them, or does not tell. */
size_t tile_peek(const struct source *s, const struct container_array *a, uint64_t number,
                 void *bytes, size_t size, bool *cached);

/* Reads tile number `number` of the array, and prepares to hand out its first `count` elements.
   `of` is the number of the array in the source (struct chunk). *tile: the worker's tile,
   allocated if it is NULL. `mapped`: its bytes of tiles_stored, as the file is mapped; NULL: they
   are read. `wants`: partial_want bits; the tile may have a partial result with these in place of
   elements, for tile_take alone; 0: it has elements. False on failure; if only the array is damaged, the damage is noted and the source
   does not fail. */
bool tile_begin(struct tile **tile, struct source *s, size_t of, const struct container_array *a,
                uint64_t number, uint64_t count, const unsigned char *mapped, unsigned wants);

/* Hands out the next elements of the tile. There must be some left. */
void tile_take(struct tile *tile, const struct chunk_request *request, struct chunk *chunk);

/* Copies all elements of the tile to their places in the array. `to` has the elements of the
   array from index `first` on. */
void tile_put(const struct tile *tile, unsigned char *to, uint64_t first);

/* Frees the memory that a tile has for its elements, none of which is in use. tile_begin may follow.
   NULL is allowed. */
void tile_empty(struct tile *tile);

/* Frees a tile. NULL is allowed. */
void tile_close(struct tile *tile);

#endif
