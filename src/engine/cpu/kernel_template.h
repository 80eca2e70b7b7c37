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
 */
#include <math.h>
#include <string.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/simd.h"

#define INLINE_TARGET static inline __attribute__((always_inline)) SIMD_TARGET

/*
 * Prefetching. A block is read as four streams, its quarters, so that the processor's own
 * prefetching follows all of them. Asked for are the bytes a block and a quarter ahead, and, into
 * the level-2 cache, those two blocks and a quarter ahead.
 */
#define CACHE_LINE 64
#define STREAMS 4
#define AHEAD(block_bytes) ((block_bytes) + (block_bytes) / STREAMS)

/* Asks for the cache line `ahead` bytes after p, and for the one a block further on. It does no
   harm beyond the end of the data. */
INLINE_TARGET void prefetch_line(uintptr_t p, size_t ahead, size_t block_bytes)
{
    __builtin_prefetch((const void *)(p + ahead), 0, 3);
    __builtin_prefetch((const void *)(p + ahead + block_bytes), 0, 2);
}

/* The same for the lines at `offset` of each stream; `distance` bytes lie between streams. Where a
   step is shorter than a line, the streams take turns. */
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
static inline void expect_bound(struct cpu_reducer *r, int exponent)
{
    int bound = exponent + 1;

    bound = bound > BOUND_MAX ? BOUND_MAX : bound;
    r->extraction_bound = bound < BOUND_MIN ? BOUND_MIN : bound;
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
   adds the parts to *sum, and leaves the rests in x. Returns whether these are all zero. */
static SIMD_TARGET bool sum_levels(struct exact *sum, double *x, size_t n, int levels)
{
    vecd greatest = d_set1(0);

    for (size_t i = 0; i < n; i += W_LANES)
        greatest = d_max(greatest, d_abs(d_load(x + i)));
    for (int level = 0; level < levels; level++) {
        double bound = d_h_max(greatest);
        int exponent = bound_exponent(exact_bits(bound));
        int bit = exponent - PART_BITS32;
        vecd constant, total = d_set1(0);

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
            total = d_add(total, part);
            greatest = d_max(greatest, d_abs(rest));
            d_store(x + i, rest);
        }
        exact_add(sum, d_h_add(total));
    }
    return d_h_max(greatest) == 0;
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

static inline double value32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* The value of which these are the bits. */
static inline double bits_value(uint64_t bits, uint64_t sign)
{
    return sign == SIGN32 ? value32((uint32_t)bits) : exact_from_bits(bits);
}

INLINE_TARGET void take_extremes(struct cpu_reducer *r, const struct bit_extremes *b,
                                 const unsigned char *x, size_t n, uint64_t index)
{
    cpu_take_block(r, exact_key(bits_value(bits_min(b), b->sign)),
                   exact_key(bits_value(bits_max(b), b->sign)), x, n, index);
}

/* What a block with NaNs and infinities in it holds of them. */
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

/*
 * Elements whose values are binary32: f32, f16, bf16.
 */

INLINE_TARGET vec load32(const unsigned char *p, enum element_type type)
{
    switch (type) {
    case ELEMENT_F32:
        return v_load_f32(p);
    case ELEMENT_F16:
        return v_load_f16(p);
    case ELEMENT_BF16:
        return v_load_bf16(p);
    case ELEMENT_F64:
        break; /* has 64 bits */
    }
    return v_set1(0);
}

/* Whether a block adds up exactly in binary64, whatever its values. Every f16 is a multiple of
   2^-24 below 2^16: 40 bits and those of the count. */
INLINE_TARGET bool always_fits(enum element_type type)
{
    const struct element_format *f = &element_formats[type];

    return exact_group_fits(f->exponent_min, f->exponent_max, f->significant_bits,
                            CPU_BLOCK32_LOG2);
}

struct extremes32 {
    vec max_s, max_u, min_u;
};

INLINE_TARGET struct extremes32 extremes32_none(void)
{
    return (struct extremes32){v_set1(SIGN32), v_set1(0), v_set1(UINT32_MAX)};
}

INLINE_TARGET struct bit_extremes extremes32_bits(const struct extremes32 *e)
{
    return (struct bit_extremes){v_h_max_s(e->max_s), v_h_max_u(e->max_u), v_h_min_u(e->min_u),
                                 SIGN32};
}

/* The bin of element i: the upper four bits of its exponent, in a type that is the upper part of
   binary32. */
INLINE_TARGET size_t bin_of(const unsigned char *x, size_t i, enum element_type type)
{
    const size_t size = element_formats[type].size;
    uint32_t word;
    uint16_t half;

    if (size == sizeof word) {
        memcpy(&word, x + i * sizeof word, sizeof word);
        return word >> 27 & (CPU_EXPONENT_BINS - 1);
    }
    memcpy(&half, x + i * sizeof half, sizeof half);
    return half >> 11 & (CPU_EXPONENT_BINS - 1);
}

/* Adds the n finite values in the scratch, a multiple of V_LANES: the elements at x, or zeros in
   place of what is not finite there. What extraction leaves of an element goes to the element's own
   bin. */
INLINE_TARGET void sum_scratch32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                                 enum element_type type)
{
    enum { SETS = V_LANES < CPU_BIN_SETS ? V_LANES : CPU_BIN_SETS };

    if (r->blocks_dearest > 0) {
        r->blocks_dearest--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS32))
            return;
        r->blocks_dearest = BLOCKS_DEAREST;
    }
    cpu_reserve_bins(r, n / SETS);
    for (size_t i = 0; i < n; i += SETS)
