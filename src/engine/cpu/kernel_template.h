/*
 * The CPU kernels, over the operations of the simd_*.h that the including file chose.
 *
 * The exact sum of a block, from the cheapest way to the dearest:
 *
 *   1. 32-bit and 16-bit elements whose exponents lie close together: plain binary64 additions,
 *      none of which rounds. The extremes, which are wanted anyway, and the smallest non-zero
 *      magnitude tell whether that holds (exact_group_fits).
 *   2. Elements in the expected range: each is cut in two slices at fixed bits, and the slices add
 *      up without rounding; nothing may be left below the second slice. binary64 elements begin
 *      here.
 *   3. 32-bit and 16-bit elements of any exponents: a binary64 for every sixteen of them, which
 * does not round either (bin32).
 *   4. binary64 elements: as many slices as it takes, top to bottom, up to four (sum_levels).
 *   5. What takes more: an integer for every exponent, to which the mantissas are added
 *      (cpu_add_to_bins).
 *
 * Cutting at a fixed bit is one addition and one subtraction of a large constant, as in J. Demmel
 * and H. D. Nguyen, "Parallel reproducible summation" (2015), after S. M. Rump.
 */
#include "engine/cpu/kernel.h"

#include <math.h>
#include <string.h>

#define INLINE_TARGET static inline __attribute__((always_inline)) SIMD_TARGET

#define CACHE_LINE 64

/* A block is read as four streams, its quarters, so that the processor's own prefetching follows
   all of them; what comes a block and a quarter later is asked for, and, into the level-2 cache,
   what comes two and a quarter later. Measured with AVX-512 on f32 from the page cache of Sapphire
   Rapids servers, in GB/s, on one core and on 16: one stream asking for nothing 8.2 and 100, for
   what comes 2 KiB later 12.2 and 134; two streams a block and a half ahead 15.0 and 156, four a
   block and a quarter 15.2 and 150. On another such server four streams had 14.5 and 156, and with
   level 2 as well 16.2 and 163, where reading alone reaches 18.2 and 171. Where the page cache
   holds small folios, so that pages are of 4 KiB, one stream, two and four have 8.3, 8.0 and 9.7.
   Larger blocks are no faster. */
#define STREAMS 4
#define AHEAD(block_bytes) ((block_bytes) + (block_bytes) / STREAMS)

/* Asks for cache lines `ahead` bytes after p, and for some a block further on. Beyond the end of
   the data it does no harm. */
INLINE_TARGET void prefetch_line(uintptr_t p, size_t ahead, size_t block_bytes)
{
    __builtin_prefetch((const void *)(p + ahead), 0, 3);
    __builtin_prefetch((const void *)(p + ahead + block_bytes), 0, 2);
}

/* The same for those at `offset` of each stream; `distance` bytes lie between streams. Where a step
   is less than a line, they take turns. */
INLINE_TARGET void prefetch(const unsigned char *x, size_t distance, size_t offset, size_t step,
                            size_t block_bytes)
{
    const size_t ahead = AHEAD(block_bytes);
    uintptr_t first = (uintptr_t)x + offset;

    for (size_t stream = 0; stream < STREAMS; stream++) {
        if (step >= CACHE_LINE)
            for (size_t i = 0; i < step; i += CACHE_LINE)
                prefetch_line(first + stream * distance + i, ahead, block_bytes);
        else if (offset % CACHE_LINE / step == stream * (CACHE_LINE / step) / STREAMS)
            prefetch_line(first + stream * distance, ahead, block_bytes);
    }
}

/* Bits of a slice: what is left of binary64's 53 when a whole block is added up. */
#define SLICE32 (53 - CPU_BLOCK32_LOG2)
#define SLICE64 (53 - CPU_BLOCK64_LOG2)

/* x + slicer - slicer is x rounded to a multiple of 2^bit, for |x| <= 2^(bit + 51): the sum lies
   between 2^(bit + 52) and 2^(bit + 53), where binary64 has that spacing. */
static inline double slicer(int bit)
{
    return exact_from_bits((uint64_t)(bit + 52 + 1023) << 52 | (uint64_t)1 << 51);
}

