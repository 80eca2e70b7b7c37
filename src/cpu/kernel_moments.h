/*
 * Kernels that also find what moments.h is about: what blocks of up to 32 bits and of 64 share. A
 * part of kernel_template.h.
 *
 * A block goes the fast way (kernel_moments32.h, kernel_moments64.h) if what it takes for that
 * holds; otherwise its squares or its magnitudes are laid out in the scratch and added up here.
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

/* Looks for small and for negative numbers in a block, which may hold anything: by operations whose
   names begin with v, and with the vector from element i on, whose lanes are values of `bits`. */
#define COUNT_SMALL(bits, v, vector, declare, load, value)                                        \
    declare struct small count_small##bits(const unsigned char *x, size_t n,                      \
                                           enum element_type type)                                \
    {                                                                                             \
        const int bias = (bits) == 64 ? 1023 : 127, fraction = (bits) == 64 ? 52 : 23;            \
        const uint##bits##_t normal = (uint##bits##_t)(element_formats[type].exponent_min + bias) \
                                      << fraction;                                                \
        const vector zero = v##_set1(0);                                                          \
        vector zeros = zero, small = zero, signs = zero, negative_zeros = zero;                   \
        vector least = v##_set1(UINT##bits##_MAX);                                                \
        uint##bits##_t lowest;                                                                    \
        struct small s;                                                                           \
                                                                                                  \
        for (size_t i = 0; i < n; i += sizeof(vector) / sizeof normal) {                          \
            const vector element = load, a = v##_and(element, v##_set1(~SIGN##bits));             \
            const vector number =                                                                 \
                v##_select(v##_gt_s(a, v##_set1(INFINITY##bits)), zero, element);                 \
                                                                                                  \
            zeros = v##_tally(zeros, v##_eq(a, zero));                                            \
            small = v##_tally(small, v##_gt_s(v##_set1(normal), a));                              \
            signs = v##_tally(signs, v##_gt_s(zero, number));                                     \
            negative_zeros = v##_tally(negative_zeros, v##_eq(element, v##_set1(SIGN##bits)));    \
            /* Less one, zero becomes the greatest of all. */                                     \
            least = v##_min_u(least, v##_add(a, v##_set1(UINT##bits##_MAX)));                     \
        }                                                                                         \
        lowest = v##_h_min_u(least) + 1;                                                          \
        s.zeros = v##_h_add(zeros);                                                               \
        s.subnormal = v##_h_add(small) - s.zeros;                                                 \
        s.negative = v##_h_add(signs) - v##_h_add(negative_zeros);                                \
        s.least = lowest > 0 && lowest <= INFINITY##bits ? value(lowest) : (double)NAN;           \
        return s;                                                                                 \
    }

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
