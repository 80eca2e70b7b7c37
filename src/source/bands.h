/*
 * Arrays that are stored in tiles, handed out in runs of consecutive elements: for those who cannot
 * do with elements tile by tile (tiles.h).
 *
 * A band is tiles beside each other that cover a run of consecutive elements: those that have the
 * same place in the first dimension, or, as long as tiles have one element there, in the first two,
 * and so on. A worker claims the next bands, about a megabyte or at least one, decompresses their
 * tiles into memory of its own and hands that out. One worker alone gets all elements in their
 * order. By source_at a worker chooses the elements: workers that need the same bands decompress
 * them together, and share the memory.
 */
#ifndef GPUREDUCE_BANDS_H
#define GPUREDUCE_BANDS_H

#include <stdbool.h>

#include "source/source_impl.h"

/* Makes s, which is laid out as one array in tiles, a source of this kind. `inputs`: as options->consecutive.
   As many workers get chunks as a gigabyte has bands for, or one. False on failure. */
bool bands_source_open(struct source *s, unsigned inputs, unsigned workers);

#endif