/* The least e with |x| < 2^e, from the bits of |x|, x finite and not zero; -1022 for subnormals. */
static inline int bound_exponent(uint64_t magnitude_bits)
{
    int biased = (int)(magnitude_bits >> 52);
    return biased == 0 ? -1022 : biased - 1022;
}

/* More slices than these are not cut: there is a way that takes any number of bits at once. All
   that f16 has is one slice. */
#define LEVELS32 3
#define LEVELS64 4

#define SIGN64 ((uint64_t)1 << 63)

/* The slicer of elements from here on would overflow. */
#define HUGE_EXPONENT 960

/* After a block that took the dearest way, so many go there at once. After one that did not add up
   as it is, some are sliced at once: none after the first, for an unlucky one comes now and then in
   ordinary data, then twice as many each time and one more, up to so many. */
#define BLOCKS_BINNED 15
#define BLOCKS_SLICED 63

/* Adds slices of x[0 .. n), finite, n a multiple of W_LANES and at most CPU_BLOCK_MAX, to *sum, and
   leaves the rests in x. Returns whether these are all zero. */
static SIMD_TARGET bool sum_levels(struct exact *sum, double *x, size_t n, int levels)
{
    vecd greatest = d_set1(0);

    for (size_t i = 0; i < n; i += W_LANES)
        greatest = d_max(greatest, d_abs(d_load(x + i)));
    for (int level = 0; level < levels; level++) {
        double bound = d_h_max(greatest);
        int exponent = bound_exponent(exact_bits(bound));
        int bit = exponent - SLICE32;
        vecd cut, total = d_set1(0);

        if (bound == 0)
            return true;
        if (exponent > HUGE_EXPONENT)
            return false;
        greatest = d_set1(0);
        if (bit < EXACT_LSB_EXPONENT)
            bit = EXACT_LSB_EXPONENT;
        cut = d_set1(slicer(bit));
        for (size_t i = 0; i < n; i += W_LANES) {
            vecd value = d_load(x + i);
            vecd slice = d_sub(d_add(value, cut), cut);
            vecd rest = d_sub(value, slice);
            total = d_add(total, slice);
            greatest = d_max(greatest, d_abs(rest));
            d_store(x + i, rest);
        }
        exact_add(sum, d_h_add(total));
    }
    return d_h_max(greatest) == 0;
}

/* Adds the two slices of each value to their sums; returns the bits of what they leave. */
INLINE_TARGET wvec slice_twice(vecd value, vecd cut1, vecd cut2, vecd *upper, vecd *lower)
{
    vecd slice1 = d_sub(d_add(value, cut1), cut1);
    vecd rest = d_sub(value, slice1);
    vecd slice2 = d_sub(d_add(rest, cut2), cut2);

    *upper = d_add(*upper, slice1);
    *lower = d_add(*lower, slice2);
    return d_bits(d_sub(rest, slice2));
}

/*
 * Elements whose values are binary32: f32, f16, bf16.
 */

INLINE_TARGET vec load32(const unsigned char *p, enum element_type type)
{
    return type == ELEMENT_F16    ? v_load_f16(p)
           : type == ELEMENT_BF16 ? v_load_bf16(p)
                                  : v_load_f32(p);
}

static inline double value32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* Extremes of binary32 values as integers of their bits: the greatest as signed and as unsigned
   numbers, and the least as unsigned. They tell the extremes as values, -0 before +0, and the
   greatest magnitude: among negative values the order of the bits is reversed, and as unsigned
   numbers all of them lie above the positive ones. */
struct bits32 {
    uint32_t max_s, max_u, min_u;
};

static inline uint32_t bits32_max(struct bits32 b)
{
    return (int32_t)b.max_s >= 0 ? b.max_s : b.min_u;
}

static inline uint32_t bits32_min(struct bits32 b)
{
    return b.max_u >> 31 ? b.max_u : b.min_u;
}

static inline uint32_t bits32_magnitude(struct bits32 b)
{
    uint32_t positive = (int32_t)b.max_s >= 0 ? b.max_s : 0;
    uint32_t negative = b.max_u >> 31 ? b.max_u & 0x7fffffff : 0;
    return positive > negative ? positive : negative;
}

#define INFINITY32 0x7f800000u

