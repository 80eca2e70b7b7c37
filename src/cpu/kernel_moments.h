/*
 * Kernels that also find what moments.h is about: what blocks of up to 32 bits and of 64 share. A
 * part of kernel_template.h.
 *
 * A block goes the fast way (kernel_moments32.h, kernel_moments64.h) if what it takes for that holds;
 * otherwise its squares or its magnitudes are laid out in the scratch and added up here.
 */
#ifndef GPUREDUCE_CPU_KERNEL_MOMENTS_H
#define GPUREDUCE_CPU_KERNEL_MOMENTS_H

#include "cpu/kernel_common.h"

/* log2 of the lanes of binary64. */
#define W_LANES_LOG2 __builtin_ctz(W_LANES)

/* Levels of squares of up to 32 bits, which have twice as many bits and exponents. */
#define LEVELS_SQUARES 8

/* The content of the scratch for each element; elements that are not finite are 0 there. */
enum scratch_of { SCRATCH_VALUES, SCRATCH_MAGNITUDES, SCRATCH_SQUARES };

/* Counts of small and of negative numbers in a block, without its NaNs. */
struct small {
    uint64_t zeros, subnormal, negative;
    double least; /* the least magnitude that is not zero; NaN where there is none */
};

/* Takes that into the partial, as far as it is to be found. */
INLINE_TARGET void take_small(struct cpu_reducer *r, const struct small *s, unsigned finds)
{
    const double least = s->zeros > 0 ? 0 : s->least;

    r->partial.zeros += s->zeros;
    r->partial.subnormal += s->subnormal;
    if (finds & PARTIAL_NEGATIVE)
        r->partial.negative += s->negative;
    if (!isnan(least) && exact_key(least) < r->partial.least_magnitude)
        r->partial.least_magnitude = exact_key(least);
}

/* Adds an integer of last place 2^exponent to the squares. */
INLINE_TARGET void add_to_squares(struct cpu_reducer *r, uint64_t sum, int exponent)
{
    const int negative = (int64_t)sum < 0;

    exact_wide_add_integer(&r->partial.squares, negative ? -sum : sum,
                           (unsigned)(exponent - EXACT_WIDE_LSB_EXPONENT), negative);
}

/* Accumulators that begin at a constant: as long as they stay in its binade, what was added is the
   difference of the bits, in units of the last place. The sum over n of them and their lanes. */
INLINE_TARGET uint64_t added_to(const vecd *accumulator, int n, double constant)
{
    wvec sum = w_set1(0);

    for (int i = 0; i < n; i++)
        sum = w_add(sum, w_sub(d_bits(accumulator[i]), w_set1(exact_bits(constant))));
    return w_h_add(sum);
}

/* 2^exponent. */
static inline double power_of_two(int exponent)
{
    return exact_from_bits((uint64_t)(exponent + 1023) << 52);
}

/* Adds the n squares in the scratch. Blocks for which this was in vain send the next ones another
   way. */
static SIMD_TARGET void add_scratch_of_squares(struct cpu_reducer *r, size_t n)
{
    double total[LEVELS_SQUARES];
    bool done = extract_levels(total, r->scratch, n, LEVELS_SQUARES);

    for (int level = 0; level < LEVELS_SQUARES; level++)
        exact_wide_add(&r->partial.squares, total[level]);
    if (done)
        return;
    r->squares_dearest = BLOCKS_DEAREST;
    for (size_t i = 0; i < n; i++)
        if (r->scratch[i] != 0)
            exact_wide_add(&r->partial.squares, r->scratch[i]);
}

/* Adds the n magnitudes in the scratch. */
static SIMD_TARGET void add_scratch_of_magnitudes(struct cpu_reducer *r, size_t n)
{
    if (r->absolute_dearest > 0) {
        r->absolute_dearest--;
    } else {
        if (sum_levels(&r->partial.absolute, r->scratch, n, LEVELS64))
            return;
        r->absolute_dearest = BLOCKS_DEAREST;
    }
    exact_add_all(&r->partial.absolute, r->scratch, n);
}

#endif
