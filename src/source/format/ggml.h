/*
 * Blocks of quantised numbers, as GGUF files have them: small integers, and scales that they are
 * multiplied by.
 *
 * A value is d * q, or d * s * q - e * m, where d and e are of binary16, s and m are integers of up to 8
 * bits and q is one of up to 8. Products have at most 11 + 8 + 8 bits. All of them are multiples of
 * 2^-24, which every number of binary16 is, and less than 2^28, so a difference has at most 52 bits. Of
 * the other types, a scale of binary32 has 24 bits, one that is a power of two has one, and one of 8 bits
 * has 4. So binary64 holds each value exactly, and so do all steps to it, in any order.
 */
#ifndef GPUREDUCE_GGML_H
#define GPUREDUCE_GGML_H

#include <stddef.h>
#include <stdint.h>

/* Decodes a block to numbers, which are in this machine's byte order. */
typedef void ggml_decode(const unsigned char *restrict block, double *restrict numbers);

/* A type of blocks: the number of elements in one, and its bytes. */
struct ggml_type {
    unsigned elements, bytes;
    ggml_decode *decode;
};

/* Elements of a block of any type, at most. */
#define GGML_ELEMENTS_MAX 256

/* The type with this number in GGUF files, in little-endian order; NULL if it cannot be decoded. Any
   number may be asked for. */
const struct ggml_type *ggml_find(uint32_t number);

#endif