/* The upper four bits of the exponent of element i, f32 or bf16. */
INLINE_TARGET size_t bin_of(const unsigned char *x, size_t i, enum element_type type)
{
    uint32_t bits;
    uint16_t half;

    if (type == ELEMENT_F32) {
        memcpy(&bits, x + i * 4, sizeof bits);
        return bits >> 27 & (CPU_BINS32 - 1);
    }
    memcpy(&half, x + i * 2, sizeof half);
    return half >> 11 & (CPU_BINS32 - 1);
}

/* Adds the n finite elements in the scratch, a multiple of V_LANES, which are those at x, or zero
   in their place. What slices leave of an element goes to the element's own bin. One core of an
   EPYC, f32 of any exponents: 3.1-3.8 GB/s in bins, 1.5-1.8 in up to eight slices; over 2^60: 4.0
   in bins, 8.5-9.8 in two slices at once (PASS_SLICE), 4.2-5 in slices one by one. */
INLINE_TARGET void sum_scratch32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                 enum element_type type)
{
    enum { SETS = V_LANES < CPU_BIN_SETS ? V_LANES : CPU_BIN_SETS };

    if (r->blocks_to_bin > 0) {
        r->blocks_to_bin--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS32))
            return;
        r->blocks_to_bin = BLOCKS_BINNED;
    }
    cpu_make_room32(r, n / SETS);
    for (size_t i = 0; i < n; i += SETS)
#pragma GCC unroll 8
        for (size_t set = 0; set < SETS; set++)
            r->bins32[set][bin_of(x, i + set, type)] += r->scratch[i + set];
}

/* A block with a NaN or an infinity in it: counts them and sums the rest. */
INLINE_TARGET void special32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, enum element_type type, bool sum)
{
    const size_t size = type == ELEMENT_F32 ? 4 : 2;
    const vec magnitude = v_set1(0x7fffffff), infinity = v_set1(INFINITY32);
    vec max_s = v_set1(0x80000000), max_u = v_set1(0), min_u = v_set1(0xffffffff);
    uint64_t nan = 0, positive = 0, negative = 0;

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);
        vmask is_nan = v_gt_s(v_and(v, magnitude), infinity);

        nan += v_count(is_nan);
        positive += v_count(v_eq(v, infinity));
        negative += v_count(v_eq(v, v_set1(INFINITY32 | 0x80000000)));
        max_s = v_max_s(max_s, v_select(is_nan, v_set1(0x80000000), v));
        max_u = v_max_u(max_u, v_select(is_nan, v_set1(0), v));
        min_u = v_min_u(min_u, v_select(is_nan, v_set1(0xffffffff), v));
        if (sum) {
            vec finite = v_select(v_gt_s(infinity, v_and(v, magnitude)), v, v_set1(0));
            d_store(r->scratch + i, v_low(finite));
            d_store(r->scratch + i + W_LANES, v_high(finite));
        }
    }
    if (sum)
        sum_scratch32(r, x, n, type);
    r->partial.nan += nan;
    r->partial.positive_infinity += positive;
    r->partial.negative_infinity += negative;
    if (nan && index < r->partial.first_nan)
        cpu_take_first_nan(r, x, n, index);
    if (nan < n) {
        struct bits32 b = {v_h_max_s(max_s), v_h_max_u(max_u), v_h_min_u(min_u)};
        cpu_take_block(r, exact_key(value32(bits32_min(b))), exact_key(value32(bits32_max(b))), x,
                       n, index);
    }
}

/* What a pass over a block does beside finding its extremes. */
enum pass32 {
    PASS_EXTREMES,
    PASS_ADD,   /* adds the elements up, for the case that nothing is rounded */
    PASS_SLICE, /* adds two slices of each up */
};

struct sums32 {
    vecd sum[4]; /* PASS_ADD: the sums; PASS_SLICE: the upper slices, and the lower */
    vec least;   /* PASS_ADD: twice the smallest non-zero magnitude, less one */
    wvec rests;  /* PASS_SLICE: what bits the slices leave */
    vecd cut[2]; /* PASS_SLICE: the slicers */
    vec max_s, max_u, min_u;
};

