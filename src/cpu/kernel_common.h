/*
 * Kernels: what blocks of elements of up to 32 bits and of 64 share. Prefetching, extraction, and
 * extremes. A part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_COMMON_H
#define GPUREDUCE_CPU_KERNEL_COMMON_H

#include <math.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/simd.h"
#include "sys/align.h"
#include "sys/inline.h"

#define INLINE_TARGET static ALWAYS_INLINE SIMD_TARGET

/*
 * Prefetching. A block is read as four streams, its quarters, so that the processor's own
 * prefetching follows all of them. Asked for are the bytes a block and a quarter ahead, and, if `far`,
 * into the level-2 cache, those two blocks and a quarter ahead.
 */
#define STREAMS 4
#define AHEAD(block_bytes) ((block_bytes) + (block_bytes) / STREAMS)

/* Asks for the cache line `ahead` bytes after p, and, if `far`, for the one a block further on. It
   does no harm beyond the end of the data. */
INLINE_TARGET void prefetch_line(uintptr_t p, size_t ahead, size_t block_bytes, bool far)
{
    __builtin_prefetch((const void *)(p + ahead), 0, 3);
    if (far)
        __builtin_prefetch((const void *)(p + ahead + block_bytes), 0, 2);
}

/* Prefetches the lines at `offset` of a stream; `distance` bytes lie between streams. If a step is
   shorter than a line, the streams take turns. */
INLINE_TARGET void prefetch_stream(uintptr_t x, size_t stream, size_t distance, size_t offset,
                                   size_t step, size_t block_bytes, bool far)
{
    const size_t ahead = AHEAD(block_bytes);
    const uintptr_t first = x + offset + stream * distance;

    if (step >= CACHE_LINE)
#pragma GCC unroll 4
        for (size_t i = 0; i < step; i += CACHE_LINE)
            prefetch_line(first + i, ahead, block_bytes, far);
    else if (offset % CACHE_LINE / step == stream * (CACHE_LINE / step) / STREAMS)
        prefetch_line(first, ahead, block_bytes, far);
}

/* Prefetches those of each stream. */
INLINE_TARGET void prefetch_streams(uintptr_t x, size_t distance, size_t offset, size_t step,
                                    size_t block_bytes, bool far)
{
#pragma GCC unroll 4
    for (size_t stream = 0; stream < STREAMS; stream++)
        prefetch_stream(x, stream, distance, offset, step, block_bytes, far);
}

/* Prefetches those of data that may be larger than the level-2 cache. */
INLINE_TARGET void prefetch(uintptr_t x, size_t distance, size_t offset, size_t step,
                            size_t block_bytes)
{
    prefetch_streams(x, distance, offset, step, block_bytes, true);
}

/*
 * Extraction.
 */

/* Bits of an extracted part: what binary64's 53 leave when the parts of a whole block add up. */
#define PART_BITS32 (53 - CPU_BLOCK32_LOG2)
#define PART_BITS64 (53 - CPU_BLOCK64_LOG2)

/* The most parts that sum_levels extracts: there is a way that takes any number of bits at once.
   All that f16 has is one part. */
#define LEVELS32 3
#define LEVELS64 4

/* Blocks that go the dearest way without another try, after one that had to. */
#define BLOCKS_DEAREST 15

/* After a block that did not add up as it is, some are extracted without another try: none after
   the first, for an unlucky one comes now and then in ordinary data; then twice as many each time
   and one more, up to this. */
#define BLOCKS_EXTRACTED 63

/* From this exponent on, the extraction constant of sum_levels would overflow. */
#define HUGE_EXPONENT 960

/* The bounds for which two parts of 64-bit elements can be extracted: the lower part ends at the
   least bit there is, neither constant overflows or loses its spacing, and the sum of a whole
   block's upper parts stays below 2^1024. Elements of up to 32 bits are well within. */
#define BOUND_MAX (1023 - 52 + PART_BITS64 - 1)
#define BOUND_MIN (EXACT_LSB_EXPONENT + 2 * PART_BITS64 + 1)

#define SIGN32 UINT32_C(0x80000000)
#define SIGN64 ((uint64_t)1 << 63)
#define INFINITY32 UINT32_C(0x7f800000)
#define INFINITY64 ((uint64_t)0x7ff << 52)

/* c such that x + c - c is x rounded to a multiple of 2^bit, for |x| <= 2^(bit + 51): the sum lies
   between 2^(bit + 52) and 2^(bit + 53), where binary64 has that spacing. */
static inline double extraction_constant(int bit)
{
    return exact_from_bits((uint64_t)(bit + 52 + 1023) << 52 | (uint64_t)1 << 51);
}

/* The least e with |x| < 2^e, from the bits of |x|, x finite and not zero; -1022 for subnormals. */
static inline int bound_exponent(uint64_t magnitude_bits)
{
    int biased = (int)(magnitude_bits >> 52);
    return biased == 0 ? -1022 : biased - 1022;
}

/* The block was below 2^exponent, the next ones are taken to be so, too. One bit more, so that they
   do not miss it narrowly. */
static inline int next_bound(int exponent)
{
    const int bound = exponent + 1;

    return bound > BOUND_MAX ? BOUND_MAX : bound < BOUND_MIN ? BOUND_MIN : bound;
}

static inline void expect_bound(struct cpu_reducer *r, int exponent)
{
    r->extraction_bound = next_bound(exponent);
}

