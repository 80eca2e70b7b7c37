/*
 * The CPU kernels, over the operations of one instruction set: a kernels_NAME.c includes this after
 * it has defined them as simd.h says.
 *
 * The exact sum of a block, from the cheapest way to the dearest:
 *
 *   1. Elements of up to 32 bits whose exponents lie close together: plain binary64 additions, none
 *      of which rounds. The extremes, which are wanted anyway, and the least non-zero magnitude
 *      tell whether that holds (exact_group_fits).
 *   2. Elements below the bound that the last blocks suggest: two parts of each are extracted at
 *      fixed bits, and the parts add up without rounding. It counts if nothing is left below the
 *      second part. Elements of 64 bits begin here.
 *   3. As many parts as it takes, up to LEVELS32 or LEVELS64, each at the bits that the block
 * itself calls for (sum_levels).
 *   4. What takes more: binary32 values go to exponent bins, one binary64 for sixteen exponents,
 *      which do not round either; binary64 values go to a superaccumulator, an integer for every
 *      exponent, to which the mantissas are added (cpu_add_to_cells).
 *
 * Extraction is one addition and one subtraction of a large constant, as in S. M. Rump, T. Ogita
 * and S. Oishi, "Accurate floating-point summation" (2008), and J. Demmel and H. D. Nguyen,
 * "Parallel reproducible summation" (2015). doc/numerics.md has the bounds, doc/tuning.md what the
 * constants were measured with.
 *
 * kernel_block32.h and kernel_block64.h have the blocks, kernel_common.h what they share;
 * kernel_spread32.h and kernel_spread64.h those that also find squares, magnitudes and counts.
 * kernel_float8.h and kernel_integer.h have the other types, of which reducer_spread.c finds those
 * results; kernel_tally.h has what is counted beside. Here are the chunks, and the instances: a row
 * for each set of results that there are kernels for.
 */
#include "engine/cpu/kernel_block32.h"
#include "engine/cpu/kernel_block64.h"
#include "engine/cpu/kernel_float8.h"
#include "engine/cpu/kernel_integer.h"
#include "engine/cpu/kernel_spread32.h"
#include "engine/cpu/kernel_spread64.h"
#include "engine/cpu/kernel_tally.h"

INLINE_TARGET void take_chunk(struct cpu_reducer *r, const void *data, size_t count, uint64_t index,
                              enum element_type type, unsigned finds)
{
    const size_t size = element_formats[type].size;
    const bool floats = element_is_float(type), wide = size == 8, sum = finds & PARTIAL_SUM;
    const size_t lanes = !floats ? V_BYTES / size : wide ? W_LANES : V_LANES;
    const size_t block =
        !floats ? GROUP_BYTES / size : (size_t)1 << (wide ? CPU_BLOCK64_LOG2 : CPU_BLOCK32_LOG2);
    const size_t whole = count - count % lanes;
    const unsigned char *x = data;

    cpu_begin_chunk(r);
    for (size_t i = 0; i < whole; i += block) {
        const size_t n = whole - i < block ? whole - i : block;

        if (!floats && (finds & SPREAD_WANTS))
            cpu_take_spread(r, x + i * size, n, index + i);
        else if (element_is_integer(type))
            integer_group(r, x + i * size, n, index + i, type, sum);
        else if (!floats)
            float8_group(r, x + i * size, n, index + i, type, sum);
        else if (wide && (finds & SPREAD_WANTS))
            block_spread64(r, x + i * size, n, index + i, finds);
        else if (finds & SPREAD_WANTS)
            block_spread32(r, x + i * size, n, index + i, type, finds);
        else if (wide)
            block64(r, x + i * size, n, index + i, sum);
        else
            block32(r, x + i * size, n, index + i, type, sum);
    }
    cpu_end_chunk(r);
    r->partial.count += whole;
    cpu_take_tail(r, x + whole * size, count - whole, index + whole);
}

#define INSTANCE(name, type, finds)                                                     \
    static SIMD_TARGET void name(struct cpu_reducer *r, const void *data, size_t count, \
                                 uint64_t index)                                        \
    {                                                                                   \
        take_chunk(r, data, count, index, type, finds);                                 \
    }

#define FINDS_EXTREMES PARTIAL_EXTREMES
#define FINDS_SUM (PARTIAL_EXTREMES | PARTIAL_SUM)
#define FINDS_COUNTS (PARTIAL_EXTREMES | PARTIAL_SMALL | PARTIAL_NEGATIVE)
#define FINDS_SQUARES (PARTIAL_EXTREMES | PARTIAL_SUM | PARTIAL_SQUARES | PARTIAL_SMALL)
#define FINDS_ALL (FINDS_SUM | SPREAD_WANTS)
_Static_assert((FINDS_ALL | PARTIAL_WHERE) == PARTIAL_ALL, "the last row finds everything");

#define EXTREMES_INSTANCE(CONSTANT, name, ...) \
    INSTANCE(extremes_##name, ELEMENT_##CONSTANT, FINDS_EXTREMES)
#define SUM_INSTANCE(CONSTANT, name, ...) INSTANCE(sum_##name, ELEMENT_##CONSTANT, FINDS_SUM)
#define COUNTS_INSTANCE(CONSTANT, name, ...) \
    INSTANCE(counts_##name, ELEMENT_##CONSTANT, FINDS_COUNTS)
#define SQUARES_INSTANCE(CONSTANT, name, ...) \
    INSTANCE(squares_##name, ELEMENT_##CONSTANT, FINDS_SQUARES)
#define ALL_INSTANCE(CONSTANT, name, ...) INSTANCE(all_##name, ELEMENT_##CONSTANT, FINDS_ALL)
ELEMENT_TABLE(EXTREMES_INSTANCE)
ELEMENT_TABLE(SUM_INSTANCE)
ELEMENT_TABLE(COUNTS_INSTANCE)
ELEMENT_TABLE(SQUARES_INSTANCE)
ELEMENT_TABLE(ALL_INSTANCE)

/* The instruction set's name as part of a name, and as a string. */
#define JOIN(a, b) a##b
#define NAMED(prefix, name) JOIN(prefix, name)
#define QUOTE(name) #name
#define QUOTED(name) QUOTE(name)

#define EXTREMES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = extremes_##name,
#define SUM_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = sum_##name,
#define COUNTS_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = counts_##name,
#define SQUARES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = squares_##name,
#define ALL_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = all_##name,
const struct cpu_kernels NAMED(cpu_kernels_, SIMD_NAME) = {
    .name = QUOTED(SIMD_NAME),
    .usable = simd_usable,
    .rows = {{FINDS_EXTREMES, {ELEMENT_TABLE(EXTREMES_ENTRY)}},
             {FINDS_SUM, {ELEMENT_TABLE(SUM_ENTRY)}},
             {FINDS_COUNTS, {ELEMENT_TABLE(COUNTS_ENTRY)}},
             {FINDS_SQUARES, {ELEMENT_TABLE(SQUARES_ENTRY)}},
             {FINDS_ALL, {ELEMENT_TABLE(ALL_ENTRY)}}},
    .tally = {tally_cells32, tally_cells64, tally_nans32, tally_nans64, tally_bins32, tally_bins64},
};