INLINE_TARGET void take32(struct sums32 *s, vec a, enum pass32 pass, bool always_fits, int half)
{
    const vec minus_one = v_set1(0xffffffff);

    s->max_s = v_max_s(s->max_s, a);
    s->max_u = v_max_u(s->max_u, a);
    s->min_u = v_min_u(s->min_u, a);
    if (pass == PASS_ADD) {
        /* Twice the bits drops the sign; less one, zero becomes the greatest of all. */
        if (!always_fits)
            s->least = v_min_u(s->least, v_add(v_add(a, a), minus_one));
        s->sum[2 * half] = d_add(s->sum[2 * half], v_low(a));
        s->sum[2 * half + 1] = d_add(s->sum[2 * half + 1], v_high(a));
    } else if (pass == PASS_SLICE) {
        s->rests = w_or(s->rests, slice_twice(v_low(a), s->cut[0], s->cut[1], &s->sum[half],
                                              &s->sum[2 + half]));
        s->rests = w_or(s->rests, slice_twice(v_high(a), s->cut[0], s->cut[1], &s->sum[half],
                                              &s->sum[2 + half]));
    }
}

INLINE_TARGET struct sums32 pass32(const unsigned char *x, size_t n, enum element_type type,
                                   enum pass32 pass, int window)
{
    const size_t size = type == ELEMENT_F32 ? 4 : 2, quarter = n / (4 * V_LANES) * V_LANES;
    const bool always_fits = type == ELEMENT_F16;
    const int bit = window - SLICE32;
    struct sums32 s = {
        .sum = {d_set1(0), d_set1(0), d_set1(0), d_set1(0)},
        .least = v_set1(0xffffffff),
        .rests = w_set1(0),
        .cut = {d_set1(slicer(bit)), d_set1(slicer(bit - 1 - SLICE32))},
        .max_s = v_set1(0x80000000),
        .max_u = v_set1(0),
        .min_u = v_set1(0xffffffff),
    };

    for (size_t i = 0; i < quarter; i += V_LANES) {
        vec a = load32(x + i * size, type);
        vec b = load32(x + (quarter + i) * size, type);
        vec c = load32(x + (2 * quarter + i) * size, type);
        vec d = load32(x + (3 * quarter + i) * size, type);

        prefetch(x, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        take32(&s, a, pass, always_fits, 0);
        take32(&s, b, pass, always_fits, 1);
        take32(&s, c, pass, always_fits, 0);
        take32(&s, d, pass, always_fits, 1);
    }
    for (size_t i = 4 * quarter; i < n; i += V_LANES)
        take32(&s, load32(x + i * size, type), pass, always_fits, 0);
    return s;
}

/* The sum of a block after PASS_ADD, if nothing was rounded. The greatest magnitude is not zero. */
INLINE_TARGET bool add_sums32(struct cpu_reducer *r, const struct sums32 *s, uint32_t magnitude,
                              enum element_type type)
{
    enum { LANES = 4 * W_LANES }; /* binary64 sums side by side */
    /* Every f16 is a multiple of 2^-24 below 2^16: 40 bits and those of the count always fit. */
    const bool always_fits = type == ELEMENT_F16;
    const int mantissa = type == ELEMENT_BF16 ? 8 : 24;
    const int lane_log2 = CPU_BLOCK32_LOG2 - __builtin_ctz(LANES);
    int emin = always_fits ? 1 : (int)((v_h_min_u(s->least) + 1) >> 24);
    int emax = (int)(magnitude >> 23);

