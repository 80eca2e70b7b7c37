/*
 * Elements whose bytes, or bits, were gathered by their places before they were compressed: shuffle
 * and bitshuffle of HDF5, Blosc and Zarr. Pure functions.
 */
#ifndef GPUREDUCE_SHUFFLE_H
#define GPUREDUCE_SHUFFLE_H

#include <stddef.h>

/* Puts elements of `size` bytes together again whose bytes of one place lie one after the other: the
   first bytes of all of them, then the second ones. Bytes after the last whole element stay. */
void shuffle_undo(unsigned char *restrict to, const unsigned char *restrict from, size_t bytes,
                  size_t size);

/* Puts `count` elements of `size` bytes together again whose bits of one place lie one after the
   other: those of the lowest bit of the first byte come first, and that of the first element is the
   lowest in its byte. `count` is a multiple of 8. */
void shuffle_undo_bits(unsigned char *restrict to, const unsigned char *restrict from, size_t count,
                       size_t size);

#endif
