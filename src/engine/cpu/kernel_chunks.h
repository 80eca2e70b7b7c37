/*
 * CPU kernels: a chunk, block by block, and what instances are made with. A part of
 * kernel_template.h, and of a set that has only some kernels of its own.
 */
#ifndef GPUREDUCE_CPU_KERNEL_CHUNKS_H
#define GPUREDUCE_CPU_KERNEL_CHUNKS_H

#include "engine/cpu/kernel_float8.h"
#include "engine/cpu/kernel_spread32.h"

/* Takes a chunk of elements of `size` bytes in blocks of `block` elements, a multiple of `lanes`,
   with TAKE(p, n, first): n elements at p, of which the first has the index `first`. A macro, since
   a function would have every kind of block put into it before it is seen which one is meant. */
#define TAKE_CHUNK(size, lanes, block, TAKE)                                \
    do {                                                                    \
        const size_t whole = count - count % (lanes);                       \
        const unsigned char *x = data;                                      \
                                                                            \
        cpu_begin_chunk(r);                                                 \
        for (size_t i = 0; i < whole; i += (block)) {                       \
            const size_t n = whole - i < (block) ? whole - i : (block);     \
                                                                            \
            TAKE(x + i * (size), n, index + i);                             \
        }                                                                   \
        cpu_end_chunk(r);                                                   \
        r->partial.count += whole;                                          \
        cpu_take_tail(r, x + whole * (size), count - whole, index + whole); \
    } while (0)

/* The arguments of a kernel, and of what it is made of. */
#define CHUNK struct cpu_reducer *r, const void *data, size_t count, uint64_t index

INLINE_TARGET void chunk_spread32(CHUNK, enum element_type type, unsigned finds)
{
#define TAKE(p, n, first) block_spread32(r, p, n, first, type, finds)
    TAKE_CHUNK(element_formats[type].size, V_LANES, (size_t)1 << CPU_BLOCK32_LOG2, TAKE);
#undef TAKE
}

INLINE_TARGET void chunk_float8(CHUNK, enum element_type type, unsigned finds)
{
#define TAKE(p, n, first) float8_group(r, p, n, first, type, finds &PARTIAL_SUM)
    TAKE_CHUNK(1, V_BYTES, GROUP_BYTES, TAKE);
#undef TAKE
}

/* The sets of results that there are kernels for, a row each. */
#define FINDS_EXTREMES PARTIAL_EXTREMES
#define FINDS_SUM (PARTIAL_EXTREMES | PARTIAL_SUM)
#define FINDS_COUNTS (PARTIAL_EXTREMES | PARTIAL_SMALL | PARTIAL_NEGATIVE)
#define FINDS_SQUARES (PARTIAL_EXTREMES | PARTIAL_SUM | PARTIAL_SQUARES | PARTIAL_SMALL)
#define FINDS_ALL (FINDS_SUM | SPREAD_WANTS)
_Static_assert((FINDS_ALL | PARTIAL_WHERE) == PARTIAL_ALL, "the last row finds everything");

#define INSTANCE(name, take, type, finds)         \
    static SIMD_TARGET void name(CHUNK)           \
    {                                             \
        take(r, data, count, index, type, finds); \
    }

/* The instruction set's name as part of a name, and as a string. */
#define JOIN(a, b) a##b
#define NAMED(prefix, name) JOIN(prefix, name)
#define QUOTE(name) #name
#define QUOTED(name) QUOTE(name)

/* What they are in the table. */
#define SUM_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = sum_##name,
#define SQUARES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = squares_##name,
#define ALL_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = all_##name,

#endif