    emin += emin == 0;
    emax += emax == 0;
    if (always_fits || exact_group_fits(emin, emax, mantissa, CPU_BLOCK32_LOG2)) {
        exact_add(&r->partial.sum,
                  d_h_add(d_add(d_add(s->sum[0], s->sum[1]), d_add(s->sum[2], s->sum[3]))));
        return true;
    }
    if (exact_group_fits(emin, emax, mantissa, lane_log2)) {
        double lane[LANES];

        for (int i = 0; i < 4; i++)
            d_store(lane + i * W_LANES, s->sum[i]);
        for (int j = 0; j < LANES; j++)
            exact_add(&r->partial.sum, lane[j]);
        return true;
    }
    return false;
}

/* The sum of a block after PASS_SLICE, if the slices leave nothing. */
INLINE_TARGET bool add_slices32(struct cpu_reducer *r, const struct sums32 *s, int exponent)
{
    if (exponent > r->window || (w_h_or(s->rests) & ~SIGN64) != 0)
        return false;
    exact_add(&r->partial.sum, d_h_add(d_add(s->sum[0], s->sum[1])));
    exact_add(&r->partial.sum, d_h_add(d_add(s->sum[2], s->sum[3])));
    return true;
}

/* A block of n elements, a multiple of V_LANES. */
INLINE_TARGET void block32(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           enum element_type type, bool sum)
{
    const size_t size = type == ELEMENT_F32 ? 4 : 2;
    const enum pass32 pass = !sum || r->blocks_to_bin > 0 ? PASS_EXTREMES
                             : r->blocks_to_slice > 0     ? PASS_SLICE
                                                          : PASS_ADD;
    struct sums32 s = pass == PASS_ADD     ? pass32(x, n, type, PASS_ADD, 0)
                      : pass == PASS_SLICE ? pass32(x, n, type, PASS_SLICE, r->window)
                                           : pass32(x, n, type, PASS_EXTREMES, 0);
    struct bits32 bits = {v_h_max_s(s.max_s), v_h_max_u(s.max_u), v_h_min_u(s.min_u)};
    const uint32_t magnitude = bits32_magnitude(bits);
    int exponent;

    if (magnitude >= INFINITY32) {
        special32(r, x, n, index, type, sum);
        return;
    }
    cpu_take_block(r, exact_key(value32(bits32_min(bits))), exact_key(value32(bits32_max(bits))), x,
                   n, index);
    if (!sum || magnitude == 0)
        return;
    exponent = bound_exponent(exact_bits(value32(magnitude)));
    if (pass == PASS_SLICE)
        r->blocks_to_slice--;
    if (pass == PASS_ADD && add_sums32(r, &s, magnitude, type)) {
        r->slice_run /= 2;
        return;
    }
    if (pass == PASS_SLICE && add_slices32(r, &s, exponent))
        return;
    if (pass == PASS_ADD) {
        r->blocks_to_slice = r->slice_run;
        r->slice_run = r->slice_run < BLOCKS_SLICED ? 2 * r->slice_run + 1 : BLOCKS_SLICED;
    }
    /* A bit of room, so that the next block does not miss it narrowly. */
    r->window = exponent + 1;
    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);

        d_store(r->scratch + i, v_low(v));
        d_store(r->scratch + i + W_LANES, v_high(v));
    }
    sum_scratch32(r, x, n, type);
}

INLINE_TARGET void chunk32(struct cpu_reducer *r, const void *data, size_t count, uint64_t index,
                           enum element_type type, bool sum)
{
    const size_t size = type == ELEMENT_F32 ? 4 : 2;
    const size_t whole = count - count % V_LANES;
    const unsigned char *x = data;

    cpu_begin_chunk(r);
    for (size_t i = 0; i < whole; i += (size_t)1 << CPU_BLOCK32_LOG2) {
        size_t n = whole - i;
        if (n > (size_t)1 << CPU_BLOCK32_LOG2)
            n = (size_t)1 << CPU_BLOCK32_LOG2;
        block32(r, x + i * size, n, index + i, type, sum);
    }
    cpu_end_chunk(r);
    r->partial.count += whole;
    cpu_take_tail(r, x + whole * size, count - whole, index + whole);
}

/*
 * binary64.
 */

/* As bits32. */
struct bits64 {
    uint64_t max_s, max_u, min_u;
};

static inline uint64_t bits64_max(struct bits64 b)
{
    return (int64_t)b.max_s >= 0 ? b.max_s : b.min_u;
}

static inline uint64_t bits64_min(struct bits64 b)
{
    return b.max_u >> 63 ? b.max_u : b.min_u;
}

static inline uint64_t bits64_magnitude(struct bits64 b)
{
    uint64_t positive = (int64_t)b.max_s >= 0 ? b.max_s : 0;
    uint64_t negative = b.max_u >> 63 ? b.max_u & ~SIGN64 : 0;
    return positive > negative ? positive : negative;
}

#define INFINITY64 ((uint64_t)0x7ff << 52)