/* Adds the two parts of each value to their sums; returns the bits of what is left of them. */
INLINE_TARGET wvec extract_twice(vecd value, const vecd constant[2], vecd *upper, vecd *lower)
{
    vecd part1 = d_sub(d_add(value, constant[0]), constant[0]);
    vecd rest = d_sub(value, part1);
    vecd part2 = d_sub(d_add(rest, constant[1]), constant[1]);

    *upper = d_add(*upper, part1);
    *lower = d_add(*lower, part2);
    return d_bits(d_sub(rest, part2));
}

/* Takes the sums of a block's upper and lower parts, if the block was below the bound and the
   elements are the sum of their parts: `rests` has all bits of what was left. */
INLINE_TARGET bool add_parts_of_block(struct cpu_reducer *r, int exponent, wvec rests, vecd upper,
                                      vecd lower)
{
    if (exponent > r->extraction_bound || (w_h_or(rests) & ~SIGN64) != 0)
        return false;
    exact_add(&r->partial.sum, d_h_add(upper));
    exact_add(&r->partial.sum, d_h_add(lower));
    return true;
}

/* Extracts part after part of x[0 .. n), finite, n a multiple of W_LANES and at most CPU_BLOCK_MAX,
   up to `levels` of each, and leaves the rests in x. total[] becomes the sums of the parts, a level
   each. Returns whether the rests are all zero. */
static SIMD_TARGET bool extract_levels(double total[], double *x, size_t n, int levels)
{
    vecd greatest = d_set1(0);

    for (int level = 0; level < levels; level++)
        total[level] = 0;

    for (size_t i = 0; i < n; i += W_LANES)
        greatest = d_max_magnitude(greatest, d_load(x + i));
    for (int level = 0; level < levels; level++) {
        double bound = d_h_max(greatest);
        int exponent = bound_exponent(exact_bits(bound));
        int bit = exponent - PART_BITS32;
        vecd constant, sum = d_set1(0);

        if (bound == 0)
            return true;
        if (exponent > HUGE_EXPONENT)
            return false;
        greatest = d_set1(0);
        if (bit < EXACT_LSB_EXPONENT)
            bit = EXACT_LSB_EXPONENT;
        constant = d_set1(extraction_constant(bit));
        for (size_t i = 0; i < n; i += W_LANES) {
            vecd value = d_load(x + i);
            vecd part = d_sub(d_add(value, constant), constant);
            vecd rest = d_sub(value, part);
            sum = d_add(sum, part);
            greatest = d_max_magnitude(greatest, rest);
            d_store(x + i, rest);
        }
        total[level] = d_h_add(sum);
    }
    return d_h_max(greatest) == 0;
}

/* Sums by levels, adding the parts to *sum. */
static SIMD_TARGET bool sum_levels(struct exact *sum, double *x, size_t n, int levels)
{
    double total[LEVELS64];
    bool done = extract_levels(total, x, n, levels);

    for (int level = 0; level < levels; level++)
        exact_add(sum, total[level]);
    return done;
}

/*
 * Extremes, from comparing the bits of values as integers. As signed integers the greatest is the
 * greatest value, unless all are negative. Among negative values the order of the bits is reversed,
 * and as unsigned integers they all lie above the positive ones: so the greatest unsigned integer
 * is the least value, if any is negative, and the least unsigned integer is the other extreme where
 * all values have one sign. -0 comes before +0.
 */
struct bit_extremes {
    uint64_t max_s, max_u, min_u; /* the greatest as signed and as unsigned, the least unsigned */
    uint64_t sign;                /* the sign bit: SIGN32 or SIGN64 */
};

static inline uint64_t bits_max(const struct bit_extremes *b)
{
    return b->max_s & b->sign ? b->min_u : b->max_s;
}

static inline uint64_t bits_min(const struct bit_extremes *b)
{
    return b->max_u & b->sign ? b->max_u : b->min_u;
}

/* The bits of the greatest magnitude. */
static inline uint64_t bits_magnitude(const struct bit_extremes *b)
{
    uint64_t positive = b->max_s & b->sign ? 0 : b->max_s;
    uint64_t negative = b->max_u & b->sign ? b->max_u ^ b->sign : 0;
    return positive > negative ? positive : negative;
}

/* The value of which these are the bits. */
static inline double bits_value(uint64_t bits, uint64_t sign)
{
    return sign == SIGN32 ? element_value(ELEMENT_F32, bits) : exact_from_bits(bits);
}

INLINE_TARGET void take_extremes(struct cpu_reducer *r, const struct bit_extremes *b,
                                 const unsigned char *x, size_t n, uint64_t index)
{
    cpu_take_block(r, exact_key(bits_value(bits_min(b), b->sign)),
                   exact_key(bits_value(bits_max(b), b->sign)), x, n, index);
}

/* The NaNs and infinities of a block that has some. */
struct specials {
    uint64_t nan, positive_infinity, negative_infinity;
};

/* Takes them, and the extremes of the other elements. */
INLINE_TARGET void take_specials(struct cpu_reducer *r, const struct specials *s,
                                 const struct bit_extremes *b, const unsigned char *x, size_t n,
                                 uint64_t index)
{
    r->partial.nan += s->nan;
    r->partial.positive_infinity += s->positive_infinity;
    r->partial.negative_infinity += s->negative_infinity;
    if (s->nan && index < r->partial.first_nan)
        cpu_take_first_nan(r, x, n, index);
    if (s->nan < n)
        take_extremes(r, b, x, n, index);
}

#endif
