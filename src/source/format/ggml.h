/*
 * Blocks of quantised numbers, as GGUF files have them: small integers, and scales that they are
 * multiplied by.
 *
 * A value is d * q, d * s * q, or d * s * q - e * m, where d and e are of binary16, and s, q and m are
 * integers of up to 8 bits. Without a difference, its significant bits are those of a scale, 11, of an
 * integer of at most 7 bits and a sign, and of s: at most 23, so that binary32 holds it. A difference
 * of products is a multiple of 2^-24, as every number of binary16 is, and less than 2^28: it has at most
 * 52 bits, so that binary64 holds it. So it does where a scale is of binary32, or a power of two that may
 * be beyond binary32. All steps to a value are as exact as it is.
 */
#ifndef GPUREDUCE_GGML_H
#define GPUREDUCE_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"

/* A type of blocks. */
struct ggml_type {
    unsigned number;          /* in GGUF files */
    const char *name;         /* there */
    unsigned elements, bytes; /* of a block */
    enum element_type type;   /* f32 or f64, which holds every value exactly */
};

/* Elements of a block of any type, at most. */
#define GGML_ELEMENTS_MAX 256

/* The type with this number in GGUF files, in little-endian order; NULL if it cannot be decoded. Any
   number may be asked for. */
const struct ggml_type *ggml_find(uint32_t number);

/* Decodes so many blocks to elements of type->type in this machine's byte order. */
void ggml_decode(const struct ggml_type *type, const unsigned char *from, size_t blocks,
                 unsigned char *to);

/* Adds the elements of so many blocks, those of ggml_decode, to a sum, without making them. False if a scale
   is an infinity or a NaN; *sum means nothing then. */
bool ggml_add(const struct ggml_type *type, const unsigned char *from, size_t blocks,
              struct exact *sum);

#endif