#pragma GCC unroll 8
        for (size_t set = 0; set < SETS; set++)
            r->exponent_bins[set][bin_of(x, i + set, type)] += r->scratch[i + set];
}

/* A block with a NaN or an infinity in it: counts them and sums the rest. */
INLINE_TARGET void special32(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, enum element_type type, bool sum)
{
    const size_t size = element_formats[type].size;
    const vec magnitude = v_set1(~SIGN32), infinity = v_set1(INFINITY32);
    struct extremes32 e = extremes32_none();
    struct specials s = {0};
    struct bit_extremes bits;

    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);
        vmask is_nan = v_gt_s(v_and(v, magnitude), infinity);

        s.nan += v_count(is_nan);
        s.positive_infinity += v_count(v_eq(v, infinity));
        s.negative_infinity += v_count(v_eq(v, v_set1(INFINITY32 | SIGN32)));
        e.max_s = v_max_s(e.max_s, v_select(is_nan, v_set1(SIGN32), v));
        e.max_u = v_max_u(e.max_u, v_select(is_nan, v_set1(0), v));
        e.min_u = v_min_u(e.min_u, v_select(is_nan, v_set1(UINT32_MAX), v));
        if (sum) {
            vec finite = v_select(v_gt_s(infinity, v_and(v, magnitude)), v, v_set1(0));
            d_store(r->scratch + i, v_low(finite));
            d_store(r->scratch + i + W_LANES, v_high(finite));
        }
    }
    if (sum)
        sum_scratch32(r, x, n, type);
    bits = extremes32_bits(&e);
    take_specials(r, &s, &bits, x, n, index);
}

/* What a pass over a block does beside finding its extremes. */
enum pass32 {
    PASS_EXTREMES,
    PASS_ADD,     /* adds the elements up, for the case that nothing is rounded */
    PASS_EXTRACT, /* extracts two parts of each, and adds them up */
};

struct block32 {
    struct extremes32 extremes;
    vecd sum[4];      /* PASS_ADD: the sums; PASS_EXTRACT: of the upper parts, and the lower */
    vec least;        /* PASS_ADD: twice the least non-zero magnitude, less one */
    wvec rests;       /* PASS_EXTRACT: all bits of what is left of the elements */
    vecd constant[2]; /* PASS_EXTRACT: the extraction constants */
};

