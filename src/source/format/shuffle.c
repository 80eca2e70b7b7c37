#include "config.h"

#include "source/format/shuffle.h"

#include <stdint.h>
#include <string.h>

#include "sys/inline.h"

/* Vectors of bytes, which both compilers make of SSE2 and NEON. */
#define LANES 16
typedef uint8_t bytes16 __attribute__((vector_size(LANES)));
typedef uint64_t words16 __attribute__((vector_size(LANES)));

#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#ifdef __has_builtin
#    if __has_builtin(__builtin_shufflevector)
#        define INTERLEAVED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#    endif
#endif
#ifndef INTERLEAVED
#    define INTERLEAVED(a, b, ...) __builtin_shuffle(a, b, (bytes16){__VA_ARGS__})
#endif

/* Takes bytes of `n` vectors in turn: the first of each, then the second of each. */
static ALWAYS_INLINE void interleave(bytes16 *v, int n)
{
    for (int step = 1; step < n; step *= 2) {
        bytes16 mixed[16];

        UNROLL_INLINED(8)
        for (int i = 0; i < n / 2; i++) {
            mixed[(size_t)2 * i] = INTERLEAVED(v[i], v[i + n / 2], LOWER);
            mixed[(size_t)2 * i + 1] = INTERLEAVED(v[i], v[i + n / 2], UPPER);
        }
        UNROLL_INLINED(16)
        for (int i = 0; i < n; i++)
            v[i] = mixed[i]; /* cppcheck-suppress uninitvar */
    }
}

/* shuffle_undo for `count` elements of n bytes. */
static ALWAYS_INLINE void undo(unsigned char *restrict to, const unsigned char *restrict from,
                               size_t count, int n)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        bytes16 v[16];

        UNROLL_INLINED(16)
        for (int j = 0; j < n; j++)
            memcpy(&v[j], from + (size_t)j * count + i, LANES);
        interleave(v, n);
        UNROLL_INLINED(16)
        for (int j = 0; j < n; j++) /* one by one: together they would go to memory first */
            memcpy(to + i * (size_t)n + (size_t)j * LANES, &v[j], LANES);
    }
    for (; i < count; i++)
        for (int j = 0; j < n; j++)
            to[i * (size_t)n + (size_t)j] = from[(size_t)j * count + i];
}

void shuffle_undo(unsigned char *restrict to, const unsigned char *restrict from, size_t bytes,
                  size_t size)
{
    const size_t count = bytes / size, whole = count * size;

    switch (size) {
    case 1:
        memcpy(to, from, count);
        break;
    case 2:
        undo(to, from, count, 2);
        break;
    case 4:
        undo(to, from, count, 4);
        break;
    case 8:
        undo(to, from, count, 8);
        break;
    default:
        for (size_t j = 0; j < size && count > 0; j++) /* without one, `size` may be any number */
            for (size_t i = 0; i < count; i++)
                to[i * size + j] = from[j * count + i];
        break;
    }
    if (whole < bytes)
        memcpy(to + whole, from + whole, bytes - whole);
}

/* Exchanges bits of 8 bytes, the words 8 / n vectors of the type: bit i of byte j becomes bit j of
   byte i. */
#define TRANSPOSE_STEP(v, step, mask)                                          \
    UNROLL_INLINED(8)                                                          \
    for (int i = 0; i < 8; i++)                                                \
        if (!(i & (step))) {                                                   \
            const words16 t = (((v)[i] >> (step)) ^ (v)[i + (step)]) & (mask); \
                                                                               \
            (v)[i + (step)] ^= t;                                              \
            (v)[i] ^= t << (step);                                             \
        }

/* The bytes of one place of 8 * LANES elements, of the vectors of their bits. */
static ALWAYS_INLINE void undo_bits(unsigned char *restrict to, const unsigned char *restrict from,
                                    size_t stride)
{
    words16 v[8];
    bytes16 b[8];

    UNROLL_INLINED(8)
    for (size_t k = 0; k < 8; k++)
        memcpy(&v[k], from + k * stride, LANES);
    TRANSPOSE_STEP(v, 4, 0x0f0f0f0f0f0f0f0f)
    TRANSPOSE_STEP(v, 2, 0x3333333333333333)
    TRANSPOSE_STEP(v, 1, 0x5555555555555555)
    UNROLL_INLINED(8)
    for (int k = 0; k < 8; k++)
        b[k] = (bytes16)v[k];
    interleave(b, 8);
    memcpy(to, b, sizeof b);
}

void shuffle_undo_bits(unsigned char *restrict to, const unsigned char *restrict from, size_t count,
                       size_t size)
{
    enum { GROUP = 8 * LANES, SIZE_MOST = 16 };
    const size_t stride = count / 8;
    unsigned char planes[GROUP * SIZE_MOST];
    size_t at = 0; /* elements */

    for (; size <= SIZE_MOST && at + GROUP <= count; at += GROUP) {
        for (size_t j = 0; j < size; j++)
            undo_bits(planes + j * GROUP, from + j * 8 * stride + at / 8, stride);
        shuffle_undo(to + at * size, planes, GROUP * size, size);
    }
    for (; at < count; at += 8)
        for (size_t j = 0; j < size; j++)
            for (size_t i = 0; i < 8; i++) {
                unsigned byte = 0;

                for (size_t k = 0; k < 8; k++)
                    byte |= (from[(j * 8 + k) * stride + at / 8] >> i & 1U) << k;
                to[(at + i) * size + j] = (unsigned char)byte;
            }
}