/* Adds the n finite elements in the scratch. */
INLINE_TARGET void sum_scratch64(struct cpu_reducer *r, size_t n)
{
    if (r->blocks_to_bin > 0) {
        r->blocks_to_bin--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS64))
            return;
        r->blocks_to_bin = BLOCKS_BINNED;
    }
    cpu_add_to_bins(r, r->scratch, n);
}

INLINE_TARGET void special64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, bool sum)
{
    const wvec magnitude = w_set1(~SIGN64), infinity = w_set1(INFINITY64);
    wvec max_s = w_set1(SIGN64), max_u = w_set1(0), min_u = w_set1(UINT64_MAX);
    uint64_t nan = 0, positive = 0, negative = 0;

    for (size_t i = 0; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);
        wmask is_nan = w_gt_s(w_and(v, magnitude), infinity);

        nan += w_count(is_nan);
        positive += w_count(w_eq(v, infinity));
        negative += w_count(w_eq(v, w_set1(INFINITY64 | SIGN64)));
        max_s = w_max_s(max_s, w_select(is_nan, w_set1(SIGN64), v));
        max_u = w_max_u(max_u, w_select(is_nan, w_set1(0), v));
        min_u = w_min_u(min_u, w_select(is_nan, w_set1(UINT64_MAX), v));
        d_store(r->scratch + i,
                w_value(w_select(w_gt_s(infinity, w_and(v, magnitude)), v, w_set1(0))));
    }
    if (sum)
        sum_scratch64(r, n);
    r->partial.nan += nan;
    r->partial.positive_infinity += positive;
    r->partial.negative_infinity += negative;
    if (nan && index < r->partial.first_nan)
        cpu_take_first_nan(r, x, n, index);
    if (nan < n) {
        struct bits64 b = {w_h_max_s(max_s), w_h_max_u(max_u), w_h_min_u(min_u)};
        cpu_take_block(r, exact_key(exact_from_bits(bits64_min(b))),
                       exact_key(exact_from_bits(bits64_max(b))), x, n, index);
    }
}

/* The slicers of a window: all |x| < 2^window, and the lower slice ends at the least bit there is.
   Within these limits neither slicer overflows or loses its spacing, and the sum of a whole block's
   upper slices stays below 2^1024. */
#define WINDOW_MAX (1023 - 52 + SLICE64 - 1)
#define WINDOW_MIN (EXACT_LSB_EXPONENT + 2 * SLICE64 + 1)

/* A block of n elements, a multiple of W_LANES. */
INLINE_TARGET void block64(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           bool sum)
{
    /* The rest that the first slice leaves is at most half of its last bit. */
    const int bit = r->window - SLICE64;
    const vecd cut1 = d_set1(slicer(bit)), cut2 = d_set1(slicer(bit - 1 - SLICE64));
    wvec max_s = w_set1(SIGN64), max_u = w_set1(0), min_u = w_set1(UINT64_MAX), rests = w_set1(0);
    vecd upper_a = d_set1(0), lower_a = upper_a, upper_b = upper_a, lower_b = upper_a;
    struct bits64 bits;
    uint64_t magnitude;
    const size_t quarter = n / (4 * W_LANES) * W_LANES;

    for (size_t i = 0; i < quarter; i += W_LANES) {
        wvec a = w_load(x + i * 8), b = w_load(x + (quarter + i) * 8);
        wvec c = w_load(x + (2 * quarter + i) * 8), d = w_load(x + (3 * quarter + i) * 8);

        prefetch(x, quarter * 8, i * 8, W_LANES * 8, (size_t)8 << CPU_BLOCK64_LOG2);
        max_s = w_max_s(w_max_s(max_s, w_max_s(a, b)), w_max_s(c, d));
        max_u = w_max_u(w_max_u(max_u, w_max_u(a, b)), w_max_u(c, d));
        min_u = w_min_u(w_min_u(min_u, w_min_u(a, b)), w_min_u(c, d));
        if (sum) {
            rests = w_or(rests, slice_twice(w_value(a), cut1, cut2, &upper_a, &lower_a));
            rests = w_or(rests, slice_twice(w_value(b), cut1, cut2, &upper_b, &lower_b));
            rests = w_or(rests, slice_twice(w_value(c), cut1, cut2, &upper_a, &lower_a));
            rests = w_or(rests, slice_twice(w_value(d), cut1, cut2, &upper_b, &lower_b));
        }
    }
    for (size_t i = 4 * quarter; i < n; i += W_LANES) {
        wvec a = w_load(x + i * 8);

        max_s = w_max_s(max_s, a);
        max_u = w_max_u(max_u, a);
        min_u = w_min_u(min_u, a);
        if (sum)
            rests = w_or(rests, slice_twice(w_value(a), cut1, cut2, &upper_a, &lower_a));
    }
    bits = (struct bits64){w_h_max_s(max_s), w_h_max_u(max_u), w_h_min_u(min_u)};
    magnitude = bits64_magnitude(bits);
    if (magnitude >= INFINITY64) {
        special64(r, x, n, index, sum);
        return;
    }
    cpu_take_block(r, exact_key(exact_from_bits(bits64_min(bits))),
                   exact_key(exact_from_bits(bits64_max(bits))), x, n, index);
    if (sum) {
        int exponent = bound_exponent(magnitude);

        if (exponent <= r->window && (w_h_or(rests) & ~SIGN64) == 0) {
            exact_add(&r->partial.sum, d_h_add(d_add(upper_a, upper_b)));
            exact_add(&r->partial.sum, d_h_add(d_add(lower_a, lower_b)));
            return;
        }
        /* A bit of room, so that the next block does not miss it narrowly. */
        r->window = exponent + 1;
        r->window = r->window > WINDOW_MAX ? WINDOW_MAX : r->window;
        r->window = r->window < WINDOW_MIN ? WINDOW_MIN : r->window;
        memcpy(r->scratch, x, n * 8);
        sum_scratch64(r, n);
    }
}