/* `half` chooses two of the four sums. */
INLINE_TARGET void take32(struct block32 *b, vec a, enum element_type type, enum pass32 pass,
                          int half)
{
    const vec minus_one = v_set1(UINT32_MAX);

    b->extremes.max_s = v_max_s(b->extremes.max_s, a);
    b->extremes.max_u = v_max_u(b->extremes.max_u, a);
    b->extremes.min_u = v_min_u(b->extremes.min_u, a);
    if (pass == PASS_ADD) {
        /* Twice the bits drops the sign; less one, zero becomes the greatest of all. */
        if (!always_fits(type))
            b->least = v_min_u(b->least, v_add(v_add(a, a), minus_one));
        b->sum[2 * half] = d_add(b->sum[2 * half], v_low(a));
        b->sum[2 * half + 1] = d_add(b->sum[2 * half + 1], v_high(a));
    } else if (pass == PASS_EXTRACT) {
        b->rests =
            w_or(b->rests, extract_twice(v_low(a), b->constant, &b->sum[half], &b->sum[2 + half]));
        b->rests =
            w_or(b->rests, extract_twice(v_high(a), b->constant, &b->sum[half], &b->sum[2 + half]));
    }
}

/* `bound` is for PASS_EXTRACT. */
INLINE_TARGET struct block32 pass32(const unsigned char *x, size_t n, enum element_type type,
                                    enum pass32 pass, int bound)
{
    const size_t size = element_formats[type].size;
    const size_t quarter = n / (STREAMS * V_LANES) * V_LANES;
    const int bit = bound - PART_BITS32;
    struct block32 b = {
        .extremes = extremes32_none(),
        .sum = {d_set1(0), d_set1(0), d_set1(0), d_set1(0)},
        .least = v_set1(UINT32_MAX),
        .rests = w_set1(0),
        .constant = {d_set1(extraction_constant(bit)),
                     d_set1(extraction_constant(bit - 1 - PART_BITS32))},
    };

    for (size_t i = 0; i < quarter; i += V_LANES) {
        vec v0 = load32(x + i * size, type);
        vec v1 = load32(x + (quarter + i) * size, type);
        vec v2 = load32(x + (2 * quarter + i) * size, type);
        vec v3 = load32(x + (3 * quarter + i) * size, type);

        prefetch(x, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        take32(&b, v0, type, pass, 0);
        take32(&b, v1, type, pass, 1);
        take32(&b, v2, type, pass, 0);
        take32(&b, v3, type, pass, 1);
    }
    for (size_t i = STREAMS * quarter; i < n; i += V_LANES)
        take32(&b, load32(x + i * size, type), type, pass, 0);
    return b;
}

/* Takes the sum of a block after PASS_ADD, if nothing was rounded. `magnitude`, the greatest, is
   not zero. */
INLINE_TARGET bool add_block32(struct cpu_reducer *r, const struct block32 *b, uint64_t magnitude,
                               enum element_type type)
{
    enum { SUMS = 4 * W_LANES }; /* binary64 sums side by side */
    const int significant = element_formats[type].significant_bits;
    const int count_log2_of_a_sum = CPU_BLOCK32_LOG2 - __builtin_ctz(SUMS);
    int emin = always_fits(type) ? 1 : (int)((v_h_min_u(b->least) + 1) >> 24);
    int emax = (int)(magnitude >> 23);

