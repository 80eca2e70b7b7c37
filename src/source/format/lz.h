/*
 * Compressions that write nothing but literal bytes and matches, which repeat bytes a distance before:
 * LZ4's blocks, LZF, BloscLZ and Snappy's blocks, each decoded here.
 *
 * Pure functions. They take `size` bytes at `from`, which must come to exactly `out` bytes at `to`, and
 * return whether they did. Nothing outside of these is touched, whatever the bytes are.
 */
#ifndef GPUREDUCE_LZ_H
#define GPUREDUCE_LZ_H

#include <stdbool.h>
#include <stddef.h>

bool lz_decode_lz4(const unsigned char *from, size_t size, unsigned char *to, size_t out);
bool lz_decode_lzf(const unsigned char *from, size_t size, unsigned char *to, size_t out);
bool lz_decode_blosclz(const unsigned char *from, size_t size, unsigned char *to, size_t out);
bool lz_decode_snappy(const unsigned char *from, size_t size, unsigned char *to, size_t out);

#endif
