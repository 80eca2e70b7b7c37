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
 * kernel_block32.h and kernel_block64.h have the blocks, kernel_common.h what they share, and
 * kernel_tally.h what is counted beside. Here are
 * the chunks, and the instances: a row for each set of results that there are kernels for.
 */
#include "engine/cpu/kernel_block32.h"
#include "engine/cpu/kernel_block64.h"
#include "engine/cpu/kernel_tally.h"

INLINE_TARGET void take_chunk(struct cpu_reducer *r, const void *data, size_t count, uint64_t index,
                              enum element_type type, unsigned finds)
{
    const size_t size = element_formats[type].size;
    const bool wide = size == 8, sum = finds & PARTIAL_SUM;
    const size_t block = (size_t)1 << (wide ? CPU_BLOCK64_LOG2 : CPU_BLOCK32_LOG2);
    const size_t whole = count - count % (wide ? W_LANES : V_LANES);
    const unsigned char *x = data;

    cpu_begin_chunk(r);
    for (size_t i = 0; i < whole; i += block) {
        const size_t n = whole - i < block ? whole - i : block;

        if (wide)
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
#define FINDS_ALL (PARTIAL_EXTREMES | PARTIAL_SUM)
_Static_assert((FINDS_ALL | PARTIAL_WHERE) == PARTIAL_ALL, "the last row finds everything");

#define EXTREMES_INSTANCE(CONSTANT, name, ...) \
    INSTANCE(extremes_##name, ELEMENT_##CONSTANT, FINDS_EXTREMES)
#define ALL_INSTANCE(CONSTANT, name, ...) INSTANCE(all_##name, ELEMENT_##CONSTANT, FINDS_ALL)
ELEMENT_TABLE(EXTREMES_INSTANCE)
ELEMENT_TABLE(ALL_INSTANCE)

/* The instruction set's name as part of a name, and as a string. */
#define JOIN(a, b) a##b
#define NAMED(prefix, name) JOIN(prefix, name)
#define QUOTE(name) #name
#define QUOTED(name) QUOTE(name)

#define EXTREMES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = extremes_##name,
#define ALL_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = all_##name,
const struct cpu_kernels NAMED(cpu_kernels_, SIMD_NAME) = {
    .name = QUOTED(SIMD_NAME),
    .usable = simd_usable,
    .rows = {{FINDS_EXTREMES, {ELEMENT_TABLE(EXTREMES_ENTRY)}},
             {FINDS_ALL, {ELEMENT_TABLE(ALL_ENTRY)}}},
    .tally = {tally_cells32, tally_cells64, tally_nans32, tally_nans64, tally_bins32, tally_bins64},
};