INLINE_TARGET void chunk64(struct cpu_reducer *r, const void *data, size_t count, uint64_t index,
                           bool sum)
{
    const size_t whole = count - count % W_LANES;
    const unsigned char *x = data;

    cpu_begin_chunk(r);
    for (size_t i = 0; i < whole; i += (size_t)1 << CPU_BLOCK64_LOG2) {
        size_t n = whole - i;
        if (n > (size_t)1 << CPU_BLOCK64_LOG2)
            n = (size_t)1 << CPU_BLOCK64_LOG2;
        block64(r, x + i * 8, n, index + i, sum);
    }
    cpu_end_chunk(r);
    r->partial.count += whole;
    cpu_take_tail(r, x + whole * 8, count - whole, index + whole);
}

/*
 * The instances.
 */

#define INSTANCE(name, call)                                                            \
    static SIMD_TARGET void name(struct cpu_reducer *r, const void *data, size_t count, \
                                 uint64_t index)                                        \
    {                                                                                   \
        call;                                                                           \
    }

INSTANCE(f32_sum, chunk32(r, data, count, index, ELEMENT_F32, true))
INSTANCE(f32_extremes, chunk32(r, data, count, index, ELEMENT_F32, false))
INSTANCE(f16_sum, chunk32(r, data, count, index, ELEMENT_F16, true))
INSTANCE(f16_extremes, chunk32(r, data, count, index, ELEMENT_F16, false))
INSTANCE(bf16_sum, chunk32(r, data, count, index, ELEMENT_BF16, true))
INSTANCE(bf16_extremes, chunk32(r, data, count, index, ELEMENT_BF16, false))
INSTANCE(f64_sum, chunk64(r, data, count, index, true))
INSTANCE(f64_extremes, chunk64(r, data, count, index, false))

static bool usable(void)
{
    return simd_usable();
}

#define KERNELS                                  \
    {                                            \
        .name = SIMD_NAME, .usable = usable,     \
        .with_sum = {[ELEMENT_F32] = f32_sum,    \
                     [ELEMENT_F64] = f64_sum,    \
                     [ELEMENT_F16] = f16_sum,    \
                     [ELEMENT_BF16] = bf16_sum}, \
        .without_sum = {                         \
            [ELEMENT_F32] = f32_extremes,        \
            [ELEMENT_F64] = f64_extremes,        \
            [ELEMENT_F16] = f16_extremes,        \
            [ELEMENT_BF16] = bf16_extremes       \
        }                                        \
    }