    emin += emin == 0;
    emax += emax == 0;
    if (always_fits(type) || exact_group_fits(emin, emax, significant, CPU_BLOCK32_LOG2)) {
        exact_add(&r->partial.sum,
                  d_h_add(d_add(d_add(b->sum[0], b->sum[1]), d_add(b->sum[2], b->sum[3]))));
        return true;
    }
    if (exact_group_fits(emin, emax, significant, count_log2_of_a_sum)) {
        double sum[SUMS];

        for (int i = 0; i < 4; i++)
            d_store(sum + i * W_LANES, b->sum[i]);
        for (int j = 0; j < SUMS; j++)
            exact_add(&r->partial.sum, sum[j]);
        return true;
    }
    return false;
}

/* Takes the sum of a block that has one, if the pass has found it. */
INLINE_TARGET bool take_sum32(struct cpu_reducer *r, const struct block32 *b, enum pass32 pass,
                              uint64_t magnitude, enum element_type type)
{
    switch (pass) {
    case PASS_EXTREMES:
        break;
    case PASS_ADD:
        if (add_block32(r, b, magnitude, type)) {
            r->extract_run /= 2;
            return true;
        }
        r->blocks_to_extract = r->extract_run;
        r->extract_run =
            r->extract_run < BLOCKS_EXTRACTED ? 2 * r->extract_run + 1 : BLOCKS_EXTRACTED;
        break;
    case PASS_EXTRACT:
        r->blocks_to_extract--;
        return add_parts_of_block(r, bound_exponent(exact_bits(value32((uint32_t)magnitude))),
                                  b->rests, d_add(b->sum[0], b->sum[1]),
                                  d_add(b->sum[2], b->sum[3]));
    }
    return false;
}

/* A block of n elements, a multiple of V_LANES. */
INLINE_TARGET void block32(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           enum element_type type, bool sum)
{
    const size_t size = element_formats[type].size;
    const enum pass32 pass = !sum || r->blocks_dearest > 0 ? PASS_EXTREMES
                             : r->blocks_to_extract > 0    ? PASS_EXTRACT
                                                           : PASS_ADD;
    const struct block32 b = pass == PASS_ADD ? pass32(x, n, type, PASS_ADD, 0)
                             : pass == PASS_EXTRACT
                                 ? pass32(x, n, type, PASS_EXTRACT, r->extraction_bound)
                                 : pass32(x, n, type, PASS_EXTREMES, 0);
    const struct bit_extremes bits = extremes32_bits(&b.extremes);
    const uint64_t magnitude = bits_magnitude(&bits);

    if (magnitude >= INFINITY32) {
        special32(r, x, n, index, type, sum);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    if (!sum || magnitude == 0 || take_sum32(r, &b, pass, magnitude, type))
        return;
    expect_bound(r, bound_exponent(exact_bits(value32((uint32_t)magnitude))));
    for (size_t i = 0; i < n; i += V_LANES) {
        vec v = load32(x + i * size, type);

        d_store(r->scratch + i, v_low(v));
        d_store(r->scratch + i + W_LANES, v_high(v));
    }
    sum_scratch32(r, x, n, type);
}

/*
 * Elements of 64 bits: binary64.
 */

struct extremes64 {
    wvec max_s, max_u, min_u;
};

INLINE_TARGET struct extremes64 extremes64_none(void)
{
    return (struct extremes64){w_set1(SIGN64), w_set1(0), w_set1(UINT64_MAX)};
}

INLINE_TARGET struct bit_extremes extremes64_bits(const struct extremes64 *e)
{
    return (struct bit_extremes){w_h_max_s(e->max_s), w_h_max_u(e->max_u), w_h_min_u(e->min_u),
                                 SIGN64};
}

/* Adds the n finite elements in the scratch. */
INLINE_TARGET void sum_scratch64(struct cpu_reducer *r, size_t n)
{
    if (r->blocks_dearest > 0) {
        r->blocks_dearest--;
    } else {
        if (sum_levels(&r->partial.sum, r->scratch, n, LEVELS64))
            return;
        r->blocks_dearest = BLOCKS_DEAREST;
    }
    cpu_add_to_cells(r, r->scratch, n);
}

/* A block with a NaN or an infinity in it: counts them and sums the rest. */
INLINE_TARGET void special64(struct cpu_reducer *r, const unsigned char *x, size_t n,
                             uint64_t index, bool sum)
{
    const wvec magnitude = w_set1(~SIGN64), infinity = w_set1(INFINITY64);
    struct extremes64 e = extremes64_none();
    struct specials s = {0};
    struct bit_extremes bits;

    for (size_t i = 0; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);
        wmask is_nan = w_gt_s(w_and(v, magnitude), infinity);

        s.nan += w_count(is_nan);
        s.positive_infinity += w_count(w_eq(v, infinity));
        s.negative_infinity += w_count(w_eq(v, w_set1(INFINITY64 | SIGN64)));
        e.max_s = w_max_s(e.max_s, w_select(is_nan, w_set1(SIGN64), v));
        e.max_u = w_max_u(e.max_u, w_select(is_nan, w_set1(0), v));
        e.min_u = w_min_u(e.min_u, w_select(is_nan, w_set1(UINT64_MAX), v));
        d_store(r->scratch + i,
                w_value(w_select(w_gt_s(infinity, w_and(v, magnitude)), v, w_set1(0))));
    }
    if (sum)
        sum_scratch64(r, n);
    bits = extremes64_bits(&e);
    take_specials(r, &s, &bits, x, n, index);
}

struct block64 {
    struct extremes64 extremes;
    vecd upper[2], lower[2]; /* sums of the parts */
    wvec rests;              /* all bits of what is left of the elements */
};

/* One pass over a block: its extremes, and for a sum two parts of each element, below 2^bound. */
INLINE_TARGET struct block64 pass64(const unsigned char *x, size_t n, bool sum, int bound)
{
    /* What the first extraction leaves is at most half of the upper part's last bit. */
    const int bit = bound - PART_BITS64;
    const vecd constant[2] = {d_set1(extraction_constant(bit)),
                              d_set1(extraction_constant(bit - 1 - PART_BITS64))};
    const size_t quarter = n / (STREAMS * W_LANES) * W_LANES;
    struct block64 b = {
        .extremes = extremes64_none(),
        .upper = {d_set1(0), d_set1(0)},
        .lower = {d_set1(0), d_set1(0)},
        .rests = w_set1(0),
    };
    struct extremes64 *e = &b.extremes;

    for (size_t i = 0; i < quarter; i += W_LANES) {
        wvec v0 = w_load(x + i * 8), v1 = w_load(x + (quarter + i) * 8);
        wvec v2 = w_load(x + (2 * quarter + i) * 8), v3 = w_load(x + (3 * quarter + i) * 8);

        prefetch(x, quarter * 8, i * 8, W_LANES * 8, (size_t)8 << CPU_BLOCK64_LOG2);
        e->max_s = w_max_s(w_max_s(e->max_s, w_max_s(v0, v1)), w_max_s(v2, v3));
        e->max_u = w_max_u(w_max_u(e->max_u, w_max_u(v0, v1)), w_max_u(v2, v3));
        e->min_u = w_min_u(w_min_u(e->min_u, w_min_u(v0, v1)), w_min_u(v2, v3));
        if (sum) {
            b.rests = w_or(b.rests, extract_twice(w_value(v0), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v1), constant, &b.upper[1], &b.lower[1]));
            b.rests = w_or(b.rests, extract_twice(w_value(v2), constant, &b.upper[0], &b.lower[0]));
            b.rests = w_or(b.rests, extract_twice(w_value(v3), constant, &b.upper[1], &b.lower[1]));
        }
    }
    for (size_t i = STREAMS * quarter; i < n; i += W_LANES) {
        wvec v = w_load(x + i * 8);

        e->max_s = w_max_s(e->max_s, v);
        e->max_u = w_max_u(e->max_u, v);
        e->min_u = w_min_u(e->min_u, v);
        if (sum)
            b.rests = w_or(b.rests, extract_twice(w_value(v), constant, &b.upper[0], &b.lower[0]));
    }
    return b;
}

/* A block of n elements, a multiple of W_LANES. */
INLINE_TARGET void block64(struct cpu_reducer *r, const unsigned char *x, size_t n, uint64_t index,
                           bool sum)
{
    const struct block64 b = pass64(x, n, sum, r->extraction_bound);
    const struct bit_extremes bits = extremes64_bits(&b.extremes);
    const uint64_t magnitude = bits_magnitude(&bits);

    if (magnitude >= INFINITY64) {
        special64(r, x, n, index, sum);
        return;
    }
    take_extremes(r, &bits, x, n, index);
    if (!sum || magnitude == 0 ||
        add_parts_of_block(r, bound_exponent(magnitude), b.rests, d_add(b.upper[0], b.upper[1]),
                           d_add(b.lower[0], b.lower[1])))
        return;
    expect_bound(r, bound_exponent(magnitude));
    memcpy(r->scratch, x, n * 8);
    sum_scratch64(r, n);
}

/*
 * Chunks, and the instances: a row for each set of results that there are kernels for.
 */

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
};
